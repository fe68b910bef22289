"""Tests: the tile engine: edges of tiles, bits that do not depend on the block, functions, bad rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.block.tiles import (
    TILE_COLUMNS,
    compute_dtype,
    evaluate,
    kernel_diagonal,
    matvec,
    prepare,
    transposed_matvec,
)
from daskkernels.finite import NonFiniteError
from daskkernels.kernels import as_kernel
from tests import oracles

ROWS = [1, 1023, 1024, 1025, 2049]
COLUMNS = [1, 511, 512, 513]
KERNELS = [dk.Gaussian(2.0), dk.Matern(2.0, nu=2.5), dk.Polynomial(2), dk.Cosine(), oracles.linear]
rng = np.random.default_rng(0)
A, B = rng.normal(size=(2049, 5)), rng.normal(size=(513, 5))
F8 = np.dtype("f8")


def names(kernel: Any) -> str:
    return type(kernel).__name__


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", COLUMNS)
def test_edges_of_tiles(rows: int, columns: int) -> None:
    X, Z = A[:rows], B[:columns]
    W = rng.normal(size=(columns, 3))
    expected = oracles.matern(X, Z, 2.0, 2.5)
    kernel = dk.Matern(2.0, nu=2.5)
    np.testing.assert_allclose(dk.kernel_block(kernel, X, Z), expected, rtol=1e-11)
    np.testing.assert_allclose(dk.kernel_matvec(kernel, X, Z, W), expected @ W, atol=1e-11)


@pytest.mark.parametrize("rows", ROWS)
def test_symmetric_edges(rows: int) -> None:
    K = dk.kernel_block(dk.Gaussian(2.0), A[:rows])
    np.testing.assert_allclose(K, oracles.gaussian(A[:rows], A[:rows], 2.0), rtol=1e-11)
    np.testing.assert_array_equal(K, K.T)


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_a_rows_bits_do_not_depend_on_its_block(kernel: Any, dtype: str) -> None:
    """Any block that begins at a multiple of 1024 gives its rows the same values: blocks may be merged."""
    X = (A * 5).astype(dtype)
    compute = compute_dtype(X.dtype)
    right = prepare(as_kernel(kernel), (B * 5).astype(dtype), compute)
    W = rng.normal(size=(len(B), 4))
    whole, product = evaluate(X, right), matvec(X, right, W)
    for start, stop in [(0, 1024), (1024, 2048), (1024, 2049), (2048, 2049)]:
        np.testing.assert_array_equal(evaluate(X[start:stop], right), whole[start:stop])
        np.testing.assert_array_equal(matvec(X[start:stop], right, W), product[start:stop])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_layout_changes_no_bits(dtype: str) -> None:
    X = A.astype(dtype)
    right = prepare(dk.Gaussian(2.0), B.astype(dtype), np.dtype(dtype))
    expected = evaluate(X, right)
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], np.hstack([X, X])[:, :5]):
        np.testing.assert_array_equal(evaluate(same, right), expected)


def test_output_may_be_given() -> None:
    right = prepare(dk.Gaussian(2.0), B, F8)
    out = np.empty((100, 600))
    part = evaluate(A[:100], right, out[:, :513])
    assert part.base is out
    np.testing.assert_array_equal(part, evaluate(A[:100], right))


def test_matvec_sums_in_float64() -> None:
    """2^24 + 1 does not exist in float32: a sum over many tiles must not be kept in it."""
    Z = np.zeros((40 * TILE_COLUMNS, 1), "f4")
    W = np.zeros((len(Z), 1), "f4")
    W[0], W[TILE_COLUMNS::TILE_COLUMNS] = 2.0**24, 1.0
    right = prepare(dk.Gaussian(1.0), Z, np.dtype("f4"))
    assert matvec(np.zeros((1, 1), "f4"), right, W)[0, 0] == 2.0**24 + 39


def test_inputs_are_left_alone() -> None:
    X, Z, W = A[:50].copy(), B[:50].copy(), np.ones((50, 1))
    for array in (X, Z, W):
        array.flags.writeable = False
    dk.kernel_block(dk.Cosine(), X, Z)
    dk.kernel_block(dk.Laplacian(1.0), X)
    dk.kernel_matvec(dk.Gaussian(1.0), X, Z, W)
    np.testing.assert_array_equal(X, A[:50])


@pytest.mark.parametrize("rows", [1, 1025])
def test_functions_get_tiles(rows: int) -> None:
    shapes = []

    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        shapes.append((X.shape[0], Z.shape[0], X.dtype, Z.dtype))
        return oracles.gaussian(X, Z, 2.0)

    K = dk.kernel_block(kernel, A[:rows].astype("f4"), B)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, oracles.gaussian(A[:rows], B, 2.0), atol=1e-6)
    assert max(s[0] for s in shapes) <= 1024
    assert {s[2:] for s in shapes} == {(np.dtype("f4"), np.dtype("f4"))}
    assert sum(s[0] * s[1] for s in shapes) == rows * len(B)


@pytest.mark.parametrize(
    "bad",
    [
        lambda X, Z: oracles.linear(Z, X),
        lambda X, Z: oracles.linear(X, Z)[0],
        lambda X, Z: 1.0,
        lambda X, Z: [[1.0]],
        lambda X, Z: None,
    ],
    ids=["transposed", "vector", "number", "list", "None"],
)
def test_functions_of_wrong_shape(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"kernel function returned shape .*, wanted \(3, 4\)"):
        dk.kernel_block(bad, A[:3], B[:4])


@pytest.mark.parametrize("dtype", ["c16", "U5", "O"])
def test_functions_of_other_than_real_numbers(dtype: str) -> None:
    """Complex values would lose their imaginary parts."""

    def kernel(X: Any, Z: Any) -> Any:
        return oracles.linear(X, Z).astype(dtype)

    with pytest.raises(ValueError, match=r"kernel function returned values of type .*, wanted real numbers"):
        dk.kernel_block(kernel, A[:3], B[:4])
    with pytest.raises(ValueError, match="wanted real numbers"):
        dk.NystromFeatures(kernel, n_landmarks=4).fit(A[:20])


@pytest.mark.parametrize("kernel", [*KERNELS[:1], *KERNELS[2:]], ids=names)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 1023, 1024, 2048])
def test_bad_rows_are_named(kernel: Any, bad: float, row: int) -> None:
    X = A.copy()
    X[row, 2] = bad
    X[2048, 1] = np.nan
    with pytest.raises(NonFiniteError, match=f"row {row}:") as caught:
        dk.kernel_block(kernel, X, B)
    assert caught.value.row == row
    assert caught.value.shifted(100).row == row + 100


def test_bad_landmarks_are_refused() -> None:
    Z = B.copy()
    Z[7, 0] = np.nan
    with pytest.raises(NonFiniteError, match="row 7"):
        dk.kernel_block(dk.Gaussian(1.0), A, Z)


def test_float32_overflow_is_a_bad_row() -> None:
    X = A[:5].astype("f4")
    X[3] = 1e30
    with pytest.raises(NonFiniteError, match=r"row 3.*dtype='float64'"):
        dk.kernel_block(dk.Gaussian(1.0), X, B.astype("f4"))
    assert np.isfinite(dk.kernel_block(dk.Gaussian(1.0), X, B.astype("f4"), dtype="float64")).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
def test_diagonals(kernel: Any) -> None:
    found = kernel_diagonal(as_kernel(kernel), A, F8)
    K = evaluate(A[:200], prepare(as_kernel(kernel), A[:200], F8))
    assert found.shape == (2049,)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:200], np.diag(K), rtol=1e-12)


@pytest.mark.parametrize(
    ("stored", "override", "expected"),
    [
        *[(stored, None, "f4") for stored in ("f4", "f2", "i8", "u1", "?", ">f4")],
        *[(stored, None, "f8") for stored in ("f8", ">f8", "longdouble")],
        *[("f4", "float64", "f8"), ("u1", np.float64, "f8"), ("f8", "float32", "f4")],
    ],
)
def test_compute_type(stored: str, override: Any, expected: str) -> None:
    assert compute_dtype(np.dtype(stored), override) == np.dtype(expected)


@pytest.mark.parametrize("bad", ["float16", "int64", bool])
def test_refused_compute_types(bad: Any) -> None:
    with pytest.raises(ValueError, match="wanted 'float32' or 'float64'"):
        compute_dtype(np.dtype("f4"), bad)


@pytest.mark.parametrize("rows", [0, *ROWS])
@pytest.mark.parametrize("columns", COLUMNS)
def test_transposed_products(rows: int, columns: int) -> None:
    """K(X, Z)^T W, at the edges of tiles; a block without rows adds nothing."""
    X, Z, W = A[:rows], B[:columns], rng.normal(size=(rows, 3))
    found = transposed_matvec(X, prepare(dk.Matern(2.0, nu=2.5), Z, F8), W)
    assert (found.shape, found.dtype) == ((columns, 3), F8)
    np.testing.assert_allclose(found, oracles.matern(X, Z, 2.0, 2.5).T @ W, atol=1e-11 * max(rows, 1))


@pytest.mark.parametrize("kernel", KERNELS, ids=names)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_transposed_products_are_those_of_the_block(kernel: Any, dtype: str) -> None:
    X, Z = (A[:1100] * 5).astype(dtype), (B * 5).astype(dtype)
    right = prepare(as_kernel(kernel), Z, compute_dtype(X.dtype))
    W = rng.normal(size=(1100, 2))
    K = evaluate(X, right).astype("f8")
    scale = np.abs(K).sum(axis=0).max()
    atol = scale * (1e-6 if right.dtype == np.float32 else 1e-14)
    np.testing.assert_allclose(transposed_matvec(X, right, W), K.T @ W, atol=10 * atol)


def test_transposed_products_sum_in_float64() -> None:
    """2^24 + 1 does not exist in float32: a sum over many tiles of rows must not be kept in it."""
    X = np.zeros((40 * 1024, 1), "f4")
    W = np.zeros((len(X), 1), "f4")
    W[0], W[1024::1024] = 2.0**24, 1.0
    right = prepare(dk.Gaussian(1.0), np.zeros((1, 1), "f4"), np.dtype("f4"))
    assert transposed_matvec(X, right, W)[0, 0] == 2.0**24 + 39


def test_transposed_products_name_bad_rows() -> None:
    spoiled = A.copy()
    spoiled[1500, 2] = np.nan
    with pytest.raises(NonFiniteError, match="row 1500"):
        transposed_matvec(spoiled, prepare(dk.Gaussian(1.0), B, F8), np.ones((len(A), 1)))


@pytest.mark.parametrize("m", [1, 40, 513])
def test_the_first_rows_of_a_right_operand(m: int) -> None:
    """The same values as in the whole block: strips of a round use them."""
    right = prepare(dk.Gaussian(2.0), B, F8)
    np.testing.assert_allclose(evaluate(A[:100], right.first(m)), evaluate(A[:100], right)[:, :m], rtol=1e-13)
