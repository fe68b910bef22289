"""The run of EigenPro's reference code: test error after each epoch, MNIST, Gaussian 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daskkernels as dk
from pipelines.reproduce.published import EIGENPRO_README
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

EPOCHS = len(EIGENPRO_README)
SIGMA = 5.0
ERRORS = tuple(f"error{epoch}" for epoch in range(1, EPOCHS + 1))


def cells(quick: bool) -> list[Cell]:
    """A seed each."""
    return [{"data": "mnist", "seed": seed} for seed in range(1 if quick else 5)]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One fit, judged by the test rows after every epoch, which choose nothing."""
    X, y = sources.scaled(cell["data"])
    test = sources.scaled(cell["data"], "test")
    model = dk.EigenProClassifier(
        dk.Gaussian(SIGMA), max_epochs=EPOCHS, patience=None, random_state=cell["seed"]
    ).fit(X, y, validation=test)
    errors = [round(100 * entry["validation_error"], 3) for entry in model.history_]
    seconds = sum(entry["seconds"] for entry in model.history_)
    return {**dict(zip(ERRORS, errors, strict=True)), "seconds": round(seconds, 2)}


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Against the reference code, and what interpolation promises."""
    ours = rows[list(ERRORS)].mean()
    shown = ", ".join(f"{error:.2f}" for error in ours)
    theirs = ", ".join(f"{error:.2f}" for error in EIGENPRO_README)
    behind = max(mine - other for mine, other in zip(ours, EIGENPRO_README, strict=True))
    return [
        Claim(
            "The test error after each epoch is that of the reference code, or lower",
            bool(behind <= 0.05),
            f"ours {shown} % ({len(rows)} seeds, {rows['seconds'].median():.0f} s), published {theirs} %",
        ),
        Claim(
            "More epochs do not overfit",
            bool(ours.iloc[-1] <= ours.min() + 0.1),
            f"after {EPOCHS} epochs {ours.iloc[-1]:.2f} %, best {ours.min():.2f} %",
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Error against epochs."""
    axes = figure.subplots()
    epochs = np.arange(1, EPOCHS + 1)
    for _, row in rows.iterrows():
        axes.plot(epochs, row[list(ERRORS)].astype(float), color="C0", alpha=0.3)
    axes.plot(epochs, rows[list(ERRORS)].mean(), "o-", color="C0", label="ours, mean")
    axes.plot(epochs, EIGENPRO_README, "x", color="C1", label="reference code")
    axes.set(xlabel="epoch", ylabel="test error in percent", xticks=epochs)
    axes.legend()


EXPERIMENT = Experiment(
    name="eigenpro-readme",
    title="Test error of MNIST after each epoch",
    key=("data", "seed"),
    values=(*ERRORS, "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Test error against epochs, ours beside the reference code's",
)
