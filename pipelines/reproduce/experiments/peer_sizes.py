"""How many rows each method of ours and of other packages finishes under 2 GiB and 120 s."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.reproduce.experiments.peers import METHODS
from pipelines.reproduce.peers import tables
from pipelines.reproduce.peers.method import mean_distance
from pipelines.reproduce.peers.process import NOTHING, Limits, run
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FEWEST, QUICK_MOST, MOST = 4000, 64_000, 1_024_000  # rows of mnist8m; doubled from one to the other
LIMITS = Limits(seconds=120, memory=2 * 2**30)
SETTINGS = {"SVC": (0.3, 10.0)}  # the factor of the bandwidth; C, or of the others
SETTING = (0.3, 1e-6)


def cells(quick: bool) -> list[Cell]:
    """Every method once, and how far it may go."""
    most = QUICK_MOST if quick else MOST
    return [
        {"task": task, "method": method, "most": most}
        for task, methods in METHODS.items()
        for method in methods
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Twice as many rows until it fails; the last that were finished, and in `word` what ended it."""
    rows, found, word = FEWEST, {"finished": 0} | NOTHING, ""
    while rows <= cell["most"] and not word:
        data = sources.made("mnist8m", rows)
        job = {
            "task": cell["task"],
            "method": cell["method"],
            "seed": 0,
            "rows": str(Path(data.path).resolve()),
            "sigma": mean_distance(data.X),
            "settings": [SETTINGS.get(cell["method"].split()[-1], SETTING)],
            "test": None,
            "limited": True,
        }
        values = run(job, rows, LIMITS)
        word = f"{rows} rows: {values['word']}" if values["word"] else ""
        if not word:
            found = values | {"finished": rows}
        rows *= 2
    return {name: found[name] for name in EXPERIMENT.values if name != "word"} | {"word": word}


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Who goes furthest, task by task."""
    return [_furthest(rows[rows["task"] == task], task) for task in METHODS]


def _furthest(rows: pd.DataFrame, task: str) -> Claim:
    ours = rows["method"].str.startswith("daskkernels")
    shown = "; ".join(
        f"{row['method']} {row['finished']:.0f} in {row['seconds']:.1f} s and {row['peak_mib']:.0f} MiB"
        for _, row in rows[rows["finished"] > 0].iterrows()
    )
    further = rows["finished"][ours].max() - rows["finished"][~ours].max()
    what = {"cluster": "clustering", "learn": "classifier"}[task]
    return Claim(
        f"The {what} that finishes the most rows under 2 GiB and 120 s is ours alone",
        None if further == 0 else bool(further > 0),
        shown or "nothing finished",
    )


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Bars of rows, by task."""
    figure.set_size_inches(9, 5)
    for axes, task in zip(figure.subplots(2, 1), METHODS, strict=True):
        part = rows[rows["task"] == task]
        places = np.arange(len(part))
        colours = ["C0" if name.startswith("daskkernels") else "C7" for name in part["method"]]
        axes.barh(places, part["finished"].clip(lower=0), color=colours)
        axes.set_yticks(places, part["method"], fontsize="small")
        axes.invert_yaxis()
        axes.set(xscale="log", xlabel="rows finished under 2 GiB and 120 s", title=task)


EXPERIMENT = Experiment(
    name="peer-sizes",
    title="The most rows that finish under 2 GiB",
    key=("task", "method", "most"),
    values=("finished", "seconds", "cpu_seconds", "peak_mib", "word"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="The most rows that each method finishes under 2 GiB and 120 s, ours in another colour",
    table=tables.by_size,
)
