"""Bench: a run as a picture. On top how much faster than each peer, below how near to each limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipelines.bench.records import Limit, Row
from pipelines.bench.result_file import Run

INK, MUTED, LINE, ACCENT, WARM = "#1d2733", "#667080", "#c9d0d8", "#3486cf", "#d9641e"
LIMITS = {
    "sgemm": ACCENT,
    "memory": "#3da463",
    "zstd": "#9872cd",
    "disk read": "#a56f5d",
    "allowed": "#8a929b",
}
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the lines behind it
BAR, AROUND = 0.3, 1.1  # inches: of one bar, and of what is around the bars of a panel
Panel = Callable[[Axes], None]


def draw(run: Run, path: Path) -> None:
    """Write the picture; the ending of the path says which kind."""
    raced = [row for row in run.rows if row.samples.peer and row.samples.unit == "s" and row.unit != "%"]
    shares = [(row, limit) for row in run.rows for limit in row.limits]
    panels: list[tuple[int, Panel]] = []
    if raced:
        panels.append((len(raced), lambda ax: draw_races(ax, raced)))
    if shares:
        panels.append((len(shares), lambda ax: draw_shares(ax, shares)))
    heights = [AROUND + BAR * bars for bars, _ in panels] or [AROUND]
    figure = Figure(figsize=(9.5, sum(heights) + 0.5), layout="constrained")
    figure.suptitle(title(run), fontsize=9, color=MUTED, x=0.01, ha="left", parse_math=False)
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    for ax, (_, panel) in zip(axes, panels, strict=False):
        panel(ax)
    unfinished = path.with_name(f".{path.stem}.unfinished{path.suffix}")
    with mpl.rc_context({"svg.hashsalt": "daskkernels", "svg.fonttype": "none"}):
        figure.savefig(unfinished, dpi=150, facecolor="white")
    unfinished.replace(path)


def title(run: Run) -> str:
    """What ran where."""
    machine = run.machine
    quick = "  ·  --quick: nothing here means anything" if run.quick else ""
    return f"{run.date[:10]}  ·  {machine['cpu']}, {machine['threads']} threads  ·  {run.data}{quick}"


def draw_races(ax: Axes, rows: Sequence[Row]) -> None:
    """Peer's seconds / ours, from 1 outwards, with what was asked for."""
    times = [row.samples.times for row in rows]
    asked = [wanted(row) for row in rows]
    ax.barh(range(len(rows)), [t - 1 for t in times], left=1, height=0.6,
            color=[ACCENT if t >= 1 else WARM for t in times])  # fmt: skip
    for y, (row, t) in enumerate(zip(rows, times, strict=True)):
        text = f"{t:.2f}  ({row.samples.median:.3g} s, peer {row.samples.peer_median:.3g} s)"
        note(ax, max(t, 1, asked[y] or 0), y, text)
    marks = [(a, y) for y, a in enumerate(asked) if a]
    if marks:
        ax.plot(
            *zip(*marks, strict=True), "|", color=INK, markersize=13, markeredgewidth=2, label="asked for"
        )
        ax.legend(frameon=False, fontsize=8, loc="lower right")
    ax.axvline(1, color=MUTED, linewidth=1)
    ax.set_xlim(min(0.5, *times), max(2, *times, *(a for a in asked if a)) * 1.45)
    finish(ax, [name(row) for row in rows], "times as fast as the peer")


def wanted(row: Row) -> float | None:
    """What was asked for, on the same scale."""
    if row.asked is None or row.unit != "times":
        return None
    return 1 / row.asked if row.less_is_better else row.asked


def draw_shares(ax: Axes, shares: Sequence[tuple[Row, Limit]]) -> None:
    """What was reached of each limit, and the limit itself at 100 %."""
    values = [100 * limit.share for _, limit in shares]
    ax.barh(
        range(len(shares)), values, height=0.6, color=[LIMITS.get(limit.name, MUTED) for _, limit in shares]
    )
    for y, (value, (_, limit)) in enumerate(zip(values, shares, strict=True)):
        note(ax, value, y, f"{value:.0f} %  ({limit.reached:.3g} of {limit.rate:.3g} {limit.unit})")
    ax.axvline(100, color=MUTED, linewidth=1)
    ax.set_xlim(0, max(105, *values) * 1.3)
    finish(ax, [f"{name(row)}: {limit.name}" for row, limit in shares], "% of the limit")


def name(row: Row) -> str:
    """With a word for what was not judged."""
    return row.name if row.judged else f"{row.name} (not judged)"


def note(ax: Axes, x: float, y: int, text: str) -> None:
    """Figures at the end of a bar."""
    ax.annotate(
        text,
        (x, y),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK,
        bbox=PAPER,
    )


def finish(ax: Axes, labels: Sequence[str], what: str) -> None:
    """Names on the left, the first on top, quiet spines."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlabel(what, color=MUTED, fontsize=8.5)
    ax.tick_params(axis="y", length=0, labelcolor=INK, labelsize=8.5)
    ax.tick_params(axis="x", colors=MUTED, labelsize=8)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.spines["bottom"].set_color(LINE)
    ax.set_axisbelow(True)
    ax.grid(axis="x", color=LINE, linewidth=0.5)
