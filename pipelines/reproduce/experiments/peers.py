"""Ours and other packages side by side: seconds, peak memory, and NMI or test error, on the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import daskkernels as dk
from pipelines.reproduce.peers import clustering, learning, tables
from pipelines.reproduce.peers.method import mean_distance
from pipelines.reproduce.peers.process import Limits, run
from pipelines.reproduce.records import Cell, Claim, Experiment
from pipelines.reproduce.sources import Sources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

METHODS = {"cluster": clustering.METHODS, "learn": learning.METHODS}
SETS = {
    "cluster": {"pendigits": 7494, "mushrooms": 8124, "letter": 16_000, "mnist": 60_000},
    "learn": {"pendigits": 7494, "letter": 16_000, "satimage": 4435, "mnist": 60_000},
}  # and their rows
QUICK_SETS = {"cluster": SETS["cluster"], "learn": SETS["learn"] | {"mnist": 10_000}}
SEEDS, QUICK_SEEDS = {"cluster": 10, "learn": 3}, {"pendigits": 3, "mushrooms": 3}  # of clusterings; else 1
LIMITS = Limits(seconds=300, memory=8 * 2**30)
KMEANS, NYSTROEM = "daskkernels KernelKMeans", "scikit-learn Nystroem + KMeans"
EIGENPRO, FALKON = "daskkernels EigenProClassifier", "daskkernels FalkonClassifier"


def cells(quick: bool) -> list[Cell]:
    """Every method on every data set, and seeds; the clock's noise reaches all methods of a seed alike."""
    sets = QUICK_SETS if quick else SETS
    return [
        {"task": task, "data": data, "rows": rows, "method": method, "seed": seed}
        for task, methods in METHODS.items()
        for data, rows in sets[task].items()
        for seed in range(_seeds(task, data, quick))
        for method in methods
    ]


def _seeds(task: str, data: str, quick: bool) -> int:
    if not quick:
        return SEEDS[task]
    return QUICK_SEEDS.get(data, 1) if task == "cluster" else 1


def measure(cell: Cell, sources: Sources) -> Mapping[str, Any]:
    """One method in a process of its own: the bandwidth of a clustering is given, a classifier is tuned."""
    data = sources.dataset(cell["data"])
    with tempfile.TemporaryDirectory() as folder:
        if cell["rows"] < data.n_rows:
            data = _some(data, cell["rows"], cell["seed"], Path(folder) / "rows.zarr")
        job = cell | {"rows": _place(data)}
        if cell["task"] == "cluster":
            job["sigma"] = mean_distance(data.X)
        else:
            job["test"] = _place(sources.dataset(cell["data"], "test"))
            job["settings"] = learning.grid(cell["method"])
        return run(job, cell["rows"], LIMITS)


def _some(data: dk.Dataset, rows: int, seed: int, path: Path) -> dk.Dataset:
    """Seeded rows of a data set as one of their own."""
    chosen = np.sort(np.random.default_rng(seed).permutation(data.n_rows)[:rows])
    return dk.write_dataset(path, data.X[chosen].compute(), np.asarray(data.y)[chosen])


def _place(data: dk.Dataset) -> str:
    """Where a data set is, for a process that works elsewhere."""
    return str(Path(data.path).resolve())


def claims(rows: pd.DataFrame) -> list[Claim]:
    """Who is ahead, in quality, in time and in memory."""
    found = rows[rows["quality"].notna()].groupby(["task", "data", "method"])
    medians = found[["cpu_seconds", "peak_mib", "quality"]].median()
    return [
        *_clustering(medians),
        _within(medians, EIGENPRO, 0.2),
        _within(medians, FALKON, 0.2),
        _faster_than_the_best(medians),
        _words(rows),
    ]


def _clustering(medians: pd.DataFrame) -> list[Claim]:
    """Kernel k-means against features and k-means of scikit-learn, and against everybody."""
    ours, theirs = (_of(medians, "cluster", name) for name in (KMEANS, NYSTROEM))
    sets = [data for data in ours.index if data in theirs.index]
    times = {data: theirs["cpu_seconds"][data] / ours["cpu_seconds"][data] for data in sets}
    lost = {data: theirs["quality"][data] - ours["quality"][data] for data in sets}
    memory = {data: ours["peak_mib"][data] - theirs["peak_mib"][data] for data in sets}
    return [
        Claim(
            "KernelKMeans needs no more processor time than Nystroem + KMeans",
            _all(ratio >= 1 for ratio in times.values()),
            ", ".join(f"{data}: {ratio:.2f} times as fast" for data, ratio in times.items()),
        ),
        Claim(
            "Its NMI is not lower by more than .01",
            _all(by <= 0.01 for by in lost.values()),
            ", ".join(f"{data} {-by:+.3f}" for data, by in lost.items()),
        ),
        Claim(
            "It holds less memory",
            _all(more < 0 for more in memory.values()),
            ", ".join(f"{data} {more:+.0f} MiB" for data, more in memory.items()),
        ),
        _best_clustering(medians),
    ]


def _best_clustering(medians: pd.DataFrame) -> Claim:
    ours = _of(medians, "cluster", KMEANS)["quality"]
    best = {data: _ranked(medians, "cluster", data, largest=True) for data in ours.index}
    return Claim(
        "KernelKMeans has the highest NMI, to .01",
        _all(quality - ours[data] <= 0.01 for data, (_, quality) in best.items()),
        "; ".join(
            f"{data}: {ours[data]:.3f}, best {quality:.3f} by {name}"
            for data, (name, quality) in best.items()
        ),
    )


def _within(medians: pd.DataFrame, name: str, points: float) -> Claim:
    """A classifier of ours against the best peer on each data set."""
    ours = _of(medians, "learn", name)["quality"]
    best = {data: _ranked(_peers(medians), "learn", data, largest=False) for data in ours.index}
    return Claim(
        f"The error of {name.split()[1]} is at most {points:g} points above the best peer's",
        _all(ours[data] - error <= points for data, (_, error) in best.items()),
        "; ".join(
            f"{data}: {ours[data]:.2f} %, best {error:.2f} % by {peer}"
            for data, (peer, error) in best.items()
        ),
    )


def _faster_than_the_best(medians: pd.DataFrame) -> Claim:
    """EigenPro's processor seconds and those of the peer that errs least."""
    ours = _of(medians, "learn", EIGENPRO)["cpu_seconds"]
    seconds = medians["cpu_seconds"]
    best = {data: _ranked(_peers(medians), "learn", data, largest=False)[0] for data in ours.index}
    return Claim(
        "EigenProClassifier needs less processor time than the peer that errs least",
        _all(ours[data] < seconds["learn", data, peer] for data, peer in best.items()),
        "; ".join(
            f"{data}: {ours[data]:.1f} s, {peer} {seconds['learn', data, peer]:.1f} s"
            for data, peer in best.items()
        ),
    )


def _words(rows: pd.DataFrame) -> Claim:
    """What was not measured, and why."""
    silent = rows[rows["quality"].isna()].drop_duplicates(["data", "method"])
    said = [f"{row['method']} on {row['data']}: {row['word']}" for _, row in silent.iterrows()]
    return Claim(
        "Every method finishes everywhere, within 300 s and 8 GiB", not said, "; ".join(said) or "all cells"
    )


def _of(medians: pd.DataFrame, task: str, method: str) -> pd.DataFrame:
    """The rows of one method, by data set; none where it finished nowhere."""
    tasks, methods = (medians.index.get_level_values(level) for level in ("task", "method"))
    return medians[(tasks == task) & (methods == method)].droplevel(["task", "method"])


def _all(verdicts: Iterable[Any]) -> bool | None:
    """Whether it is so on every data set; open where there is none."""
    found = [bool(verdict) for verdict in verdicts]
    return all(found) if found else None


def _peers(medians: pd.DataFrame) -> pd.DataFrame:
    """Without ours."""
    return medians[~medians.index.get_level_values("method").str.startswith("daskkernels")]


def _ranked(medians: pd.DataFrame, task: str, data: str, *, largest: bool) -> tuple[str, float]:
    """The best method on a data set, and its quality."""
    quality = medians["quality"][task, data]
    name = quality.idxmax() if largest else quality.idxmin()
    return name, quality[name]


def draw(rows: pd.DataFrame, figure: Figure) -> None:
    """A panel for each task: a point for each method and data set, quality against processor seconds."""
    figure.set_size_inches(11, 4.5)
    markers = dict(zip(("pendigits", "letter", "mnist", "mushrooms", "satimage"), "osD^v", strict=True))
    for axes, (task, methods) in zip(figure.subplots(1, 2), METHODS.items(), strict=True):
        for number, method in enumerate(methods):
            part = rows[(rows["task"] == task) & (rows["method"] == method)]
            by = part.groupby("data")[["cpu_seconds", "quality"]].median().dropna()
            for data, point in by.iterrows():
                axes.plot(point["cpu_seconds"], point["quality"], markers[data], color=f"C{number}")
            axes.plot([], [], "o", color=f"C{number}", label=method)
        for data, marker in markers.items():
            if data in SETS[task]:
                axes.plot([], [], marker, color="none", markeredgecolor="k", label=data)
        axes.set(xscale="log", xlabel="processor seconds of the fit", title=task)
        axes.legend(fontsize="xx-small")
        axes.set_ylabel("NMI" if task == "cluster" else "test error, %")


EXPERIMENT = Experiment(
    name="peers",
    title="Ours and other packages on the same data",
    key=("task", "data", "rows", "method", "seed"),
    values=("seconds", "cpu_seconds", "tuning_seconds", "peak_mib", "quality", "setting", "word"),
    cells=cells,
    measure=measure,
    claims=claims,
    draw=draw,
    alt="Median NMI and test error against processor seconds, by method and data set",
    table=tables.side_by_side,
)
