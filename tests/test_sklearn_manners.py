"""Tests: the scikit-learn contract: its checks, clone, pickles, pipelines, searches, names."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import daskkernels as dk
from tests.hazards.forms import blobs, chunked, dense, pandas_frame

ROOT = Path(__file__).parents[1]
X = blobs(400)
Y = (X[:, 0] > np.median(X[:, 0])).astype(int)

ESTIMATORS = [
    dk.NystromFeatures(),
    dk.KernelKMeans(n_clusters=3),
    dk.Standardize(),
    dk.EigenProClassifier("gaussian"),  # the Laplacian's root makes 1e-8 of the rounding of equal rows
    dk.EigenProRegressor("gaussian"),
    dk.FalkonClassifier(tol=0),  # at its default the iterations stop 3e-7 short of the answer
    dk.FalkonRegressor(tol=0),
    dk.KernelPCA(),
    dk.NystromFeatures(sampling="srht"),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    """Checks of scikit-learn that an estimator fails on purpose, each with its reason."""
    if not isinstance(estimator, dk.NystromFeatures | dk.KernelKMeans):
        return {}
    reason = "landmarks and starting centers are drawn from the rows as they stand: repeated rows draw others"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    """Lists every check by name, so that a new one of a new release shows up as a failure of its own."""
    check(estimator)


SETTINGS: list[Any] = [
    dk.NystromFeatures(dk.Cauchy("median", factor=2.0), 33, 9, 4, dtype="float32", random_state=5),
    dk.KernelKMeans(
        7,
        kernel=dk.Polynomial(2),
        n_landmarks=11,
        init="k-means++",
        n_init=3,
        max_iter=5,
        tol=0.1,
        random_state=np.random.RandomState(0),
    ),
    dk.KernelKMeans(2, init=np.zeros((2, 5)), landmarks=np.zeros((9, 3))),
    dk.Standardize(with_mean=False),
    dk.KernelPCA(3, dk.Cauchy(2.0), n_rounds=2, center=True, dtype="float64", random_state=1),
    dk.EigenProClassifier(
        dk.Gaussian("median", factor=0.5), 100, 7, 10, 50, 3.0, 4, None, 0.2, {0: 1.0, 1: 2.0}, "float32"
    ),
    dk.EigenProRegressor("auto", n_subsamples=9, batch_size=3, patience=1, random_state=2),
    dk.FalkonClassifier(dk.Cauchy("median"), 30, 1e-3, 7, 0.1, None, 0.2, "uniform", "float32", False),
    dk.FalkonRegressor("linear", penalty=2.0, scratch="here", random_state=np.random.RandomState(0)),
]


@pytest.mark.parametrize("model", SETTINGS, ids=lambda m: type(m).__name__)
def test_parameters_go_in_and_out(model: Any) -> None:
    """`get_params`, `set_params` and the constructor agree, and `clone` copies every one."""
    params = model.get_params(deep=False)
    assert {k: v is params[k] for k, v in vars(model).items() if k in params} == dict.fromkeys(params, True)
    copy = clone(model)
    for name, value in copy.get_params(deep=False).items():
        assert type(value) is type(params[name])
        assert isinstance(value, np.random.RandomState) or repr(value) == repr(params[name])
    again = type(model)().set_params(**params)
    assert repr(again) == repr(model)


def test_nested_kernel_parameters() -> None:
    """`kernel__bandwidth` replaces the kernel, an object or a name, and touches no other model."""
    kernel = dk.Gaussian(1.0)
    a, b = dk.KernelKMeans(kernel=kernel), dk.KernelKMeans(kernel=kernel)
    a.set_params(kernel__bandwidth=5.0)
    assert (a.kernel, b.kernel, kernel) == (dk.Gaussian(5.0), dk.Gaussian(1.0), dk.Gaussian(1.0))
    assert a.get_params()["kernel__bandwidth"] == 5.0
    assert dk.NystromFeatures("laplacian").set_params(kernel__bandwidth=2.0).kernel == dk.Laplacian(2.0)
    both = dk.NystromFeatures().set_params(kernel="cauchy", kernel__bandwidth=2.0, kernel__factor=1.0)
    assert both.kernel == dk.Cauchy(2.0)
    with pytest.raises(ValueError, match="gamma"):
        a.set_params(kernel__gamma=1.0)
    with pytest.raises(ValueError, match="n_cluster"):
        a.set_params(n_cluster=3)


def test_not_fitted() -> None:
    for call in (
        dk.KernelKMeans().predict,
        dk.KernelKMeans().transform,
        dk.NystromFeatures().transform,
        dk.KernelPCA().transform,
        dk.Standardize().transform,
        dk.EigenProClassifier().predict,
        dk.EigenProClassifier().decision_function,
        dk.EigenProRegressor().predict,
        dk.FalkonClassifier().predict,
        dk.FalkonClassifier().decision_function,
        dk.FalkonRegressor().predict,
    ):
        for data in (X, chunked(X, 100)):
            with pytest.raises(NotFittedError):
                call(data)


LOADER = """
import pickle, sys
import numpy as np
kind, model, data, out = sys.argv[1:]
if kind == "joblib":
    import joblib
    fitted = joblib.load(model)
else:
    with open(model, "rb") as file:
        fitted = pickle.load(file)
assert "distributed" not in sys.modules or not __import__("distributed").client._get_global_client()
X = np.load(data)
answers = {"labels": fitted.predict(X), "distances": fitted.transform(X), "score": fitted.score(X)}
np.savez(out, **answers, fitted=np.asarray(fitted[-1].labels_))
"""


def in_a_fresh_process(model: Any, kind: str, folder: Path) -> dict[str, np.ndarray]:
    """What the saved model answers in an interpreter that has never seen it, without any client."""
    paths = [str(folder / name) for name in ("model", "X.npy", "out.npz")]
    dump = {"pickle": pickle.dumps, "cloudpickle": cloudpickle.dumps}
    if kind == "joblib":
        joblib.dump(model, paths[0], compress=3)
    else:
        Path(paths[0]).write_bytes(dump[kind](model))
    np.save(paths[1], X)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-W", "error", "-c", LOADER, kind, *paths]
    done = subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    with np.load(paths[2]) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("kind", ["pickle", "cloudpickle", "joblib"])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_saved_models_work_in_a_fresh_process(kind: str, form: str, tmp_path: Path) -> None:
    data = X if form == "numpy" else chunked(X, 90)
    model = make_pipeline(dk.Standardize(), dk.KernelKMeans(4, n_landmarks=40, random_state=0)).fit(data)
    there = in_a_fresh_process(model, kind, tmp_path)
    np.testing.assert_array_equal(there["labels"], model.predict(X))
    np.testing.assert_array_equal(there["fitted"], dense(model[-1].labels_))
    np.testing.assert_allclose(there["distances"], model.transform(X), rtol=1e-9)
    assert float(there["score"]) == pytest.approx(model.score(X), rel=1e-9)


def test_models_fitted_on_a_cluster_outlive_it(client_threads: Any, tmp_path: Path) -> None:
    """Saved while a client is open, loaded where there is none."""
    model = make_pipeline(dk.Standardize(), dk.KernelKMeans(4, n_landmarks=40, random_state=0)).fit(
        chunked(X, 90)
    )
    labels = dense(model[-1].labels_)
    np.testing.assert_array_equal(in_a_fresh_process(model, "cloudpickle", tmp_path)["labels"], labels)


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_pipelines(form: str) -> None:
    """Scaling, features and a model of scikit-learn in a row; ours last, in the middle, and alone."""
    data = X if form == "numpy" else chunked(X, 90)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = Pipeline(
        [("scale", dk.Standardize()), ("cluster", dk.KernelKMeans(4, n_landmarks=40, random_state=0))]
    )
    alone = dk.KernelKMeans(4, n_landmarks=40, random_state=0).fit(scaled)
    np.testing.assert_array_equal(dense(model.fit_predict(data)), alone.labels_)
    np.testing.assert_array_equal(dense(model.predict(data)), alone.labels_)
    model.set_params(cluster__kernel__bandwidth=3.0, scale__with_std=False).fit(data)
    assert model["cluster"].features_.kernel_ == dk.Gaussian(3.0)


def test_features_in_front_of_scikit_learn() -> None:
    features = dk.NystromFeatures(n_landmarks=60, random_state=0)
    assert make_pipeline(features, LogisticRegression()).fit(X, Y).score(X, Y) > 0.8
    assert len(np.unique(make_pipeline(features, KMeans(4, n_init=1, random_state=0)).fit_predict(X))) == 4
    assert cross_val_score(make_pipeline(features, LogisticRegression()), X, Y, cv=3).mean() > 0.7


def test_grid_search_gives_each_candidate_its_own_kernel() -> None:
    """A frozen kernel with a `set_params` of its own made every candidate use one bandwidth, silently."""
    seen: dict[float, set[float]] = {}

    def scoring(model: Any, data: np.ndarray, y: Any = None) -> float:
        bandwidth = model.features_.kernel_.bandwidth
        seen.setdefault(model.kernel.bandwidth, set()).add(bandwidth)
        return float(model.score(data)) - abs(bandwidth - 4.0)

    grid = {"kernel__bandwidth": [0.5, 4.0, 30.0]}
    search = GridSearchCV(
        dk.KernelKMeans(4, n_landmarks=30, random_state=0), grid, scoring=scoring, cv=2
    ).fit(X)
    assert seen == {b: {b} for b in grid["kernel__bandwidth"]}
    assert search.best_estimator_.features_.kernel_ == dk.Gaussian(search.best_params_["kernel__bandwidth"])
    assert len(set(search.cv_results_["mean_test_score"])) == 3


@pytest.mark.parametrize("kernel", ["gaussian", dk.Gaussian("mean"), dk.Laplacian(1.0)], ids=repr)
def test_grid_search_inside_a_pipeline(kernel: Any) -> None:
    """Nested twice; the scores must differ as the kernels do, and the refit uses the best."""
    pipe = make_pipeline(
        dk.Standardize(), dk.NystromFeatures(kernel, n_landmarks=40, random_state=0), LogisticRegression()
    )
    grid = {
        "nystromfeatures__kernel__bandwidth": [0.05, 3.0, "mean"],
        "nystromfeatures__n_landmarks": [10, 40],
    }
    search = GridSearchCV(pipe, grid, cv=2, error_score="raise").fit(X, Y)
    scores = search.cv_results_["mean_test_score"].reshape(3, 2)
    assert (scores[0] < scores[1]).all(), (
        "a bandwidth of .05 cannot generalise: the candidates shared a kernel"
    )
    best = search.best_params_["nystromfeatures__kernel__bandwidth"]
    fitted = search.best_estimator_["nystromfeatures"]
    assert fitted.kernel.bandwidth == best
    assert best == "mean" or fitted.kernel_.bandwidth == best


def test_scores_default_to_minus_the_inertia() -> None:
    """As KMeans: higher is better, additive over rows."""
    model = dk.KernelKMeans(4, n_landmarks=40, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(-model.inertia_, rel=1e-9)
    assert model.score(X[:100]) + model.score(X[100:]) == pytest.approx(model.score(X), rel=1e-9)


SMALL = [
    dk.NystromFeatures(n_landmarks=20, random_state=0),
    dk.KernelKMeans(3, n_landmarks=20, random_state=0),
    dk.KernelPCA(4, random_state=0),
    dk.Standardize(),
]


@pytest.mark.parametrize("model", SMALL, ids=repr)
def test_output_names(model: Any) -> None:
    """`set_output`, `get_feature_names_out` and `feature_names_in_`."""
    frame = pandas_frame(X).set_index(np.arange(1000, 1400))
    model = clone(model).set_output(transform="pandas").fit(frame)
    out = model.transform(frame)
    assert isinstance(out, pd.DataFrame)
    names = list(model.get_feature_names_out())
    assert list(out.columns) == names
    assert out.index.equals(frame.index)
    prefix = type(model).__name__.lower()
    wanted = list(frame.columns) if prefix == "standardize" else [f"{prefix}{j}" for j in range(out.shape[1])]
    assert names == wanted
    assert list(model.feature_names_in_) == list(frame.columns)
    assert isinstance(model.set_output(transform="default").transform(frame), np.ndarray)
    assert isinstance(model.fit_transform(frame), np.ndarray)


def test_fit_transform_is_fit_and_transform() -> None:
    for model in SMALL:
        for data in (X, chunked(X, 90)):
            np.testing.assert_allclose(
                dense(clone(model).fit_transform(data)), dense(model.fit(data).transform(data)), rtol=1e-9
            )


def test_importing_sets_no_client_and_imports_little() -> None:
    """The library starts nothing when imported and does not load cupy."""
    code = (
        "import sys, dask, daskkernels; assert not (dask.config.get('scheduler', 0) or 'cupy' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-W", "error", "-c", code], env=env, check=True, timeout=60)
