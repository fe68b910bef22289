"""Ours: the largest eigenvalue as the published rule assumes it and on fresh rows, and what steps do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import daskkernels as dk
from daskkernels.errors import DivergenceError
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = {"pendigits": 7494, "letter": 16_000, "satimage": 4435, "mushrooms": 8124, "mnist": 60_000}
QUICK_ROWS = 10_000  # at most
BATCH = 2000  # m, the published rule's own, where there are as many rows
EDGE = 0.9  # of the largest stable step: what the library takes
SHARES = (0.5, 0.9, 1.2, 2.0)  # of that largest one
POWER = 0.95  # how far directions are damped, by the published rule as by ours
EPOCHS = 2


def cells(quick: bool) -> list[Cell]:
    """Every data set at every share of the edge."""
    return [
        {"data": data, "rows": min(n, QUICK_ROWS) if quick else n, "share": share, "seed": seed}
        for seed in range(1 if quick else 5)
        for data, n in SETS.items()
        for share in SHARES
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """lam' assumed and on fresh rows, the published step as a share of the edge, and the residuals of a step.

    The directions are as many as the published rule takes: the most whose critical batch size, by the assumed
    eigenvalue, is within the batch size.
    """
    X, y = sources.scaled(cell["data"])
    chosen = np.sort(np.random.default_rng(cell["seed"]).permutation(len(X))[: cell["rows"]])
    X, y = X[chosen], y[chosen]
    m = min(BATCH, len(X) // 2)

    def fit(epochs: int, **options: Any) -> dk.EigenProClassifier:
        kernel = dk.Gaussian("mean", factor=0.5)
        return dk.EigenProClassifier(
            kernel, batch_size=m, max_epochs=epochs, patience=None, random_state=cell["seed"], **options
        ).fit(X, y)

    sigma = np.array(fit(1).plan_.eigenvalues)
    assumed = sigma[0] ** (1 - POWER) * sigma**POWER  # by q - 1
    q = max(2, int((1.0 / assumed <= m).sum()))
    plan = fit(1, n_directions=q).plan_
    edge = plan.step_size / EDGE
    try:
        history = fit(EPOCHS, n_directions=q, step_size=cell["share"] * edge).history_
        residuals = [entry["train_mse"] for entry in history]
    except DivergenceError:
        residuals = [np.inf] * EPOCHS
    return {
        "q": q,
        "m": m,
        "assumed": plan.assumed_eigenvalue,
        "fresh": plan.eigenvalue,
        "reference": round(plan.reference_step / edge, 4),
        **{f"mse{epoch}": value for epoch, value in enumerate(residuals, 1)},
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """How far the assumption is off, and what follows."""
    by = rows.groupby("data")[["assumed", "fresh", "reference"]].median()
    ratio = by["fresh"] / by["assumed"]
    residual = rows.groupby(["share", "data"])["mse2"].median().unstack()
    first = rows.groupby(["share", "data"])["mse1"].median().unstack()
    stable = residual.loc[EDGE] < first.loc[EDGE]
    grows = residual.loc[2.0] > 2 * residual.loc[EDGE]
    return [
        Claim(
            "The subsample's own eigenvalue is too small, on every data set",
            bool((ratio > 1.2).all()),
            "fresh / assumed: " + ", ".join(f"{data} {value:.2f}" for data, value in ratio.items()),
        ),
        Claim(
            "The published step is near the edge of stability, or beyond it",
            bool((by["reference"] > 0.8).all()),
            "share of the largest stable step: "
            + ", ".join(f"{data} {value:.2f}" for data, value in by["reference"].items()),
        ),
        Claim(
            "Within the verified edge training converges, at twice the edge it does not",
            bool(stable.all() and grows.all()),
            "residual of the second epoch at .9 and at 2 times the edge: "
            + ", ".join(
                f"{data} {residual.loc[EDGE, data]:.3g} and {residual.loc[2.0, data]:.3g}"
                for data in residual.columns
            ),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """The two eigenvalues by data set; the residual by step."""
    figure.set_size_inches(9, 4)
    left, right = figure.subplots(1, 2)
    by = rows.groupby("data")[["assumed", "fresh", "reference"]].median()
    places = np.arange(len(by))
    left.bar(places - 0.2, by["assumed"], 0.38, label="assumed, from the subsample")
    left.bar(places + 0.2, by["fresh"], 0.38, label="on fresh rows")
    left.set_xticks(places, by.index)
    left.set(ylabel="largest eigenvalue lam' of k_P", yscale="log")
    left.legend(fontsize="small")
    for number, (data, part) in enumerate(rows.groupby("data")):
        found = part.groupby("share")["mse2"].median()
        finite = found[np.isfinite(found)]
        right.plot(finite.index, finite, "o-", color=f"C{number}", label=data)
        right.axvline(part["reference"].median(), color=f"C{number}", ls=":")
    right.axvline(1.0, color="k", lw=0.8)
    right.set(xlabel="step / largest stable step (dotted: the published step)", yscale="log")
    right.set(ylabel="residual of the second epoch")
    right.legend(fontsize="small")


EXPERIMENT = Experiment(
    name="step-size",
    title="The published step size at the edge of stability",
    key=("data", "rows", "share", "seed"),
    values=("q", "m", "assumed", "fresh", "reference", "mse1", "mse2"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Assumed and measured largest eigenvalues as bars; residual against step, published steps marked",
)
