"""Builds the API reference out of the docstrings: `python docs/build_api.py`, then open docs/api/index.html.

Needs the `test` extra (pdoc). A warning ends it: a name that does not resolve, an annotation that is none.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import warnings
from pathlib import Path

import pdoc.doc
import pdoc.render

DOCS = Path(__file__).resolve().parent
PAGES = ("", ".block", ".errors", ".events", ".metrics", ".plan")
LISTS = {"Parameters", "Attributes"}
HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", flags=re.MULTILINE)
ITEM = re.compile(r"(\w+(?:, \w+)*) : (.*)")
ERRORS = "daskkernels.errors"


def to_markdown(docstring: str) -> str:
    """The docstrings of this project as Markdown.

    A parameter is `name : its meaning`, where numpydoc would have a type; formulas stand in plain text.
    """
    head, *sections = HEADING.split(docstring)
    parts = [_prose(head)]
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        parts += [f"###### {title}", _listed(content) if title in LISTS else _prose(content)]
    return "\n\n".join(parts)


def _listed(content: str) -> str:
    """A section of `name : meaning`, continued by indented lines; anything else ends it."""
    items: list[str] = []
    lines = content.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith(" ") or ITEM.match(lines[0])):
        line = lines.pop(0)
        if found := ITEM.match(line):
            names = ", ".join(f"**{name}**" for name in found[1].split(", "))
            items.append(f"- {names}: {_text(found[2])}")
        elif line.strip():
            items[-1] += f" {_text(line.strip())}"
    return "\n".join(items) + "\n\n" + _prose("\n".join(lines))


def _prose(text: str) -> str:
    """Paragraphs; examples keep their form."""
    shown = []
    for paragraph in re.split(r"\n\s*\n|\n(?=>>> )(?<!>>> )", text.strip("\n")):
        if paragraph.startswith(">>> ") and shown and shown[-1].startswith("```"):
            shown[-1] = shown[-1].removesuffix("\n```") + f"\n{paragraph}\n```"
        elif paragraph.startswith(">>> "):
            shown.append(f"```pycon\n{paragraph}\n```")
        else:
            shown.append(_text(paragraph))
    return "\n\n".join(shown)


def _text(text: str) -> str:
    """Plain text in Markdown: formulas keep their stars, errors become links; what is in backticks stays."""
    pieces = re.split(r"(`[^`]+`)", text)
    pieces[::2] = [_escaped(piece) for piece in pieces[::2]]
    return "".join(pieces)


def _escaped(text: str) -> str:
    text = re.sub(r"([*\[\]~#])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")
    names = "|".join(importlib.import_module(ERRORS).__all__)
    return re.sub(rf"\b({names})\b", rf"`{ERRORS}.\1`", text)


def build(out: Path) -> list[Path]:
    """Write a page for each public module, and index.html, which leads to the first; returns all of them."""
    library = importlib.import_module("daskkernels")
    for name in library.__all__:  # estimators are loaded when they are named, and pdoc looks at what is there
        setattr(library, name, getattr(library, name))
    pdoc.render.configure(search=False, show_source=False, template_directory=DOCS / "api-template")
    pdoc.render.env.filters["to_markdown"] = to_markdown
    modules = {name: pdoc.doc.Module.from_name(name) for name in (f"daskkernels{page}" for page in PAGES)}
    pages = {
        f"{name.replace('.', '/')}.html": pdoc.render.html_module(m, modules) for name, m in modules.items()
    }
    pages["index.html"] = pdoc.render.html_index(modules)
    for name, text in pages.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text.replace(f">{ERRORS}.", ">"), encoding="utf-8")
    return [out / name for name in pages]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the API reference out of the docstrings.")
    parser.add_argument("--out", type=Path, default=DOCS / "api", help="folder (default: docs/api)")
    warnings.simplefilter("error")
    pages = build(parser.parse_args().out)
    sys.stdout.write(f"{len(pages)} pages, begin with {pages[-1]}\n")


if __name__ == "__main__":
    main()
