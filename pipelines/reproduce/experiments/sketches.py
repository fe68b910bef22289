"""Ours: trace error of the Nyström approximation by c, for every way to choose landmarks or to sketch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daskkernels as dk
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = ("pendigits", "mushrooms")
ROWS = ("uniform", "leverage", "rls", "kmeans")
PROJECTIONS = ("gaussian", "srht", "countsketch")
SIZES, QUICK_SIZES = (25, 50, 100, 200, 400), (50, 200)
FACTOR = 0.5  # of the mean distance: at 1 the spectra of these sets are over after a few dozen


def cells(quick: bool) -> list[Cell]:
    """Every data set, sampling and c, and seeds."""
    return [
        {"data": data, "sampling": sampling, "c": c, "seed": seed}
        for seed in range(1 if quick else 10)
        for data in SETS
        for sampling in (*ROWS, *PROJECTIONS)
        for c in (QUICK_SIZES if quick else SIZES)
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """The trace error with all eigenvalues of W, and the seconds of the fit."""
    X, _ = sources.arrays(cell["data"])
    model = dk.NystromFeatures(
        dk.Gaussian("mean", factor=FACTOR),
        n_landmarks=cell["c"],
        rank=None,
        sampling=cell["sampling"],
        random_state=cell["seed"],
    )
    began = time.perf_counter()
    model.fit(X)
    return {"trace_error": model.rank_trace_error_, "seconds": round(time.perf_counter() - began, 3)}


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What is gained by other than uniform rows."""
    found = rows.groupby(["data", "sampling", "c"])["trace_error"].median()
    curves = found.unstack()
    falls = bool((np.diff(curves.to_numpy(), axis=1) < 0).all())
    most = int(rows["c"].max())
    shown = "; ".join(
        f"{data}: " + ", ".join(f"{name} {part[data, name, most]:.4f}" for name in (*ROWS, *PROJECTIONS))
        for data, part in ((data, found) for data in SETS)
    )
    better = {
        name: [
            bool(found[data, name, c] <= found[data, "uniform", c]) for data in SETS for c in curves.columns
        ]
        for name in (*ROWS[1:], *PROJECTIONS)
    }
    counts = ", ".join(f"{name} {sum(won)} of {len(won)}" for name, won in better.items())
    return [
        Claim("The trace error falls with c, whatever the sampling", falls, f"at c = {most}: {shown}"),
        Claim(
            "Centers of k-means approximate better than as many uniform rows",
            all(better["kmeans"]),
            f"medians that are not above those of uniform rows: {counts}",
        ),
        Claim(
            "Projections of all rows approximate better than as many uniform rows",
            all(all(better[name]) for name in PROJECTIONS),
            "the same counts; they take n^2 d operations: "
            + ", ".join(
                f"{name} {rows[(rows['sampling'] == name) & (rows['c'] == most)]['seconds'].median():.2f} s"
                for name in ("uniform", *PROJECTIONS)
            ),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """A panel for each data set, a line for each sampling."""
    figure.set_size_inches(4.5 * len(SETS), 4)
    for axes, data in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        for number, name in enumerate((*ROWS, *PROJECTIONS)):
            part = rows[(rows["data"] == data) & (rows["sampling"] == name)]
            by = part.groupby("c")["trace_error"].median()
            style = "o-" if name in ROWS else "s--"
            axes.plot(by.index, by, style, ms=4, color=f"C{number}", label=name)
        axes.set(xlabel="c", ylabel="trace error", title=data)
        logarithmic(axes, x=rows["c"], y=True)
    axes.legend(fontsize="small")


EXPERIMENT = Experiment(
    name="sketches",
    title="Trace error by the number of landmarks, for every sampling and sketch",
    key=("data", "sampling", "c", "seed"),
    values=("trace_error", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Median trace error against c on two data sets, a line for each of seven samplings and sketches",
)
