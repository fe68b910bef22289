"""Figure 3 of EigenPro 2.0: seconds of an epoch by batch size, for plain SGD, EigenPro 1 and EigenPro 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import daskkernels as dk
from pipelines.reproduce.axes import legend_below, logarithmic
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS, QUICK_ROWS = 60_000, 10_000
SIGMA = 5.0
SIZES, QUICK_SIZES = (16, 64, 256, 1024, 4096), (256, 4096)
METHODS = ("SGD", "EigenPro 1", "EigenPro 2")
LARGE = 256  # from here on a machine has enough to do in one batch


def cells(quick: bool) -> list[Cell]:
    """Each method with each batch size; m and M are one, so that a pass over the rows serves one batch."""
    n = QUICK_ROWS if quick else ROWS
    return [
        {"data": "mnist", "rows": n, "method": method, "m": m, "rounds": rounds, "seed": 0}
        for method in METHODS
        for m in (QUICK_SIZES if quick else SIZES)
        for rounds in ("one batch", "exact")
        if m >= LARGE or rounds == "exact"
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """Seconds of the second epoch: in the first most rows have no weight yet."""
    from daskkernels import baselines

    X, y = sources.scaled(cell["data"])
    X, y = X[: cell["rows"]], y[: cell["rows"]]
    options = {
        "batch_size": cell["m"],
        "round_size": cell["m"] if cell["rounds"] == "one batch" else "auto",
        "max_epochs": 2,
        "patience": None,
        "random_state": cell["seed"],
    }
    kernel = dk.Gaussian(SIGMA)
    if cell["method"] == "EigenPro 1":
        model = baselines.EigenPro1Classifier(kernel, **options)
    elif cell["method"] == "EigenPro 2":
        model = dk.EigenProClassifier(kernel, keep_kernel=False, **options)
    else:
        model = dk.EigenProClassifier(kernel, n_directions=1, keep_kernel=False, **options)
    return {"seconds": round(model.fit(X, y).history_[-1]["seconds"], 3)}


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What damping costs, and what a batch costs."""
    found = rows.groupby(["rounds", "method", "m"])["seconds"].median()
    extra = max(found["exact", "EigenPro 2", m] / found["exact", "SGD", m] for m in set(rows["m"]))
    first = min(found["exact", "EigenPro 1", m] / found["exact", "EigenPro 2", m] for m in set(rows["m"]))
    single = found["one batch", "EigenPro 2"]
    exact = found["exact", "EigenPro 2"]
    return [
        Claim(
            "EigenPro 2 costs hardly more than plain SGD",
            bool(extra < 1.25),
            f"at most {extra:.2f} times the seconds of an epoch, exact rounds",
        ),
        Claim("An epoch of EigenPro 1 takes longer", bool(first > 1.1), f"at least {first:.2f} times"),
        Claim(
            "A batch at a time, an epoch is faster the larger the batch is",
            bool(single.iloc[0] > 1.1 * single.iloc[-1]),
            ", ".join(f"m={m} {seconds:.2f} s" for m, seconds in single.items()),
        ),
        Claim(
            "Ours: in exact rounds the seconds of an epoch hardly depend on the batch size",
            bool(exact.max() < 1.25 * exact.min()),
            ", ".join(f"m={m} {seconds:.2f} s" for m, seconds in exact.items()),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Seconds against batch size."""
    axes = figure.subplots()
    for number, method in enumerate(METHODS):
        for rounds, style in (("one batch", "--"), ("exact", "-")):
            part = rows[(rows["method"] == method) & (rows["rounds"] == rounds)]
            by = part.groupby("m")["seconds"].median()
            label = f"{method}, {'exact rounds' if rounds == 'exact' else 'a batch at a time'}"
            axes.plot(by.index, by, f"o{style}", color=f"C{number}", label=label)
    axes.set(xlabel="batch size m", ylabel="seconds of an epoch")
    logarithmic(axes, x=rows["m"], y=True)
    legend_below(figure, axes, 3)


EXPERIMENT = Experiment(
    name="eigenpro-figure3",
    title="Seconds of an epoch by batch size",
    key=("data", "rows", "method", "m", "rounds", "seed"),
    values=("seconds",),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Seconds of an epoch against batch size, for three methods, in exact rounds and a batch at a time",
)
