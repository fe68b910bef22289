"""Tests: hazards, section A, the small eigensystem: repeated rows, low rank, non-finite values, GPUs."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from tests import oracles
from tests.hazards.forms import assert_same_labels, blobs, chunked, cluster, dense

UNIT_GAMMA = 2**-0.5  # the bandwidth at which 1/(2 bandwidth^2) is 1
BASE = np.random.default_rng(0).normal(size=(20, 6))
REPEATED = {
    "tiled": np.tile(BASE, (10, 1)),
    "block by block": np.repeat(BASE, 10, axis=0),
    "shuffled": np.random.default_rng(1).permutation(np.tile(BASE, (10, 1))),
}


@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("order", REPEATED)
def test_rank_deficient_landmarks(order: str, form: str) -> None:
    """sklearn#1860, #4179: repeated landmark rows made W singular, its normalisation divided by zero."""
    X = REPEATED[order]
    landmarks = np.concatenate([BASE, BASE, BASE[:10]])
    f = dk.NystromFeatures(dk.Gaussian(UNIT_GAMMA), landmarks=landmarks, rank=None)
    B = dense(f.fit_transform(X if form == "numpy" else chunked(X, 30)))
    assert np.isfinite(B).all()
    assert f.rank_ <= 20
    np.testing.assert_allclose(B @ B.T, oracles.gaussian(X, X, UNIT_GAMMA), atol=1e-6)


@pytest.mark.parametrize("order", REPEATED)
def test_rank_deficient_sampled_landmarks(order: str) -> None:
    """The same with sampled landmarks and defaults: finite, at most 20 kept, equal to the formula."""
    X = REPEATED[order]
    f = dk.NystromFeatures(dk.Gaussian(UNIT_GAMMA), n_landmarks=50, random_state=0)
    B = dense(f.fit_transform(X))
    assert f.rank_ == f.n_components_ == B.shape[1] <= 20
    exact = oracles.nystrom_of(partial(oracles.gaussian, bandwidth=UNIT_GAMMA), X, f.landmarks_)
    np.testing.assert_allclose(B @ B.T, exact.gram, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("kernel", "highest"),
    [(dk.Linear(), 3), (dk.Cosine(), 3), (dk.Polynomial(degree=2), 10), (dk.Polynomial(degree=1), 4)],
    ids=repr,
)
def test_rank_of_polynomial_kernels(kernel: Any, highest: int, dtype: str) -> None:
    """Three columns give a linear kernel of rank 3: eigenvalues beyond it are rounding and must go."""
    X = blobs(400, 3).astype(dtype)
    f = dk.NystromFeatures(kernel, n_landmarks=60, rank=None, random_state=0).fit(X)
    assert f.rank_ == highest
    assert np.isfinite(dense(f.transform(X))).all()


def test_more_components_than_the_rank_has() -> None:
    """Asked for 12 components of a rank-3 kernel: 3 are delivered and said so, no noise columns."""
    X = blobs(400, 3)
    with pytest.warns(UserWarning, match=r"(?s)(?=.*\b12\b)(?=.*\b3\b)"):
        f = dk.NystromFeatures("linear", n_landmarks=60, n_components=12, random_state=0).fit(X)
    assert f.n_components_ == f.transform(X).shape[1] == len(f.get_feature_names_out()) == 3


@pytest.mark.parametrize("order", REPEATED)
def test_repeated_rows_in_float32(order: str) -> None:
    """Measured: repeated rows in float32 give tiny negative eigenvalues (91 of 200 seen)."""
    X = REPEATED[order]
    narrow = dk.NystromFeatures(dk.Gaussian(1.0), n_landmarks=200, rank=None, random_state=0).fit(
        X.astype("f4")
    )
    assert narrow.rank_ <= 20
    kept = narrow.eigenvalues_[: narrow.rank_]
    assert np.min(kept) > np.finfo("f4").eps * np.max(kept)
    assert np.isfinite(dense(narrow.transform(X.astype("f4")))).all()


@pytest.mark.parametrize("order", ["tiled", "block by block"])
def test_repeated_rows_cluster_alike_in_float32_and_float64(order: str) -> None:
    """The same seen from outside, on rows that have an answer: four groups of five."""
    base = BASE + 8 * np.eye(6)[np.arange(20) % 4]
    X = np.tile(base, (10, 1)) if order == "tiled" else np.repeat(base, 10, axis=0)
    a, b = (cluster(X.astype(t), 4, kernel=dk.Gaussian("mean"), n_landmarks=200) for t in ("f4", "f8"))
    assert_same_labels(a.labels_, b.labels_)
    assert_same_labels(
        a.labels_, np.tile(np.arange(20) % 4, 10) if order == "tiled" else np.repeat(np.arange(20) % 4, 10)
    )


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("c", [20, 100, 400])
def test_trace_error_is_never_negative(c: int, dtype: str) -> None:
    """With float32 columns a float64 tolerance keeps noise, and the error reported falls below zero."""
    X = blobs(400).astype(dtype)
    f = dk.NystromFeatures(dk.Gaussian("mean", factor=5.0), n_landmarks=c, rank=None, random_state=0).fit(X)
    assert (np.asarray(f.trace_error_, dtype="f8").ravel() >= 0).all()


@pytest.mark.parametrize("value", [0.0, 3.0, -1e6])
@pytest.mark.parametrize(
    "estimator", [dk.NystromFeatures(n_landmarks=10), dk.KernelKMeans(1, n_landmarks=10)], ids=repr
)
def test_constant_data(estimator: Any, value: float) -> None:
    """Zero variance makes the bandwidth zero: a positive fallback and a warning, no division by zero."""
    X = np.full((50, 4), value)
    with pytest.warns(UserWarning, match="bandwidth|variance|constant"):
        out = estimator.fit(X).transform(X)
    assert np.isfinite(dense(out)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 713, 999])
@pytest.mark.parametrize("form", ["numpy", "dask", "dask float32"])
def test_non_finite_rows_are_named(bad: float, row: int, form: str) -> None:
    """cuml#2050: one nan in X gave one cluster and zero centres, silently. No landmark need hit it."""
    X = blobs(1000).astype("f4" if form.endswith("32") else "f8")
    X[row, 2] = bad
    data = X if form == "numpy" else chunked(X, 100)
    models: list[Any] = [dk.KernelKMeans(4, n_landmarks=20, random_state=0)]
    models += [dk.NystromFeatures(dk.Gaussian(2.0), n_landmarks=c, random_state=0) for c in (20, 500)]
    models += [dk.NystromFeatures("linear", n_landmarks=c, random_state=1) for c in (20, 500)]
    for model in models:
        with pytest.raises(ValueError, match=rf"(?<!\d){row}(?!\d)"):
            model.fit(data)
    with pytest.raises(ValueError, match=rf"(?<!\d){row}(?!\d)"):
        dk.Standardize().fit(data)


@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("method", ["predict", "transform", "score"])
def test_non_finite_rows_are_named_after_fitting(method: str, form: str) -> None:
    """New rows are looked at as well; a lazy result raises when it is computed."""
    X = blobs(1000)
    model = cluster(X)
    X[713, 2] = np.nan
    with pytest.raises(ValueError, match=r"(?<!\d)713(?!\d)"):
        dense(getattr(model, method)(X if form == "numpy" else chunked(X, 100)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_impossible_weights_are_refused(bad: float) -> None:
    """A nan weight spreads into every centre; a negative one has no meaning here."""
    w = np.ones(200)
    w[57] = bad
    with pytest.raises(ValueError, match="weight"):
        dk.KernelKMeans(4, n_landmarks=20, random_state=0).fit(blobs(200), sample_weight=w)


def test_non_finite_landmarks_and_centers_are_refused() -> None:
    """What the user hands over beside X is looked at too."""
    X = blobs(200)
    landmarks = X[:20].copy()
    landmarks[3, 1] = np.nan
    with pytest.raises(ValueError, match="landmarks"):
        dk.NystromFeatures("gaussian", landmarks=landmarks).fit(X)
    s = cluster(X).cluster_centers_.shape[1]
    with pytest.raises(ValueError, match="init"):
        cluster(X, init=np.full((4, s), np.nan))


def nan_kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    K = X @ Z.T
    K[0, 0] = np.nan
    return K


def test_a_kernel_that_returns_nan_is_an_error() -> None:
    """cuml#5064: a solver returned nan without raising. A user's kernel may return one."""
    with pytest.raises((ValueError, ArithmeticError), match=r"(?i)finite|nan"):
        dk.NystromFeatures(nan_kernel, n_landmarks=20, random_state=0).fit(blobs(100))


def test_overflow_is_an_error_not_a_model() -> None:
    """A polynomial of degree 30 of large float32 values is infinite: said so, not clustered."""
    X = (blobs(100) * 1e4).astype("f4")
    with pytest.raises((ValueError, ArithmeticError), match=r"(?i)finite|overflow|inf"):
        cluster(X, kernel=dk.Polynomial(degree=30), n_landmarks=20)


def test_low_rank_float32_eigenproblem_on_a_gpu() -> None:
    """pytorch#94772, #105359, cupy#8486: float32 eigensolvers on a GPU fail on low-rank matrices."""
    cupy = pytest.importorskip("cupy", reason="no CUDA device: the eigensolver under test runs on the GPU")
    X = np.random.default_rng(0).normal(size=(2000, 7)).astype("f4")
    f = dk.NystromFeatures("linear", landmarks=cupy.asarray(X), rank=None).fit(cupy.asarray(X))
    exact = np.linalg.eigvalsh((X @ X.T).astype("f8"))[::-1][:7]
    np.testing.assert_allclose(
        np.asarray(f.eigenvalues_.get() if hasattr(f.eigenvalues_, "get") else f.eigenvalues_),
        exact,
        rtol=1e-4,
    )


def test_lazy_landmarks_are_accepted() -> None:
    """Landmarks may come from a dask pipeline as well as from numpy."""
    X = blobs(200)
    a = dk.NystromFeatures(dk.Gaussian(3.0), landmarks=X[:20]).fit(X)
    b = dk.NystromFeatures(dk.Gaussian(3.0), landmarks=da.from_array(X[:20], chunks=(7, -1))).fit(X)
    np.testing.assert_allclose(a.transform(X), b.transform(X), rtol=1e-10)
