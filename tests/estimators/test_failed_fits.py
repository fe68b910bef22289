"""Tests: a fit that fails leaves the estimator as it was: not fitted, or fitted as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import daskkernels as dk
from daskkernels.errors import NumericalWarning

X = np.random.default_rng(0).normal(size=(200, 4))
Y = (X[:, 0] > 0).astype(int)
HOLED = X.copy()
HOLED[123, 2] = np.nan

LEARNERS: dict[str, Callable[[], Any]] = {
    "features": lambda: dk.NystromFeatures(n_landmarks=20, random_state=0),
    "k-means": lambda: dk.KernelKMeans(3, n_landmarks=20, random_state=0),
    "standardize": dk.Standardize,
    "classifier": lambda: dk.EigenProClassifier(random_state=0, max_epochs=1, n_subsamples=30),
    "regressor": lambda: dk.EigenProRegressor(random_state=0, max_epochs=1, n_subsamples=30),
}
WITH_KERNEL = [name for name in LEARNERS if name != "standardize"]


def answer(model: Any, data: Any) -> Any:
    return model.predict(data) if hasattr(model, "predict") else model.transform(data)


def learned(model: Any) -> set[str]:
    return {name for name in vars(model) if name not in model.get_params(deep=False)}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("lazy", [False, True])
def test_the_first_fit(name: str, lazy: bool) -> None:
    """Bad rows are found when all of y has been read: `classes_` was there, and predict an AttributeError."""
    model = LEARNERS[name]()
    with pytest.raises(ValueError, match=r"row 123\b"):
        model.fit(da.from_array(HOLED, chunks=(70, 4)) if lazy else HOLED, Y)
    assert not learned(model)
    with pytest.raises(NotFittedError):
        answer(model, X)


@pytest.mark.parametrize("name", WITH_KERNEL)
def test_a_bad_parameter(name: str) -> None:
    model = LEARNERS[name]().set_params(kernel="none such")
    with pytest.raises(ValueError, match="none such"):
        model.fit(X, Y)
    assert not learned(model)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_later_fit(name: str) -> None:
    """Other columns, other classes: nothing of them stays when the fit fails."""
    model = LEARNERS[name]().fit(X, Y)
    before, expected = dict(vars(model)), answer(model, X)
    with pytest.raises(ValueError, match=r"row 123\b"):
        model.fit(np.c_[HOLED, HOLED], np.arange(200) % 3)
    assert vars(model) == before
    np.testing.assert_array_equal(answer(model, X), expected)


def test_a_warning_that_is_an_error() -> None:
    """The fit was over, but it has not returned: as for any estimator, there is no model."""
    model = dk.NystromFeatures(kernel="linear", n_landmarks=20, n_components=10, random_state=0)
    with pytest.raises(NumericalWarning, match="n_components=10"):
        model.fit(X)
    assert not learned(model)


def test_what_an_interrupted_fit_has_learned_stays() -> None:
    """Whole epochs are a model."""
    calls: list[int] = []

    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        calls.append(1)
        if stop and len(calls) > stop:
            raise KeyboardInterrupt
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=-1) / 8)

    stop = 0
    options: dict[str, Any] = {"kernel": kernel, "random_state": 0, "n_subsamples": 30}
    dk.EigenProClassifier(max_epochs=1, **options).fit(X, Y)
    stop, _ = len(calls) + 1, calls.clear()
    model = dk.EigenProClassifier(max_epochs=50, **options)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    stop = 0
    assert model.n_epochs_ >= 1
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(X).shape == (200,)
