"""Tests: small dense algebra on numpy and strict arrays: eigenpairs with fixed signs, ranks without noise."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.linalg import (
    DegenerateMatrixError,
    largest_eigenvalue,
    symmetric_product,
    top_eigenpairs,
    truncated_inverse_root,
)

EPS32 = float(np.finfo("f4").eps)
EPS64 = float(np.finfo("f8").eps)


def with_spectrum(values: list[float], seed: int = 0) -> np.ndarray:
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))
    return (Q * values) @ Q.T


@pytest.mark.parametrize("library", [np, strict])
@pytest.mark.parametrize("k", [None, 1, 3, 6])
def test_eigenpairs(library, k: int | None) -> None:
    A = with_spectrum([5.0, 4.0, 3.0, 2.0, 1.0, -2.0])
    values, vectors = (np.asarray(x) for x in top_eigenpairs(library.asarray(A), k))
    np.testing.assert_allclose(values, [5.0, 4.0, 3.0, 2.0, 1.0, -2.0][:k], atol=1e-13)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-13)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_signs_are_fixed(seed: int, c: int) -> None:
    A = with_spectrum(list(np.random.default_rng(seed).uniform(1, 2, c)), seed)
    _, vectors = top_eigenpairs(A)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(c)]
    assert (largest > 0).all()


def test_only_the_symmetric_part_counts() -> None:
    A = with_spectrum([3.0, 2.0, 1.0])
    skew = np.array([[0, 1, 2], [-1, 0, 3], [-2, -3, 0]]) * 1e-3
    np.testing.assert_allclose(top_eigenpairs(A + skew)[0], [3.0, 2.0, 1.0], atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 65, 130])
def test_symmetric_products(n: int) -> None:
    rng = np.random.default_rng(n)
    A = with_spectrum([*rng.uniform(0.1, 1.0, n - 1), 2.0], seed=n)
    A, v = (A + A.T) / 2, rng.normal(size=2 * n)[::2]
    np.testing.assert_allclose(symmetric_product(A, v), A @ v, rtol=1e-12, atol=1e-12)
    assert largest_eigenvalue(lambda x: symmetric_product(A, x), n) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("library", [np, strict])
@pytest.mark.parametrize("rank", [None, 2, 4, 9])
def test_inverse_root(library, rank: int | None) -> None:
    W = with_spectrum([4.0, 2.0, 1.0, 0.5])
    found = truncated_inverse_root(library.asarray(W), rank, EPS64)
    root, kept = np.asarray(found.root), min(rank or 4, 4)
    assert found.rank == kept
    np.testing.assert_allclose(np.asarray(found.eigenvalues), [4.0, 2.0, 1.0, 0.5], atol=1e-13)
    np.testing.assert_allclose(root.T @ W @ root, np.eye(kept), atol=1e-13)


@pytest.mark.parametrize(
    ("eps", "kept"),
    [(EPS64, 4), (EPS32, 3)],
    ids=["float64 columns keep 1e-9", "float32 columns drop 1e-9"],
)
def test_rounding_is_dropped(eps: float, kept: int) -> None:
    """eps32 alone, not eps32 * c: 2e-6 is kept however many landmarks there are."""
    W = with_spectrum([1.0, 1e-3, 2e-6, 1e-9, 1e-18] + [0.0] * 60)
    assert truncated_inverse_root(W, None, eps).rank == kept


def test_negative_eigenvalues_are_dropped() -> None:
    assert truncated_inverse_root(with_spectrum([1.0, -0.5, -2.0]), None, EPS64).rank == 1


@pytest.mark.parametrize("W", [np.zeros((3, 3)), -np.eye(3)], ids=["zero", "negative"])
def test_nothing_left(W: np.ndarray) -> None:
    with pytest.raises(DegenerateMatrixError, match="kernel"):
        truncated_inverse_root(W, None, EPS64)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("library", [np, strict])
def test_not_finite(library, bad: float) -> None:
    A = np.eye(3)
    A[1, 2] = A[2, 1] = bad
    with pytest.raises(DegenerateMatrixError, match=r"3 x 3.*NaN or infinity"):
        top_eigenpairs(library.asarray(A))
