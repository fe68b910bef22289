"""Pictures of one series each: the clusters' sizes and the stages' seconds.

Each takes the record of a job and gives an inline SVG.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipelines.report import svg
from pipelines.report.abstract import counted
from pipelines.results import ClusterRun

_NAMED_BARS = 40  # more bars than this have no numbers and are sorted
_TICKS = 20  # more numbers than this run together


def sizes(run: ClusterRun) -> str:
    """Rows in each cluster, with the even share as a line; sorted where numbers would not be readable."""
    counts, named = run.cluster_sizes, len(run.cluster_sizes) <= _NAMED_BARS
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = svg.axes(figure)
    if named:
        ax.bar(np.arange(len(counts)), counts, color=svg.category_colours(len(counts)), width=0.7)
        ax.set_xticks(np.arange(0, len(counts), -(-len(counts) // _TICKS)))
        ax.set_xlabel("cluster")
    else:
        ax.stairs(np.sort(counts)[::-1], fill=True, color=svg.ACCENT)
        ax.set_xlabel("clusters, the largest first")
    even = counts.sum() / len(counts)
    ax.axhline(even, color=svg.WARM, linewidth=1.2, linestyle="--", label=f"even share: {even:,.0f}")
    ax.yaxis.set_major_formatter(svg.THOUSANDS)
    ax.set_ylabel("rows")
    ax.set_ylim(0, counts.max() * 1.05)
    ax.margins(x=max(0.02, 0.4 / len(counts)))  # a single bar does not fill the picture
    svg.legend(ax)
    largest, smallest = int(counts.argmax()), int(counts.argmin())
    extremes = (
        f"cluster {largest} is the largest with {counts[largest]:,} rows, "
        f"cluster {smallest} the smallest with {counts[smallest]:,}"
    )
    alt = f"Bar chart of the sizes of {counted(len(counts), 'cluster')}: {extremes}."
    return svg.inline(figure, "sizes", alt)


def timings(stages: Sequence[tuple[str, float]], name: str = "timings") -> str:
    """Seconds of each stage, in the order they ran; `name` keeps the ids of two such pictures apart."""
    names = [stage for stage, _ in stages]
    seconds = np.array([value for _, value in stages])
    rows = np.arange(len(names))
    figure = svg.figure(svg.HALF, 0.6 + 0.24 * len(names))
    ax = svg.axes(figure)
    ax.barh(rows, seconds, color=svg.ACCENT, height=0.62)
    for row, value in zip(rows, seconds, strict=True):
        place = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(f"{value:.2f}", (value, row), color=svg.INK, fontsize=8, **place)
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0, labelcolor=svg.INK)
    ax.invert_yaxis()
    ax.set_xlim(0, max(seconds.max(), 1e-3) * 1.15)
    ax.set_xlabel("seconds")
    longest = int(seconds.argmax())
    most = f"{names[longest]} takes longest, {seconds[longest]:.1f} s"
    alt = f"Bar chart of the seconds of {counted(len(names), 'stage')}, {seconds.sum():.1f} in all: {most}."
    return svg.inline(figure, name, alt)
