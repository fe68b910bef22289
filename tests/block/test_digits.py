"""Deformed digits: row i is row i however it is asked for, and the interpolation is the textbook's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from daskkernels.block import digits

N = 700  # originals, more than one tile of them


@pytest.fixture(scope="module")
def originals() -> np.ndarray:
    rng = np.random.default_rng(0)
    pictures = ndimage.gaussian_filter(rng.normal(size=(N, 28, 28)), (0, 3, 3))
    pictures[:, :4] = pictures[:, -4:] = pictures[:, :, :4] = pictures[:, :, -4:] = 0
    return np.clip(600 * pictures, 0, 255).astype("u1").reshape(N, -1)


def rows(originals: np.ndarray, start: int, stop: int, seed: int = 0) -> np.ndarray:
    X, y = digits.digit_rows(start, stop, images=originals, labels=np.arange(N), seed=seed)
    np.testing.assert_array_equal(y, np.arange(start, stop) % N)
    return X


@given(start=st.integers(0, 5 * N), sizes=st.lists(st.integers(1, 600), min_size=1, max_size=5))
def test_any_block_size(originals: np.ndarray, start: int, sizes: list[int]) -> None:
    cuts = start + np.cumsum([0, *sizes])
    parts = [rows(originals, int(a), int(b)) for a, b in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(parts), rows(originals, start, int(cuts[-1])))


def test_the_first_rows_are_the_originals(originals: np.ndarray) -> None:
    np.testing.assert_array_equal(rows(originals, 0, N), originals)


def test_bilinear_interpolation(originals: np.ndarray) -> None:
    """Against scipy's interpolation at the same places, in float64."""
    fields, start, count = digits.displacement_fields(3), 11 * N, 50
    keys = digits._keys(3)
    draws = [digits.uniforms(key, start, count) for key in keys[:3]]
    made = rows(originals, start, start + count, seed=3)
    for row in range(count):
        field = int(draws[0][row] * digits.FIELDS)
        shift = [int(draw[row] * (2 * digits.SHIFT + 1)) - digits.SHIFT for draw in draws[1:]]
        corner = np.divmod(fields.corner[field].astype(int), digits._WIDTH)
        at = [
            corner[axis] - digits._BORDER + shift[axis] + part[field] / 256
            for axis, part in enumerate((fields.down, fields.right))
        ]
        wanted = ndimage.map_coordinates(originals[row].reshape(28, 28).astype("f8"), at, order=1)
        assert np.abs(made[row] - wanted).max() <= 0.51


def test_deformations_are_small_and_centred(originals: np.ndarray) -> None:
    fields = digits.displacement_fields(0)
    down, right = np.divmod(fields.corner.astype(int), digits._WIDTH)
    here = np.divmod(np.arange(28 * 28), 28)
    for line, part, place in ((down, fields.down, here[0]), (right, fields.right, here[1])):
        moved = line - digits._BORDER + part / 256 - place
        assert np.abs(moved.mean(axis=0)).max() < 0.15  # no direction is preferred
        assert 0.3 < moved.std() < 1.0  # pixels
    ink = originals.mean(), rows(originals, N, 9 * N).mean()
    assert ink[1] == pytest.approx(ink[0], rel=0.05)


def test_rows_differ(originals: np.ndarray) -> None:
    made = np.stack([rows(originals, 5 + copy * N, 6 + copy * N)[0] for copy in range(1, 40)])
    assert len(np.unique(made, axis=0)) == 39
    assert (rows(originals, N, 2 * N, seed=1) != rows(originals, N, 2 * N, seed=2)).any()
