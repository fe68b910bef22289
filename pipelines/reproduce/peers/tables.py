"""What was measured beside each other, as Markdown tables of medians."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

UNITS = {"cluster": "NMI", "learn": "test error in %"}


def side_by_side(rows: pd.DataFrame) -> str:
    """For each task a table of methods by data sets: quality, processor seconds (and of tuning), peak."""
    return "\n\n".join(_of_task(rows[rows["task"] == task], task) for task in rows["task"].unique())


def _of_task(rows: pd.DataFrame, task: str) -> str:
    sizes = rows.groupby("data", sort=False)["rows"].max()
    what = f"{UNITS[task]}; processor seconds of the fit (elapsed seconds); peak MiB"
    lines = [
        _line([what, *(f"{data}, {size:.0f} rows" for data, size in sizes.items())]),
        _line(["---"] * (1 + len(sizes))),
    ]
    for method, part in rows.groupby("method", sort=False):
        lines.append(_line([method, *(_cell(part[part["data"] == data], task) for data in sizes.index)]))
    return "\n".join(lines)


def _cell(rows: pd.DataFrame, task: str) -> str:
    """Medians of the seeds that were measured, or the word why there are none."""
    done = rows[rows["quality"].notna()]
    if done.empty:
        return str(rows["word"].iloc[0]) if len(rows) else ""
    found = done[["quality", "cpu_seconds", "seconds", "peak_mib"]].median()
    quality = f"{found['quality']:.3f}" if task == "cluster" else f"{found['quality']:.2f}"
    times = f"{_short(found['cpu_seconds'])} s ({_short(found['seconds'])})"
    return f"{quality}; {times}; {found['peak_mib']:.0f}"


def by_size(rows: pd.DataFrame) -> str:
    """A line for each method: the most rows, what they took, and why no more."""
    lines = [
        _line(["task", "method", "rows", "processor seconds (elapsed)", "peak MiB", "then"]),
        _line(["---"] * 6),
    ]
    for _, row in rows.iterrows():
        reason = row["word"] if isinstance(row["word"], str) else "the last size"
        times = f"{_short(row['cpu_seconds'])} ({_short(row['seconds'])})"
        figures = [times, f"{row['peak_mib']:.0f}"] if row["finished"] > 0 else ["", ""]
        lines.append(_line([row["task"], row["method"], f"{row['finished']:.0f}", *figures, reason]))
    return "\n".join(lines)


def _short(seconds: float) -> str:
    """Two digits that count."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _line(cells: list[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"
