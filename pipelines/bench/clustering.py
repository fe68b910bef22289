"""Bench `clustering`: `KernelKMeans` against Nystroem + KMeans(n_init=1, max_iter=100), with 5 seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline

import daskkernels as dk
from pipelines.bench.inputs import Digits
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup
from pipelines.bench.timing import seconds

Fit = Callable[[int], np.ndarray]  # a seed -> labels


def run(setup: Setup) -> Iterator[Row]:
    """One timed fit a seed on each side, in turns; the bandwidth is given to both."""
    data, (c, seeds) = setup.data, (100, range(2)) if setup.quick else (810, range(5))
    k = len(np.unique(data.y))
    with setup.yardstick.watch("clustering") as may_judge:
        times, scores = compare((ours(data, k, c), peer(data, k, c)), data.y, seeds)
    yield Row(
        "clustering",
        f"clustering c={c}",
        f"KernelKMeans k={k} n={len(data.y)}, peer scikit-learn's Nystroem + KMeans, {len(seeds)} seeds",
        times.times,
        "times",
        times,
        asked=2.0,
        judged=may_judge(),
    )
    ours_mean, peer_mean = np.mean(scores.ours), np.mean(scores.peer)
    spread = float(np.std(scores.peer) / np.sqrt(len(seeds)))  # the peer's own uncertainty
    yield Row(
        "clustering",
        f"clustering c={c}: NMI",
        "mean over the seeds; asked: the peer's, less its standard error",
        float(ours_mean),
        "NMI",
        scores,
        asked=float(peer_mean) - spread,
        judged=not setup.quick,  # a busy machine finds the same clusters
        details={"peer's standard error": spread},
    )


def ours(data: Digits, k: int, c: int) -> Fit:
    """A fit by the library."""
    kernel = dk.Gaussian(data.bandwidth)

    def fit(seed: int) -> np.ndarray:
        model = dk.KernelKMeans(k, kernel, n_landmarks=c, max_iter=100, random_state=seed)
        return model.fit_predict(data.X)

    return fit


def peer(data: Digits, k: int, c: int) -> Fit:
    """The same by scikit-learn."""

    def fit(seed: int) -> np.ndarray:
        gamma = 1 / (2 * data.bandwidth**2)
        features = Nystroem(kernel="rbf", gamma=gamma, n_components=c, random_state=seed)
        return make_pipeline(features, KMeans(k, n_init=1, max_iter=100, random_state=seed)).fit_predict(
            data.X
        )

    return fit


def compare(sides: tuple[Fit, Fit], y: np.ndarray, seeds: range) -> tuple[Samples, Samples]:
    """Seconds and NMI of both sides, one fit a seed, in turns; scoring is not timed."""
    times: list[list[float]] = [[], []]
    scores: list[list[float]] = [[], []]
    for fit in sides:
        fit(99)  # warm-up
    for seed in seeds:
        for side, fit in enumerate(sides):
            labels: list[np.ndarray] = []
            times[side].append(seconds(lambda fit=fit, seed=seed, to=labels: to.append(fit(seed))))
            scores[side].append(float(normalized_mutual_info_score(y, labels[0], average_method="geometric")))
    return Samples("s", *map(tuple, times)), Samples("NMI", *map(tuple, scores))
