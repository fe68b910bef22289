"""Tests, found by breaking: numbers of extreme size, noise on repeated rows, machines that are none."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
from sklearn import clone, config_context

import daskkernels as dk
from daskkernels.errors import DegenerateMatrixError, InputError
from daskkernels.plan import Machine

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 5))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "model", [dk.EigenProClassifier(max_epochs=1), dk.KernelKMeans(3), dk.NystromFeatures()]
)
def test_rows_too_small_for_their_type(model: Any) -> None:
    with pytest.raises(DegenerateMatrixError, match="is beyond the range of float32: rescale the data"):
        model.fit((X * 1e-30).astype("f4"), Y)
    with pytest.raises(ValueError, match="its square is not a float64 number"):
        model.fit(X * 1e-160, Y)


def test_variances_that_overflow() -> None:
    with pytest.raises(InputError, match="variance of column 2 of X is beyond float64: rescale it"):
        dk.Standardize().fit(np.where(np.arange(5) == 2, X * 1e200, X))


def test_repeated_rows_whose_targets_disagree() -> None:
    """The longest stable step brings noise back nine times; no prediction may be worse than none."""
    y = rng.integers(0, 3, 300)
    for epochs in (1, 2, 5):
        model = dk.EigenProRegressor(dk.Gaussian(1.0), max_epochs=epochs, random_state=0).fit(
            np.ones((300, 5)), y
        )
        assert abs(float(model.predict(np.ones((1, 5)))[0]) - y.mean()) < 0.5
        assert model.history_[-1]["train_mse"] < 1.15 * y.var()
    assert model.n_halvings_ > 0


def test_noise_on_few_different_rows() -> None:
    B = rng.integers(0, 2, (1000, 3)).astype(float)
    y = B[:, 0] + rng.normal(size=1000)
    for epochs, least in ((1, -0.05), (10, 0.15)):
        assert dk.EigenProRegressor(max_epochs=epochs, random_state=0).fit(B, y).score(B, y) > least


def test_a_given_step_is_kept() -> None:
    y = rng.integers(0, 3, 300)
    model = dk.EigenProRegressor(dk.Gaussian(1.0), step_size=1.8, batch_size=1, max_epochs=1, random_state=0)
    assert model.fit(np.ones((300, 5)), y).n_halvings_ == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workers", -2),
        ("threads", 0),
        ("latency", -1.0),
        ("gflops", np.nan),
        ("memory", "4GiB"),
        ("base", -1),
    ],
)
def test_machines_that_are_none(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={value!r}: wanted a number"):
        Machine(**{name: value})


@pytest.mark.parametrize(
    "model", [dk.Standardize(), dk.NystromFeatures(), dk.KernelKMeans(3), dk.KernelPCA(2, n_rounds=1)]
)
def test_lazy_results_are_not_loaded_into_frames(model: Any) -> None:
    """scikit-learn makes a frame of whatever `transform` returns."""
    lazy = da.from_array(X, chunks=(100, 5))
    fitted = clone(model).set_output(transform="pandas").fit(X)
    assert list(fitted.transform(X).columns) == list(fitted.get_feature_names_out())
    for call in (fitted.transform, clone(fitted).fit_transform):
        with pytest.raises(InputError, match="transform_output='pandas' would load all of a lazy result"):
            call(lazy)
    with config_context(transform_output="pandas"), pytest.raises(InputError, match="wanted set_output"):
        clone(model).fit_transform(lazy)
    assert isinstance(clone(model).fit(lazy).transform(lazy), da.Array)
