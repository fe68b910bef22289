"""From a fitted estimator to the record of the job: scores, sizes, the table of classes, settings.

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
from pipelines.results import ClusterRun, DataFacts, Scores, Spectrum


def summarise(request: ClusterRequest, data: dk.Dataset, model: dk.KernelKMeans) -> ClusterRun:
    """The record of a finished fit of `model` on the rows of `data`, without what only a report shows."""
    classes = known_classes(data)
    y = data.y if classes else None
    facts = describe(request.data, data, classes)
    return ClusterRun(
        title=f"Kernel k-means of {facts.name}",
        data=facts,
        settings=settings(request, model),
        scores=scores(model, y),
        spectrum=spectrum(model),
        cluster_sizes=np.asarray(model.cluster_sizes_),
        contingency=None if y is None or classes is None else cross_table(model, y, len(classes)),
        timings=(),  # the job fills them in when it is over
        command=request.command,
        versions=tuple(versions().items()),
    )


def known_classes(data: dk.Dataset) -> tuple[str, ...] | None:
    """Names of the classes, or None where the data has no labels or has numbers as targets."""
    return None if data.y is None or data.classes is None else tuple(str(name) for name in data.classes)


def describe(path: str, data: dk.Dataset, classes: tuple[str, ...] | None) -> DataFacts:
    """What a job worked on."""
    name = PurePosixPath(path.rstrip("/")).name.removesuffix(".zarr")
    size = (data.n_rows, data.n_features, str(data.dtype))
    about = (classes, data.source, data.digest, data.feature_names, data.feature_shape)
    return DataFacts(name, path, *size, *about)


def scores(model: dk.KernelKMeans, y: da.Array | None) -> Scores:
    """Inertia, approximation error and, where there are classes, the agreement with them."""
    own = (float(model.inertia_), float(model.features_.trace_error_), int(model.n_iter_))
    if y is None:
        return Scores(*own)
    labels = model.labels_
    return Scores(*own, dk.metrics.normalized_mutual_info(labels, y), dk.metrics.adjusted_rand(labels, y))


def spectrum(model: dk.KernelKMeans) -> Spectrum:
    """The eigenvalues of W, what was kept of them, and what is lost by keeping fewer."""
    features = model.features_
    kept = (int(features.rank_), int(features.n_components_))
    return Spectrum(features.eigenvalues_, *kept, features.trace_errors_, features.rank_trace_errors_)


def cross_table(model: dk.KernelKMeans, y: da.Array, n_classes: int) -> np.ndarray:
    """Rows (k, classes) by cluster and class, with empty clusters and classes in their places."""
    table = np.zeros((model.n_clusters, n_classes), np.int64)
    present = np.flatnonzero(model.cluster_sizes_), da.unique(y).compute()
    table[np.ix_(*present)] = dk.metrics.contingency(model.labels_, y)
    return table


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
