"""Tests: hazards, section B, Lloyd: empty and duplicate clusters, stale labels, cancelled inertia."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import daskkernels as dk
from tests import oracles
from tests.hazards.forms import assert_same_labels, blobs, chunked, cluster, dense

PLANE = np.array(
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [3.0, 3.0], [3.0, 3.0], [5.0, 1.0]]
)  # rows 3 and 4 are equal


class quietly(dk.KernelKMeans):  # noqa: N801
    """Fits without the warnings on duplicate rows and few iterations, which have tests of their own."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> dk.KernelKMeans:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return super().fit(X, y, sample_weight)


def features(model: dk.KernelKMeans, X: ArrayLike) -> np.ndarray:
    return dense(model.features_.transform(X))


@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("n_init", [1, 3])
def test_more_clusters_than_distinct_rows(init: str, form: str, n_init: int) -> None:
    """sklearn#10059: k above the number of distinct rows gave duplicate centres, silently."""
    distinct = np.arange(18.0).reshape(9, 2)
    X = np.concatenate([distinct, distinct[:8]])
    data = X if form == "numpy" else chunked(X, 5)
    with pytest.warns(UserWarning, match=r"(?s)(?=.*\b9\b)(?=.*\b10\b)"):
        model = cluster(
            data, 10, kernel=dk.Gaussian(3.0), n_landmarks=17, rank=None, init=init, n_init=n_init
        )
    labels = dense(model.labels_)
    assert len(np.unique(labels)) <= 9
    np.testing.assert_array_equal(labels[:8], labels[9:])
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    assert np.isfinite(model.cluster_centers_).all()
    np.testing.assert_array_equal(dense(model.predict(data)), labels)


@pytest.mark.parametrize("k", [1, 3])
def test_one_distinct_row(k: int) -> None:
    """Every row the same, the extreme of it: ends, with inertia 0 and one label."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer distinct rows than clusters; constant data
        model = cluster(np.ones((40, 3)), k, n_landmarks=10)
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
    assert len(np.unique(model.labels_)) == 1


@pytest.mark.parametrize("kernel", [dk.Gaussian(1.0), dk.Linear()], ids=repr)
@pytest.mark.parametrize("start", ["rows", "one place", "far away", "two places"])
def test_relocation_of_empty_clusters_ends(start: str, kernel: Any) -> None:
    """sklearn#28055, tslearn#269: moving empty clusters went on to max_iter, or for ever."""
    options: dict[str, Any] = {"kernel": kernel, "landmarks": PLANE, "rank": None}
    B = features(quietly(6, **options).fit(PLANE), PLANE)
    init = {
        "rows": B.copy(),
        "one place": np.repeat(B[:1], 6, axis=0),
        "far away": B + 1e3,
        "two places": B[[0, 0, 0, 5, 5, 5]],
    }[start]
    model = quietly(6, init=init, **options).fit(PLANE)
    assert model.n_iter_ <= 10
    assert model.inertia_ == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(model.labels_, model.predict(PLANE))
    assert len(np.unique(model.labels_)) == 5


@pytest.mark.parametrize("n_empty", [1, 3])
def test_an_empty_cluster_moves_to_the_farthest_rows(n_empty: int) -> None:
    """Centres nobody is near must not stay empty while rows are left to take."""
    X = blobs(300)
    options: dict[str, Any] = {"kernel": dk.Gaussian(4.0), "landmarks": X[:50]}
    B = features(cluster(X, **options), X)
    init = np.concatenate([B[: 4 - n_empty], np.full((n_empty, B.shape[1]), 1e3)])
    model = cluster(X, init=init, **options)
    assert (np.bincount(model.labels_, minlength=4) > 0).all()
    np.testing.assert_array_equal(model.labels_, model.predict(X))


def test_labels_are_never_stale() -> None:
    """sklearn#34074: after a relocation labels belonged to other centres. 200 starts, cut short or not."""
    X = np.round(
        np.random.default_rng(0).normal(size=(60, 3)), 0
    )  # a lattice: ties, duplicates, empty clusters
    base: dict[str, Any] = {"kernel": dk.Gaussian(2.0), "landmarks": X[:30]}
    B = features(quietly(7, **base).fit(X), X)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        init = rng.normal(size=(7, B.shape[1])) * rng.choice([0.01, 1.0, 100.0])
        model = quietly(7, init=init, max_iter=[1, 2, 300][seed % 3], random_state=seed, **base).fit(X)
        np.testing.assert_array_equal(model.labels_, model.predict(X), err_msg=f"seed {seed}")
        expected = oracles.inertia(features(model, X), model.labels_, model.cluster_centers_)
        assert model.inertia_ == pytest.approx(expected, rel=1e-9, abs=1e-12), f"seed {seed}"


@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_labels_are_predictions_for_every_stop(form: str, dtype: str) -> None:
    """The same on ordinary data, stopped by tol, by max_iter and by an assignment that no longer changes."""
    X = blobs(1500).astype(dtype)
    data = X if form == "numpy" else chunked(X, 210)
    for tol, max_iter in ((0.0, 300), (0.5, 300), (1e-4, 1)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # one iteration is too few, on purpose
            model = cluster(data, 7, tol=tol, max_iter=max_iter)
        np.testing.assert_array_equal(dense(model.labels_), dense(model.predict(data)))
        np.testing.assert_array_equal(dense(model.labels_), dense(model.predict(X)))
        np.testing.assert_array_equal(dense(model.labels_), dense(model.transform(data)).argmin(axis=1))


def test_centers_are_the_means_of_their_members() -> None:
    """Stopped because no label changed: each centre is exactly the mean of the rows that carry its label."""
    X = blobs(1500)
    model = cluster(X, 6, tol=0.0)
    B = features(model, X)
    np.testing.assert_allclose(
        model.cluster_centers_, oracles.means(B, model.labels_, 6), rtol=1e-9, atol=1e-12
    )


def test_fixed_point_is_lloyds() -> None:
    """From the same start the dense float64 reference ends in the same place."""
    X = blobs(1500)
    options: dict[str, Any] = {"kernel": dk.Gaussian(4.0), "landmarks": X[:50], "tol": 0.0}
    B = features(cluster(X, 6, **options), X)
    labels, centers, value = oracles.lloyd(B, B[:6])
    model = cluster(X, 6, init=B[:6], **options)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-8, atol=1e-10)
    assert model.inertia_ == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_tiny_problems_reach_the_brute_force_optimum(seed: int) -> None:
    """Eight rows, three clusters, every partition tried: many starts find the best one."""
    X = np.random.default_rng(seed).normal(size=(8, 2))
    model = cluster(X, 3, kernel=dk.Gaussian(1.5), n_landmarks=8, rank=None, n_init=50, tol=0.0)
    labels, value = oracles.best_kmeans(features(model, X), 3)
    assert model.inertia_ == pytest.approx(value, rel=1e-9)
    assert_same_labels(model.labels_, labels)


@pytest.mark.parametrize("gap", [1.0, 10.0])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_inertia_does_not_cancel(form: str, gap: float) -> None:
    """scikit-learn-intelex#25, sklearn#6156: |x|^2 - 2xc + |c|^2 in float32 cancels to 0 (or below)."""
    X = (gap * np.array([[-1.0001], [-0.9999], [0.9999], [1.0001]])).astype("f4")
    data = X if form == "numpy" else chunked(X, 3)
    model = cluster(data, 2, kernel="linear", n_landmarks=4)
    exact = 2 * ((X[0] - X[1]).astype("f8") ** 2).item() / 2
    assert exact == pytest.approx(4.0e-8 * gap**2, rel=0.01)
    assert model.inertia_ == pytest.approx(exact, rel=0.01)
    assert dense(model.transform(data)).min() == pytest.approx(1e-4 * gap, rel=0.01)


@pytest.mark.parametrize(("n", "k"), [(3, 5), (1, 2), (7, 8)])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_fewer_rows_than_clusters(n: int, k: int, form: str) -> None:
    """sklearn#10933: said at the call, with both numbers."""
    X = blobs(50)[:n]
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{n}\b)(?=.*\b{k}\b)"):
        dk.KernelKMeans(k).fit(X if form == "numpy" else chunked(X, 2))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_as_many_rows_as_clusters(n: int) -> None:
    """k = n is allowed: every row its own cluster, inertia 0."""
    X = np.arange(2.0 * n).reshape(n, 2)
    model = cluster(X, n, kernel=dk.Gaussian(1.0), n_landmarks="auto", rank=None)
    assert sorted(model.labels_) == list(range(n))
    assert model.inertia_ == pytest.approx(0, abs=1e-12)
