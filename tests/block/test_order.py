"""Tests: keyed orders of the rows: bijections, in any stretches, uniform, different from each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from daskkernels.block.draw import stream_keys
from daskkernels.block.order import Order, Stretch, shuffled

KEYS = [0, 1, 2**63, 2**64 - 1]
keys = st.integers(0, 2**64 - 1)


def whole(n: int, key: int) -> np.ndarray:
    return shuffled(np.arange(n), n, key)


@pytest.mark.parametrize("key", [0, 2**64 - 1, 0x9E3779B97F4A7C15])
def test_every_small_number_of_rows_is_permuted(key: int) -> None:
    for n in range(1, 301):
        image = whole(n, key)
        assert image.dtype == np.int64
        np.testing.assert_array_equal(np.sort(image), np.arange(n))


@given(st.integers(1, 3000), keys)
def test_any_key_permutes(n: int, key: int) -> None:
    np.testing.assert_array_equal(np.sort(whole(n, key)), np.arange(n))


@pytest.mark.parametrize("n", [4**9 - 1, 4**9, 4**9 + 1, 300_007])
def test_many_rows_are_permuted(n: int) -> None:
    np.testing.assert_array_equal(np.bincount(whole(n, 7), minlength=n), 1)


@pytest.mark.parametrize("n", [2**31 - 1, 2**31 + 11, 10**12, 2**62])
def test_huge_numbers_of_rows(n: int) -> None:
    """Nothing of length n is made; images stay inside and do not repeat."""
    places = np.r_[np.arange(5000), n - 5000 + np.arange(5000)]
    image = shuffled(places, n, 5)
    assert (image >= 0).all()
    assert (image < n).all()
    assert len(np.unique(image)) == len(places)
    assert stats.kstest(image / n, "uniform").pvalue > 1e-3


@given(st.integers(1, 2000), keys, st.lists(st.integers(0, 2000), max_size=5))
def test_stretches_agree_with_the_whole_order(n: int, key: int, cuts: list[int]) -> None:
    order = Order(n, n, 3, key)
    at = [0, *sorted(min(cut, n) for cut in cuts), n]
    parts = [order.rows(a, b - a) for a, b in pairwise(at)]
    np.testing.assert_array_equal(np.concatenate(parts), order.rows(0, n))


@given(st.integers(2, 500), st.integers(0, 499), keys, keys, keys)
def test_rows_kept_back(n: int, kept: int, base: int, key: int, other: int) -> None:
    """Used and kept rows are all rows; which ones they are depends on `base` alone."""
    used = n - kept % n
    order, again = Order(n, used, base, key), Order(n, used, base, other)
    rows, back = order.rows(0, used), order.kept_back()
    assert (np.diff(back) > 0).all()
    np.testing.assert_array_equal(np.sort(np.r_[rows, back]), np.arange(n))
    np.testing.assert_array_equal(again.kept_back(), back)
    np.testing.assert_array_equal(np.sort(again.rows(0, used)), np.sort(rows))


@given(
    st.integers(1, 400), st.integers(0, 399), st.integers(0, 400), st.lists(st.integers(0, 400), max_size=5)
)
def test_within_any_cut(n: int, first: int, count: int, cuts: list[int]) -> None:
    """The blocks of any grid find all rows of a stretch, each at its own place."""
    first = first % n
    stretch = Stretch(Order(n, n, 1, 2), first, min(count, n - first))
    rows, found = stretch.order.rows(stretch.first, stretch.count), np.full(stretch.count, -1)
    at = [0, *sorted(min(cut, n) for cut in cuts), n]
    for start, stop in pairwise(at):
        local, places = stretch.within(start, stop)
        assert (np.diff(local) > 0).all()
        assert ((local >= 0) & (local < stop - start)).all()
        found[places] = local + start
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(rows[stretch.places()], np.sort(rows))


def test_orders_of_epochs_differ() -> None:
    """Two random orders of n rows agree at about one place."""
    n = 2000
    orders = [Order(n, n, 9, (11 + epoch * 0x9E3779B97F4A7C15) % 2**64).rows(0, n) for epoch in range(30)]
    for i in range(30):
        for j in range(i):
            assert (orders[i] == orders[j]).sum() < 10
    assert np.abs(np.corrcoef(orders)[np.triu_indices(30, 1)]).max() < 0.12


@pytest.mark.parametrize("n", [5, 16, 60, 64, 65])
def test_every_row_is_as_likely_at_every_place(n: int) -> None:
    """Over many keys, the counts of (place, row) are those of a uniform draw."""
    draws = 200 * n
    counts = np.zeros((n, n))
    for key in stream_keys(np.random.SeedSequence(n), draws // n):
        counts[np.arange(n), whole(n, key)] += 1
    expected = draws / n / n
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert 1e-4 < stats.chi2((n - 1) ** 2).sf(statistic) < 1 - 1e-4


@pytest.mark.parametrize("key", KEYS)
def test_neighbours_do_not_stay_together(key: int) -> None:
    """Within one order: places and rows are uncorrelated, and so are the rows of neighbouring places."""
    n = 50_000
    rows = whole(n, key)
    assert abs(np.corrcoef(np.arange(n), rows)[0, 1]) < 0.02
    assert abs(np.corrcoef(rows[:-1], rows[1:])[0, 1]) < 0.02
    joint = np.histogram2d(np.arange(n), rows, bins=20)[0]
    assert stats.chi2(19**2).sf(((joint - n / 400) ** 2 / (n / 400)).sum()) > 1e-4


@pytest.mark.parametrize("bit", [0, 1, 3])
@pytest.mark.parametrize("n", [4096, 5000])
def test_low_bits_are_even(bit: int, n: int) -> None:
    """Data that comes in turns (class 0, 1, 0, 1, ...) is mixed as well as sorted data."""
    ones = [
        int((shuffled(np.arange(400), n, key) >> bit & 1).sum())
        for key in stream_keys(np.random.SeedSequence(bit), 200)
    ]
    share = np.mean(whole(n, 0) >> bit & 1)
    variance = 400 * share * (1 - share) * (n - 400) / (n - 1)
    assert abs(np.mean(ones) - 400 * share) < 4 * np.sqrt(variance / 200)
    assert 0.65 < np.var(ones) / variance < 1.45


def test_neighbouring_keys_are_unrelated() -> None:
    """Keys are used as they come: those of two fits may lie next to each other."""
    n = 1000
    for key in (0, 2**63, 2**64 - 2):
        assert (whole(n, key) == whole(n, key + 1)).sum() < 10


def test_nothing_and_one_row() -> None:
    assert Order(7, 7, 0, 0).rows(3, 0).size == 0
    np.testing.assert_array_equal(Order(1, 1, 5, 6).rows(0, 1), [0])
    assert Order(9, 9, 0, 0).kept_back().size == 0
    local, places = Stretch(Order(9, 9, 0, 0), 0, 9).within(4, 4)
    assert local.size == places.size == 0
