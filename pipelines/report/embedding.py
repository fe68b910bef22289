"""Pictures: a sample of rows in the first two features, coloured by cluster, and by class where known.

Points are an image inside the SVG, so that thousands of them stay small.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from pipelines.report import svg
from pipelines.report.abstract import counted
from pipelines.results import ClusterRun, RowSample

NAMED = 20  # the boxes of more names than this lie on top of each other


def by_cluster(run: ClusterRun, sample: RowSample) -> str:
    """The sample, coloured by cluster."""
    names = tuple(str(i) for i in range(len(run.cluster_sizes)))
    return _picture(sample.points, "cluster", sample.clusters, names)


def by_class(run: ClusterRun, sample: RowSample) -> str | None:
    """The sample, coloured by known class; None where none are known."""
    if sample.classes is None or run.data.classes is None:
        return None
    return _picture(sample.points, "class", sample.classes, run.data.classes)


def _picture(points: np.ndarray, kind: str, codes: np.ndarray, names: tuple[str, ...]) -> str:
    """One scatter plot; of a single feature, a line of points for each group."""
    flat = points.shape[1] == 1
    across, up = points[:, 0], codes.astype(float) if flat else points[:, 1]
    figure = svg.figure(svg.HALF, 4.1)
    ax = svg.axes(figure)
    ax.set_title(f"by {kind}")
    ax.set_xlabel("feature 1")
    ax.set_ylabel(kind if flat else "feature 2")
    colours = svg.category_colours(len(names))
    dots = {"s": 7, "alpha": 0.8, "linewidths": 0, "rasterized": True}
    ax.scatter(across, up, c=[colours[code] for code in codes], **dots)
    if len(names) <= NAMED:
        _name_groups(ax, np.column_stack([across, up]), codes, names, colours)
    axes = "the only feature" if flat else "the first two features"
    counts = np.bincount(codes, minlength=len(names))
    largest = f"most, {counts.max():,}, are in {kind} {names[int(counts.argmax())]} of {len(names)}"
    alt = f"Scatter plot of {counted(len(points), 'row')} in {axes}, coloured by {kind}: {largest}."
    return svg.inline(figure, f"by-{kind}", alt, few_colours=True)


def _name_groups(
    ax: Axes, points: np.ndarray, codes: np.ndarray, names: tuple[str, ...], colours: list[svg.Colour]
) -> None:
    """Each group's name at its row nearest to its median."""
    for code in np.unique(codes):
        group = points[codes == code]
        x, y = group[((group - np.median(group, axis=0)) ** 2).sum(axis=1).argmin()]
        box = {"boxstyle": "round,pad=0.25", "facecolor": svg.PAPER, "edgecolor": colours[code], "alpha": 0.9}
        name = svg.label(names[code], 16)
        ax.text(x, y, name, color=svg.INK, fontsize=8, ha="center", va="center", bbox=box)
