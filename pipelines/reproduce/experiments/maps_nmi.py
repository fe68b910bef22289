"""Figure 4: NMI of k-means on Nyström features, on random features, and of the two-step method, by c."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.reproduce.axes import legend_below, logarithmic, published
from pipelines.reproduce.clustering import STARTS, clustered
from pipelines.reproduce.published import FIGURE4, MULTIPLES
from pipelines.reproduce.records import Cell, Claim, Experiment, near
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SETS = ("pendigits", "mushrooms", "mnist")
RULES = ("k", "sqrt(kc)", "all")
SEEDS, QUICK_SEEDS = 20, {"pendigits": 5, "mushrooms": 3, "mnist": 1}
NEAR = 0.03  # of a published median
COLOURS = {"nystrom": "C0", "random": "C1", "two-step": "C2"}
STYLES = {"k": ":", "sqrt(kc)": "-", "all": "--", "-": "-"}


def cells(quick: bool) -> list[Cell]:
    """Every data set, method, s and c, and seeds; a quick run leaves out s = c and most seeds."""
    rules = RULES[:2] if quick else RULES
    variants = [(m, rule) for m in ("nystrom", "random") for rule in rules] + [("two-step", "-")]
    return [
        {"data": data, "method": method, "rule": rule, "multiple": multiple, "seed": seed}
        for data in SETS
        for seed in range(QUICK_SEEDS[data] if quick else SEEDS)
        for method, rule in variants
        for multiple in ((MULTIPLES[0], MULTIPLES[-1]) if quick and data == "mnist" else MULTIPLES)
    ]


def size(rule: str, k: int, c: int) -> int | None:
    """s by its rule; None keeps all."""
    return {"k": k, "sqrt(kc)": math.ceil(math.sqrt(k * c))}.get(rule)


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One clustering."""
    X, y = sources.arrays(cell["data"])
    k = len(np.unique(y))
    c = cell["multiple"] * k
    s = size(cell["rule"], k, c)
    found = clustered(cell["method"], X, y, c=c, s=s, seed=cell["seed"], n_init=STARTS.get(cell["data"], 1))
    return {"c": c, "s": s or c, "nmi": found["nmi"], "seconds": round(found["seconds"], 3)}


def medians(rows: pd.DataFrame) -> pd.Series:
    """Median NMI by data, method, rule and multiple."""
    found: pd.Series = rows.groupby(["data", "method", "rule", "multiple"])["nmi"].median()
    return found


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What section 5.3 says."""
    found = medians(rows)
    return [_near(found, rows), _ordered(found), _beaten(found), _grows(found), _small_s(found)]


def _near(found: pd.Series, rows: pd.DataFrame) -> Claim:
    """Ours against the plots."""
    off = {
        f"{' '.join(key)} c={m}k": found.get((*key, m), np.nan) - value
        for key, values in FIGURE4.items()
        for m, value in zip(MULTIPLES, values, strict=True)
    }
    text = f"The median NMI is within {NEAR} of the published one"
    return near(text, off, NEAR, "+.3f", f" medians of {rows['seed'].nunique()} seeds")


def _pairs(found: pd.Series, better: str, worse: str) -> tuple[int, int, str]:
    """How often the first method is ahead at equal data, s and c; where it is not."""
    wins, total, lost = 0, 0, []
    for (data, method, rule, m), value in found.items():
        other = (data, worse, "-" if worse == "two-step" else rule, m)
        if method == better and other in found:
            total += 1
            wins += int(value >= found[other])
            if value < found[other]:
                lost.append(f"{data} s={rule} c={m}k by {found[other] - value:.3f}")
    return wins, total, ", ".join(lost)


def _ordered(found: pd.Series) -> Claim:
    wins, total, lost = _pairs(found, "nystrom", "random")
    evidence = f"ahead in {wins} of {total} medians" + (f"; behind: {lost}" if lost else "")
    return Claim(
        "Nyström features give a higher NMI than random features in most cases", wins > total / 2, evidence
    )


def _beaten(found: pd.Series) -> Claim:
    nystrom, random = (_pairs(found, method, "two-step") for method in ("nystrom", "random"))
    wins, total = nystrom[0] + random[0], nystrom[1] + random[1]
    lost = ", ".join(filter(None, (nystrom[2], f"random: {random[2]}" if random[2] else "")))
    evidence = f"ahead in {wins} of {total} medians" + (f"; behind: {lost}" if lost else "")
    return Claim("Both are consistently better than the two-step method", wins == total, evidence)


def _grows(found: pd.Series) -> Claim:
    """From the smallest to the largest c."""
    curves = {key[:3] for key in found.index if key[1] != "two-step"}
    gains = {key: found[(*key, MULTIPLES[-1])] - found[(*key, MULTIPLES[0])] for key in sorted(curves)}
    fallen = ", ".join(f"{' '.join(key)} {by:+.3f}" for key, by in gains.items() if by < 0)
    return Claim(
        "The NMI of Nyström and random features grows with c",
        not fallen,
        f"from c = 3 k to 81 k it rises in {sum(by >= 0 for by in gains.values())} of {len(gains)} curves"
        + (f"; falls: {fallen}" if fallen else ""),
    )


def _small_s(found: pd.Series) -> Claim:
    """Remark 3, and the large-scale experiments: s = k is too small."""
    gains = [
        found[(data, method, "sqrt(kc)", m)] - value
        for (data, method, rule, m), value in found.items()
        if rule == "k" and m >= 27
    ]
    return Claim(
        "At this scale s has little impact; s = sqrt(kc) is not worse than s = k",
        bool(np.median(gains) >= -0.005),
        f"NMI at s = sqrt(kc) less that at s = k, c >= 27 k: median {np.median(gains):+.3f}, from "
        f"{min(gains):+.3f} to {max(gains):+.3f}",
    )


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """A panel for each data set: our medians and middle half, the paper's values as crosses."""
    sets = [name for name in SETS if name in set(rows["data"])]
    figure.set_size_inches(4.5 * len(sets), 4.5)
    for axes, data in zip(np.atleast_1d(figure.subplots(1, len(sets))), sets, strict=True):
        for (method, rule), part in rows[rows["data"] == data].groupby(["method", "rule"]):
            by = part.groupby("multiple")["nmi"]
            label = method if rule == "-" else f"{method}, s = {rule}"
            colour = COLOURS[method]
            axes.plot(by.median().index, by.median(), STYLES[rule], color=colour, label=label)
            axes.fill_between(
                by.median().index, by.quantile(0.25), by.quantile(0.75), color=colour, alpha=0.1
            )
            if (data, method, rule) in FIGURE4:
                axes.plot(MULTIPLES, FIGURE4[data, method, rule], "x", color=colour)
        axes.set(xlabel="c / k", ylabel="NMI", title=data)
        logarithmic(axes, x=MULTIPLES)
    published(axes)
    legend_below(figure, axes)


EXPERIMENT = Experiment(
    name="figure4",
    title="NMI of Nyström features, random features and the two-step method",
    key=("data", "method", "rule", "multiple", "seed"),
    values=("c", "s", "nmi", "seconds"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Median NMI against c / k for each data set and method; crosses are the paper's values",
)
