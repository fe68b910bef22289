"""Tests: one block's columns, share of the Gram matrix and features; keeping columns changes no bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.block import nystrom as block
from daskkernels.block.tiles import compute_dtype, prepare
from daskkernels.kernels import AnyKernel, as_kernel
from daskkernels.linalg import InverseRoot
from tests import oracles

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(2500, 4)), rng.normal(size=(30, 4))
root, components = rng.normal(size=(30, 12)), rng.normal(size=(30, 5))
WEIGHTS = rng.integers(0, 4, 2500).astype("f8")
KERNELS: list[tuple[Any, Any]] = [
    (dk.Gaussian(2.0), lambda A, B: oracles.gaussian(A, B, 2.0)),
    (dk.Polynomial(2), lambda A, B: oracles.polynomial(A, B, 2)),
    (oracles.linear, oracles.linear),
]
kernels = pytest.mark.parametrize(("kernel", "formula"), KERNELS, ids=["gaussian", "polynomial", "function"])


def whitened(dtype: np.dtype[Any]) -> block.Whitening:
    """A root of no particular matrix."""
    return block.Whitening(InverseRoot(root, np.ones(30)), root.astype(dtype))


def gram_both_ways(kernel: AnyKernel, dtype: str, weights: np.ndarray | None) -> list[block.GramPart]:
    data = X.astype(dtype)
    right = prepare(kernel, Z.astype(dtype), compute_dtype(data.dtype))
    whitening = whitened(right.dtype)
    kept = block.gram_of_columns(block.columns(data, right), data, weights, right, whitening)
    return [block.gram(data, weights, right, whitening), kept]


@kernels
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_gram(kernel: Any, formula: Any, weights: np.ndarray | None, dtype: str) -> None:
    R = formula(X, Z) @ root
    w = np.ones(len(X)) if weights is None else weights
    diagonal = np.array([formula(x[None], x[None])[0, 0] for x in X])
    for part in gram_both_ways(as_kernel(kernel), dtype, weights):
        expected = R.T @ (R * w[:, None])
        assert part.gram.dtype == np.float64
        tolerance = 1e-4 if dtype == "f4" else 1e-11
        assert np.linalg.norm(part.gram - expected) < tolerance * np.linalg.norm(expected)
        assert part.trace == pytest.approx(float(diagonal @ w), rel=1e-5 if dtype == "f4" else 1e-12)


@kernels
@pytest.mark.parametrize("weights", [None, WEIGHTS / 3], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_kept_columns_change_no_bits(kernel: Any, formula: Any, weights: Any, dtype: str) -> None:
    thrown, kept = gram_both_ways(as_kernel(kernel), dtype, weights)
    np.testing.assert_array_equal(thrown.gram, kept.gram)
    assert thrown.trace == kept.trace


@kernels
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_features(kernel: Any, formula: Any, dtype: str) -> None:
    data, landmarks = (X * 3).astype(dtype), (Z * 3).astype(dtype)
    compute = compute_dtype(data.dtype)
    right = prepare(as_kernel(kernel), landmarks, compute)
    B = block.features(data, right, components)
    expected = formula(data.astype("f8"), landmarks.astype("f8")) @ components
    assert B.dtype == compute
    assert np.abs(B - expected).max() < (1e-11 if dtype == "f8" else 2e-4) * np.abs(expected).max()
    np.testing.assert_array_equal(block.features_of_columns(block.columns(data, right), components), B)
    np.testing.assert_array_equal(block.features(data[1024:], right, components), B[1024:])


def test_shares_add_up() -> None:
    right = prepare(dk.Gaussian(2.0), Z, np.dtype("f8"))
    whitening = whitened(right.dtype)
    parts = [block.gram(X[a:b], None, right, whitening) for a, b in ((0, 1024), (1024, 2048), (2048, 2500))]
    whole = block.gram(X, None, right, whitening)
    merged = block.merge_gram(parts)
    np.testing.assert_array_equal(merged.gram, whole.gram)
    assert merged.trace == whole.trace == 2500
