"""The result in two sentences, to be quoted, and its numbers in words."""

from __future__ import annotations

from pipelines.results import ClusterRun


def abstract(run: ClusterRun) -> str:
    """What was found, how well it agrees with what is known, and what it rests on."""
    return f"{_found(run)}. {_made(run)}."


def _found(run: ClusterRun) -> str:
    """The clusters and their agreement with the classes."""
    sizes, scores = run.cluster_sizes, run.scores
    empty = int((sizes == 0).sum())
    text = counted(len(sizes), "cluster")
    if empty:
        text += f", {empty} of them empty,"
    text += f" of {counted(run.data.n_rows, 'row')}"
    if len(sizes) > 1:
        text += f" ({sizes.min():,} to {sizes.max():,} each)"
    if scores.nmi is not None and scores.ari is not None and run.data.classes:
        known = len(run.data.classes)
        classes = "the known class" if known == 1 else f"the {known} known classes"
        text += f"; NMI {scores.nmi:.3f} and adjusted Rand index {scores.ari:.3f} with {classes}"
    return text


def _made(run: ClusterRun) -> str:
    """The approximation, the silhouette and the time."""
    made, marks = run.spectrum.n_components, len(run.spectrum.eigenvalues)
    text = f"{counted(made, 'feature')} from {counted(marks, 'landmark')} {'loses' if made == 1 else 'lose'} "
    text += f"{share(run.scores.trace_error)} of the kernel matrix's trace"
    if run.silhouette is not None:
        text += f"; the mean silhouette is {run.silhouette:.3f}"
    return f"{text}; made in {run.seconds:.1f}\u00a0s"


def counted(count: int, noun: str) -> str:
    """1 column, 2 columns."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def share(value: float) -> str:
    """A share in per cent; a small one is not called zero."""
    if value == 0:
        return "0%"
    return "under 0.01%" if value < 1e-4 else f"{value:.2%}"
