"""Figure 3: kernel k-means against spectral clustering on Nyström columns, at equal c and at equal time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.reproduce.axes import legend_below, logarithmic, published
from pipelines.reproduce.clustering import STARTS, clustered
from pipelines.reproduce.published import FIGURE3
from pipelines.reproduce.records import Cell, Claim, Experiment, near
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = ("pendigits", "mushrooms", "mnist")
FACTORS = (0.2, 1.0, 5.0)
MULTIPLES = (5, 10, 20, 50)  # c / s, s = k
METHODS = {"kernel k-means": "nystrom", "spectral": "spectral"}
SEEDS, QUICK_SEEDS = 20, {"pendigits": 5, "mushrooms": 3, "mnist": 1}
COLOURS = {"kernel k-means": "C0", "spectral": "C3"}


def cells(quick: bool) -> list[Cell]:
    """Every data set, factor of the bandwidth, method and c, and seeds."""
    return [
        {"data": data, "factor": factor, "method": method, "multiple": multiple, "seed": seed}
        for data in SETS
        for seed in range(QUICK_SEEDS[data] if quick else SEEDS)
        for factor in (FACTORS if data != "mnist" or not quick else FACTORS[:2])
        for method in METHODS
        for multiple in (MULTIPLES if data != "mnist" or not quick else (MULTIPLES[0], MULTIPLES[-1]))
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One clustering; the time of k-means, which both have, is left out as in the paper."""
    X, y = sources.arrays(cell["data"])
    k = len(np.unique(y))
    c = cell["multiple"] * k
    found = clustered(
        METHODS[cell["method"]],
        X,
        y,
        c=c,
        s=k,
        seed=cell["seed"],
        factor=cell["factor"],
        n_init=STARTS.get(cell["data"], 1),
    )
    return {
        "c": c,
        "nmi": found["nmi"],
        "seconds": round(found["seconds"] - found["kmeans_seconds"], 4),
        "floored": getattr(found["model"], "n_floored_", 0),
    }


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What section 4.3 says."""
    found = rows.groupby(["factor", "data", "method", "multiple"])[["nmi", "seconds"]].median()
    return [_equal_c(found), _equal_time(found), _narrow(found), _near(found), _floored(rows)]


def _equal_c(found: pd.DataFrame) -> Claim:
    pairs = _paired(found["nmi"])
    wins = sum(bool(kk >= sc) for _, kk, sc in pairs)
    lost = ", ".join(f"{place} by {sc - kk:.3f}" for place, kk, sc in pairs if kk < sc)
    evidence = f"ahead in {wins} of {len(pairs)} medians at factors 1 and 5"
    return Claim(
        "Kernel k-means has a higher NMI than spectral clustering at equal c",
        wins == len(pairs),
        evidence + (f"; behind: {lost}" if lost else ""),
    )


def _paired(values: pd.Series) -> list[tuple[str, float, float]]:
    """Both methods at factors 1 and 5, where there is something to find."""
    return [
        (f"{data} factor {factor:g} c={m}k", value, values[factor, data, "spectral", m])
        for (factor, data, method, m), value in values.items()
        if method == "kernel k-means" and factor >= 1 and (factor, data, "spectral", m) in values
    ]


def _equal_time(found: pd.DataFrame) -> Claim:
    """For each spectral clustering, the best kernel k-means that took no longer."""
    wins = total = 0
    for (factor, data, method, _), row in found.iterrows():
        if method != "spectral" or factor < 1:
            continue
        ours = found.loc[(factor, data, "kernel k-means")]
        fast = ours[ours["seconds"] <= row["seconds"]]
        if len(fast):
            total += 1
            wins += int(fast["nmi"].max() >= row["nmi"])
    return Claim(
        "Kernel k-means has a higher NMI than spectral clustering at equal time",
        None if total == 0 else wins == total,
        f"ahead in {wins} of {total} medians where one of ours took no longer (k-means itself not counted)",
    )


def _narrow(found: pd.DataFrame) -> Claim:
    best = found["nmi"].groupby(["factor", "data", "method"]).max()
    drops = {
        (data, method): (best[0.2, data, method], best[1.0, data, method])
        for factor, data, method in best.index
        if factor == 0.2 and (1.0, data, method) in best
    }
    text = ", ".join(
        f"{data} {method} {low:.2f} / {high:.2f}" for (data, method), (low, high) in drops.items()
    )
    return Claim(
        "A factor of 0.2 ruins both",
        all(bool(low < 0.7 * high) for low, high in drops.values()),
        f"best NMI at factor 0.2 / 1: {text}",
    )


def _near(found: pd.DataFrame) -> Claim:
    off = {
        f"{data} {method} c={m}k": found["nmi"].get((1.0, data, method, m), np.nan) - value
        for (data, method), values in FIGURE3.items()
        for m, value in zip((MULTIPLES[0], MULTIPLES[-1]), values, strict=True)
    }
    return near("The median NMI at factor 1 is within .03 of the published mean", off, 0.03, "+.3f")


def _floored(rows: pd.DataFrame) -> Claim:
    """Degrees that are not positive."""
    counts = (
        rows[rows["method"] == "spectral"].groupby("factor")["floored"].agg(lambda part: (part > 0).mean())
    )
    return Claim(
        "Spectral clustering fails at times, from degrees that are not positive",
        bool((counts > 0).any()),
        "runs with such rows: "
        + ", ".join(f"factor {factor:g}: {share:.0%}" for factor, share in counts.items()),
    )


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """A row of panels for each data set (by c, by time), a line for each factor and method."""
    sets = [name for name in SETS if name in set(rows["data"])]
    figure.set_size_inches(9, 3.4 * len(sets))
    styles = dict(zip(FACTORS, (":", "-", "--"), strict=True))
    for line, data in zip(figure.subplots(len(sets), 2, squeeze=False), sets, strict=True):
        for (method, factor), part in rows[rows["data"] == data].groupby(["method", "factor"]):
            by = part.groupby("multiple")[["nmi", "seconds"]].median()
            for axes, x in zip(line, (by.index, by["seconds"]), strict=True):
                label = f"{method}, factor {factor:g}"
                axes.plot(x, by["nmi"], styles[factor] + "o", ms=3, color=COLOURS[method], label=label)
        for method, colour in COLOURS.items():
            line[0].plot((MULTIPLES[0], MULTIPLES[-1]), FIGURE3[data, method], "x", color=colour)
        line[0].set(xlabel="c / k", ylabel="NMI", title=data)
        logarithmic(line[0], x=MULTIPLES)
        line[1].set(xlabel="seconds without k-means", title=data)
        logarithmic(line[1], x=True)
    published(line[1])
    legend_below(figure, line[1], 3)


EXPERIMENT = Experiment(
    name="figure3",
    title="Kernel k-means against spectral clustering",
    key=("data", "factor", "method", "multiple", "seed"),
    values=("c", "nmi", "seconds", "floored"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Median NMI against c / k and against seconds, by method and factor; crosses are the paper's values",
)
