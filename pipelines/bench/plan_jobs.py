"""Bench: the twelve fits of the `plan` bench, as a user would have them: tables, estimators, workers.

Digits have no clusters that k-means finds at once, made speech has many outputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import daskkernels as dk
from daskkernels.block.speech import speech_rows
from pipelines.bench.setup import Setup

QUICK_ROWS, QUICK_LANDMARKS = 1024, 32


@dataclass(frozen=True)
class FitJob:
    """One fit: n rows of a table, in memory or as a dataset, on threads of one process or on two workers."""

    name: str
    model: Any  # not fitted
    rows: int
    speech: bool = False  # else digits
    pool: int = 1  # so many neighbouring columns are averaged
    dtype: str = "f4"  # as it is stored; whole numbers are bytes, others lie in [0, 1] (digits)
    stored: bool = False
    processes: bool = False
    memory_limit: str | None = None

    def table(self, setup: Setup) -> tuple[np.ndarray, np.ndarray]:
        """Its rows and classes."""
        if self.speech:
            X, y = speech_rows(0, self.rows)
            return X.astype(self.dtype, copy=False), y
        X = setup.data.stored[: self.rows].astype("f4")
        n, d = len(X), X.shape[1] // self.pool
        X = X[:, : d * self.pool].reshape(n, d, self.pool).mean(axis=2)
        X = np.round(X) if np.dtype(self.dtype).kind == "u" else X / np.float32(255)
        return X.astype(self.dtype), setup.data.y[:n]

    @property
    def what(self) -> str:
        """In words."""
        held = f"{'Zarr' if self.stored else 'numpy'} {self.dtype}"
        where = "2 processes" if self.processes else "threads"
        return f"{type(self.model).__name__}, {'speech' if self.speech else 'digits'}, {held}, {where}"

    def reduced(self) -> FitJob:
        """The same, tiny."""
        model = type(self.model)(**self.model.get_params(deep=False))
        if hasattr(model, "n_landmarks"):
            model.set_params(n_landmarks=QUICK_LANDMARKS, n_components="auto", rank="auto")
        return replace(self, model=model, rows=QUICK_ROWS)


def _features(*, kernel: Any = "gaussian", **parameters: Any) -> Any:
    return dk.NystromFeatures(kernel, random_state=0, **parameters)


def _kmeans(k: int, *, kernel: Any = "gaussian", **parameters: Any) -> Any:
    return dk.KernelKMeans(k, kernel, random_state=0, **parameters)


def _classifier(kernel: Any, epochs: int, **parameters: Any) -> Any:
    return dk.EigenProClassifier(kernel, max_epochs=epochs, random_state=0, **parameters)


JOBS = (
    FitJob("features, c=2000", _features(n_landmarks=2000, n_components=100), 60_000),
    FitJob(
        "features, Zarr bytes, c=1500",
        _features(kernel=dk.Cauchy("mean"), n_landmarks=1500, n_components=200),
        60_000,
        dtype="u1",
        stored=True,
        processes=True,
    ),
    FitJob("k-means, k=10", _kmeans(10, n_landmarks=810), 60_000),
    FitJob(
        "k-means, float64, n_init=5",
        _kmeans(20, kernel="laplacian", n_init=5, max_iter=30),
        30_000,
        pool=4,
        dtype="f8",
    ),
    FitJob(
        "k-means, speech, k=48",
        _kmeans(48, n_landmarks=1600, n_components=48),
        100_000,
        speech=True,
        stored=True,
        processes=True,
    ),
    FitJob(
        "k-means, few columns",
        _kmeans(30, kernel=dk.Matern("median", nu=2.5), n_landmarks=600, n_init=2),
        60_000,
        pool=16,
        stored=True,
    ),
    FitJob("EigenPro, computed", _classifier(dk.Gaussian(5.0), 2, keep_kernel=False), 24_000),
    FitJob("EigenPro, kept values", _classifier(dk.Gaussian(5.0), 10, keep_kernel=True), 24_000),
    FitJob(
        "EigenPro, speech, 144 classes",
        _classifier("laplacian", 1),
        24_000,
        speech=True,
        stored=True,
        processes=True,
    ),
    FitJob(
        "EigenPro regression, few columns",
        dk.EigenProRegressor(dk.Cauchy("mean"), max_epochs=3, keep_kernel=False, random_state=0),
        30_000,
        pool=16,
        processes=True,
    ),
    FitJob(
        "EigenPro, automatic kernel",
        _classifier("auto", 4, validation_fraction=0.1),
        12_000,
        pool=4,
        dtype="f8",
        stored=True,
    ),
    FitJob(
        "EigenPro, streamed",
        _classifier(dk.Gaussian(5.0), 1),
        30_000,
        stored=True,
        processes=True,
        memory_limit="600MiB",
    ),
)
QUICK_JOBS = tuple(job.reduced() for job in (JOBS[2], JOBS[8]))
