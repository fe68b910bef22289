"""One clustering by one of the compared methods, on rows in memory, with its NMI and its seconds."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import daskkernels as dk
from daskkernels.errors import ConvergenceWarning, NumericalWarning
from daskkernels.metrics import normalized_mutual_info
from pipelines.progress import StageClock, listening

MAX_ITER = 300
STARTS = {"mushrooms": 10}  # one start is bimodal there, about .46 and .58; one elsewhere


def clustered(
    method: str,
    X: np.ndarray,
    y: np.ndarray,
    *,
    c: int,
    s: int | None,
    seed: int,
    factor: float = 1.0,
    n_init: int = 1,
) -> dict[str, Any]:
    """Labels by "nystrom", "random", "two-step" or "spectral" with c landmarks or features, s of them kept.

    Returns the fitted model, its NMI with the classes y, its seconds, and those of k-means among them.
    """
    k = len(np.unique(y))
    model = _model(method, k, dk.Gaussian("mean", factor=factor), c, s, seed, n_init)
    clock, began = StageClock(), time.perf_counter()
    with listening(clock), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", NumericalWarning)  # counted where it matters: degrees of spectral
        model.fit(X)
    seconds = time.perf_counter() - began
    kmeans = sum(spent for stage, spent in clock.seconds.items() if stage.startswith("kmeans"))
    nmi = normalized_mutual_info(y, model.labels_)
    return {"model": model, "nmi": nmi, "seconds": seconds, "kmeans_seconds": kmeans}


def _model(method: str, k: int, kernel: Any, c: int, s: int | None, seed: int, n_init: int) -> Any:
    """The estimator of a method, not fitted."""
    from daskkernels import baselines

    if method == "nystrom":
        return dk.KernelKMeans(
            k,
            kernel,
            n_landmarks=c,
            rank=None if s is None else "auto",
            n_components=c if s is None else s,
            n_init=n_init,
            max_iter=MAX_ITER,
            random_state=seed,
        )
    if method == "random":
        even = c + c % 2
        return baselines.RandomFourierKMeans(
            k,
            kernel,
            n_features=even,
            n_components=s,
            n_init=n_init,
            max_iter=MAX_ITER,
            random_state=seed,
        )
    if method == "two-step":
        return baselines.TwoStepKernelKMeans(k, kernel, n_landmarks=c, random_state=seed)
    return baselines.NystromSpectralClustering(k, kernel, n_landmarks=c, random_state=seed)
