"""Tests: the set-up of EigenPro against dense formulas: D, lam', beta, the choice of q, m and the step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import events
from daskkernels.block.order import Order
from daskkernels.errors import DegenerateMatrixError, InputError
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid
from daskkernels.kernels import as_kernel
from daskkernels.linalg import largest_eigenvalue
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.spectrum import Candidates, Sample, Spectrum, draw_sample, measure_spectrum
from tests import oracles, oracles_eigenpro

HERE, SILENT, F8 = LocalRuntime(), events.reporter(), np.dtype("f8")
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(300, 3)), 3 + 0.3 * rng.normal(size=(100, 3))])
KERNELS: dict[str, tuple[Any, Callable[..., np.ndarray]]] = {
    "laplacian": (dk.Laplacian(2.0), lambda A, B: oracles.laplacian(A, B, 2.0)),
    "gaussian": (dk.Gaussian(1.0), lambda A, B: oracles.gaussian(A, B, 1.0)),
    "cauchy": (dk.Cauchy(2.0), lambda A, B: oracles.cauchy(A, B, 2.0)),
    "polynomial": (dk.Polynomial(2), lambda A, B: oracles.polynomial(A, B, 2)),
}


def measured(
    name: str = "laplacian",
    data: np.ndarray = X,
    *,
    s: int = 50,
    kept: int = 0,
    seed: int = 1,
    **options: Any,
) -> Spectrum:
    n = len(data)
    settings = {
        "n_directions": None,
        "batch_size": None,
        "most_batch": 60,
        "batch_share": 0.25,
        "dtype": F8,
        **options,
    }
    kernel = settings.pop("kernel", None) or KERNELS[name][0]
    rows = HERE.place_rows(data, Grid(n, 128))
    order = Order(n, n - kept, 5, seed)
    return measure_spectrum(rows, kernel, order, s=s, runtime=HERE, reporter=SILENT, **settings)


def numbers(n: int, s: int, fresh: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Of the subsample and of the fresh rows (all of them where fresh = n)."""
    order = Order(n, n, 5, seed)
    return np.sort(order.rows(0, s)), np.sort(order.rows(0, n) if fresh == n else order.rows(s, fresh))


def dense(name: str, data: np.ndarray, s: int, fresh: int, q: int) -> tuple[np.ndarray, float, float]:
    """D, lam' on the fresh rows, beta on all rows."""
    r, f = numbers(len(data), s, fresh)
    K = KERNELS[name][1](data, data)
    sigma, V = oracles_eigenpro.eigenpairs(K[np.ix_(r, r)])
    D = oracles_eigenpro.damping(sigma, q)
    K_P = oracles_eigenpro.preconditioned(K, K[:, r], V, D)
    return D, oracles_eigenpro.largest_eigenvalue(K_P[np.ix_(f, f)]), float(K_P.diagonal().max())


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("s", "fresh"), [(50, 100), (133, 266), (134, 400), (200, 400)])
@pytest.mark.parametrize("q", [1, 2, 8])
def test_dense_formulas(name: str, s: int, fresh: int, q: int) -> None:
    """Fresh rows are min(2 s, 4000) outside the subsample; all rows where there are fewer than 3 s."""
    found = measured(name, s=s, n_directions=q)
    D, eigenvalue, beta = dense(name, X, s, fresh, q)
    np.testing.assert_array_equal(found.indices, numbers(400, s, fresh)[0])
    np.testing.assert_allclose(found.preconditioner.damping, D, rtol=1e-7)
    assert found.n_fresh == fresh
    assert found.step.beta == pytest.approx(beta, rel=1e-7)
    assert found.step.eigenvalue == pytest.approx(max(eigenvalue, beta / 400), rel=2e-3)
    assert found.batch_size == max(1, min(60, int(0.25 * found.step.beta / found.step.eigenvalue)))
    assert found.step.size(7) == pytest.approx(
        oracles_eigenpro.step_size(7, found.step.beta, found.step.eigenvalue)
    )
    U = found.preconditioner.projections(X)
    assert U.shape == (400, q - 1)
    np.testing.assert_allclose(
        found.preconditioner.gamma(np.ones((q - 1, 1))), found.preconditioner.vectors @ D[:, None]
    )


@pytest.mark.parametrize("name", KERNELS)
def test_the_subsample_of_all_rows_is_exact(name: str) -> None:
    found = measured(name, X[:120], s=120, n_directions=9)
    K = KERNELS[name][1](X[:120], X[:120])
    sigma, V = oracles_eigenpro.eigenpairs(K)
    assert found.n_fresh == 0
    expected = sigma[0] * (sigma[8] / sigma[0]) ** 0.95 / 120
    assert found.step.eigenvalue == pytest.approx(expected, rel=1e-9)
    assert found.assumed_eigenvalue == pytest.approx(expected, rel=1e-9)
    K_P = oracles_eigenpro.preconditioned(K, K, V, oracles_eigenpro.damping(sigma, 9))
    assert found.step.eigenvalue == pytest.approx(oracles_eigenpro.largest_eigenvalue(K_P), rel=1e-6)
    assert found.step.beta == pytest.approx(K_P.diagonal().max(), rel=1e-7)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("s", [50, 180])
def test_bisection_is_the_linear_search(name: str, s: int) -> None:
    """q = max { i <= q_cap : beta / lam' <= m_G }, by the figures of the fresh rows."""
    r, f = numbers(400, s, 100 if s == 50 else 400)
    sample = Sample(r, X[r], X[f])
    candidates = Candidates(KERNELS[name][0], sample, F8)
    critical = [candidates.largest(q) for q in range(1, candidates.most + 1)]
    for most in (1, 2, 3, 5, 8, 13, 21, 40, 60, 90, 200, 400, 10_000):
        inside = [q for q, (lam, beta) in enumerate(critical, start=1) if beta <= most * lam]
        found = measured(name, s=s, most_batch=most)
        assert found.n_directions == max(inside, default=1), most
        assert found.n_directions <= found.most_directions == candidates.most


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("s", [1, 3, 4, 7, 40, 400])
@pytest.mark.parametrize("bandwidth", [0.3, 2.0, 30.0])
def test_most_directions(dtype: str, s: int, bandwidth: float) -> None:
    """q_cap: a quarter of the subsample, and eigenvalues well above the rounding of the kernel's type."""
    found = measured(kernel=dk.Gaussian(bandwidth), s=s, n_directions=400, dtype=np.dtype(dtype))
    sigma, _ = oracles_eigenpro.eigenpairs(oracles.gaussian(X[found.indices], X[found.indices], bandwidth))
    cap = oracles_eigenpro.most_directions(sigma, np.finfo(np.float32).eps)  # for both types
    assert found.most_directions == cap
    assert found.n_directions == found.most_directions
    assert len(found.eigenvalues) == found.most_directions
    np.testing.assert_allclose(found.eigenvalues, sigma[: len(found.eigenvalues)] / s, rtol=1e-3)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("s", "least"), [(50, 0.9), (134, 0.998), (400, 0.998)])
def test_the_eigenvalue_is_not_too_small(name: str, s: int, least: float) -> None:
    """lam' against the true largest eigenvalue of k_P / n over all rows; the subsample's own is far below."""
    K = KERNELS[name][1](X, X)
    ratios, assumed = [], []
    for seed in range(8):
        found = measured(name, s=s, seed=seed, n_directions=s // 4)
        r, p = found.indices, found.preconditioner
        K_P = oracles_eigenpro.preconditioned(K, K[:, r], p.vectors, p.damping)
        true = oracles_eigenpro.largest_eigenvalue(K_P)
        ratios.append(found.step.eigenvalue / true)
        assumed.append(found.assumed_eigenvalue / true)
    assert min(ratios) > (
        0.6 if name == "polynomial" and s == 50 else least
    )  # of heavy tails, few rows say less
    assert np.mean(ratios) < 2.5
    if name != "polynomial" and s < 400:  # of rank 10: nothing is left
        assert np.mean(assumed) < np.mean(ratios)


@pytest.mark.parametrize("name", KERNELS)
def test_stable_for_every_batch_size(name: str) -> None:
    """X(m) < 2 m / (beta + (m - 1) lam') with the true figures of all rows."""
    K = KERNELS[name][1](X, X)
    found = measured(name, s=134)
    p = found.preconditioner
    K_P = oracles_eigenpro.preconditioned(K, K[:, found.indices], p.vectors, p.damping)
    beta, true = K_P.diagonal().max(), oracles_eigenpro.largest_eigenvalue(K_P)
    for m in (1, 2, found.batch_size, 60, 400):
        assert found.step.size(m) < 0.95 * 2 * m / (beta + (m - 1) * true)


def test_given_choices() -> None:
    found = measured(n_directions=5, batch_size=17).with_step(3.0)
    assert (found.n_directions, found.batch_size) == (5, 17)
    assert found.step.size(17) == pytest.approx(3.0)
    assert measured(batch_size=10_000).batch_size == 400
    assert measured(kept=100, s=50).n_used == 300


def test_rows_kept_back_are_not_sampled() -> None:
    order = Order(400, 300, 5, 1)
    for s in (30, 90, 250, 300):
        sample = draw_sample(HERE.place_rows(X, Grid(400, 128)), order, s, HERE, SILENT)
        fresh = np.zeros((0, 3)) if sample.fresh is None else sample.fresh
        taken = np.concatenate([sample.Z, fresh])
        assert not (oracles.squared_distances(taken, X[order.kept_back()]) == 0).any()
        assert len(np.unique(sample.indices)) == s


def test_beta_is_that_of_all_rows() -> None:
    """An outlier that no sample holds: its k_P(x, x) = 1 decides the step."""
    data = np.concatenate([0.1 * X, [[50.0, 50, 50]]])
    found = measured("gaussian", data, s=50)
    assert 400 not in found.indices
    assert found.step.beta == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("s", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [2, 3, 5, 9, 100])
def test_tiny(n: int, s: int) -> None:
    found = measured("laplacian", X[:n], s=min(s, n))
    assert found.n_directions == 1
    assert 1 <= found.batch_size <= n
    assert found.step.eigenvalue >= found.step.beta / n > 0


@pytest.mark.parametrize("s", [50, 200, 400])
def test_equal_rows(s: int) -> None:
    """K = 1: one direction, a batch of one row."""
    found = measured("gaussian", np.ones((400, 3)), s=s)
    assert (found.n_directions, found.batch_size) == (1, 1)
    assert found.step.beta == pytest.approx(1.0)
    assert found.step.eigenvalue == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["laplacian", "gaussian", "cauchy"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("distinct", [2, 4, 20])
def test_repeated_rows(name: str, dtype: str, distinct: int) -> None:
    """k distinct rows: q <= k, no direction of rounding is damped, and k_P stays above rounding."""
    found = measured(name, X[np.arange(400) % distinct], s=200, most_batch=400, dtype=np.dtype(dtype))
    if (name, dtype) != ("laplacian", "f8"):  # distances of equal rows are rounded to 1e-8 before the root
        assert found.n_directions <= distinct
    assert found.step.beta > 1e3 * np.finfo(dtype).eps


@pytest.mark.parametrize("s", [20, 50, 200, 400])
@pytest.mark.parametrize("n_directions", [None, 1, 5])
def test_a_zero_kernel(s: int, n_directions: int | None) -> None:
    """Linear kernel of zeros: nothing can be learned; the figures must stay finite, or say what is wrong."""
    try:
        found = measured(kernel=dk.Linear(), data=np.zeros((400, 3)), s=s, n_directions=n_directions)
    except (DegenerateMatrixError, InputError):
        return
    assert np.isfinite([found.step.size(1), found.batch_size, found.assumed_eigenvalue]).all()


def test_bad_rows_of_the_sample_are_named() -> None:
    spoiled = X.copy()
    row = int(numbers(400, 50, 100)[1][3])
    spoiled[row, 1] = np.nan
    with pytest.raises(NonFiniteError, match=f"row {row}"):
        measured(data=spoiled, s=50)


def test_functions_as_kernels() -> None:
    a, b = measured("gaussian"), measured(kernel=as_kernel(lambda A, B: oracles.gaussian(A, B, 1.0)))
    assert a.n_directions == b.n_directions
    assert a.step.beta == pytest.approx(b.step.beta, rel=1e-6)
    assert a.step.eigenvalue == pytest.approx(b.step.eigenvalue, rel=2e-3)


@given(st.integers(1, 150), st.integers(0, 10**6), st.sampled_from([1, 3, 1000]))
def test_largest_eigenvalues(n: int, seed: int, rank: int) -> None:
    """Written out below 64 rows, by Lanczos above; also for zero, rank-one and flat spectra."""
    factor = np.random.default_rng(seed).normal(size=(n, min(n, rank)))
    for A in (factor @ factor.T, np.eye(n), np.zeros((n, n))):
        found = largest_eigenvalue(lambda v, A=A: A @ v, n)  # type: ignore[misc]
        assert found == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=2e-3, abs=1e-12)
