"""Bench 3: `KernelKMeans` end to end against Nystroem + KMeans(n_init=1, max_iter=100), 5 seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline

import daskkernels as dk
from tests.bench.inputs import Digits, mean_bandwidth
from tests.bench.records import Row
from tests.bench.timing import Yardstick, seconds

CLUSTERS = 10
Fit = Callable[[int], np.ndarray]  # a seed -> labels


def ours(X: np.ndarray, c: int, bandwidth: float) -> Fit:
    kernel = dk.Gaussian(bandwidth)

    def fit(seed: int) -> np.ndarray:
        model = dk.KernelKMeans(CLUSTERS, kernel, n_landmarks=c, max_iter=100, random_state=seed)
        return model.fit_predict(X)

    return fit


def peer(X: np.ndarray, c: int, bandwidth: float) -> Fit:
    def fit(seed: int) -> np.ndarray:
        features = Nystroem(kernel="rbf", gamma=1 / (2 * bandwidth**2), n_components=c, random_state=seed)
        kmeans = KMeans(CLUSTERS, n_init=1, max_iter=100, random_state=seed)
        return make_pipeline(features, kmeans).fit_predict(X)

    return fit


def compare(
    sides: tuple[Fit, Fit], y: np.ndarray, seeds: range
) -> tuple[list[list[float]], list[list[float]]]:
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
    return times, scores


def run(data: Digits, yardstick: Yardstick, quick: bool) -> list[Row]:
    """One timed fit a seed on each side, in turns; the bandwidth is given to both."""
    c, seeds = (100, range(2)) if quick else (810, range(5))
    bandwidth = mean_bandwidth(data.X)
    with yardstick.watch("clustering") as quiet:
        times, scores = compare((ours(data.X, c, bandwidth), peer(data.X, c, bandwidth)), data.y, seeds)
    ratio = float(np.median(times[1]) / np.median(times[0]))
    mean = [float(np.mean(s)) for s in scores]
    spread = float(np.std(scores[1]) / np.sqrt(len(seeds)))  # the peer's own uncertainty
    what = f"KernelKMeans c={c} against Nystroem + KMeans, {len(seeds)} seeds, n={len(data.X)}"
    better = "mean NMI, not below the peer's (less its standard error)"
    judged, by = quiet() and not quick, {"ours": times[0], "peer": times[1]}
    quality = {"ours": scores[0], "peer": scores[1], "peer's standard error": spread, "labels": data.source}
    return [
        Row("clustering", what, 2.0, ratio, "times", judged=judged, details=by),
        Row("clustering", better, mean[1] - spread, mean[0], "NMI", judged=not quick, details=quality),
    ]
