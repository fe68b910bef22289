"""Tests: every `sampling` of `NystromFeatures` and `KernelKMeans`: dense formulas, Theorem 1, forms."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import plan_clustering
from daskkernels.block.sketches import PROJECTIONS
from daskkernels.inputs import InputError
from daskkernels.linalg import NumericalWarning
from daskkernels.plan import Machine, PlanError
from daskkernels.solvers.sampling import SAMPLINGS
from daskkernels.solvers.sketches import sketch_of
from daskkernels.store import ModelError
from tests import oracles, oracles_sketches
from tests.estimators.rows_in_many_forms import chunked, dense, row_cuts, stored, table

ALL = (*SAMPLINGS, *PROJECTIONS)
X = table()
SMALL = X[:1500]
GAUSSIAN = dk.Gaussian(3.0)


def fitted(sampling: str, data: Any = X, kernel: Any = GAUSSIAN, **options: Any) -> dk.NystromFeatures:
    given_options: dict[str, Any] = {"n_landmarks": 40, "random_state": 0, **options}
    return dk.NystromFeatures(kernel, sampling=sampling, **given_options).fit(data)


def seeded_sketch(sampling: str, c: int, n: int, seed: int = 0) -> np.ndarray:
    """The matrix Pi of a fit with this random state."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    return sketch_of(sampling, c, n, rng).rows(0, n)


# --- what they are -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("sampling", PROJECTIONS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-8), ("f4", 2e-4)])
@pytest.mark.parametrize(("rank", "s"), [(20, 8), (None, 40), (5, 5)])
def test_dense_matrix(sampling: str, dtype: str, tolerance: float, rank: int | None, s: int) -> None:
    """B B^T = (C W_l^{-1} C^T)_s for C = K Pi, W = Pi^T K Pi, and its trace error."""
    data = SMALL.astype(dtype)
    model = fitted(sampling, data, dk.Laplacian(4.0), rank=rank, n_components=s)
    K = oracles.laplacian(data, data, 4.0)
    expected = oracles_sketches.sketched(K, seeded_sketch(sampling, 40, 1500), rank or 40, s)
    B = model.transform(data).astype("f8")
    assert np.linalg.norm(B @ B.T - expected.gram) < tolerance * np.linalg.norm(expected.gram)
    assert model.trace_error_ == pytest.approx(expected.trace_error, abs=tolerance)
    assert model.rank_trace_error_ == pytest.approx(expected.rank_trace_error, abs=tolerance)
    assert model.trace_error_ == pytest.approx(1 - (B**2).sum() / K.trace(), abs=tolerance)


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_traces_of_other_kernels(sampling: str) -> None:
    """k(x, x) is not 1: K of rank 21."""
    model = fitted(sampling, SMALL, dk.Polynomial(2, 0.1), rank=21, n_components=6)
    K = oracles.polynomial(SMALL, SMALL, 2, 0.1)
    expected = oracles_sketches.sketched(K, seeded_sketch(sampling, 40, 1500), 21, 6)
    assert model.trace_error_ == pytest.approx(expected.trace_error, abs=1e-9)
    assert model.rank_trace_error_ < 1e-9


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_new_rows_are_products_with_all_rows(sampling: str) -> None:
    model = fitted(sampling, SMALL, n_components=7)
    new = X[1500:1600]
    expected = oracles.gaussian(new, SMALL, 3.0) @ model.dual_coef_ - model.offset_
    np.testing.assert_allclose(model.transform(new), expected, rtol=1e-9, atol=1e-11)
    Pi = seeded_sketch(sampling, 40, 1500)
    np.testing.assert_allclose(model.dual_coef_, Pi @ model.components_, rtol=1e-12)
    np.testing.assert_array_equal(model.centers_, SMALL)
    assert not model.offset_.any()
    assert not hasattr(model, "landmarks_")


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_fit_transform(sampling: str) -> None:
    model = dk.NystromFeatures(n_landmarks=20, sampling=sampling, random_state=0)
    found = model.fit_transform(X)
    np.testing.assert_array_equal(found, model.transform(X))
    np.testing.assert_array_equal(dense(model.fit_transform(chunked(X, 700))), found)


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_as_many_columns_as_rows_are_exact(sampling: str) -> None:
    """But for "countsketch", whose columns collide."""
    model = fitted(sampling, X[:64], dk.Laplacian(4.0), n_landmarks=64, rank=None)
    B, K = model.transform(X[:64]), oracles.laplacian(X[:64], X[:64], 4.0)
    if sampling != "countsketch":
        assert np.linalg.norm(B @ B.T - K) < 1e-6 * np.linalg.norm(K)
        assert model.trace_error_ < 1e-8
    else:
        assert np.linalg.eigvalsh(K - B @ B.T).min() > -1e-6


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_weights_count_rows(sampling: str) -> None:
    """The weighted fit is the sketch of diag(w)^(1/2) K diag(w)^(1/2)."""
    w = np.random.default_rng(2).integers(0, 3, 1500).astype("f8")
    options: dict[str, Any] = {"n_landmarks": 40, "rank": 20, "n_components": 6, "random_state": 0}
    model = dk.NystromFeatures(dk.Gaussian(3.0), sampling=sampling, **options).fit(SMALL, sample_weight=w)
    root = np.sqrt(w)
    K = oracles.gaussian(SMALL, SMALL, 3.0) * root[:, None] * root
    expected = oracles_sketches.sketched(K, seeded_sketch(sampling, 40, 1500), 20, 6)
    B = model.transform(SMALL) * root[:, None]
    assert np.linalg.norm(B @ B.T - expected.gram) < 1e-8 * np.linalg.norm(expected.gram)
    assert model.trace_error_ == pytest.approx(expected.trace_error, abs=1e-9)


# --- Theorem 1 ---------------------------------------------------------------------------------------------
SPECTRA = {
    "fast": 0.6 ** np.arange(256),
    "slow": 1.0 / np.arange(1, 257),
    "none": np.ones(256),
    "a step": np.r_[np.full(5, 100.0), np.ones(251)],
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("sampling", ["uniform", "leverage", *PROJECTIONS])
def test_theorem_1(sampling: str, spectrum: str) -> None:
    """tr(K - (C W^+ C^T)_s) <= (1 + eps) tr(K - K_s) at the c of Table 2, in nine draws of ten."""
    data, s, epsilon = oracles_sketches.made_matrix(SPECTRA[spectrum]), 5, 0.5
    K = data @ data.T
    c = oracles_sketches.table2(sampling, 256, s, epsilon, oracles_sketches.coherence(K, s))
    bound = (1 + epsilon) * oracles_sketches.best_error(K, s)
    options: dict[str, Any] = {"n_landmarks": c, "rank": None, "n_components": s}
    errors = [fitted(sampling, data, dk.Linear(), random_state=i, **options).trace_error_ for i in range(10)]
    assert np.mean([found <= bound for found in errors]) >= 0.9, (c, bound, errors)
    assert min(errors) >= oracles_sketches.best_error(K, s) - 1e-9


# --- forms -------------------------------------------------------------------------------------------------
def answers(data: Any, sampling: str, **options: Any) -> dict[str, Any]:
    settings_of: dict[str, Any] = {"n_landmarks": 30, "random_state": 3, "tol": 1e-3, **options}
    model = dk.KernelKMeans(4, sampling=sampling, **settings_of).fit(data)
    features = model.features_
    return {
        "labels": dense(model.labels_),
        "centers": model.cluster_centers_,
        "inertia": model.inertia_,
        "components": features.components_,
        "trace errors": features.trace_errors_,
        "features": dense(features.transform(data)),
        "predicted": dense(model.predict(data)),
        "weights": dense(getattr(features, "dual_coef_", 0)),
    }


def assert_same_bits(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert np.array_equal(found[name], value), f"{name} differs"


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    with dask.config.set(scheduler="sync"):
        return {sampling: answers(X, sampling) for sampling in ALL}


@pytest.mark.parametrize("sampling", ALL)
def test_forms(sampling: str, expected: Any, tmp_path: Path) -> None:
    """dask and Zarr, on threads: the bits of numpy, in turn; and labels of training rows are predicted."""
    for data in (chunked(X, 700), stored(X, tmp_path)):
        assert_same_bits(answers(data, sampling), expected[sampling])
    np.testing.assert_array_equal(expected[sampling]["predicted"], expected[sampling]["labels"])


@given(row_cuts(), st.sampled_from(ALL))
@settings(max_examples=4)
def test_any_chunks(expected: Any, rows: tuple[int, ...], sampling: str) -> None:
    assert_same_bits(answers(chunked(X, rows), sampling), expected[sampling])


@pytest.mark.parametrize("sampling", ["rls", "srht"])
def test_worker_processes(sampling: str, expected: Any, client_processes: Any) -> None:
    assert_same_bits(answers(chunked(X, (1, 2999)), sampling), expected[sampling])


def test_default_is_uniform(expected: Any) -> None:
    plain = dk.KernelKMeans(4, n_landmarks=30, random_state=3, tol=1e-3).fit(X)
    assert plain.inertia_ == expected["uniform"]["inertia"]
    indices = np.random.default_rng(np.random.SeedSequence(0).spawn(2)[0]).choice(3000, 40, replace=False)
    np.testing.assert_array_equal(fitted("uniform").landmark_indices_, np.sort(indices))


@pytest.mark.parametrize("sampling", ALL)
@pytest.mark.parametrize("form", ["numpy", "dask", "store"])
def test_saved_and_loaded(sampling: str, form: str, tmp_path: Path) -> None:
    data: Any = {"numpy": X, "dask": chunked(X, 700), "store": None}[form]
    data = stored(X, tmp_path) if data is None else data
    model = dk.KernelKMeans(4, n_landmarks=30, sampling=sampling, random_state=3, tol=1e-3).fit(data)
    dk.save(model, tmp_path / "model.zarr")
    by_reference = form == "store" and sampling in PROJECTIONS
    path = next(tmp_path.glob("f*.zarr")) if by_reference else None
    again = dk.load(tmp_path / "model.zarr", data=path)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.features_.transform(X[:50]), model.features_.transform(X[:50]))


@pytest.mark.parametrize(("missing", "by"), [("center_", "srht"), ("landmarks_", "uniform")])
def test_half_a_model_is_refused(missing: str, by: str, tmp_path: Path) -> None:
    model = fitted(by)
    delattr(model, missing)
    dk.save(model, tmp_path / "half.zarr")
    with pytest.raises(ModelError, match="landmarks_"):
        dk.load(tmp_path / "half.zarr")


def test_fitted_again_otherwise() -> None:
    """Nothing of the fit before is left."""
    model = fitted("srht")
    model.set_params(sampling="rls").fit(X)
    assert not hasattr(model, "centers_")
    assert len(model.landmark_indices_) == 40
    model.set_params(sampling="kmeans").fit(X)
    assert model.landmark_indices_ is None
    model.set_params(sampling="gaussian").fit(X)
    assert not hasattr(model, "landmarks_")
    assert isinstance(model.transform(chunked(X, 700)), da.Array)


# --- the door ----------------------------------------------------------------------------------------------
def test_refused_at_the_door() -> None:
    for bad in ("leverages", None, 3):
        with pytest.raises(InputError, match="sampling="):
            fitted(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="landmarks are given"):
        fitted("rls", landmarks=X[:5])
    with pytest.raises(InputError, match="n_landmarks=5000"):
        fitted("srht", n_landmarks=5000)


def test_short_of_components() -> None:
    with pytest.warns(NumericalWarning, match="n_components=9"):
        fitted("gaussian", kernel=dk.Linear(), n_components=9)


def test_plans() -> None:
    machine = Machine(memory=2**31, gflops=100.0)
    model = dk.NystromFeatures(n_landmarks=200, n_components=20)
    seconds = {s: model.set_params(sampling=s).plan(X, machine=machine).seconds for s in ALL}
    assert seconds["uniform"] < seconds["leverage"] < seconds["srht"]
    assert seconds["uniform"] < seconds["rls"]
    plan = model.set_params(sampling="srht").plan(X, machine=machine)
    flops = {step.stage: step.flops for step in plan.steps}
    assert flops["sketch-product"] == 2 * 3000**2 * (5 + 200)
    assert flops["nystrom-project"] == 2 * 3000**2 * (5 + 20)
    clusters = dk.KernelKMeans(3, n_landmarks=200, sampling="srht").plan(X, machine=machine)
    assert {"sketch-product", "kmeans-assign"} <= {step.stage for step in clusters.steps}
    task = model._task(model._described(X), machine)
    with pytest.raises(PlanError, match="scratch="):
        plan_clustering.plan_features(replace(task, n=10**8), machine)


@pytest.mark.parametrize("sampling", PROJECTIONS)
def test_weights_in_scratch(sampling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the plan keeps nothing in memory, the answer is the same."""
    whole = fitted(sampling).transform(X)
    original = plan_clustering.plan_products
    monkeypatch.setattr(
        plan_clustering,
        "plan_products",
        lambda *args: replace(original(*args), keep_columns=False, features="scratch"),
    )
    np.testing.assert_array_equal(fitted(sampling, scratch=str(tmp_path)).transform(X), whole)
    assert list(tmp_path.iterdir()) == []


def test_sizes_of_table_2() -> None:
    """The oracle itself."""
    assert oracles_sketches.table2("gaussian", 100, 5, 0.5, 1.0) == 20
    assert oracles_sketches.table2("countsketch", 100, 5, 0.5, 1.0) == 35
    assert oracles_sketches.table2("uniform", 100, 5, 0.5, 2.0) == math.ceil(20 + 10 * math.log(5))
