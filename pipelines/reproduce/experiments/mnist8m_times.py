"""Table 5: NMI and seconds of the three stages on MNIST8M, by s and c."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.reproduce.axes import legend_below
from pipelines.reproduce.experiments.mnist8m_sizes import QUICK_ROWS, ROWS, fit
from pipelines.reproduce.published import TABLE5
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STAGES = ("nystrom", "reduction", "kmeans")

QUICK = ((20, 100), (80, 400))


def cells(quick: bool) -> list[Cell]:
    """The five lines of the table; a quick run has two of them."""
    return [
        {"rows": QUICK_ROWS if quick else ROWS, "s": s, "c": c, "seed": seed}
        for seed in range(1 if quick else 3)
        for s, c in TABLE5
        if (s, c) in QUICK or not quick
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One clustering, streamed from the store."""
    return fit(sources.made("mnist8m", cell["rows"]), cell["c"], cell["s"], cell["seed"])


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What section 6 says of the times."""
    found = rows.groupby(["s", "c"])[["nmi", *STAGES, "total"]].median()
    n = int(rows["rows"].max())
    power = np.polyfit(np.log(rows["c"]), np.log(rows["nystrom"]), 1)[0]
    lines = "; ".join(
        f"s={s} c={c}: {row['nystrom']:.0f}/{row['reduction']:.0f}/{row['kmeans']:.0f}, {row['total']:.0f} s "
        f"here for {n} rows, {TABLE5[s, c][4]:.0f} s there for {ROWS}"
        for (s, c), row in found.iterrows()
    )
    small, large = (found["nmi"].get((s, 400), np.nan) for s in (20, 80))
    return [
        Claim(
            "The time of the Nyström stage grows like c",
            bool(0.6 < power < 1.4),
            f"like c^{power:.2f}; {lines}",
        ),
        Claim(
            "s = 80 gives a higher NMI than s = 20",
            None if np.isnan(small) else bool(large > small),
            f"c = 400: {large:.3f}, {small:.3f}",
        ),
        Claim(
            "The Nyström stage takes most of the time",
            bool((found["nystrom"] > 0.5 * found["total"]).all()),
            ", ".join(f"s={s} c={c} {row['nystrom'] / row['total']:.0%}" for (s, c), row in found.iterrows()),
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Stacked bars of the stages, ours scaled to 8.1 million rows beside the paper's."""
    figure.set_size_inches(8, 4)
    axes = figure.subplots()
    found = rows.groupby(["s", "c"])[[*STAGES, "nmi"]].median()
    scale = ROWS / rows["rows"].max()
    places = np.arange(len(found))
    for offset, label in ((-0.2, "ours, scaled to 8.1 million rows"), (0.2, "published, 32 nodes")):
        bottom = np.zeros(len(found))
        for number, stage in enumerate(STAGES):
            ours = found[stage].to_numpy() * scale
            theirs = np.array([TABLE5[key][1 + number] for key in found.index])
            height = ours if offset < 0 else theirs
            hatch = None if offset < 0 else "//"
            axes.bar(
                places + offset,
                height,
                0.38,
                bottom,
                color=f"C{number}",
                hatch=hatch,
                label=f"{stage}, {label}",
            )
            bottom += height
    axes.set_xticks(places, [f"s={s}\nc={c}" for s, c in found.index])
    axes.set(ylabel="seconds")
    legend_below(figure, axes, 2)


EXPERIMENT = Experiment(
    name="table5",
    title="NMI and seconds on MNIST8M by s and c",
    key=("rows", "s", "c", "seed"),
    values=("nmi", *STAGES, "total"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Bars of seconds by stage for each s and c, ours beside the paper's",
)
