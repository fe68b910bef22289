"""The page: sections in order, style sheet inside, no script and nothing fetched.

`render` is pure text from a record; `write_report` puts it on disk whole or not at all.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from pipelines.provenance import repeatable
from pipelines.report import charts, embedding, tables
from pipelines.results import ClusterRun

_STYLE = Path(__file__).with_name("style.css")


def write_report(run: ClusterRun, path: str | Path) -> Path:
    """Write the page of one job; an interrupted write leaves what was there before."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(render(run), encoding="utf-8")
        return partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def render(run: ClusterRun) -> str:
    """The page of one job as text."""
    sections = [
        _section("Result", tables.tiles(run)),
        _section("Embedding", _embedding(run)),
        _section("Clusters and spectrum", _two(_sizes(run), _spectrum(run))),
        _section("Clusters against classes", tables.cross(run)) if run.contingency is not None else "",
        _section("Time", _figure(charts.timings(run), "Seconds by stage, in the order they ran.")),
        _section("Data", tables.pairs(_data(run))),
        _section("Settings", tables.pairs(run.settings)),
        _section("Repeat it", f"<pre>{escape(repeatable(run.command))}</pre>" + tables.pairs(run.versions)),
    ]
    body = "\n".join(section for section in sections if section)
    return _PAGE.format(title=escape(run.title), facts=escape(_facts(run)), style=_style(), body=body)


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
<header><h1>{title}</h1><p>{facts}</p></header>
{body}
</main>
</body>
</html>
"""


def _style() -> str:
    """The style sheet, kept in its own file."""
    return _STYLE.read_text(encoding="utf-8")


def _section(title: str, content: str) -> str:
    """A heading and what stands under it."""
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _figure(picture: str, caption: str) -> str:
    """A picture with its caption."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def _two(left: str, right: str) -> str:
    """Side by side where there is room."""
    return f'<div class="two">{left}{right}</div>'


def _facts(run: ClusterRun) -> str:
    """The data in one line."""
    data = run.data
    known = f", {len(data.classes)} known classes" if data.classes else ""
    size = f"{data.n_rows:,} rows, {data.n_features:,} columns of {data.dtype}"
    return f"{size}{known}; {len(run.cluster_sizes)} clusters"


def _embedding(run: ClusterRun) -> str:
    """One or two pictures of the sample, and how it was drawn."""
    shown, total = len(run.sample.points), run.data.n_rows
    rows = "All rows" if shown == total else f"{shown:,} of {total:,} rows (seed {run.sample.seed})"
    left = _figure(
        embedding.by_cluster(run), f"{rows} in the first two of {run.spectrum.n_components} features."
    )
    classes = embedding.by_class(run)
    return _two(left, _figure(classes, "The same rows, by their known classes.") if classes else "")


def _sizes(run: ClusterRun) -> str:
    """The sizes of the clusters."""
    return _figure(charts.sizes(run), "Rows in each cluster.")


def _spectrum(run: ClusterRun) -> str:
    """The spectrum and what became of it."""
    kept, made = run.spectrum.rank, run.spectrum.n_components
    became = f"{kept} were kept and made into {made} features."
    return _figure(charts.spectrum(run), f"Eigenvalues of W, the kernel matrix of the landmarks: {became}")


def _data(run: ClusterRun) -> list[tuple[str, str]]:
    """Where the data is and where it came from."""
    data = run.data
    facts = [("name", data.name), ("path", data.path), ("rows", f"{data.n_rows:,}")]
    facts += [("columns", f"{data.n_features:,}"), ("type", data.dtype)]
    optional = (("classes", ", ".join(data.classes or ())), ("source", data.source), ("digest", data.digest))
    return facts + [(label, value) for label, value in optional if value]
