"""Table 6: seconds of one clustering by the number of workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dask.system import cpu_count

from pipelines.connection import quiet_client
from pipelines.reproduce.axes import logarithmic
from pipelines.reproduce.experiments.mnist8m_sizes import QUICK_ROWS, ROWS, fit
from pipelines.reproduce.published import TABLE6
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

C, S, QUICK_S = 400, 80, 20


def cells(quick: bool) -> list[Cell]:
    """1, 2, 4, ... worker processes of one thread, as many as there are cores."""
    counts = [w for w in (1, 2, 4, 8, 16, 32, 64) if w <= cpu_count()]
    rows = QUICK_ROWS if quick else ROWS
    s = QUICK_S if quick else S
    return [
        {"rows": rows, "s": s, "workers": w, "seed": seed}
        for seed in range(1 if quick else 3)
        for w in counts
    ]


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One clustering on that many workers."""
    data = sources.made("mnist8m", cell["rows"])
    with quiet_client(n_workers=cell["workers"], threads_per_worker=1):
        return fit(data, C, cell["s"], cell["seed"])


def claims(rows: pd.DataFrame) -> list[Claim]:
    """What section 6 says of the scaling."""
    seconds = rows.groupby("workers")[["nystrom", "total"]].median()
    first, last = seconds.iloc[0], seconds.iloc[-1]
    ideal = seconds.index[-1] / seconds.index[0]
    gain = first["nystrom"] / last["nystrom"]
    shown = ", ".join(f"{w}: {row['nystrom']:.1f} of {row['total']:.1f} s" for w, row in seconds.iterrows())
    nmi = rows.groupby("seed")["nmi"].nunique()
    return [
        Claim(
            "The time of the Nyström stage falls like 1 / workers",
            None if len(seconds) < 2 else bool(gain > 0.8 * ideal),
            f"{gain:.2f} times faster on {ideal:g} times the workers; {shown}",
        ),
        Claim(
            "Ours: the answer is the same on any number of workers",
            None if len(seconds) < 2 else bool((nmi == 1).all()),
            "the NMI is equal to the last digit" if (nmi == 1).all() else "the NMI differs",
        ),
    ]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """Seconds against workers, both axes logarithmic; the paper's against its nodes."""
    figure.set_size_inches(6, 4)
    axes = figure.subplots()
    seconds = rows.groupby("workers")[["nystrom", "total"]].median()
    for name in seconds:
        axes.plot(seconds.index, seconds[name], "o-", label=f"ours, {name}")
    axes.plot(
        seconds.index, seconds["nystrom"].iloc[0] / seconds.index, ":", color="0.5", label="1 / workers"
    )
    axes.plot(
        list(TABLE6), list(TABLE6.values()), "x", label="published, nodes of 32 cores, 8.1 million rows"
    )
    axes.set(xlabel="workers", ylabel="seconds")
    logarithmic(axes, x={*seconds.index, *TABLE6}, y=True)
    axes.legend(fontsize="small")


EXPERIMENT = Experiment(
    name="table6",
    title="Seconds on MNIST8M by the number of workers",
    key=("rows", "s", "workers", "seed"),
    values=("nmi", "nystrom", "reduction", "kmeans", "total"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Seconds against the number of workers, with the line of perfect scaling and the paper's values",
)
