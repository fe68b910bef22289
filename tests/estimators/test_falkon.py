"""Tests: `FalkonClassifier` and `FalkonRegressor`: kernel ridge regression, limits, weights, same bits."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client
from hypothesis import given, settings
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import daskkernels as dk
from daskkernels.estimators.training import Seeds
from daskkernels.kernels import KERNELS
from tests import oracles, oracles_falkon
from tests.estimators.rows_in_many_forms import N, chunked, dense, row_cuts, stored, table
from tests.faults.strikes import eventually

DIGITS = load_digits()
PIXELS, DIGIT = (DIGITS.data / 16).astype("f4"), DIGITS.target
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]] + 0.1 * RNG.normal(size=(400, 2))
LAM = 1e-4


def regressor(**options: Any) -> dk.FalkonRegressor:
    settings = {"kernel": dk.Gaussian(1.5), "penalty": LAM, "random_state": 0, "max_iter": 200, "tol": 1e-10}
    return dk.FalkonRegressor(**{**settings, **options})


def classifier(**options: Any) -> dk.FalkonClassifier:
    settings: dict[str, Any] = {"n_centers": 100, "random_state": 0, "max_iter": 5}
    return dk.FalkonClassifier(**{**settings, **options})


# --- the answer --------------------------------------------------------------------------------------------
def ridge(weights: Any = None) -> np.ndarray:
    total = len(X) if weights is None else weights.sum()
    peer = KernelRidge(alpha=LAM * total, kernel="rbf", gamma=1 / (2 * 1.5**2))
    return np.asarray(peer.fit(X, Y, weights).predict(X))


def test_all_rows_as_centers_are_kernel_ridge_regression() -> None:
    model = regressor(n_centers=len(X)).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), ridge(), atol=1e-7)
    assert model.n_iter_ <= 3  # the preconditioner is the whole matrix
    np.testing.assert_array_equal(model.center_indices_, np.arange(len(X)))


def test_weights_are_those_of_kernel_ridge_regression() -> None:
    weights = RNG.integers(0, 4, len(X)).astype(float)
    model = regressor(n_centers=len(X)).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), ridge(weights), atol=1e-5)
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    again = regressor(n_centers=len(repeated)).fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-5)
    scaled = regressor(n_centers=len(X)).fit(X, Y, sample_weight=np.full(len(X), 7.0))
    np.testing.assert_allclose(scaled.predict(X), ridge(), atol=1e-7)


@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("linear", "polynomial")])
def test_some_centers_are_the_exact_solution(name: str) -> None:
    model = regressor(kernel=name, n_centers=70).fit(X, Y)
    kernel, options = getattr(oracles, name), {}
    if name != "cosine":
        options = {"bandwidth": oracles.mean_bandwidth(X)}
    Z = X[model.center_indices_]
    np.testing.assert_array_equal(model.centers_, Z)
    jittered = kernel(Z, Z, **options) + 1e-13 * np.trace(kernel(Z, Z, **options)) * np.eye(len(Z))
    expected = oracles_falkon.exact(kernel(X, Z, **options), jittered, Y, LAM)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-6)
    assert model.history_[-1]["train_mse"] == pytest.approx(((expected - Y) ** 2).mean(), rel=1e-5)


def test_more_centers_than_columns_of_a_linear_kernel() -> None:
    """K(Z, Z) has rank 3 of 50: any of the many answers predicts the same."""
    model = regressor(kernel="linear", n_centers=50).fit(X, Y)
    peer = Ridge(alpha=LAM * len(X), fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-6)


def test_a_function_as_kernel() -> None:
    def function(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2) / (2 * 1.5**2))

    own, ours = regressor(kernel=function, n_centers=60).fit(X, Y), regressor(n_centers=60).fit(X, Y)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), atol=1e-6)


def test_outputs_are_learned_side_by_side() -> None:
    both = regressor(n_centers=60).fit(X, Y)
    each = [regressor(n_centers=60).fit(X, Y[:, j]) for j in range(2)]
    assert both.predict(X).shape == (400, 2)
    for j, model in enumerate(each):
        assert model.predict(X).shape == (400,)
        np.testing.assert_allclose(model.predict(X), both.predict(X)[:, j], atol=1e-7)
    assert both.score(X, Y) > 0.9


@pytest.mark.parametrize("kernel", ["gaussian", "linear"])
def test_two_rows(kernel: str) -> None:
    model = dk.FalkonClassifier(kernel, random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.predict([[1.1]]).tolist() == ["b"]
    assert model.decision_function([[1.1], [0.9]]).shape == (2,)
    peer = KernelRidge(alpha=2 * LAM, kernel="linear" if kernel == "linear" else "rbf", gamma=0.5)
    found = regressor(kernel=kernel if kernel == "linear" else dk.Gaussian(1.0)).fit([[0.0], [1.0]], [1, 2])
    np.testing.assert_allclose(
        found.predict([[0.0], [2.0]]), peer.fit([[0], [1]], [1, 2]).predict([[0], [2]])
    )


def test_float32_is_near_float64() -> None:
    near, exact = (
        dk.FalkonClassifier(dk.Gaussian(2.5), 500, 1e-7, random_state=0, dtype=dtype).fit(PIXELS, DIGIT)
        for dtype in ("float32", "float64")
    )
    assert near.dtype_ == np.float32
    assert exact.score(PIXELS, DIGIT) > 0.99
    assert (near.predict(PIXELS) == exact.predict(PIXELS)).mean() > 0.995
    np.testing.assert_allclose(near.history_[-1]["train_mse"], exact.history_[-1]["train_mse"], atol=3e-3)


def test_iterations_go_down_to_the_answer() -> None:
    model = classifier(max_iter=30, dtype="float64").fit(PIXELS, DIGIT)
    mse = [entry["train_mse"] for entry in model.history_]
    assert (np.diff(mse) < 1e-9).all()
    f = model.decision_function(PIXELS)
    assert mse[-1] == pytest.approx(((f - np.eye(10)[DIGIT]) ** 2).mean(), rel=1e-6)
    assert [entry["iteration"] for entry in model.history_] == list(range(1, model.n_iter_ + 1))


# --- validation --------------------------------------------------------------------------------------------
def test_rows_kept_back_are_not_trained_on() -> None:
    """Their y changes the loss they judge by, and nothing else; that of the others changes the model."""
    order = Seeds.of(0).sampling(len(X), 300)
    options: dict[str, Any] = {"n_centers": 60, "max_iter": 8, "validation_fraction": 0.25, "patience": None}
    model = regressor(**options).fit(X, Y)
    outside, inside = Y.copy(), Y.copy()
    outside[order.kept_back()] *= 1e6
    inside[order.rows(0, 1)] += 1.0
    without = regressor(**options).fit(X, outside)
    assert [h["train_mse"] for h in without.history_] == [h["train_mse"] for h in model.history_]
    assert without.history_[-1]["validation_mse"] > 1e6 * model.history_[-1]["validation_mse"]
    assert regressor(**options).fit(X, inside).history_[-1]["train_mse"] != model.history_[-1]["train_mse"]


def test_a_validation_set_and_patience() -> None:
    half = len(PIXELS) // 2
    rows = {"validation": (PIXELS[half:], DIGIT[half:])}
    noisy = DIGIT[:half].copy()
    noisy[::3] = RNG.integers(0, 10, len(noisy[::3]))
    model = classifier(n_centers=600, penalty=1e-13, max_iter=60, patience=2).fit(
        PIXELS[:half], noisy, **rows
    )
    losses = [entry["validation_mse"] for entry in model.history_]
    assert model.n_iter_ == int(np.argmin(losses)) + 3 < 60
    best = model.history_[int(np.argmin(losses))]
    assert 1 - model.score(PIXELS[half:], DIGIT[half:]) == pytest.approx(best["validation_error"], abs=1e-9)
    with pytest.raises(dk.errors.InputError, match="wanted one of them"):
        classifier(validation_fraction=0.1).fit(PIXELS, DIGIT, **rows)
    with pytest.raises(dk.errors.InputError, match="y is 77 at row 0"):
        classifier().fit(PIXELS, DIGIT, validation=(PIXELS[:2], [77, 1]))


# --- the same bits -----------------------------------------------------------------------------------------
ROWS = table()
CODES = (ROWS[:, 0] > 0).astype(int) + (ROWS[:, 1] > 0)
WEIGHTS = np.random.default_rng(1).integers(0, 3, N).astype(float)


def answers(rows: Any, labels: Any = CODES, **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"n_centers": 50, "max_iter": 4, "validation_fraction": 0.1, "random_state": 0}
    model = dk.FalkonClassifier(**{**settings, **options}).fit(rows, labels, sample_weight=WEIGHTS)
    figures = [
        {k: v for k, v in h.items() if k in ("residual", "train_mse", "validation_mse")}
        for h in model.history_
    ]
    return {
        "weights": model.dual_coef_,
        "centers": model.center_indices_,
        "figures": np.array([list(h.values()) for h in figures]),
        "decisions": dense(model.decision_function(rows)),
        "classes": dense(model.predict(rows)),
    }


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


EXPECTED = answers(ROWS, keep_kernel=False)


@settings(max_examples=6)
@given(row_cuts())
def test_any_chunking_gives_the_same_bits(cuts: tuple[int, ...]) -> None:
    same(answers(chunked(ROWS, cuts), da.from_array(CODES, chunks=(cuts,))), EXPECTED)


def test_kept_values_and_stores_give_the_same_bits(tmp_path: Path) -> None:
    same(answers(ROWS, keep_kernel=True), EXPECTED)
    for keep in (True, False):
        same(answers(stored(ROWS, tmp_path, 1024 - 512 * keep), keep_kernel=keep), EXPECTED)
    with dask.config.set(scheduler="sync"):
        same(answers(ROWS), EXPECTED)


@pytest.mark.parametrize("keep", [True, False])
def test_workers_give_the_same_bits_and_are_left_empty(client_processes: Client, keep: bool) -> None:
    same(answers(chunked(ROWS, 700), keep_kernel=keep), EXPECTED)
    gc.collect()
    eventually(lambda: not client_processes.futures, "futures are left")


def test_lazy_results_are_lazy(no_compute: Any) -> None:
    model = classifier().fit(PIXELS, DIGIT)
    with no_compute:
        out = model.decision_function(da.from_array(PIXELS, chunks=(500, -1)))
    assert out.chunks[0] == (500, 500, 500, 297)
    np.testing.assert_array_equal(out.compute(), model.decision_function(PIXELS))


def test_an_all_zero_target_is_predicted_as_zero() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(n_centers=20).fit(X, np.zeros(len(X)))
    assert model.n_iter_ == 0
    assert not model.predict(X).any()
