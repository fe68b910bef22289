"""Table 3 of EigenPro 2.0: seconds until the test error is below that of a support vector machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.svm import SVC

import daskkernels as dk
from pipelines.reproduce.axes import legend_below, logarithmic
from pipelines.reproduce.published import EIGENPRO_TABLE3
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = {"mnist": 60_000, "cifar10_grey": 50_000, "letter": 16_000, "satimage": 4435}  # and their rows
QUICK_SETS = {"mnist": 10_000, "letter": 16_000, "satimage": 4435}
MOST_EPOCHS, QUICK_EPOCHS = 10, 4
PENALTIES = (1.0, 10.0)  # C of the machine; its bandwidth is scikit-learn's "scale", the better C is taken


def cells(quick: bool) -> list[Cell]:
    """Each data set, with as many training rows."""
    sets, most = (QUICK_SETS, QUICK_EPOCHS) if quick else (SETS, MOST_EPOCHS)
    return [
        {"data": data, "rows": rows, "epochs_at_most": most, "seed": seed}
        for data, rows in sets.items()
        for seed in range(1 if quick else 3)
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """The machine's error and seconds, ours until it is no worse, and the seconds of all epochs."""
    X, y = sources.scaled(cell["data"])
    Xt, yt = sources.scaled(cell["data"], "test")
    chosen = np.sort(np.random.default_rng(cell["seed"]).permutation(len(X))[: cell["rows"]])
    X, y = X[chosen], y[chosen]
    spread = X.std(axis=0)
    scale = 1.0 if X.max() <= 1 else np.where(spread > 0, spread, 1)
    X, Xt = ((part / scale).astype(np.float32) for part in (X, Xt))
    best = min((_machine(X, y, Xt, yt, penalty) for penalty in PENALTIES), key=lambda found: found[0])
    model = dk.EigenProClassifier(max_epochs=cell["epochs_at_most"], patience=None, random_state=cell["seed"])
    began = time.perf_counter()
    model.fit(X, y, validation=(Xt, yt))
    total = time.perf_counter() - began
    errors = np.array([100 * entry["validation_error"] for entry in model.history_])
    seconds = np.array([entry["seconds"] for entry in model.history_])
    set_up = total - seconds.sum()
    enough = np.flatnonzero(errors <= best[0])
    until = set_up + seconds[: enough[0] + 1].sum() if len(enough) else np.nan
    return {
        "svm_error": round(best[0], 3),
        "svm_seconds": round(best[1], 2),
        "error": round(float(errors.min()), 3),
        "epochs": int(enough[0]) + 1 if len(enough) else 0,
        "seconds": round(float(until), 2),
    }


def _machine(
    X: np.ndarray, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray, penalty: float
) -> tuple[float, float]:
    """Test error in percent and training seconds of scikit-learn's support vector machine (LibSVM)."""
    began = time.perf_counter()
    model = SVC(C=penalty, gamma="scale", cache_size=2000).fit(X, y)
    seconds = time.perf_counter() - began
    return 100 * float((model.predict(Xt) != yt).mean()), seconds


def claims(rows: pd.DataFrame) -> list[Claim]:
    """EigenPro needs less time to a machine's error."""
    found = rows.groupby("data")[["svm_error", "svm_seconds", "error", "epochs", "seconds"]].median()
    reached = found["seconds"].notna()
    faster = reached & (found["seconds"] < found["svm_seconds"])
    shown = "; ".join(
        f"{data}: machine {row['svm_error']:.2f} % in {row['svm_seconds']:.1f} s, ours "
        + (
            f"no worse after {row['epochs']:.0f} epochs, {row['seconds']:.1f} s"
            if row["seconds"] > 0
            else "never"
        )
        + f" (best {row['error']:.2f} %)"
        for data, row in found.iterrows()
    )
    large = rows.groupby("data")["rows"].max() >= 10_000
    return [
        Claim("EigenPro reaches the error of a support vector machine", bool(reached.all()), shown),
        Claim(
            "It needs less time for that, on ten thousand rows and more",
            bool(faster[large].all()),
            ", ".join(
                f"{data} {found['svm_seconds'][data] / found['seconds'][data]:.1f} times"
                for data in found.index
            ),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Bars of seconds."""
    axes = figure.subplots()
    found = rows.groupby("data")[["seconds", "svm_seconds"]].median()
    places = np.arange(len(found))
    axes.bar(places - 0.2, found["seconds"], 0.38, label="EigenPro, until no worse")
    axes.bar(places + 0.2, found["svm_seconds"], 0.38, label="support vector machine")
    for place, data in zip(places, found.index, strict=True):
        if data in EIGENPRO_TABLE3:
            ours, _, theirs = EIGENPRO_TABLE3[data]
            axes.plot([place - 0.2, place + 0.2], [ours, theirs], "kx")
    axes.set_xticks(places, found.index)
    axes.plot([], [], "kx", label="published: a GPU, LibSVM")
    axes.set(ylabel="seconds")
    logarithmic(axes, y=True)
    legend_below(figure, axes, 3)


EXPERIMENT = Experiment(
    name="eigenpro-table3",
    title="Seconds until better than a support vector machine",
    key=("data", "rows", "epochs_at_most", "seed"),
    values=("svm_error", "svm_seconds", "error", "epochs", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Seconds of EigenPro until its error is no worse, beside those of a support vector machine",
)
