"""Tests: the reference of EigenPro itself: what it must reduce to, and where it must end."""

from __future__ import annotations

import numpy as np
import pytest

from tests import oracles, oracles_eigenpro

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
K = oracles.laplacian(X, X, 2.0)
Y = np.c_[np.sin(X[:, 0]), X[:, 1] > 0]
INDICES = np.arange(0, 60, 3)
SIGMA, V = oracles_eigenpro.eigenpairs(K[np.ix_(INDICES, INDICES)])


def run(q: int, m: int, epochs: int, indices: np.ndarray = INDICES) -> oracles_eigenpro.Model:
    sigma, vectors = oracles_eigenpro.eigenpairs(K[np.ix_(indices, indices)])
    D = oracles_eigenpro.damping(sigma, q)
    K_P = oracles_eigenpro.preconditioned(K, K[:, indices], vectors, D)
    beta, eigenvalue = K_P.diagonal().max(), oracles_eigenpro.largest_eigenvalue(K_P)
    orders = [np.random.default_rng(e).permutation(60) for e in range(epochs)]
    return oracles_eigenpro.eigenpro(
        K,
        Y,
        indices,
        vectors,
        D,
        oracles_eigenpro.batches(orders, m),
        lambda size: oracles_eigenpro.step_size(size, beta, eigenvalue),
    )


def test_one_direction_is_plain_gradient_descent() -> None:
    model = run(1, 7, 2)
    assert not model.gamma.any()
    alpha, beta, eigenvalue = np.zeros_like(Y), 1.0, np.linalg.eigvalsh(K)[-1] / 60
    for e in range(2):
        order = np.random.default_rng(e).permutation(60)
        for first in range(0, 60, 7):
            rows = order[first : first + 7]
            rate = 0.9 * 2 / (beta + (len(rows) - 1) * eigenvalue)
            alpha[rows] -= rate * (K[rows] @ alpha - Y[rows])
    np.testing.assert_allclose(model.alpha, alpha, rtol=1e-10)


def test_ends_at_the_interpolant() -> None:
    """alpha + gamma at the subsample = K^-1 y, whatever is damped; damping gets there sooner."""
    errors = {}
    for q in (1, 5):
        model = run(q, 10, 150)
        f = model.predict(K, INDICES)
        errors[q] = np.abs(f - Y).max()
        alpha = model.alpha.copy()
        alpha[INDICES] += model.gamma
        np.testing.assert_allclose(K @ alpha, f, atol=1e-10)
    assert errors[5] < errors[1] < 0.5


def test_a_full_batch_of_a_full_subsample_contracts_every_direction_at_its_rate() -> None:
    """s = n, m = n: one step multiplies the error in direction i by 1 - (X/n) sigma_i', damped or not."""
    everything, q = np.arange(60), 9
    sigma, vectors = oracles_eigenpro.eigenpairs(K)
    D = oracles_eigenpro.damping(sigma, q)
    model = oracles_eigenpro.eigenpro(K, Y, everything, vectors, D, [everything], lambda m: 5.0)
    damped = sigma.copy()
    damped[: q - 1] = sigma[: q - 1] ** 0.05 * sigma[q - 1] ** 0.95
    left = vectors.T @ (model.predict(K, everything) - Y)
    np.testing.assert_allclose(left, -(1 - 5.0 / 60 * damped)[:, None] * (vectors.T @ Y), atol=1e-10)


@pytest.mark.parametrize("q", [1, 2, 10, 20])
def test_damped_spectrum(q: int) -> None:
    """On the subsample the leading eigenvalues become sigma_i^(1-a) sigma_q^a and the others stay."""
    K_s = K[np.ix_(INDICES, INDICES)]
    D = oracles_eigenpro.damping(SIGMA, q)
    K_P = oracles_eigenpro.preconditioned(K_s, K_s, V, D)
    expected = SIGMA.copy()
    expected[: q - 1] = SIGMA[: q - 1] ** 0.05 * SIGMA[q - 1] ** 0.95
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(K_P)), np.sort(expected), atol=1e-12)
    assert oracles_eigenpro.largest_eigenvalue(K_P) == pytest.approx(
        oracles_eigenpro.subsample_eigenvalue(SIGMA, q), rel=1e-10
    )
