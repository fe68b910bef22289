"""Tests: counts, means and deviations merge exactly, far from zero too; weights repeat rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.block.moments import Moments, block_moments, merge_moments, standardize
from daskkernels.finite import NonFiniteError

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 4)) * [1.0, 10.0, 1e-3, 1.0] + [0.0, 5.0, 1.0, -3.0]


def assert_moments(found: Moments, data: np.ndarray, rtol: float = 1e-12) -> None:
    """Centered exactly first, so that the reference does not lose digits either."""
    shift = data[0].astype("f8")
    centered = data.astype("f8") - shift
    assert found.weight == len(data)
    np.testing.assert_allclose(found.mean, shift + centered.mean(axis=0), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(found.variance, centered.var(axis=0), rtol=rtol)


@given(st.lists(st.integers(0, 1000), max_size=8), st.sampled_from([0.0, 1e4, 1e8]))
def test_merging_is_exact(cuts: list[int], offset: float) -> None:
    data = X + offset
    blocks = np.split(data, sorted(cuts))
    found = merge_moments([block_moments(b) for b in blocks])
    assert_moments(found, data, 1e-12 + 2 * np.finfo("f8").eps * offset / 1e-3)  # means near 1e8 have 1e-8


@pytest.mark.parametrize("dtype", ["f4", "u1", "i8", "?", "f2"])
def test_stored_types(dtype: str) -> None:
    data = (X * 3 + 20).clip(0, 255).astype(dtype)
    assert_moments(block_moments(data), data)


@pytest.mark.parametrize("split", [1, 200, 256, 999])
def test_weights_repeat_rows(split: int) -> None:
    counts = rng.integers(0, 4, 1000)
    weights = counts.astype("f8")
    found = merge_moments(
        [block_moments(X[:split], weights[:split]), block_moments(X[split:], weights[split:])]
    )
    assert_moments(found, np.repeat(X, counts, axis=0))


def test_weights_need_not_be_whole() -> None:
    w = rng.uniform(0, 1, 1000)
    found = block_moments(X, w)
    mean = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(found.variance, np.average((X - mean) ** 2, axis=0, weights=w), rtol=1e-12)


def test_blocks_without_weight_count_for_nothing() -> None:
    zero = block_moments(X[:10], np.zeros(10))
    assert zero.weight == 0
    assert_moments(merge_moments([zero, zero, block_moments(X), zero]), X)


def test_mean_squared_distance() -> None:
    pairs = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    assert block_moments(X).mean_squared_distance() == pytest.approx(pairs.mean(), rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 255, 256, 999])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bad_rows_are_named(bad: float, row: int, dtype: str) -> None:
    data = X.astype(dtype)
    data[row, 1] = bad
    with pytest.raises(NonFiniteError) as caught:
        block_moments(data)
    assert caught.value.row == row


def test_the_block_is_left_alone() -> None:
    data = X.copy()
    data.flags.writeable = False
    block_moments(data)
    standardize(data, X.mean(axis=0), X.std(axis=0), np.dtype("f8"))
    np.testing.assert_array_equal(data, X)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_standardize(offset: float) -> None:
    """Integers and float64 far from zero are subtracted before they are rounded to float32."""
    data = (X * 100).astype("i8") + int(offset)
    mean, scale = data.mean(axis=0), data.std(axis=0) + 1.0
    found = standardize(data, mean, scale, np.dtype("f4"))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (data - mean) / scale, atol=1e-6)
    np.testing.assert_array_equal(standardize(data, None, None, np.dtype("f8")), data)
