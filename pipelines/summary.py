"""From a fitted estimator to the record of the job: scores, sizes, the table of classes, a sample to draw.

The numbers come from the library's metrics; this only asks for them and puts them in their places.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import dask.array as da
import numpy as np

import daskkernels as dk
from daskkernels.versions import versions
from pipelines.requests import ClusterRequest
from pipelines.results import ClusterRun, DataFacts, EmbeddingSample, Scores, Spectrum

SAMPLE_ROWS = 3000  # more points hide each other


def summarise(request: ClusterRequest, data: dk.Dataset, X: da.Array, model: dk.KernelKMeans) -> ClusterRun:
    """The record of a finished fit of `model` on `X`, the rows of `data` as they were clustered."""
    classes = known_classes(data)
    y = data.y if classes else None
    facts = describe(request, data, classes)
    return ClusterRun(
        title=f"Kernel k-means of {facts.name}",
        data=facts,
        settings=settings(request, model),
        scores=scores(model, y),
        spectrum=spectrum(model),
        cluster_sizes=np.asarray(model.cluster_sizes_),
        contingency=None if y is None or classes is None else cross_table(model, y, len(classes)),
        sample=sample(model, X, y, request.model.seed),
        timings=(),  # the job fills them in when it is over
        command=request.command,
        versions=tuple(versions().items()),
    )


def known_classes(data: dk.Dataset) -> tuple[str, ...] | None:
    """Names of the classes, or None where the data has no labels or has numbers as targets."""
    return None if data.y is None or data.classes is None else tuple(str(name) for name in data.classes)


def describe(request: ClusterRequest, data: dk.Dataset, classes: tuple[str, ...] | None) -> DataFacts:
    """What was clustered."""
    name = PurePosixPath(request.data.rstrip("/")).name.removesuffix(".zarr")
    size = (data.n_rows, data.n_features, str(data.dtype))
    return DataFacts(name, request.data, *size, classes, data.source, data.digest)


def scores(model: dk.KernelKMeans, y: da.Array | None) -> Scores:
    """Inertia, approximation error and, where there are classes, the agreement with them."""
    own = (float(model.inertia_), float(model.features_.trace_error_), int(model.n_iter_))
    if y is None:
        return Scores(*own)
    labels = model.labels_
    return Scores(*own, dk.metrics.normalized_mutual_info(labels, y), dk.metrics.adjusted_rand(labels, y))


def spectrum(model: dk.KernelKMeans) -> Spectrum:
    """The eigenvalues of W and what was kept of them."""
    features = model.features_
    return Spectrum(np.asarray(features.eigenvalues_), int(features.rank_), int(features.n_components_))


def cross_table(model: dk.KernelKMeans, y: da.Array, n_classes: int) -> np.ndarray:
    """Rows (k, classes) by cluster and class, with empty clusters and classes in their places."""
    table = np.zeros((model.n_clusters, n_classes), np.int64)
    present = np.flatnonzero(model.cluster_sizes_), da.unique(y).compute()
    table[np.ix_(*present)] = dk.metrics.contingency(model.labels_, y)
    return table


def sample(model: dk.KernelKMeans, X: da.Array, y: da.Array | None, seed: int) -> EmbeddingSample:
    """The first two features of some rows, drawn without looking at the data."""
    n_rows = X.shape[0]
    chosen = np.random.default_rng(seed).choice(n_rows, min(n_rows, SAMPLE_ROWS), replace=False)
    chosen.sort()
    rows, clusters = X[chosen].compute(), model.labels_[chosen].compute()
    points = np.asarray(model.features_.transform(rows))[:, :2]
    if points.shape[1] == 1:  # one feature: a line
        points = np.hstack([points, np.zeros_like(points)])
    return EmbeddingSample(points, clusters, None if y is None else y[chosen].compute(), seed)


def settings(request: ClusterRequest, model: dk.KernelKMeans) -> tuple[tuple[str, str], ...]:
    """What was asked for, and what the library made of it."""
    features, session = model.features_, request.session
    rows: list[tuple[str, Any]] = [
        ("clusters", model.n_clusters),
        ("kernel", features.kernel_),
        ("landmarks", len(features.landmarks_)),
        ("rank kept", features.rank_),
        ("features", features.n_components_),
        ("scaled", "to mean 0 and variance 1" if request.model.scale else "no"),
        ("starts", request.model.n_init),
        ("seed", request.model.seed),
        ("scheduler", session.scheduler),
        ("workers", session.workers or "as found"),
        ("memory limit", session.memory_limit or "the library's choice"),
    ]
    return tuple((name, str(value)) for name, value in rows)
