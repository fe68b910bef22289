"""Ours: the trace error that a fit reports, beside the true errors of its approximation of K."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.metrics.pairwise import rbf_kernel

import daskkernels as dk
from pipelines.reproduce.axes import legend_below, logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = ("pendigits", "letter", "mushrooms", "mnist")
ROWS, QUICK_ROWS = 4000, 1500  # of each: K and its eigenvalues are computed whole
SIZES, QUICK_SIZES = (25, 50, 100, 200, 400), (50, 200)
TYPES = ("float32", "float64")


def cells(quick: bool) -> list[Cell]:
    """Every data set and c, in both types of arithmetic."""
    return [
        {"data": data, "rows": QUICK_ROWS if quick else ROWS, "c": c, "dtype": dtype, "seed": seed}
        for seed in range(1 if quick else 5)
        for data in SETS
        for c in (QUICK_SIZES if quick else SIZES)
        for dtype in TYPES
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Reported and true trace error, relative errors in other norms, and the least error of the same rank."""
    X, _ = sources.scaled(cell["data"])
    X = X[np.sort(np.random.default_rng(cell["seed"]).permutation(len(X))[: cell["rows"]])]
    kernel = dk.Gaussian("mean", factor=0.5)
    c = cell["c"]
    model = dk.NystromFeatures(
        kernel, n_landmarks=c, n_components=c // 2, dtype=cell["dtype"], random_state=cell["seed"]
    ).fit(X)
    B = np.asarray(model.transform(X), dtype=np.float64)
    K = rbf_kernel(X.astype(np.float64), gamma=0.5 / model.kernel_.bandwidth**2)
    values = np.maximum(eigvalsh(K)[::-1], 0)
    left = eigvalsh(K - B @ B.T)
    rank = B.shape[1]
    return {
        "reported": model.trace_error_,
        "true": float(left.sum() / values.sum()),
        "nuclear": float(np.abs(left).sum() / values.sum()),
        "frobenius": float(np.sqrt((left**2).sum() / (values**2).sum())),
        "spectral": float(np.abs(left).max() / values[0]),
        "least": float(values[rank:].sum() / values.sum()),
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What the reported number says."""
    off = (rows["reported"] - rows["true"]).abs()
    by = off.groupby(rows["dtype"]).max()
    above = (rows["frobenius"] <= rows["reported"] + 1e-6) & (rows["spectral"] <= rows["reported"] + 1e-6)
    most = rows[rows["c"] == rows["c"].max()].groupby("data")[["reported", "least"]].median()
    return [
        Claim(
            "The trace error that a fit reports is the true one",
            bool(by["float64"] < 1e-9 and by["float32"] < 1e-5),
            ", ".join(f"{dtype}: off by at most {value:.1e}" for dtype, value in by.items()),
        ),
        Claim(
            "It is the nuclear norm of K - B B^T: nothing cancels",
            bool(((rows["nuclear"] - rows["true"]).abs() < 1e-4).all()),
            f"largest difference {(rows['nuclear'] - rows['true']).abs().max():.1e}",
        ),
        Claim(
            "It bounds the relative errors in the Frobenius and the spectral norm",
            bool(above.all()),
            f"they are at most {(rows['frobenius'] / rows['reported']).max():.2f} and "
            f"{(rows['spectral'] / rows['reported']).max():.2f} of it",
        ),
        Claim(
            "With s = c / 2 it is at most twice the least error of that rank",
            bool((most["reported"] <= 2 * most["least"]).all()),
            f"at c = {rows['c'].max()}: "
            + ", ".join(f"{data} {r['reported']:.4f} of {r['least']:.4f}" for data, r in most.iterrows()),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """A panel for each data set: the reported error and the true ones against c."""
    figure.set_size_inches(3.2 * len(SETS), 3.8)
    lines = {"reported": "o-", "true": "x", "frobenius": "s--", "spectral": "^--", "least": "k:"}
    for axes, data in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        by = rows[rows["data"] == data].groupby("c")[list(lines)].median()
        for name, style in lines.items():
            axes.plot(by.index, by[name], style, ms=5, label=name)
        axes.set(xlabel="c (s = c / 2)", title=data)
        logarithmic(axes, x=rows["c"], y=True)
    figure.axes[0].set_ylabel("relative error")
    legend_below(figure, axes, len(lines))


EXPERIMENT = Experiment(
    name="trace-error",
    title="The reported trace error beside the true errors",
    key=("data", "rows", "c", "dtype", "seed"),
    values=("reported", "true", "nuclear", "frobenius", "spectral", "least"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Reported trace error, true errors in three norms and the least possible one, against c",
)
