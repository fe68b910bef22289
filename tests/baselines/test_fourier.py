"""Tests: random Fourier features: products that tend to the kernel, the restriction, k-means on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given, settings

import daskkernels as dk
from daskkernels.baselines import RandomFourierFeatures, RandomFourierKMeans
from daskkernels.errors import InputError, NonFiniteError, NumericalWarning
from tests import oracles, oracles_baselines
from tests.estimators.rows_in_many_forms import assert_same_bits, chunked, dense, row_cuts, stored, table

KERNELS: list[tuple[Any, Callable[..., np.ndarray]]] = [
    (dk.Gaussian(1.5), oracles.gaussian),
    (dk.Laplacian(1.5), oracles.laplacian),
]


def error(kernel: Any, function: Callable[..., np.ndarray], c: int, d: int) -> float:
    """Root mean squared error of the products of features over many pairs and seeds."""
    X = np.random.default_rng(0).normal(size=(100, d))
    K, squares = function(X, X, kernel.bandwidth), []
    for seed in range(12):
        B = RandomFourierFeatures(kernel, c, random_state=seed).fit_transform(X)
        squares.append(((B @ B.T - K) ** 2).mean())
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize(("kernel", "function"), KERNELS, ids=["gaussian", "laplacian"])
@pytest.mark.parametrize("d", [1, 4])
def test_products_tend_to_the_kernel(kernel: Any, function: Callable[..., np.ndarray], d: int) -> None:
    """By 1 / sqrt(c). The 1-norm's Laplacian, of independent Cauchy frequencies, is off by .1 at d = 4."""
    coarse, fine = error(kernel, function, 400, d), error(kernel, function, 10_000, d)
    assert fine < 0.015
    assert 3 < coarse / fine < 8  # 5 expected


def test_the_one_norm_is_another_kernel() -> None:
    """What the test above would see."""
    X = np.random.default_rng(0).normal(size=(150, 4))
    other = np.exp(-np.abs(X[:, None] - X).sum(axis=2) / 1.5)
    assert np.sqrt(((other - oracles.laplacian(X, X, 1.5)) ** 2).mean()) > 0.1


@pytest.mark.parametrize("s", [1, 7, 60])
def test_restriction(s: int) -> None:
    """B B^T is the best rank-s part of R R^T, and the trace error is what is lost."""
    X = table(n=1100)
    model = RandomFourierFeatures(dk.Laplacian(2.0), 60, s, random_state=0)
    B = model.fit_transform(X)
    R = oracles_baselines.fourier(X - model.center_, model.frequencies_)
    K = R @ R.T
    best = oracles.best_rank(K, s)
    np.testing.assert_allclose(B @ B.T, best, atol=1e-9)
    assert model.trace_error_ == pytest.approx(1 - np.trace(best) / np.trace(K), abs=1e-10)
    assert model.trace_error_ == pytest.approx(1 - (B**2).sum() / len(X), abs=1e-10)
    assert model.n_components_ == s


def test_without_restriction_no_pass_is_made() -> None:
    X = table(n=500)
    model = RandomFourierFeatures(dk.Gaussian(2.0), 50, random_state=0).fit(X)
    R = oracles_baselines.fourier(X - model.center_, model.frequencies_)
    np.testing.assert_allclose(model.transform(X), R, atol=1e-12)
    np.testing.assert_allclose((model.transform(X) ** 2).sum(axis=1), 1.0)
    assert (model.trace_error_, model.components_, model.n_components_) == (0.0, None, 50)


@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_an_offset_costs_no_digits(offset: float) -> None:
    """Phases of thousands of radians keep few digits in float32."""
    X = table(n=400)
    model = RandomFourierFeatures(dk.Gaussian(2.0), 200, dtype="float32", random_state=0)
    near, far = model.fit_transform(X), model.fit_transform(X + offset)
    assert near.dtype == far.dtype == np.float32
    np.testing.assert_allclose(far @ far.T, near @ near.T, atol=1e-4)


def test_integers_are_numbers() -> None:
    X = (table() * 10 + 128).clip(0, 255).astype("u1")
    model = RandomFourierFeatures(n_features=40, n_components=5, random_state=0)
    np.testing.assert_array_equal(model.fit_transform(X), model.fit_transform(X.astype("f4")))


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    X = table(n=300)
    one, again, other = (RandomFourierFeatures(random_state=s).fit(X).frequencies_ for s in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.allclose(one, other)


def answers(X: Any) -> dict[str, Any]:
    model = RandomFourierKMeans(4, n_features=60, random_state=0).fit(X)
    return {
        "labels": dense(model.labels_),
        "centers": model.cluster_centers_,
        "components": model.features_.components_,
        "predicted": dense(model.predict(X)),
        "features": dense(model.features_.transform(X)),
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    with dask.config.set(scheduler="sync"):
        return {dtype: answers(table(dtype)) for dtype in ("f4", "f8")}


@given(row_cuts())
@settings(max_examples=6)
def test_any_chunks(expected: Any, rows: tuple[int, ...]) -> None:
    assert_same_bits(answers(chunked(table("f4"), rows, 2)), expected["f4"])


def test_stores_and_workers(expected: Any, client_threads: Any, tmp_path: Path) -> None:
    for dtype in ("f4", "f8"):
        assert_same_bits(answers(stored(table(dtype), tmp_path)), expected[dtype])
        assert_same_bits(answers(table(dtype)), expected[dtype])


def test_transform_is_lazy(no_compute: Any, tmp_path: Path) -> None:
    model = RandomFourierFeatures(n_features=20, random_state=0).fit(table())
    data = stored(table(), tmp_path)
    with no_compute:
        lazy = model.transform(data)
    assert lazy.shape == (3000, 20)
    np.testing.assert_array_equal(dense(lazy), model.transform(table()))


def test_kmeans_is_kmeans_on_the_features() -> None:
    """The labels are the nearest center, each center the mean of its members."""
    model = RandomFourierKMeans(4, n_features=100, tol=0.0, random_state=0).fit(table())
    B = model.features_.transform(table())
    assert model.features_.n_components_ == 20  # sqrt(4 * 100)
    np.testing.assert_allclose(model.cluster_centers_, oracles.means(B, model.labels_, 4), atol=1e-9)
    assert (oracles.nearest(B, model.cluster_centers_) == model.labels_).all()
    assert model.inertia_ == pytest.approx(oracles.inertia(B, model.labels_, model.cluster_centers_))


def test_clusters_without_members() -> None:
    X = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(NumericalWarning, match="only 3 clusters have members"):
        RandomFourierKMeans(5, dk.Gaussian(1.0), n_components=None, random_state=0).fit(X)


def test_more_components_than_there_are() -> None:
    X = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(NumericalWarning, match="3 directions above rounding"):
        model = RandomFourierFeatures(dk.Gaussian(1.0), 40, 9, random_state=0).fit(X)
    assert model.transform(X).shape == (60, 3)


@pytest.mark.parametrize("kernel", ["cauchy", dk.Matern(1.0), dk.Polynomial(2), "linear", np.dot], ids=repr)
def test_other_kernels_are_refused_by_name(kernel: Any) -> None:
    for model in (RandomFourierFeatures(kernel), RandomFourierKMeans(2, kernel)):
        with pytest.raises(InputError, match="made for Gaussian and Laplacian") as found:
            model.fit(table(n=50))
        assert repr(kernel) in str(found.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_features": 41}, "n_features=41: wanted an even number"),
        ({"n_features": 0}, "n_features=0"),
        ({"n_features": 20, "n_components": 21}, "n_components=21 is more than the 20 features"),
        ({"n_features": 20, "n_components": 0}, "n_components=0"),
    ],
)
def test_errors_name_the_parameter(options: dict[str, Any], message: str) -> None:
    for model in (RandomFourierFeatures(**options), RandomFourierKMeans(2, **options)):
        with pytest.raises(InputError) as found:
            model.fit(table(n=50))
        assert message in str(found.value)


def test_a_bad_row_is_named() -> None:
    X = table()
    X[2345, 1] = np.inf
    with pytest.raises(NonFiniteError, match="row 2345"):
        RandomFourierFeatures(dk.Gaussian(1.0), 20, 4, random_state=0).fit(chunked(X))
    model = RandomFourierFeatures(dk.Gaussian(1.0), 20, random_state=0).fit(table())
    with pytest.raises(NonFiniteError, match="row 2345"):
        model.transform(X)


@pytest.mark.slow
@pytest.mark.parametrize(("c", "low", "high"), [(90, 0.63, 0.7), (810, 0.65, 0.72)])
def test_real_data(shared_data: Any, c: int, low: float, high: float) -> None:
    """PenDigits, s = sqrt(k c): .667 at c = 90, .696 at c = 810 in the paper (figure 4)."""
    data = shared_data("pendigits")
    X = data["X"].astype("f4")
    scores = [
        oracles.nmi(data["y"], RandomFourierKMeans(10, n_features=c, random_state=seed).fit_predict(X))
        for seed in range(5)
    ]
    assert low < np.median(scores) < high
