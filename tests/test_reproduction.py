"""Tests: the published clustering quality (Wang, Gittens, Mahoney, JMLR 2019, Figure 4, Nystrom, factor 1).

Median normalised mutual information at c = 27 k and 81 k with s = sqrt(k c), read off the plots to +-.01;
ours must be within .02. Needs the real data sets, else skips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from sklearn.cluster import KMeans

import daskkernels as dk
from tests import oracles

SEEDS = range(10)
Load = Callable[[str], Mapping[str, np.ndarray]]


def _ours(X: np.ndarray, y: np.ndarray, multiple: int, seed: int, n_init: int) -> float:
    k = len(np.unique(y))
    c = multiple * k
    model = dk.KernelKMeans(
        n_clusters=k,
        kernel=dk.Gaussian("mean"),
        n_landmarks=c,
        n_components=math.ceil(math.sqrt(k * c)),
        n_init=n_init,
        max_iter=300,
        random_state=seed,
    ).fit(X)
    return oracles.nmi(y, model.labels_)


def _median(X: np.ndarray, y: np.ndarray, multiple: int, n_init: int = 1) -> float:
    return float(np.median([_ours(X, y, multiple, seed, n_init) for seed in SEEDS]))


@pytest.mark.parametrize(("multiple", "published"), [(27, 0.685), (81, 0.699)])
def test_pendigits(shared_data: Load, multiple: int, published: float) -> None:
    data = shared_data("pendigits")
    assert _median(data["X"], data["y"], multiple) == pytest.approx(published, abs=0.02)


@pytest.mark.parametrize(("multiple", "published"), [(27, 0.58), (81, 0.58)])
def test_mushrooms(shared_data: Load, multiple: int, published: float) -> None:
    """One start is bimodal here (about .46 and .58), so each seed takes the best of ten."""
    data = shared_data("mushrooms")
    assert _median(data["X"], data["y"], multiple, n_init=10) == pytest.approx(published, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("multiple", "published"), [(27, 0.51), (81, 0.51)])
def test_mnist(shared_data: Load, multiple: int, published: float) -> None:
    """Ten fits of 60000 x 784: minutes, so only with `-m slow`."""
    data = shared_data("mnist")
    assert _median(data["X"], data["y"], multiple) == pytest.approx(published, abs=0.02)


def test_quality_equals_a_dense_reference(shared_data: Load) -> None:
    """PenDigits, c = 270: dense float64 features and scikit-learn's k-means score alike."""
    data = shared_data("pendigits")
    X, y = data["X"].astype("f8"), data["y"]
    bandwidth = math.sqrt(2 * X.var(axis=0).sum())
    ours, dense = [], []
    for seed in range(3):
        model = dk.KernelKMeans(10, n_landmarks=270, n_components=52, max_iter=300, random_state=seed).fit(X)
        assert model.features_.kernel_.bandwidth == pytest.approx(bandwidth, rel=1e-9)
        landmarks = np.asarray(model.features_.landmarks_)
        C = oracles.gaussian(X, landmarks, bandwidth)
        W = oracles.gaussian(landmarks, landmarks, bandwidth)
        B = oracles.nystrom(C, W, np.ones(len(X)), n_components=52).B
        ours.append(oracles.nmi(y, model.labels_))
        dense.append(oracles.nmi(y, KMeans(10, n_init=1, random_state=seed).fit_predict(B)))
    assert abs(np.median(ours) - np.median(dense)) < 0.03
