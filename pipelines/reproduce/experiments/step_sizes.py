"""Ours: the largest eigenvalue as the published rule assumes it and on fresh rows, and what steps do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
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
QUICK_ROWS = 5000  # at most
BATCH = 2000  # m, the published rule's own
WITHIN, BEYOND, FAR = 0.9, 2.0, 4.0  # shares of the largest stable step; the first is what the library takes
SHARES, QUICK_SHARES = (0.5, WITHIN, 1.4, BEYOND, FAR), (WITHIN, BEYOND, FAR)
POWER = 0.95  # how far directions are damped, by the published rule as by ours
EPOCHS = 2


def cells(quick: bool) -> list[Cell]:
    """Every data set at every share of the edge."""
    return [
        {"data": data, "rows": min(n, QUICK_ROWS) if quick else n, "share": share, "seed": seed}
        for seed in range(1 if quick else 5)
        for data, n in SETS.items()
        for share in (QUICK_SHARES if quick else SHARES)
    ]


@dataclass(frozen=True)
class Subject:
    """Rows, and the published rule's choices for them with what is true of these."""

    X: np.ndarray
    y: np.ndarray
    seed: int

    def fit(self, epochs: int, **options: Any) -> dk.EigenProClassifier:
        """So many epochs."""
        kernel = dk.Gaussian("mean", factor=0.5)
        return dk.EigenProClassifier(
            kernel, batch_size=BATCH, max_epochs=epochs, patience=None, random_state=self.seed, **options
        ).fit(self.X, self.y)

    @cached_property
    def directions(self) -> int:
        """q: the most whose critical batch size, by the assumed eigenvalue, is within the batch size."""
        sigma = np.array(self.fit(1).plan_.eigenvalues)
        assumed = sigma[0] ** (1 - POWER) * sigma**POWER
        return max(2, int((1.0 / assumed <= BATCH).sum()))

    @cached_property
    def plan(self) -> Any:
        """Of a fit with that many."""
        return self.fit(1, n_directions=self.directions).plan_

    @property
    def edge(self) -> float:
        """The largest stable step."""
        return float(2 * BATCH / (self.plan.beta + (BATCH - 1) * self.plan.eigenvalue))


@cache
def subject(sources: Sources, data: str, rows: int, seed: int) -> Subject:
    """Some rows of a data set; kept, as all its cells need the same choices."""
    X, y = sources.scaled(data)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(X))[:rows])
    return Subject(X[chosen], y[chosen], seed)


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """lam' assumed and on fresh rows, the published step as a share of the edge, residuals of this step.

    Infinite where training diverged, which the library would mend by shorter steps.
    """
    of = subject(sources, cell["data"], cell["rows"], cell["seed"])
    try:
        model = of.fit(EPOCHS, n_directions=of.directions, step_size=cell["share"] * of.edge)
        diverged = model.n_halvings_ > 0
    except DivergenceError:
        diverged = True
    residuals = [np.inf] * EPOCHS if diverged else [entry["train_mse"] for entry in model.history_]
    return {
        "q": of.directions,
        "m": BATCH,
        "assumed": of.plan.assumed_eigenvalue,
        "fresh": of.plan.eigenvalue,
        "reference": round(of.plan.reference_step / of.edge, 4),
        **{f"mse{epoch}": value for epoch, value in enumerate(residuals, 1)},
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """How far the assumption is off, and what follows."""
    by = rows.groupby("data")[["assumed", "fresh", "reference"]].median()
    ratio = by["fresh"] / by["assumed"]
    residual = rows.groupby(["data", "share"])["mse2"].median().unstack()
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
            "At twice the verified edge the residual is larger than within it; far beyond training diverges",
            bool((residual[BEYOND] > residual[WITHIN]).all() and np.isinf(residual[FAR]).all()),
            f"residual of the second epoch at {WITHIN:g}, {BEYOND:g} and {FAR:g} times the edge: "
            + "; ".join(
                f"{data} " + ", ".join(f"{row[share]:.3g}" for share in (WITHIN, BEYOND, FAR))
                for data, row in residual.iterrows()
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
    left.set_xticks(places, by.index, fontsize="small")
    left.set(ylabel="largest eigenvalue lam' of k_P")
    left.legend(fontsize="small", loc="lower right")
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
