"""Ours: bytes read and scheduler tasks of an epoch by round size M, with rows streamed from the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from unittest import mock

import psutil
from distributed.diagnostics.plugin import SchedulerPlugin

import daskkernels as dk
from daskkernels.estimators import training
from pipelines.bench.setup import chunk_files
from pipelines.connection import quiet_client
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS, QUICK_ROWS = 100_000, 8192
SIZES = (1024, 2048, 4096, 8192)
SIGMA = 5.0
EPOCHS = (1, 3)  # what the longer fit has more is of its epochs


def cells(quick: bool) -> list[Cell]:
    """Round sizes in powers of two."""
    rows = QUICK_ROWS if quick else ROWS
    return [{"rows": rows, "M": size, "seed": 0} for size in SIZES]


class Counter(SchedulerPlugin):
    """Counts the tasks that the scheduler is given."""

    name = "counted-tasks"

    def __init__(self) -> None:
        self.tasks = 0

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """A task is new where it was released before."""
        self.tasks += start == "released" and finish in ("waiting", "queued", "no-worker", "processing")


def _counted(dask_scheduler: Any = None) -> int:
    """Runs on the scheduler."""
    return int(dask_scheduler.plugins[Counter.name].tasks)


def _read() -> int:
    """Bytes that this process has read from files."""
    return int(psutil.Process().io_counters().read_chars)


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Bytes, tasks and seconds of an epoch of threads that are told to hold no rows in memory."""
    data = sources.made("mnist8m", cell["rows"])
    found = []
    with quiet_client("threads") as client, mock.patch.object(training, "X_SHARE", 0.0):
        client.register_plugin(Counter())
        for epochs in EPOCHS:
            before = client.run_on_scheduler(_counted), _read()
            model = dk.EigenProClassifier(
                dk.Gaussian(SIGMA),
                round_size=cell["M"],
                max_epochs=epochs,
                patience=None,
                keep_kernel=False,
                random_state=cell["seed"],
            ).fit(data.X, data.y)
            after = client.run_on_scheduler(_counted), _read()
            found.append((after[0] - before[0], after[1] - before[1]))
    extra = EPOCHS[1] - EPOCHS[0]
    tasks, read = ((late - early) / extra for early, late in zip(*found, strict=True))
    return {
        "tasks": round(tasks, 1),
        "read_mb": round(read / 1e6, 2),
        "planned_mb": round(model.history_[-1]["bytes_read"] / 1e6, 2),
        "stored_mb": round(sum(file.stat().st_size for file in chunk_files(data)) / 1e6, 2),
        "rounds": -(-cell["rows"] // model.plan_.round_size),
        "seconds": round(model.history_[-1]["seconds"], 2),
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Both fall like 1 / M."""
    by = rows.set_index("M").sort_index()
    first, last = by.iloc[0], by.iloc[-1]
    ideal = first["rounds"] / last["rounds"]
    passes = by["read_mb"] / by["stored_mb"]
    shown = {
        what: ", ".join(f"M={m} {value:,.0f}{unit}" for m, value in by[what].items())
        for what, unit in (("read_mb", " MB"), ("tasks", ""), ("seconds", " s"))
    }
    return [
        Claim(
            "The bytes read in an epoch fall like 1 / M: a pass over the store for each round",
            bool(((passes / by["rounds"]) < 1.25).all() and first["read_mb"] > 0.6 * ideal * last["read_mb"]),
            f"{shown['read_mb']}; passes a round: "
            + ", ".join(f"{value:.2f}" for value in passes / by["rounds"]),
        ),
        Claim(
            "So do the tasks of the scheduler",
            bool(first["tasks"] > 0.4 * ideal * last["tasks"]),
            shown["tasks"],
        ),
        Claim(
            "The longer rounds are the faster ones",
            bool(last["seconds"] < first["seconds"]),
            shown["seconds"],
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Bytes and tasks against M."""
    figure.set_size_inches(9, 4)
    by = rows.set_index("M").sort_index()
    left, right = figure.subplots(1, 2)
    left.plot(by.index, by["read_mb"], "o-", label="read from the store")
    left.plot(by.index, by["stored_mb"] * by["rounds"], "k:", label="a pass for each round")
    left.set(xlabel="rows of a round, M", ylabel="MB read in an epoch")
    right.plot(by.index, by["tasks"], "o-", label="tasks of the scheduler")
    right.set(xlabel="rows of a round, M", ylabel="tasks of an epoch")
    for axes in (left, right):
        logarithmic(axes, x=by.index, y=True)
        axes.legend(fontsize="small")


EXPERIMENT = Experiment(
    name="round-size",
    title="Bytes read and tasks of an epoch by round size",
    key=("rows", "M", "seed"),
    values=("tasks", "read_mb", "planned_mb", "stored_mb", "rounds", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Megabytes read and scheduler tasks of an epoch against the rows of a round, both falling like 1 / M",
)
