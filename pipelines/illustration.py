"""What only a report shows: rows and their silhouettes, clusters in input space, the plan beside the fit.

Each is one more look at the data after the fit, so that a job without a report does not pay for it.
"""

from __future__ import annotations

from dataclasses import replace

import dask.array as da
import numpy as np
from sklearn.metrics import silhouette_samples

import daskkernels as dk
from daskkernels.plan import Plan
from daskkernels.plan_clustering import ASSUMED_ITERATIONS
from pipelines.requests import ClusterRequest
from pipelines.results import ClusterRun, Means, PlanFacts, RowSample, Step

SAMPLE_ROWS = 3000  # more points hide each other
_KMEANS = "kmeans-"  # the plan takes all stages of k-means as one step


def illustrated(
    record: ClusterRun, request: ClusterRequest, data: dk.Dataset, X: da.Array, model: dk.KernelKMeans
) -> ClusterRun:
    """The record with a sample and the clusters' means; `X` are the rows of `data` as they were clustered."""
    n_rows, seed = data.n_rows, request.model.seed
    chosen = np.random.default_rng(seed).choice(n_rows, min(n_rows, SAMPLE_ROWS), replace=False)
    chosen.sort()
    raw = data.X[chosen].compute()
    rows = X[chosen].compute() if request.model.scale else raw
    values = dk.metrics.cluster_means(data.X, model.labels_, model.n_clusters)
    classes = None if record.contingency is None else data.y[chosen].compute()
    return replace(
        record,
        sample=sample(model, rows, model.labels_[chosen].compute(), classes, seed),
        means=Means(values, raw.std(axis=0, dtype=np.float64)),
    )


def sample(
    model: dk.KernelKMeans, rows: np.ndarray, clusters: np.ndarray, classes: np.ndarray | None, seed: int
) -> RowSample:
    """The first two features of some rows, and how well each row lies in its cluster, by all features."""
    features = np.asarray(model.features_.transform(rows))
    used, why, found = len(np.unique(clusters)), "", None
    if used == 1:
        why = "all rows of the sample are in one cluster"
    elif used == len(clusters):
        why = "every row of the sample is a cluster of its own"
    else:
        found = silhouette_samples(features, clusters)
    return RowSample(features[:, :2], clusters, classes, found, why, seed)


def plan_facts(planned: Plan, model: dk.KernelKMeans, peaks: dict[str, int]) -> PlanFacts:
    """The plan made before the fit, beside the seconds of the fit and the peak memory of its workers."""
    machine = planned.machine
    return PlanFacts(
        steps=tuple(steps(planned, model.plan_.measured)),
        gflops=machine.gflops,
        workers=f"{machine.workers} x {machine.threads} threads",
        iterations=min(model.max_iter, ASSUMED_ITERATIONS),
        worker_bytes=planned.worker_bytes,
        limit_bytes=machine.memory,
        measured_bytes=max(peaks.values(), default=None),
        choices=tuple(planned.choices.items()),
    )


def steps(planned: Plan, measured: dict[str, float]) -> list[Step]:
    """The stages of the fit in their order, with those that only the plan knows at the end."""
    predicted = {_step(step.stage): step for step in planned.steps}
    seconds: dict[str, float] = {}
    for stage, took in measured.items():
        seconds[_step(stage)] = seconds.get(_step(stage), 0.0) + took
    found = []
    for name in dict.fromkeys([*seconds, *predicted]):
        step = predicted.get(name)
        foreseen = (None, None) if step is None else (step.seconds(planned.machine), step.passes)
        found.append(Step(name, foreseen[0], seconds.get(name), foreseen[1]))
    return found


def _step(stage: str) -> str:
    """The step of the plan that a stage of the fit belongs to."""
    return "k-means" if stage.startswith(_KMEANS) else stage
