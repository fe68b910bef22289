"""Clusterings to compare: the same rows, k, bandwidth, landmarks, iterations and a single start for all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.kernel_approximation import Nystroem

import daskkernels as dk
from daskkernels import baselines
from daskkernels.metrics import normalized_mutual_info
from pipelines.reproduce.peers.method import Method, ours, rows_for

LANDMARKS = 400
MAX_ITER = 300


@dataclass(frozen=True)
class Asked:
    """What every method is given beside the rows: k, the bandwidth of the Gaussian kernel, a seed."""

    k: int
    sigma: float
    seed: int

    @property
    def gamma(self) -> float:
        """The bandwidth as scikit-learn has it, exp(-gamma |x - z|^2)."""
        return 0.5 / self.sigma**2


def _kernel_kmeans(X: Any, asked: Asked) -> Any:
    kernel = dk.Gaussian(asked.sigma)
    model = dk.KernelKMeans(
        asked.k, kernel, n_landmarks=LANDMARKS, max_iter=MAX_ITER, random_state=asked.seed
    )
    return model.fit(X).labels_


def _nystrom_spectral(X: Any, asked: Asked) -> Any:
    kernel = dk.Gaussian(asked.sigma)
    model = baselines.NystromSpectralClustering(
        asked.k, kernel, n_landmarks=LANDMARKS, random_state=asked.seed
    )
    return model.fit(X).labels_


def _sklearn_nystrom(X: Any, asked: Asked) -> Any:
    features = Nystroem(gamma=asked.gamma, n_components=LANDMARKS, random_state=asked.seed).fit_transform(X)
    return _sklearn_kmeans(features, asked)


def _sklearn_kmeans(X: Any, asked: Asked) -> Any:
    return KMeans(asked.k, n_init=1, max_iter=MAX_ITER, random_state=asked.seed).fit(X).labels_


def _sklearn_spectral(X: Any, asked: Asked) -> Any:
    return SpectralClustering(asked.k, gamma=asked.gamma, n_init=1, random_state=asked.seed).fit(X).labels_


def _dask_ml_kmeans(X: Any, asked: Asked) -> Any:
    from dask_ml import cluster

    return cluster.KMeans(asked.k, n_init=1, max_iter=MAX_ITER, random_state=asked.seed).fit(X).labels_


def _dask_ml_spectral(X: Any, asked: Asked) -> Any:
    from dask_ml import cluster

    model = cluster.SpectralClustering(
        asked.k,
        gamma=asked.gamma,
        n_components=LANDMARKS,
        persist_embedding=True,
        assign_labels="sklearn-kmeans",  # its own takes minutes: two chunks for each landmark
        n_init=1,
        random_state=asked.seed,
    )
    return model.fit(X).labels_


METHODS = {
    "daskkernels KernelKMeans": ours(_kernel_kmeans),
    "daskkernels NystromSpectralClustering": ours(_nystrom_spectral),
    "scikit-learn Nystroem + KMeans": Method(_sklearn_nystrom),
    "scikit-learn KMeans": Method(_sklearn_kmeans),
    "scikit-learn SpectralClustering": Method(_sklearn_spectral, pair_bytes=16),
    "dask-ml KMeans": Method(_dask_ml_kmeans, "dask", "dask_ml.cluster", "dask-ml"),
    "dask-ml SpectralClustering": Method(_dask_ml_spectral, "dask", "dask_ml.cluster", "dask-ml"),
}


def measured(method: Method, job: dict[str, Any]) -> dict[str, Any]:
    """One clustering: its seconds, and its NMI with the classes. The bandwidth is given, nothing is tuned."""
    data = dk.open_dataset(job["rows"])
    X, y = rows_for(method, data), np.asarray(data.y)
    asked = Asked(len(np.unique(y)), job["sigma"], job["seed"])
    began, worked = time.perf_counter(), time.process_time()
    labels = np.asarray(method.run(X, asked))
    spent = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - worked}
    return spent | {"tuning_seconds": 0.0, "quality": normalized_mutual_info(y, labels)}
