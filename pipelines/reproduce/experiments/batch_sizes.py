"""Figure 2 of EigenPro 2.0: batches until the residual is small, by batch size, with and without damping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import daskkernels as dk
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS, QUICK_ROWS = 10_000, 2000
SIGMA = 5.0
GOAL = 0.005  # mean squared residual of one-hot targets
MOST_EPOCHS = 40
METHODS = {"SGD": 1, "EigenPro 2": "auto"}  # and their q
COLOURS = {"SGD": "C1", "EigenPro 2": "C0"}


def cells(quick: bool) -> list[Cell]:
    """Batch sizes in powers of four, a seed each."""
    n = QUICK_ROWS if quick else ROWS
    sizes = [m for m in (2, 8, 32, 128, 512, 2048) if m <= n // 2]
    return [
        {"data": "mnist", "rows": n, "method": method, "m": m, "seed": seed}
        for seed in range(1 if quick else 5)
        for method in METHODS
        for m in sizes
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Epochs and batches until the residual, as its rows are met, is below the goal; NaN where it was not."""
    X, y = sources.scaled(cell["data"])
    model = dk.EigenProClassifier(
        dk.Gaussian(SIGMA),
        n_directions=METHODS[cell["method"]],
        batch_size=cell["m"],
        max_epochs=MOST_EPOCHS,
        patience=None,
        random_state=cell["seed"],
    ).fit(X[: cell["rows"]], y[: cell["rows"]])
    epochs = reached([entry["train_mse"] for entry in model.history_])
    return {
        "epochs": round(epochs, 3),
        "batches": round(epochs * cell["rows"] / cell["m"], 1),
        "critical": round(model.plan_.critical_batch, 1),
        "seconds": round(sum(entry["seconds"] for entry in model.history_[: int(np.ceil(epochs))]), 3)
        if np.isfinite(epochs)
        else np.nan,
    }


def reached(residuals: Sequence[float]) -> float:
    """Epochs until the goal, between two by the logarithm; an epoch's residual counts at its middle."""
    places = np.arange(len(residuals)) + 0.5
    below = np.flatnonzero(np.asarray(residuals) <= GOAL)
    if len(below) == 0:
        return float("nan")
    if below[0] == 0:
        return float(places[0])
    i = below[0]
    logs = np.log(residuals)
    share = (logs[i - 1] - np.log(GOAL)) / (logs[i - 1] - logs[i])
    return float(places[i - 1] + share)


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Larger batches pay up to the critical one, which damping moves."""
    found = rows.groupby(["method", "m"])[["epochs", "critical"]].median()
    sgd, ours = found.loc["SGD"], found.loc["EigenPro 2"]
    critical = {"SGD": sgd["critical"].median(), "EigenPro 2": ours["critical"].median()}
    beyond = sgd[sgd.index > 16 * critical["SGD"]]["epochs"]
    within = sgd[sgd.index <= 4 * critical["SGD"]]["epochs"]
    paid = ours[ours.index <= critical["EigenPro 2"]]["epochs"]
    shown = {
        name: ", ".join(f"m={m} {'never' if np.isnan(e) else f'{e:.1f}'}" for m, e in part["epochs"].items())
        for name, part in (("SGD", sgd), ("EigenPro 2", ours))
    }
    slower = beyond.fillna(MOST_EPOCHS).min() > 2 * within.max() if len(beyond) and len(within) else None
    return [
        Claim(
            "Larger batches of plain SGD pay only up to its critical batch size",
            None if slower is None else bool(slower),
            f"m* = {critical['SGD']:.0f}; epochs until the residual is {GOAL}: {shown['SGD']}",
        ),
        Claim(
            "Damping moves the critical batch size to where a machine is full, and batches pay up to there",
            bool(critical["EigenPro 2"] > 20 * critical["SGD"] and paid.max() < 1.5 * paid.min()),
            f"m* = {critical['EigenPro 2']:.0f}; epochs: {shown['EigenPro 2']}",
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Batches against batch size, the critical sizes as vertical lines."""
    axes = figure.subplots()
    for method, part in rows.groupby("method"):
        by = part.groupby("m")["batches"].median()
        axes.plot(by.index, by, "o-", color=COLOURS[method], label=method)
        axes.axvline(part["critical"].median(), color=COLOURS[method], ls=":", label=f"m* of {method}")
    axes.set(xlabel="batch size m", ylabel=f"batches until the residual is {GOAL}")
    logarithmic(axes, x=rows["m"], y=True)
    axes.legend()


EXPERIMENT = Experiment(
    name="eigenpro-figure2",
    title="Batches until the residual is small, by batch size",
    key=("data", "rows", "method", "m", "seed"),
    values=("epochs", "batches", "critical", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Batches against batch size for plain SGD and EigenPro 2, with the critical batch sizes",
)
