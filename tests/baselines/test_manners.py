"""Tests: the scikit-learn contract of the baselines, where they are reached, and that they are not saved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import daskkernels as dk
from daskkernels.errors import ModelError
from tests.hazards.forms import blobs, chunked, pandas_frame
from tests.interpreter import run_python

X = blobs(400)
Y = (X[:, 0] > np.median(X[:, 0])).astype(int)
B = dk.baselines
SMALL: list[Any] = [
    B.EigenPro1Classifier("gaussian", 40, max_epochs=1),
    B.KernelSGDClassifier("gaussian", 40, max_epochs=1),
    B.NystromSpectralClustering(3, n_landmarks=20),
    B.RandomFourierFeatures(n_features=40, n_components=5),
    B.RandomFourierKMeans(3, n_features=40),
    B.ExactKernelKMeans(3),
    B.TwoStepKernelKMeans(3, n_landmarks=20),
]
CHECKED: list[Any] = [
    B.EigenPro1Classifier("gaussian"),
    B.KernelSGDClassifier("gaussian"),
    B.NystromSpectralClustering(3),
    B.RandomFourierFeatures(n_features=40),
    B.RandomFourierKMeans(3),
    B.ExactKernelKMeans(3),
    B.TwoStepKernelKMeans(3),
]


def name_of(model: Any) -> str:
    return type(model).__name__


@pytest.mark.slow
@parametrize_with_checks(CHECKED)
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "model",
    [
        B.EigenPro1Classifier(dk.Gaussian(2.0), 100, 7, 10, 50, 3.0, 4, None, {0: 1.0}, "float32", "s", 1, 2),
        B.KernelSGDClassifier(n_subsamples=9, batch_size=3, patience=1, keep_kernel=False, random_state=2),
        B.NystromSpectralClustering(7, dk.Cauchy(2.0), n_landmarks=11, init="k-means++", tol=0.1),
        B.RandomFourierFeatures("laplacian", 12, 3, "float32", random_state=5),
        B.RandomFourierKMeans(3, n_features=12, n_components=None, n_init=2),
        B.ExactKernelKMeans(3, dk.Cauchy(2.0), 1, 2, 7, 0.1, init=np.zeros(4, int)),
        B.TwoStepKernelKMeans(3, dk.Polynomial(2), 50, n_init=2, max_iter=9),
    ],
    ids=name_of,
)
def test_parameters_go_in_and_out(model: Any) -> None:
    """`get_params`, `set_params`, the constructor and `clone` agree."""
    assert repr(type(model)().set_params(**model.get_params(deep=False))) == repr(model) == repr(clone(model))


@pytest.mark.parametrize("model", SMALL, ids=name_of)
def test_not_fitted_then_pickled_then_not_saved(model: Any, tmp_path: Path) -> None:
    model = clone(model).set_params(random_state=0)
    method = "transform" if hasattr(model, "transform") else "predict"
    for data in (X, chunked(X, 100)):
        with pytest.raises(NotFittedError):
            getattr(model, method)(data)
    model.fit(chunked(X, 100), Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    for saved in (model, make_pipeline(dk.Standardize().fit(X), model)):
        with pytest.raises(ModelError, match=f"{name_of(model)} is a baseline: baselines are not saved"):
            dk.save(saved, tmp_path / "m.zarr")
    assert not list(tmp_path.iterdir())


def test_a_class_of_the_users_own_is_not_saved(tmp_path: Path) -> None:
    """`dk.load` would refuse its name."""

    class Mine(dk.Standardize):
        pass

    with pytest.raises(ModelError, match="Mine is not an estimator of daskkernels"):
        dk.save(Mine().fit(X), tmp_path / "m.zarr")


def test_names_of_features() -> None:
    frame = pandas_frame(X)
    model = B.RandomFourierFeatures(n_features=6, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == [f"randomfourierfeatures{j}" for j in range(6)]
    clusters = B.RandomFourierKMeans(2, n_features=40, random_state=0).fit(frame)
    assert list(clusters.features_.feature_names_in_) == list(frame.columns)


def test_loaded_when_named() -> None:
    """Not by `import daskkernels`, and not by workers; `dir` knows it."""
    code = """
import sys
import daskkernels as dk
assert "daskkernels.baselines" not in sys.modules and "sklearn" not in sys.modules
assert "baselines" in dir(dk)
dk.baselines.RandomFourierFeatures
assert "daskkernels.baselines" in sys.modules
import daskkernels.baselines
"""
    run_python("-c", code)
