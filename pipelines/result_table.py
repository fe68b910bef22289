"""The result on the terminal: one line a figure, and the seconds of the stages.

Goes to stdout, alone, so that it can be piped; everything else a job says goes to stderr.
"""

from __future__ import annotations

from datasets.text_table import aligned
from pipelines.results import ClusterRun

_LISTED = 20  # more sizes than this are given as a range


def result_table(run: ClusterRun, *, stages: bool = True) -> str:
    """The figures of a job as text."""
    scores, data = run.scores, run.data
    rows = [("data", f"{data.name}: {data.n_rows:,} x {data.n_features:,} {data.dtype}")]
    if scores.nmi is not None and scores.ari is not None:
        rows += [("NMI (geometric)", f"{scores.nmi:.4f}"), ("adjusted Rand", f"{scores.ari:.4f}")]
    kept = f"{run.spectrum.n_components} (of rank {run.spectrum.rank})"
    rows += [
        ("inertia", f"{scores.inertia:.6g}"),
        ("trace error", f"{scores.trace_error:.3%}"),
        ("features", kept),
        ("iterations", str(scores.n_iter)),
        ("cluster sizes", _sizes(run)),
        ("seconds", f"{run.seconds:.2f}"),
    ]
    if stages:
        rows += [(f"  {name}", f"{seconds:.2f}") for name, seconds in run.timings]
    return aligned(rows)


def _sizes(run: ClusterRun) -> str:
    """All sizes where there are few, else the range."""
    sizes = [int(size) for size in run.cluster_sizes]
    return " ".join(map(str, sizes)) if len(sizes) <= _LISTED else f"{min(sizes):,} to {max(sizes):,}"
