"""Tests: sums of the members of clusters, split and merged in any way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.block.metrics import MemberSums, member_sums, merge_member_sums
from daskkernels.finite import NonFiniteError

rng = np.random.default_rng(0)
X, labels = rng.integers(-50, 50, (1000, 4)).astype("f8"), rng.choice([3, 0, 7, 900], 1000)


def assert_sums(found: MemberSums) -> None:
    """Whole numbers add up without rounding."""
    assert found.clusters.tolist() == [0, 3, 7, 900]
    for cluster, rows, sums in zip(found.clusters, found.rows, found.sums, strict=True):
        assert rows == (labels == cluster).sum()
        np.testing.assert_array_equal(sums, X[labels == cluster].sum(axis=0))
    np.testing.assert_array_equal(found.means, found.sums / found.rows[:, None])


@given(st.lists(st.integers(1, 999), max_size=8, unique=True))
def test_any_split(cuts: list[int]) -> None:
    parts = zip(np.split(X, sorted(cuts)), np.split(labels, sorted(cuts)), strict=True)
    assert_sums(merge_member_sums([member_sums(*part) for part in parts]))


def test_the_block_is_left_alone() -> None:
    data = X.copy()
    data.flags.writeable = False
    member_sums(data, labels)
    np.testing.assert_array_equal(data, X)


@pytest.mark.parametrize("row", [0, 255, 256, 999])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bad_rows_are_named(row: int, dtype: str) -> None:
    data = X.astype(dtype)
    data[row, 2] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        member_sums(data, labels)
    assert caught.value.row == row
