"""Pictures of one series each: the spectrum and its cut, the clusters' sizes, the stages' seconds.

Each takes the record of a job and gives an inline SVG.
"""

from __future__ import annotations

import numpy as np

from pipelines.report import svg
from pipelines.results import ClusterRun

_NAMED_BARS = 40  # more bars than this get a plain axis
_TICKS = 20  # more numbers than this run together


def spectrum(run: ClusterRun) -> str:
    """Eigenvalues of W on a logarithmic axis, those kept apart from those cut."""
    values, rank = run.spectrum.eigenvalues, run.spectrum.rank
    index = np.arange(1, len(values) + 1)
    kept = (index <= rank) & (values > 0)
    cut = (index > rank) & (values > 0)
    figure = svg.figure(svg.HALF, 2.8)
    ax = svg.axes(figure)
    ax.set_yscale("log")
    ax.plot(index[kept], values[kept], "o", markersize=3, color=svg.ACCENT, label=f"kept: {rank}")
    if cut.any():
        ax.plot(
            index[cut], values[cut], "o", markersize=3, color=svg.MUTED, label=f"cut: {len(values) - rank}"
        )
        ax.axvline(rank + 0.5, color=svg.WARM, linewidth=1.2, linestyle="--")
    ax.set_xlabel("position")
    ax.set_ylabel("eigenvalue of W")
    ax.grid(axis="y", color=svg.LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, labelcolor=svg.INK, fontsize=8, loc="upper right")
    span = f"from {values[0]:.3g} down to {values[-1]:.3g}"
    alt = f"Eigenvalues of the kernel matrix of {len(values)} landmarks, {span}; the first {rank} are kept."
    return svg.inline(figure, "spectrum", alt)


def sizes(run: ClusterRun) -> str:
    """Rows in each cluster, with the even share as a line."""
    counts = run.cluster_sizes
    figure = svg.figure(svg.HALF, 2.8)
    ax = svg.axes(figure)
    ax.bar(np.arange(len(counts)), counts, color=svg.ACCENT, width=0.7)
    even = counts.sum() / len(counts)
    ax.axhline(even, color=svg.WARM, linewidth=1.2, linestyle="--", label=f"even share: {even:,.0f}")
    if len(counts) <= _NAMED_BARS:
        ax.set_xticks(np.arange(0, len(counts), -(-len(counts) // _TICKS)))
    ax.set_xlabel("cluster")
    ax.set_ylabel("rows")
    ax.set_ylim(0, counts.max() * 1.22)
    ax.legend(frameon=False, labelcolor=svg.INK, fontsize=8, loc="upper right")
    extremes = f"the smallest has {counts.min():,} rows, the largest {counts.max():,}"
    return svg.inline(figure, "sizes", f"Bar chart of the sizes of {len(counts)} clusters; {extremes}.")


def timings(run: ClusterRun) -> str:
    """Seconds of each stage, in the order they ran."""
    names = [name for name, _ in run.timings]
    seconds = np.array([value for _, value in run.timings])
    rows = np.arange(len(names))
    figure = svg.figure(svg.FULL, 0.6 + 0.27 * len(names))
    ax = svg.axes(figure)
    ax.barh(rows, seconds, color=svg.ACCENT, height=0.62)
    for row, value in zip(rows, seconds, strict=True):
        place = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(f"{value:.2f} s", (value, row), color=svg.INK, fontsize=8, **place)
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0, labelcolor=svg.INK)
    ax.invert_yaxis()
    ax.set_xlim(0, max(seconds.max(), 1e-3) * 1.15)
    ax.set_xlabel("seconds")
    longest = names[int(seconds.argmax())]
    most = f"the longest is {longest}, {seconds.max():.1f}"
    alt = f"Bar chart of seconds by stage, {run.seconds:.1f} in all; {most}."
    return svg.inline(figure, "timings", alt)
