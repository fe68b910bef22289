"""Picture: how well each row of the sample lies in its cluster, sorted within the clusters."""

from __future__ import annotations

import numpy as np

from pipelines.report import svg
from pipelines.results import ClusterRun, RowSample

_GAP, _GAPS = 0.01, 0.25  # between two clusters and in all, at most, as shares of the rows
_APART = 0.045  # between two numbers that can be read, as a share of the height


def picture(run: ClusterRun, sample: RowSample) -> str:
    """Bars of all rows, one cluster below the other, and the mean as a line."""
    values, clusters = sample.silhouettes, sample.clusters
    colours = svg.category_colours(len(run.cluster_sizes))
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = svg.axes(figure)
    present, at = np.unique(clusters), 0.0
    gap = len(values) * min(_GAP, _GAPS / len(present))
    apart = _APART * (len(values) + gap * len(present))
    ticks: list[tuple[float, str]] = []
    for cluster in present:
        bars = np.sort(values[clusters == cluster])[::-1]
        rows = at + np.arange(len(bars) + 1)
        ax.fill_betweenx(
            rows, np.append(bars, bars[-1]), step="post", color=colours[cluster], linewidth=0, rasterized=True
        )
        middle = at + len(bars) / 2
        if not ticks or middle - ticks[-1][0] >= apart:
            ticks.append((middle, str(cluster)))
        at += len(bars) + gap
    mean = values.mean()
    ax.axvline(mean, color=svg.WARM, linewidth=1.2, linestyle="--", label=f"mean: {mean:.3f}")
    ax.axvline(0, color=svg.LINE, linewidth=0.8)
    ax.set_ylim(at, 0)
    ax.set_yticks([place for place, _ in ticks], [name for _, name in ticks])
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("silhouette")
    ax.set_ylabel("cluster")
    svg.legend(ax)
    return svg.inline(figure, "silhouettes", _alt(sample, present))


def _alt(sample: RowSample, present: np.ndarray) -> str:
    """The picture in words."""
    values, clusters = sample.silhouettes, sample.clusters
    means = np.array([values[clusters == cluster].mean() for cluster in present])
    best, worst = int(means.argmax()), int(means.argmin())
    extremes = (
        f"best cluster {present[best]} with {means[best]:.2f}, worst {present[worst]} with {means[worst]:.2f}"
    )
    below = f"{(values < 0).mean():.0%} of the rows are below zero"
    return f"Silhouettes of {len(values):,} rows, mean {values.mean():.3f}: {extremes}; {below}."
