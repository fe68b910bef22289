"""Tests: `KernelPCA` against the dense power method, the eigenvectors themselves and scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer

import daskkernels as dk
from daskkernels import plan_products
from daskkernels.block.kernel_pca import gaussian_rows
from daskkernels.estimators import kernel_pca
from daskkernels.finite import NonFiniteError
from daskkernels.inputs import InputError
from daskkernels.linalg import DegenerateMatrixError, NumericalWarning
from daskkernels.plan import Machine, PlanError
from daskkernels.store import ModelError
from tests import oracles, oracles_sketches
from tests.estimators.rows_in_many_forms import chunked, dense, row_cuts, stored, table

X = table()
SMALL = X[:1300]
KERNELS: dict[str, Any] = {
    "gaussian": (dk.Gaussian(3.0), lambda A, B: oracles.gaussian(A, B, 3.0)),
    "laplacian": (dk.Laplacian(4.0), lambda A, B: oracles.laplacian(A, B, 4.0)),
    "polynomial": (dk.Polynomial(2, 0.1), lambda A, B: oracles.polynomial(A, B, 2, 0.1)),
    "function": (oracles.linear, oracles.linear),
}


ACCURACIES = [(1, "f8", 1e-7), (3, "f8", 1e-7), (2, "f4", 1e-3)]


def fitted(name: str = "gaussian", data: Any = SMALL, s: Any = 4, **options: Any) -> dk.KernelPCA:
    return dk.KernelPCA(s, KERNELS[name][0], **{"random_state": 0, **options}).fit(data)


def matrix(name: str, center: bool, data: np.ndarray = SMALL) -> np.ndarray:
    K = KERNELS[name][1](data, data)
    return oracles_sketches.centered(K) if center else K


def start(n: int, c: int, seed: int = 0) -> np.ndarray:
    """The matrix P that a fit with this random state begins with."""
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    rng.choice(n, min(n, 1000), replace=False)  # the rows whose median is the center
    keys = (int(rng.integers(2**63)), int(rng.integers(2**63)))
    return gaussian_rows(keys=keys, columns=c, start=0, stop=n)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(("rounds", "dtype", "tolerance"), ACCURACIES)
def test_dense_power_method(name: str, center: bool, rounds: int, dtype: str, tolerance: float) -> None:
    """B B^T = (C W^+ C^T)_s with C = M U, W = U^T M U, M = K or H K H, after the same rounds."""
    data = SMALL.astype(dtype)
    model = fitted(name, data, n_rounds=rounds, center=center)
    M = matrix(name, center, data)
    U = oracles_sketches.power_method(M, start(1300, 8), rounds)
    expected = oracles_sketches.sketched(M, U, 8, 4, 1e-12)
    B = model.transform(data).astype("f8")
    assert np.linalg.norm(B @ B.T - expected.gram) < tolerance * np.linalg.norm(expected.gram)
    assert model.trace_error_ == pytest.approx(expected.trace_error, abs=tolerance)
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues[:4], rtol=10 * tolerance)
    np.testing.assert_allclose((B**2).sum(axis=0), model.eigenvalues_, rtol=20 * tolerance)


@pytest.mark.parametrize("name", ["gaussian", "polynomial", "function"])
def test_scikit_learn_when_converged(name: str) -> None:
    """Centered: its eigenvalues, its features of old and new rows but for signs. Uncentered: those of K."""
    new = X[1300:1400]
    model = fitted(name, n_rounds=40, center=True)
    peer = Peer(4, kernel="precomputed").fit(matrix(name, False))
    np.testing.assert_allclose(model.eigenvalues_, peer.eigenvalues_, rtol=1e-6)
    for rows in (SMALL, new):
        theirs = peer.transform(KERNELS[name][1](rows, SMALL))
        np.testing.assert_allclose(np.abs(model.transform(rows)), np.abs(theirs), atol=2e-3)
    lam, V = oracles_sketches.descending(matrix(name, False))
    plain = fitted(name, n_rounds=40)
    np.testing.assert_allclose(plain.eigenvalues_, lam[:4], rtol=1e-6)
    found = np.abs(plain.transform(SMALL))
    np.testing.assert_allclose(found, np.abs(V[:, :4] * np.sqrt(lam[:4])), atol=2e-3)


def test_linear_kernel_centered_is_pca() -> None:
    model, peer = fitted("function", s=3, center=True, n_rounds=40), PCA(3).fit(SMALL)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(peer.transform(X)), atol=1e-5)
    share = model.explained_trace_
    np.testing.assert_allclose(share, peer.explained_variance_ratio_, rtol=1e-7)


@pytest.mark.parametrize("spectrum", ["fast", "slow"])
def test_few_rounds_come_close(spectrum: str) -> None:
    """Trace errors fall with the rounds to that of the best approximation; three are within 5 %."""
    values = {"fast": 0.6 ** np.arange(256), "slow": 1.0 / np.arange(1, 257)}[spectrum]
    data = oracles_sketches.made_matrix(values)
    best = oracles_sketches.best_error(data @ data.T, 5)
    errors = [
        dk.KernelPCA(5, dk.Linear(), n_rounds=t, random_state=0).fit(data).trace_error_ for t in (1, 3, 10)
    ]
    assert best - 1e-12 <= errors[2] <= errors[1] <= errors[0]
    assert errors[1] < 1.05 * best
    assert errors[2] < 1.005 * best


@pytest.mark.parametrize("rounds", [2, 3])
def test_theorem_4(rounds: int, shared_data: Any) -> None:
    """Few rounds cluster pendigits as well as the exact eigenvectors, by the objective of K itself."""
    data = shared_data("pendigits")["X"][:1500].astype("f8")
    model = dk.KernelPCA(20, "gaussian", n_rounds=rounds, random_state=0).fit(data)
    K = oracles.gaussian(data, data, model.kernel_.bandwidth)
    lam, V = oracles_sketches.descending(K)
    exact = V[:, :20] * np.sqrt(lam[:20])
    objectives = [_objective(K, features) for features in (model.transform(data), exact)]
    assert objectives[0] <= 1.01 * objectives[1], objectives


def _objective(K: np.ndarray, features: np.ndarray) -> float:
    """tr K - sum_J 1_J^T K 1_J / |J| of the best of five k-means on these features."""
    from sklearn.cluster import KMeans

    labels = KMeans(10, n_init=5, random_state=0).fit_predict(features)
    H = np.eye(10)[labels]
    return float(K.trace() - ((H.T @ K @ H).diagonal() / H.sum(axis=0)).sum())


def test_smooth_kernels() -> None:
    """Eigenvalues over twelve orders of magnitude; those under rounding are left out and told so."""
    with pytest.warns(NumericalWarning, match="n_components=150"):
        model = dk.KernelPCA(150, dk.Gaussian(60.0), random_state=0).fit(SMALL)
    lam = oracles_sketches.descending(oracles.gaussian(SMALL, SMALL, 60.0))[0]
    kept = model.n_components_
    assert 20 < kept < 150
    assert lam[kept] < 1e-11 * lam[0]
    np.testing.assert_allclose(model.eigenvalues_[:20], lam[:20], rtol=1e-5)
    assert np.isfinite(model.transform(X)).all()


def test_kernels_of_low_rank() -> None:
    for center in (False, True):
        with pytest.warns(NumericalWarning, match="only 5 eigenvalues"):
            model = fitted("function", s=9, center=center)
        assert model.trace_error_ < 1e-10
    assert dk.KernelPCA(kernel=dk.Linear()).fit(SMALL).n_components_ == 5


# --- forms -------------------------------------------------------------------------------------------------
EXPECTED = {c: fitted(data=X, center=c).transform(X) for c in (False, True)}


@given(row_cuts())
@settings(max_examples=3)
def test_any_chunks(rows: tuple[int, ...]) -> None:
    lazy = chunked(X, rows)
    np.testing.assert_array_equal(dense(fitted(data=lazy).transform(lazy)), EXPECTED[False])


@pytest.mark.parametrize("center", [False, True])
def test_forms(center: bool, tmp_path: Path) -> None:
    lazy = stored(X, tmp_path)
    model = fitted(data=lazy, center=center)
    out = model.transform(lazy)
    assert isinstance(out, da.Array)
    np.testing.assert_array_equal(out.compute(), EXPECTED[center])
    dk.save(model, tmp_path / "model")
    again = dk.load(tmp_path / "model", data=next(tmp_path.glob("f*.zarr")))
    np.testing.assert_array_equal(again.transform(X), EXPECTED[center])


def test_worker_processes(client_processes: Any) -> None:
    model = fitted(data=chunked(X, (1, 2999)))
    np.testing.assert_array_equal(model.transform(X), EXPECTED[False])


def test_saved_with_its_rows(tmp_path: Path) -> None:
    model = fitted()
    dk.save(model, tmp_path / "model")
    again = dk.load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    del model.offset_
    dk.save(model, tmp_path / "half")
    with pytest.raises(ModelError, match="offset_"):
        dk.load(tmp_path / "half")


def test_matrices_in_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing of n rows fits in memory, the answer is the same."""
    monkeypatch.setattr(
        kernel_pca,
        "plan_products",
        lambda *args: replace(plan_products.plan_products(*args), features="scratch"),
    )
    model = fitted(data=X, center=True, scratch=str(tmp_path))
    np.testing.assert_array_equal(model.transform(X), EXPECTED[True])
    assert list(tmp_path.iterdir()) == []


def test_fitted_attributes() -> None:
    model = dk.KernelPCA(random_state=0, n_rounds=2).fit(SMALL)
    assert model.kernel_.bandwidth == pytest.approx(oracles.mean_bandwidth(SMALL), rel=1e-12)
    assert (model.n_components_, model.n_iter_) == (10, 2)
    assert model.dual_coef_.shape == (1300, 10)
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert model.trace_error_ == pytest.approx(1 - model.explained_trace_.sum(), abs=1e-12)
    assert model.plan_.measured.keys() >= {"bandwidth", "kpca-product", "kpca-orthonormal"}
    assert dk.KernelPCA(random_state=0).fit(X[:6]).n_components_ == 6
    assert fitted(data=X[:1], s=1).transform(X[:1]).shape == (1, 1)


def test_integers_are_computed_in_float32() -> None:
    data = (SMALL * 10 + 100).clip(0, 255).astype("u1")
    assert dk.KernelPCA(4).fit(data).transform(data).dtype == np.float32


def test_refused_at_the_door() -> None:
    for name, bad in (("n_components", 0), ("n_rounds", 0), ("n_rounds", 1.5), ("center", "yes")):
        with pytest.raises(InputError, match=name):
            dk.KernelPCA(**{name: bad}).fit(SMALL)
    bad_rows = X.copy()
    bad_rows[2100] = np.nan
    with pytest.raises(NonFiniteError, match="row 2100"):
        fitted(data=bad_rows)
    with pytest.raises(DegenerateMatrixError):
        dk.KernelPCA(2, dk.Linear()).fit(np.zeros((50, 3)))


def test_plan_before_running(no_compute: Any) -> None:
    machine = Machine(memory=2**31)
    with no_compute:
        plan = dk.KernelPCA(20, n_rounds=3).plan(chunked(X, 700), machine)
    steps = {step.stage: step for step in plan.steps}
    assert steps["kpca-product"].flops == 4 * 2 * 3000**2 * (5 + 40)
    assert steps["kpca-product"].passes == 4
    task = plan_products.ProductTask(n=10**7, d=4, stored=8, width=8, c=1000, s=500, stage="x", held=3)
    with pytest.raises(PlanError, match="scratch="):
        plan_products.plan_products(task, machine, False)
    assert plan_products.plan_products(task, machine, True).features == "scratch"
    assert task.grid.block_rows * task.c * 8 <= 16 * 2**20
    with pytest.raises(PlanError, match="number of columns"):
        plan_products.plan_products(replace(task, c=10**5), machine, True)
