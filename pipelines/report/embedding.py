"""Pictures: a sample of rows in the first two features, coloured by cluster, and by class where known.

Points are an image inside the SVG, so that thousands of them stay small.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from pipelines.report import svg
from pipelines.results import ClusterRun

_LABELLED = 20  # the boxes of more names than this lie on top of each other


def by_cluster(run: ClusterRun) -> str:
    """The sample, coloured by cluster."""
    names = tuple(str(i) for i in range(len(run.cluster_sizes)))
    return _picture(run, "cluster", run.sample.clusters, names)


def by_class(run: ClusterRun) -> str | None:
    """The sample, coloured by known class; None where none are known."""
    if run.sample.classes is None or run.data.classes is None:
        return None
    return _picture(run, "class", run.sample.classes, run.data.classes)


def _picture(run: ClusterRun, kind: str, codes: np.ndarray, names: tuple[str, ...]) -> str:
    """One scatter plot."""
    points = run.sample.points
    figure = svg.figure(svg.HALF, 4.1)
    ax = svg.axes(figure)
    ax.set_title(f"by {kind}")
    ax.set_xlabel("feature 1")
    ax.set_ylabel("feature 2")
    colours = svg.category_colours(len(names))
    dots = {"s": 6, "alpha": 0.75, "linewidths": 0, "rasterized": True}
    ax.scatter(points[:, 0], points[:, 1], c=[colours[code] for code in codes], **dots)
    if len(names) <= _LABELLED:
        _name_groups(ax, points, codes, names, colours)
    alt = f"Scatter plot of {len(points):,} rows in the first two features, coloured by {kind}."
    return svg.inline(figure, f"by-{kind}", alt)


def _name_groups(
    ax: Axes, points: np.ndarray, codes: np.ndarray, names: tuple[str, ...], colours: list[svg.Colour]
) -> None:
    """Each group's name at its median."""
    for code in np.unique(codes):
        x, y = np.median(points[codes == code], axis=0)
        box = {"boxstyle": "round,pad=0.25", "facecolor": svg.PAPER, "edgecolor": colours[code], "alpha": 0.9}
        ax.text(x, y, names[code], color=svg.INK, fontsize=8, ha="center", va="center", bbox=box)
