"""The page: sections in order, style sheet inside, no script and nothing fetched.

`render` is pure text from a record; `write_report` puts it on disk whole or not at all.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from pipelines.learning.records import DemoRun, TrainRun
from pipelines.report import clustering, layout, learning
from pipelines.report.layout import Half
from pipelines.report.svg import readable
from pipelines.results import ClusterRun

Run = ClusterRun | TrainRun | DemoRun
_STYLE = Path(__file__).with_name("style.css")


def write_report(run: Run, path: str | Path) -> Path:
    """Write the page of one job; an interrupted write leaves what was there before."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(render(run), encoding="utf-8")
        return partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def render(run: Run) -> str:
    """The page of one job as text."""
    if isinstance(run, DemoRun):
        return _of_both(run)
    whole = _half(run)
    body = f"{layout.body(whole, 2)}\n{layout.section(whole.repeat, 2)}"
    return _page(whole.title, f"<p>{escape(whole.abstract)}</p>", whole.facts, body)


def _half(run: ClusterRun | TrainRun) -> Half:
    """The parts of one job."""
    return clustering.half(run) if isinstance(run, ClusterRun) else learning.half(run)


def _of_both(run: DemoRun) -> str:
    """One page about a clustering and a training, one after the other."""
    halves = [("Clustering", _half(run.clustering)), ("Learning", _half(run.learning))]
    abstract = "".join(f"<p>{escape(half.abstract)}</p>" for _, half in halves)
    body = "\n".join(
        f'<div class="half"><h2>{name}</h2><p class="note">{escape(half.title)}: {escape(half.facts)}</p>'
        f"{layout.body(half, 3)}</div>"
        for name, half in halves
    )
    repeat = layout.section(clustering.repeat(run.command, run.clustering.versions), 2)
    facts = f"{layout.data_line(run.clustering.data)}; all of it in {run.seconds:.1f}\u00a0s"
    return _page(run.title, abstract, facts, f"{body}\n{repeat}")


def _page(title: str, abstract: str, facts: str, body: str) -> str:
    """The whole page."""
    texts = {"title": escape(title), "facts": escape(facts)}
    return readable(_PAGE.format(style=_style(), abstract=abstract, body=body, **texts))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header><h1>{title}</h1><p class="note">{facts}</p>{abstract}</header>
{body}
</main>
</body>
</html>
"""


def _style() -> str:
    """The style sheet, kept in its own file."""
    return _STYLE.read_text(encoding="utf-8")
