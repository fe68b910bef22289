"""Made-up records of finished jobs, for tables and reports without data or library."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pipelines.results import ClusterRun, DataFacts, Means, PlanFacts, RowSample, Scores, Spectrum, Step


def made_up(clusters: int = 4, classes: int | None = 3, rows: int = 300, columns: int = 7) -> ClusterRun:
    """A job of that many clusters, with or without known classes, and all that a report shows."""
    rng = np.random.default_rng(0)
    labels, y = rng.integers(clusters, size=rows), rng.integers(classes or 1, size=rows)
    contingency = np.zeros((clusters, classes or 1), int)
    np.add.at(contingency, (labels, y), 1)
    sizes = np.bincount(labels, minlength=clusters)
    values = np.where(sizes[:, None] > 0, rng.normal(size=(clusters, columns)), np.nan)
    silhouettes = rng.uniform(-0.2, 0.8, rows) if clusters > 1 else None
    return ClusterRun(
        title="Kernel k-means of made-up",
        data=facts(rows, columns, classes),
        settings=(("clusters", str(clusters)), ("kernel", "Gaussian(bandwidth=1.5)")),
        scores=Scores(12.5, 0.03125, 17, *((None, None) if classes is None else (0.625, 0.5))),
        spectrum=spectrum(),
        cluster_sizes=sizes,
        contingency=None if classes is None else contingency,
        timings=(("open dataset", 0.25), ("fit", 1.5), ("score", 0.5)),
        command="python -m pipelines cluster somewhere/made-up.zarr --clusters 4",
        versions=(("daskkernels", "0.1"),),
        sample=RowSample(
            points=rng.normal(size=(rows, 2)),
            clusters=labels,
            classes=None if classes is None else y,
            silhouettes=silhouettes,
            no_silhouettes="all rows of the sample are in one cluster" if silhouettes is None else "",
            seed=0,
        ),
        means=Means(values, np.ones(columns)),
        plan=plan(),
    )


def facts(rows: int, columns: int, classes: int | None) -> DataFacts:
    """Data without names of columns that is no image."""
    return DataFacts(
        name="made-up",
        path="somewhere/made-up.zarr",
        n_rows=rows,
        n_features=columns,
        dtype="float32",
        classes=None if classes is None else tuple(f"class {i}" for i in range(classes)),
        source=None,
        digest="00ff" * 16,
    )


def spectrum() -> Spectrum:
    """Forty eigenvalues, half of them kept."""
    rank_errors = np.geomspace(0.5, 0.01, 20)
    return Spectrum(np.geomspace(100, 1e-9, 40), 20, 9, rank_errors**1.1, rank_errors)


def plan() -> PlanFacts:
    """A plan that one stage was not in, and one step of which did not run."""
    return PlanFacts(
        steps=(
            Step("nystrom-landmarks", None, 0.125, None),
            Step("nystrom-gram", 2.25, 3.5, 1.0),
            Step("nystrom-project", 0.75, None, 1.0),
        ),
        gflops=123.0,
        workers="2 x 1 threads",
        iterations=50,
        worker_bytes=300 * 2**20,
        limit_bytes=2 * 2**30,
        measured_bytes=250 * 2**20,
        choices=(("columns", "kept in memory between the passes"),),
    )


def changed(run: ClusterRun, **data: Any) -> ClusterRun:
    """The same job with other facts about its data."""
    return dataclasses.replace(run, data=dataclasses.replace(run.data, **data))
