"""The sections about a clustering."""

from __future__ import annotations

from html import escape

from pipelines.provenance import repeatable
from pipelines.report import sections, tables
from pipelines.report.abstract import abstract
from pipelines.report.layout import Half, Part, beside, data_facts, data_line
from pipelines.results import ClusterRun


def half(run: ClusterRun) -> Half:
    """A clustering as parts of a page."""
    approximation = beside(sections.spectrum(run), sections.errors(run))
    parts = [
        Part("Result", tables.tiles(run)),
        Part("Embedding", beside(*sections.embeddings(run))),
        Part("Clusters", beside(sections.sizes(run), sections.silhouettes(run))),
        Part("Cluster means", sections.cluster_means(run)),
        Part("Clusters against classes", tables.cross(run)),
        Part("Approximation", approximation),
        Part("Time and memory" if run.plan else "Time", beside(sections.stages(run), sections.plan(run))),
        (Part("Data", tables.pairs(data_facts(run.data))), Part("Settings", tables.pairs(run.settings))),
    ]
    return Half(run.title, data_line(run.data), abstract(run), parts, repeat(run.command, run.versions))


def repeat(command: str, versions: tuple[tuple[str, str], ...]) -> Part:
    """What is needed to do it again."""
    return Part("Repeat it", f"<pre>{escape(repeatable(command))}</pre>{tables.pairs(versions)}")
