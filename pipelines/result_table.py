"""The result on the terminal: one line a figure, and the seconds of the stages.

Goes to stdout, alone, so that it can be piped; everything else a job says goes to stderr.
"""

from __future__ import annotations

from datasets.text_table import aligned
from pipelines.learning.records import DemoRun
from pipelines.learning.tables import seconds_rows, train_rows
from pipelines.results import ClusterRun

_LISTED = 20  # more sizes than this are given as a range


def result_table(run: ClusterRun) -> str:
    """The figures of a job as text."""
    return aligned([*cluster_rows(run), *seconds_rows(run)])


def demo_table(run: DemoRun) -> str:
    """Both halves in one table."""
    halves = (
        ("clustering", run.clustering, cluster_rows(run.clustering)),
        ("learning", run.learning, train_rows(run.learning)),
    )
    rows = [row for name, _, figures in halves for row in ((name, ""), *_indented(figures))]
    rows += [("seconds", f"{run.seconds:.2f}"), *((f"  {name}", f"{took:.2f}") for name, took in run.timings)]
    for name, half, _ in halves:
        rows += [(f"  {name}", f"{half.seconds:.2f}"), *_indented(seconds_rows(half)[1:])]
    return aligned(rows)


def _indented(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The same rows under a heading."""
    return [(f"  {name}", value) for name, value in rows]


def cluster_rows(run: ClusterRun) -> list[tuple[str, str]]:
    """The figures of a clustering without the seconds."""
    scores, data = run.scores, run.data
    rows = [("data", f"{data.name}: {data.n_rows:,} x {data.n_features:,} {data.dtype}")]
    if scores.nmi is not None and scores.ari is not None:
        rows += [("NMI (geometric)", f"{scores.nmi:.4f}"), ("adjusted Rand", f"{scores.ari:.4f}")]
    kept = f"{run.spectrum.n_components} (of rank {run.spectrum.rank})"
    return [
        *rows,
        ("inertia", f"{scores.inertia:.6g}"),
        ("trace error", f"{scores.trace_error:.3%}"),
        ("features", kept),
        ("iterations", str(scores.n_iter)),
        ("cluster sizes", _sizes(run)),
    ]


def _sizes(run: ClusterRun) -> str:
    """All sizes where there are few, else the range."""
    sizes = [int(size) for size in run.cluster_sizes]
    return " ".join(map(str, sizes)) if len(sizes) <= _LISTED else f"{min(sizes):,} to {max(sizes):,}"
