"""Pages of Markdown as tests see them: their code, run as one script, and where their links lead."""

from __future__ import annotations

import re
from pathlib import Path

from tests.interpreter import run_python

ROOT = Path(__file__).resolve().parents[1]
_MARK = "@@ end of a block @@"


def page(name: str) -> str:
    """The text of a page, by its path in the checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def code_blocks(text: str, language: str) -> list[str]:
    """The blocks of one language, in order; a word after the language makes it another one."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def shown_outputs(text: str) -> list[tuple[str, str | None]]:
    """Every block of Python with the block of text right under it, which is what it prints."""
    found = re.findall(
        r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", text, flags=re.DOTALL | re.MULTILINE
    )
    return [(code, output or None) for code, output in found]


def run_blocks(blocks: list[str], folder: Path) -> list[str]:
    """Run the blocks as one script in a folder, warnings being errors; what each of them printed."""
    script = "".join(f"{block}\nprint({_MARK!r}, flush=True)\n" for block in blocks)
    (folder / "example.py").write_text(script, encoding="utf-8")
    printed = run_python("-W", "error", "example.py", folder=folder)
    return printed.split(f"{_MARK}\n")[:-1]


def dead_links(name: str) -> list[str]:
    """The files that a page links to and that are not there."""
    targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", page(name)) if "://" not in link]
    folder = (ROOT / name).parent
    return [target for target in targets if target and not (folder / target).exists()]
