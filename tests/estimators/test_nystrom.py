"""Tests: `NystromFeatures` against the dense matrix it stands for: every kernel, rank, number of features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from daskkernels.linalg import NumericalWarning
from daskkernels.plan import Machine, PlanError
from daskkernels.runtime import LocalRuntime
from tests import oracles
from tests.estimators.rows_in_many_forms import chunked, table

Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]
KERNELS: dict[str, tuple[Any, Formula]] = {
    "gaussian": (dk.Gaussian(4.0), lambda A, B: oracles.gaussian(A, B, 4.0)),
    "laplacian": (dk.Laplacian(4.0), lambda A, B: oracles.laplacian(A, B, 4.0)),
    "cauchy": (dk.Cauchy(4.0), lambda A, B: oracles.cauchy(A, B, 4.0)),
    "matern 1.5": (dk.Matern(4.0), lambda A, B: oracles.matern(A, B, 4.0)),
    "matern 2.5": (dk.Matern(4.0, nu=2.5), lambda A, B: oracles.matern(A, B, 4.0, 2.5)),
    "polynomial": (dk.Polynomial(2, 0.1), lambda A, B: oracles.polynomial(A, B, 2, 0.1)),
    "linear": (dk.Linear(), oracles.linear),
    "cosine": (dk.Cosine(), oracles.cosine),
    "function": (oracles.linear, oracles.linear),
}
SIZES: list[tuple[int, Any, Any]] = [(40, 20, 8), (40, "auto", "auto"), (60, 5, 5), (15, 15, 3)]
X = table()


def fitted(kernel: Any, data: Any = X, **options: Any) -> dk.NystromFeatures:
    return dk.NystromFeatures(kernel, random_state=0, **options).fit(data)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("c", "rank", "s"), SIZES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-8), ("f4", 1e-4)])
def test_dense_matrix(name: str, c: int, rank: Any, s: Any, dtype: str, tolerance: float) -> None:
    """B B^T = (C W_l^{-1} C^T)_s [K eq. 4], within the rounding of the type of C."""
    kernel, formula = KERNELS[name]
    data = X[:1500].astype(dtype)
    landmarks = data[:: 1500 // c][:c]
    if name in ("linear", "function", "cosine", "polynomial"):  # of rank 5, 5, 5, 21
        rank, s = min(rank if rank != "auto" else c, 5), min(s if s != "auto" else c, 4)
    model = fitted(kernel, data, landmarks=landmarks, rank=rank, n_components=s)
    dense = oracles.nystrom_of(
        formula,
        data,
        landmarks,
        rank=rank,
        n_components=None if s == "auto" else s,
        eps=float(np.finfo(dtype).eps),
    )
    B = model.transform(data).astype("f8")
    assert B.shape == dense.B.shape
    assert relative(B @ B.T, dense.gram) < tolerance
    loose = {"rel": tolerance, "abs": tolerance}
    assert model.trace_error_ == pytest.approx(dense.trace_error_after, **loose)
    assert model.rank_trace_error_ == pytest.approx(dense.trace_error_before, **loose)
    np.testing.assert_allclose(model.eigenvalues_[: model.rank_], dense.eigenvalues, rtol=1e-9)


def test_fitted_attributes() -> None:
    model = fitted(dk.Gaussian("mean", factor=0.5), n_landmarks=50, rank=20, n_components=7)
    assert model.kernel_ == dk.Gaussian(model.kernel_.bandwidth)
    assert model.kernel_.bandwidth == pytest.approx(oracles.mean_bandwidth(X, 0.5), rel=1e-12)
    assert (model.rank_, model.n_components_) == (20, 7)
    assert model.components_.shape == (50, 7)
    assert model.components_.dtype == np.float64
    np.testing.assert_array_equal(model.landmarks_, X[model.landmark_indices_])
    K = dk.kernel_block(model.kernel_, X, model.landmarks_)
    np.testing.assert_allclose(model.transform(X), K @ model.components_, rtol=1e-9, atol=1e-12)
    assert model.plan_.measured.keys() >= {"bandwidth", "nystrom-gram"}
    assert model.trace_errors_.shape == model.rank_trace_errors_.shape == (20,)
    assert model.trace_errors_.dtype == model.rank_trace_errors_.dtype == np.float64
    assert model.trace_errors_[6] == model.trace_error_
    assert model.rank_trace_errors_[-1] == model.rank_trace_error_
    assert list(model.get_feature_names_out()[:2]) == ["nystromfeatures0", "nystromfeatures1"]


@pytest.mark.parametrize("c", [1, 37, 1025])
def test_landmarks_are_distinct_rows(c: int) -> None:
    model = fitted(dk.Linear(), X.astype("f4"), n_landmarks=c)
    assert len(set(model.landmark_indices_.tolist())) == c == len(model.landmarks_)
    assert model.landmarks_.dtype == np.float32


def test_default_sizes() -> None:
    model = fitted(dk.Laplacian(3.0))
    assert len(model.landmarks_) == 400
    assert model.rank_ == model.n_components_ == 200
    small = fitted(dk.Laplacian(3.0), X[:30])
    assert (len(small.landmarks_), small.rank_) == (30, 15)
    assert fitted(dk.Laplacian(3.0), n_landmarks=20, n_components=15).rank_ == 15
    assert fitted(dk.Laplacian(3.0), n_landmarks=20, rank=None).rank_ == 20


def test_more_landmarks_come_closer() -> None:
    errors = [fitted(dk.Laplacian(4.0), n_landmarks=c).trace_error_ for c in (10, 40, 160)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.7 * errors[0]


def test_all_rows_as_landmarks_are_exact() -> None:
    model = fitted(dk.Laplacian(4.0), X[:300], n_landmarks=300, rank=None)
    B = model.transform(X[:300])
    assert relative(B @ B.T, oracles.laplacian(X[:300], X[:300], 4.0)) < 1e-7  # a root of 1e-16
    assert model.trace_error_ < 1e-8


@pytest.mark.parametrize("name", ["gaussian", "polynomial"])
def test_weights_repeat_rows(name: str) -> None:
    counts = np.random.default_rng(2).integers(0, 3, len(X))
    kernel, _ = KERNELS[name]
    options: dict[str, Any] = {"landmarks": X[:30], "rank": 10, "n_components": 5}
    model = dk.NystromFeatures(kernel, **options)
    weighted = model.fit(X, sample_weight=counts).transform(X[:100])
    error = model.trace_error_
    repeated = model.fit(np.repeat(X, counts, axis=0)).transform(X[:100])
    assert relative(weighted @ weighted.T, repeated @ repeated.T) < 1e-8
    assert error == pytest.approx(model.trace_error_, rel=1e-8)


def test_dask_in_dask_out(no_compute: Any) -> None:
    model = fitted("gaussian", n_landmarks=40)
    lazy = chunked(X, 700)
    with no_compute:
        out = model.transform(lazy)
    assert isinstance(out, da.Array)
    assert out.chunks == (lazy.chunks[0], (20,))
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out.compute(), model.transform(X))
    np.testing.assert_array_equal(out[5:2000:3].compute(), model.transform(X)[5:2000:3])


@pytest.mark.parametrize(
    ("stored", "given", "computed"), [("u1", None, "f4"), ("f2", None, "f4"), ("i8", "float64", "f8")]
)
def test_types(stored: str, given: Any, computed: str) -> None:
    data = (X * 10 + 100).clip(0, 200).astype(stored)
    model = fitted("gaussian", data, n_landmarks=20, dtype=given)
    assert model.transform(data).dtype == computed
    assert model.landmarks_.dtype == stored
    assert model.kernel_.bandwidth == pytest.approx(oracles.mean_bandwidth(data), rel=1e-12)


def test_given_landmarks_are_not_changed() -> None:
    mine = X[:20].copy()
    model = dk.NystromFeatures(landmarks=mine).fit(X)
    mine[:] = 0
    assert model.landmark_indices_ is None
    np.testing.assert_array_equal(model.landmarks_, X[:20])
    assert dk.NystromFeatures(landmarks=X[:20].tolist()).fit(X).landmarks_.shape == (20, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks=0"),
        ({"n_landmarks": 3001}, "n_landmarks=3001 is more than the 3000 rows"),
        ({"n_landmarks": 2.5}, "n_landmarks=2.5"),
        ({"n_landmarks": "many"}, "n_landmarks='many'"),
        ({"n_landmarks": True}, "n_landmarks=True"),
        ({"n_landmarks": 20, "rank": 21}, "rank=21 is more than the 20 landmarks"),
        ({"n_landmarks": 20, "rank": "full"}, "rank='full'"),
        ({"n_landmarks": 20, "n_components": -1}, "n_components=-1"),
        ({"landmarks": X[:20, :3]}, r"landmarks have shape \(20, 3\): wanted \(c, 5\)"),
        ({"landmarks": X[0]}, r"landmarks have shape \(5,\)"),
        ({"landmarks": X[:20] * np.nan}, "finite"),
        ({"landmarks": X[:0]}, "landmarks"),
        ({"dtype": "int32"}, "dtype='int32'"),
        ({"kernel": "rbf"}, "kernel='rbf'"),
        ({"kernel": "precomputed"}, "precomputed"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("method", ["fit", "plan"])
def test_bad_parameters(options: dict[str, Any], message: str, method: str) -> None:
    if method == "plan" and "landmarks" in options:
        method = "fit_transform"  # a plan only counts them
    with pytest.raises(ValueError, match=message):
        getattr(dk.NystromFeatures(**options), method)(X)


def test_fewer_features_than_asked_for() -> None:
    with pytest.warns(NumericalWarning, match="n_components=9, but only 5 eigenvalues"):
        model = fitted(dk.Linear(), n_landmarks=40, n_components=9)
    assert model.n_components_ == 5


def test_plan_runs_nothing_and_leaves_no_trace() -> None:
    def bomb(block: np.ndarray) -> np.ndarray:
        raise AssertionError("computed")

    model = dk.NystromFeatures(n_landmarks=40)
    plan = model.plan(da.from_array(X, chunks=700).map_blocks(bomb, meta=np.empty((0, 0))))
    assert not [name for name in vars(model) if name.endswith("_")]
    stages = ["bandwidth", "nystrom-landmarks", "nystrom-gram", "nystrom-project"]
    assert [step.stage for step in plan.steps] == stages


def test_refused_before_running(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Machine(memory=210 * 2**20, base=200 * 2**20)
    monkeypatch.setattr(LocalRuntime, "machine", property(lambda self: small))
    for method in ("fit", "plan"):
        with pytest.raises(PlanError, match="n_landmarks=2000"):
            getattr(dk.NystromFeatures(n_landmarks=2000), method)(X)
