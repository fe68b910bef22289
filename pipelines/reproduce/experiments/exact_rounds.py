"""Ours: test error after one to three epochs by batch size, all at the same arithmetic by exact rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import daskkernels as dk
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS, QUICK_ROWS = 60_000, 10_000
SIGMA = 5.0
SIZES = (16, 64, 256, 1024, 2048)
EPOCHS = 3
ERRORS = tuple(f"error{epoch}" for epoch in range(1, EPOCHS + 1))
NOISE = 0.15  # points of test error between seeds


def cells(quick: bool) -> list[Cell]:
    """Batch sizes up to a machine's own."""
    n = QUICK_ROWS if quick else ROWS
    return [
        {"data": "mnist", "rows": n, "m": m, "seed": seed} for seed in range(2 if quick else 3) for m in SIZES
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Test errors, seconds and arithmetic; the directions are the same at every batch size."""
    X, y = sources.scaled(cell["data"])
    X, y = X[: cell["rows"]], y[: cell["rows"]]
    model = dk.EigenProClassifier(
        dk.Gaussian(SIGMA),
        batch_size=cell["m"],
        max_epochs=EPOCHS,
        patience=None,
        keep_kernel=False,
        random_state=cell["seed"],
    ).fit(X, y, validation=sources.scaled(cell["data"], "test"))
    errors = [round(100 * entry["validation_error"], 3) for entry in model.history_]
    work = [entry["gflops"] * entry["seconds"] for entry in model.history_]
    return {
        **dict(zip(ERRORS, errors, strict=True)),
        "q": model.plan_.n_directions,
        "critical": round(model.plan_.critical_batch, 1),
        "gflop": round(sum(work), 1),
        "seconds": round(sum(entry["seconds"] for entry in model.history_), 2),
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What short batches gain, and what they cost."""
    by = rows.groupby("m")[[*ERRORS, "gflop", "seconds", "critical"]].mean()
    critical = by["critical"].mean()
    short, long = by[by.index <= critical / 4], by[by.index >= critical]
    first = ERRORS[0]
    shown = "; ".join(
        f"m={m} " + ", ".join(f"{row[error]:.2f}" for error in ERRORS) + " %" for m, row in by.iterrows()
    )
    spread = {what: float(by[what].max() / by[what].min()) for what in ("gflop", "seconds")}
    decided = len(short) > 0 and len(long) > 0
    return [
        Claim(
            "At equal arithmetic, batches well below the critical size learn faster than those above it",
            bool(short[first].max() < long[first].min()) if decided else None,
            f"m* = {critical:.0f}; error after epochs 1 to {EPOCHS}: {shown}",
        ),
        Claim(
            "Below a quarter of the critical size, the batch size does not matter",
            bool((short.max() - short.min())[list(ERRORS)].max() < 2 * NOISE) if len(short) > 1 else None,
            f"largest difference {(short.max() - short.min())[list(ERRORS)].max():.2f} points",
        ),
        Claim(
            "All cost the same: exact rounds do the arithmetic of one pass for any batch size",
            spread["gflop"] < 1.01 and spread["seconds"] < 1.3,
            ", ".join(f"m={m} {row['gflop']:.0f} GFLOP, {row['seconds']:.1f} s" for m, row in by.iterrows()),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Error against batch size, a line for each epoch."""
    axes = figure.subplots()
    by = rows.groupby("m")[[*ERRORS, "critical"]].mean()
    for number, error in enumerate(ERRORS):
        axes.plot(by.index, by[error], "o-", color=f"C{number}", label=f"after epoch {number + 1}")
        axes.plot(rows["m"], rows[error], ".", ms=3, color=f"C{number}")
    axes.axvline(by["critical"].mean(), color="k", ls=":", label="critical batch size")
    axes.axvline(by["critical"].mean() / 4, color="k", ls="--", lw=0.8, label="a quarter of it: the default")
    axes.set(xlabel="batch size m", ylabel="test error in percent")
    logarithmic(axes, x=by.index)
    axes.legend(fontsize="small")


EXPERIMENT = Experiment(
    name="exact-rounds",
    title="Test error by batch size at equal arithmetic",
    key=("data", "rows", "m", "seed"),
    values=(*ERRORS, "q", "critical", "gflop", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Test error after one, two and three epochs against batch size, with the critical batch size",
)
