"""Tests: FALKON on one block: the factors of the preconditioner, shares of a pass, predictions."""

from __future__ import annotations

import numpy as np
import pytest

from daskkernels import Gaussian, Linear
from daskkernels.block import falkon as block
from daskkernels.block.nystrom import columns
from daskkernels.block.targets import Centered, OneHot
from daskkernels.block.tiles import prepare
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid
from daskkernels.kernels import CallableKernel
from daskkernels.linalg import DegenerateMatrixError, upper_cholesky
from tests import oracles, oracles_falkon

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2300, 3))  # three tiles, the last one short
Z = X[::40]
Y = RNG.normal(size=(2300, 2))
W = RNG.integers(0, 4, 2300).astype(float)
K = oracles.gaussian(X, Z, 1.5)
F64 = np.dtype("f8")
RIGHT = prepare(Gaussian(1.5), Z, F64)
PLAIN = Centered(np.zeros(2))


@pytest.mark.parametrize("weighted", [False, True])
def test_factors(weighted: bool) -> None:
    K_MM, weights = oracles.gaussian(Z, Z, 1.5), RNG.random(len(Z)) if weighted else None
    found = block.precondition(Gaussian(1.5), Z, weights, 1e-4, F64)
    T, A = oracles_falkon.factors(K_MM, 1e-4, 1e-13, weights)
    np.testing.assert_allclose(found.A, A, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.T.T @ found.T, K_MM, atol=1e-10)
    b = RNG.normal(size=(len(Z), 2))
    np.testing.assert_allclose(A @ T @ found.weights(b), b, atol=1e-6)
    np.testing.assert_allclose(A.T @ found.back(np.zeros_like(b), b), 1e-4 * b, atol=1e-12)
    np.testing.assert_allclose(T.T @ (A.T @ found.back(b)), b, atol=1e-8)


def test_centers_without_weight_count_alike() -> None:
    plain, none = (block.precondition(Gaussian(1.5), Z, w, 1e-4, F64) for w in (None, np.zeros(len(Z))))
    np.testing.assert_array_equal(plain.A, none.A)


@pytest.mark.parametrize("weights", [None, W], ids=["rows", "weighted"])
def test_shares_of_a_pass(weights: np.ndarray | None) -> None:
    w, v = (np.ones(len(X)) if weights is None else weights), RNG.normal(size=(len(Z), 2))
    start = block.start_share(X, Y, weights, RIGHT, PLAIN)
    np.testing.assert_allclose(start.product, K.T @ (w[:, None] * Y), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(start.squares, (w[:, None] * Y**2).sum(axis=0))
    assert start.weight == w.sum()
    share = block.pass_share(X, weights, RIGHT, v)
    np.testing.assert_allclose(share, K.T @ (w[:, None] * (K @ v)), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(block.predicted(X, RIGHT, v, np.asarray), K @ v, atol=1e-11)
    squares, wrong = block.judged(X, Y, RIGHT, v, PLAIN)
    assert squares == pytest.approx(((K @ v - Y) ** 2).sum())
    assert wrong == 0


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_that_are_kept_give_the_same_bits(dtype: str) -> None:
    right = prepare(Gaussian(1.5), Z.astype(dtype), np.dtype(dtype))
    rows, v = X.astype(dtype), RNG.normal(size=(len(Z), 2)).astype(dtype)
    kept, encode, codes = columns(rows, right), OneHot(3), RNG.integers(0, 3, len(X))
    for weights in (None, W):
        anew = block.start_share(rows, codes, weights, right, encode)
        there = block.start_of_columns(kept, rows, codes, weights, encode)
        np.testing.assert_array_equal(anew.product, there.product)
        np.testing.assert_array_equal(
            block.pass_share(rows, weights, right, v), block.pass_share(kept, weights, None, v)
        )
    np.testing.assert_array_equal(
        block.predicted(rows, right, v, np.asarray), block.predicted(kept, None, v, np.asarray)
    )


def test_rows_kept_back_have_no_weight() -> None:
    grid, held_out = Grid(2300, 1024), np.array([3, 1023, 1024, 2299])
    found = [block.row_weights(None, held_out, grid, start=start) for start, _ in grid]
    whole = np.ones(2300)
    whole[held_out] = 0.0
    np.testing.assert_array_equal(np.concatenate(found), whole)
    given = W[1024:2048].copy()
    weighted = block.row_weights(given, held_out, grid, start=1024)
    np.testing.assert_array_equal(weighted, np.r_[0.0, W[1025:2048]])
    np.testing.assert_array_equal(given, W[1024:2048])


def test_bad_values_name_the_row() -> None:
    bad = X.copy()
    bad[1500, 1] = np.nan
    with pytest.raises(NonFiniteError, match="row 1500"):
        block.start_share(bad, Y, None, RIGHT, PLAIN)
    kernel = CallableKernel(lambda A, B: np.where(A[:, :1] == X[1234, 0], np.inf, A @ B.T))
    with pytest.raises(NonFiniteError, match=r"the kernel's values .* row 1234"):
        block.start_share(X, Y, None, prepare(kernel, Z, F64), PLAIN)


def test_degenerate_matrices() -> None:
    with pytest.raises(DegenerateMatrixError, match="centers is zero or not finite"):
        block.precondition(Linear(), np.zeros((4, 2)), None, 1e-3, F64)
    with pytest.raises(DegenerateMatrixError, match="NaN or infinity"):
        upper_cholesky(np.array([[1.0, np.inf], [0.0, 1.0]]), 0.1)
    with pytest.raises(DegenerateMatrixError, match="not positive"):
        upper_cholesky(-np.eye(3), 1e-13)


def test_a_ridge_grows_where_rounding_asks_for_it() -> None:
    A = np.ones((50, 50))
    R = upper_cholesky(A, 1e-20)
    np.testing.assert_allclose(R.T @ R, A, atol=1e-9)
    assert (np.tril(R, -1) == 0).all()
    np.testing.assert_allclose(upper_cholesky(A, 0.5).T @ upper_cholesky(A, 0.5), A + 0.5 * np.eye(50))
