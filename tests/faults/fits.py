"""The fits that are disturbed: small, float64, every choice that a machine's speed would make is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import numpy as np

import daskkernels as dk

N, D = 6000, 8
Make = Callable[[], Any]
Answer = Callable[[Any], dict[str, np.ndarray]]


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) float64 around four centers, and which."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, N)
    return rng.normal(size=(N, D)) + 2.0 * rng.normal(size=(4, D))[y], y


def clusters() -> dk.KernelKMeans:
    return dk.KernelKMeans(4, n_landmarks=80, n_components=20, random_state=0, max_iter=30)


def classifier(**options: Any) -> dk.EigenProClassifier:
    given = {"n_subsamples": 400, "batch_size": 250, "round_size": 1000, "max_epochs": 2, "random_state": 0}
    return dk.EigenProClassifier(validation_fraction=0.1, **(given | options))


def keeping() -> dk.EigenProClassifier:
    return classifier(keep_kernel=True)


def long() -> dk.EigenProClassifier:
    return classifier(max_epochs=4, patience=None)


def of_clusters(model: Any) -> dict[str, np.ndarray]:
    (labels,) = dask.compute(model.labels_, scheduler="sync")
    return {"labels": labels, "centers": model.cluster_centers_, "inertia": np.asarray(model.inertia_)}


def of_classifier(model: Any) -> dict[str, np.ndarray]:
    return {"dual_coef": np.asarray(model.dual_coef_), "subsample_coef": np.asarray(model.subsample_coef_)}


FITS: dict[str, tuple[Make, Answer]] = {
    "clusters": (clusters, of_clusters),
    "classifier": (classifier, of_classifier),
    "keeping": (keeping, of_classifier),
    "long": (long, of_classifier),
}
