"""Figure 2: NMI on MNIST8M by the number of landmarks c, and by the number of features s."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import daskkernels as dk
from daskkernels.metrics import normalized_mutual_info
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.published import FIGURE2, TABLE5
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

K = 10
ROWS, QUICK_ROWS = 8_100_000, 1_000_000
LANDMARKS, QUICK_LANDMARKS = 1600, 400  # of the sweep over s
SIZES, QUICK_SIZES = (10, 20, 40, 80, 160, 320), (10, 63)  # sqrt(kc) is 63 at c = 400
BY_C = 20  # s of the sweep over c


def sweep(quick: bool) -> list[tuple[int, int]]:
    """Pairs (c, s): c at s = 20, then s at the largest c."""
    most = QUICK_LANDMARKS if quick else LANDMARKS
    by_c = [(c, BY_C) for c in (25, 100, 400, 1600) if c <= most]
    by_s = [(most, s) for s in (QUICK_SIZES if quick else SIZES) if s <= most // 2]
    return list(dict.fromkeys(by_c + by_s))


def cells(quick: bool) -> list[Cell]:
    """Seeds outside, so that an interrupted run has all sizes of some."""
    rows = QUICK_ROWS if quick else ROWS
    return [
        {"rows": rows, "c": c, "s": s, "seed": seed}
        for seed in range(1 if quick else 20)
        for c, s in sweep(quick)
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One clustering, streamed from the store."""
    return fit(sources.made("mnist8m", cell["rows"]), cell["c"], cell["s"], cell["seed"])


def fit(data: dk.Dataset, c: int, s: int, seed: int) -> dict[str, Any]:
    """NMI, and the seconds of its three stages."""
    began = time.perf_counter()
    model = dk.KernelKMeans(K, n_landmarks=c, n_components=s, random_state=seed).fit(data.X)
    total = time.perf_counter() - began
    stages = model.plan_.measured
    parts = {
        name: sum(seconds for stage, seconds in stages.items() if stage.startswith(prefixes))
        for name, prefixes in {
            "nystrom": ("bandwidth", "nystrom-landmarks", "nystrom-gram", "nystrom-columns"),
            "reduction": ("nystrom-project",),
            "kmeans": ("kmeans",),
        }.items()
    }
    nmi = normalized_mutual_info(data.y, model.labels_)
    return {"nmi": nmi, **{name: round(value, 2) for name, value in parts.items()}, "total": round(total, 2)}


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What section 3.3 says."""
    by_c = rows[rows["s"] == BY_C].groupby("c")["nmi"].agg(["mean", "std"])
    most = int(rows["c"].max())
    by_s = rows[rows["c"] == most].groupby("s")["nmi"].mean()
    near = int(min(by_s.index, key=lambda s: abs(s - (K * most) ** 0.5)))
    shown_c = ", ".join(f"c={c} {row['mean']:.3f} +- {row['std']:.3f}" for c, row in by_c.iterrows())
    shown_s = ", ".join(f"s={s} {nmi:.3f}" for s, nmi in by_s.items())
    return [
        Claim(
            "Larger c gives a higher NMI",
            bool(by_c["mean"].is_monotonic_increasing),
            f"s = {BY_C}: {shown_c}",
        ),
        Claim(
            "A larger c gives a steadier NMI",
            None if by_c["std"].isna().any() else bool(by_c["std"].iloc[-1] < by_c["std"].iloc[0]),
            "one seed" if by_c["std"].isna().any() else shown_c,
        ),
        Claim("s = k is too small", bool(by_s.iloc[0] < by_s.max() - 0.005), f"c = {most}: {shown_s}"),
        Claim(
            "An over-large s hurts",
            bool(by_s.iloc[-1] < by_s.max()) if by_s.index[-1] > 2 * (K * most) ** 0.5 else None,
            f"at c = {most} the best s is {by_s.idxmax()}; s = {by_s.index[-1]} gives {by_s.iloc[-1]:.3f}",
        ),
        Claim(
            "s near sqrt(kc) is near the best",
            bool(by_s[near] > by_s.max() - 0.01),
            f"sqrt(kc) = {(K * most) ** 0.5:.0f}: s = {near} gives {by_s[near]:.3f}, best {by_s.max():.3f}",
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Two panels: by c and by s, with the paper's values as crosses."""
    figure.set_size_inches(9, 4)
    left, right = figure.subplots(1, 2)
    most = rows["c"].max()
    for axes, part, name in (
        (left, rows[rows["s"] == BY_C], "c"),
        (right, rows[rows["c"] == most], "s"),
    ):
        by = part.groupby(name)["nmi"]
        axes.errorbar(by.mean().index, by.mean(), by.std().fillna(0), fmt="o-", capsize=3, label="ours")
        axes.set(xlabel=name, ylabel="NMI")
    published = {c: values[0] for (s, c), values in TABLE5.items() if s == BY_C}
    left.plot(
        list(published), list(published.values()), "x", color="C1", label="published (8.1 million rows)"
    )
    right.plot(list(FIGURE2), list(FIGURE2.values()), "x", color="C1", label="published (c = 1600)")
    left.set_title(f"s = {BY_C}")
    right.set_title(f"c = {most}")
    logarithmic(left, x=set(rows["c"]) | {c for s, c in TABLE5 if s == BY_C})
    logarithmic(right, x=set(rows["s"]) | set(FIGURE2))
    for axes in (left, right):
        axes.legend(fontsize="small", loc="lower right")


EXPERIMENT = Experiment(
    name="figure2",
    title="NMI on MNIST8M by c and by s",
    key=("rows", "c", "s", "seed"),
    values=("nmi", "nystrom", "reduction", "kmeans", "total"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Mean NMI against the number of landmarks, and against the number of features, beside the paper's",
)
