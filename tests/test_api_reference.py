"""The API reference: built without a warning, every public name described, every link leads somewhere."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import daskkernels as dk
from daskkernels import events
from tests.pages import ROOT

PAGES = ("daskkernels", "block", "errors", "events", "metrics", "plan")
DESCRIBED = (
    [("daskkernels", name) for name in dk.__all__ if not inspect.ismodule(getattr(dk, name))]
    + [("errors", name) for name in dk.errors.__all__]
    + [("block", name) for name in dk.block.__all__]
    + [("metrics", name) for name in dk.metrics.__all__]
    + [
        (module.__name__.split(".")[1], name)
        for module in (dk.plan, events)
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    + [("events", name) for name in ("Event", "Sink", "sinks")]
)
WITH_PARAMETERS = [
    name
    for name in dk.__all__
    if inspect.isfunction(getattr(dk, name)) or hasattr(getattr(dk, name), "get_params")
]


@dataclass
class Page(HTMLParser):
    """What a test asks of a page: its anchors, its links, and the anchors that a docstring stands under."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    described: set[str] = field(default_factory=set)
    _last: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag in ("section", "div", "dd") and "id" in given:
            self._last = given["id"]
        if tag == "div" and given.get("class") == "docstring":
            self.described.add(self._last)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """The pages by name, made by the command of CONTRIBUTING.md with warnings as errors."""
    out = tmp_path_factory.mktemp("api")
    done = subprocess.run(
        [sys.executable, "-W", "error", "docs/build_api.py", "--out", str(out)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {path.stem: Page(path) for path in out.rglob("*.html")}


def test_pages(reference: dict[str, Page]) -> None:
    assert set(reference) == {"index", *PAGES}


@pytest.mark.parametrize(("where", "name"), DESCRIBED, ids=lambda part: part)
def test_a_public_name_is_described(where: str, name: str, reference: dict[str, Page]) -> None:
    assert name in reference[where].anchors
    assert name in reference[where].described or name == "__version__"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str, reference: dict[str, Page]) -> None:
    page = reference[name]
    anchors = {other.path: other.anchors for other in reference.values()}
    local = [link for link in page.links if "://" not in link]
    others = {f"{other}.html" for other in PAGES if other != name}
    assert others <= {Path(link.split("#")[0]).name for link in local}
    for link in local:
        file, _, anchor = link.partition("#")
        target = (page.path.parent / file).resolve() if file else page.path
        assert target in anchors, f"{name} links to {link}"
        assert not anchor or anchor in anchors[target], f"{name} links to {link}"


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_left_in_the_form_of_the_source(name: str, reference: dict[str, Page]) -> None:
    """Underlined headings, `name : text`, addresses in memory, directives of another markup."""
    text = re.sub(r"<[^>]+>", "", reference[name].path.read_text(encoding="utf-8").split("<main")[1])
    assert not re.search(r"-{4,}|^\w+ : |0x[0-9a-f]{6,}|\.\. \w+::", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_parameters_are_described(name: str) -> None:
    value = getattr(dk, name)
    text = _with_what_it_names(value)
    missing = [p for p in inspect.signature(value).parameters if not re.search(rf"\b{p}\b", text)]
    assert not missing, f"dk.{name} does not say what {missing} are"


def _with_what_it_names(value: Any) -> str:
    """Its docstring, and that of what it says its parameters are as in."""
    text = inspect.getdoc(value) or ""
    named = re.findall(r"as in\s+`(\w+)`", text)
    return text + "".join(inspect.getdoc(getattr(dk, other)) or "" for other in named)


def test_the_command_is_documented() -> None:
    assert "python docs/build_api.py" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "docs/api/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_a_name_that_does_not_resolve_ends_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    builder = importlib.import_module("build_api")
    monkeypatch.setattr(dk.errors, "__all__", [*dk.errors.__all__, "NoSuchError"])
    with pytest.raises(UserWarning, match="NoSuchError"):
        builder.build(tmp_path)
