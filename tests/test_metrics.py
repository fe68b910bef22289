"""Tests: scores of clusterings, from counts as exact integers, numpy and dask, any kind of label."""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import daskkernels as dk
from daskkernels.inputs import InputError
from tests import oracles

labelings = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
)
a = np.random.default_rng(0).integers(0, 4, 500)
b = np.random.default_rng(1).integers(0, 6, 500)


@given(labelings)
def test_scores(pair: tuple[list[int], list[int]]) -> None:
    x, y = pair
    assert dk.metrics.contingency(x, y).tolist() == oracles.contingency(x, y).tolist()
    assert dk.metrics.normalized_mutual_info(x, y) == pytest.approx(oracles.nmi(x, y), abs=1e-12)
    assert dk.metrics.adjusted_rand(x, y) == pytest.approx(oracles.ari(x, y), abs=1e-12)
    assert dk.metrics.adjusted_rand(x, y) == pytest.approx(sk.adjusted_rand_score(x, y), abs=1e-9)


def test_geometric_mean() -> None:
    expected = sk.normalized_mutual_info_score(a, b, average_method="geometric")
    assert dk.metrics.normalized_mutual_info(a, b) == pytest.approx(expected, rel=1e-9)
    arithmetic = sk.normalized_mutual_info_score(a, b)
    assert dk.metrics.normalized_mutual_info(a, b) != pytest.approx(arithmetic, rel=1e-6)


def test_degenerate_labelings() -> None:
    one, many = [0] * 10, list(range(10))
    assert dk.metrics.normalized_mutual_info(one, one) == 1.0
    assert dk.metrics.normalized_mutual_info(one, [0] * 5 + [1] * 5) == 0.0
    assert dk.metrics.normalized_mutual_info(many, many) == 1.0
    assert dk.metrics.adjusted_rand(one, one) == dk.metrics.adjusted_rand(many, many) == 1.0
    assert dk.metrics.adjusted_rand(one, many) == 0.0
    assert dk.metrics.adjusted_rand([3], ["x"]) == 1.0


def kinds() -> dict[str, tuple[Any, Any]]:
    words = np.array(["p", "q", "r", "s", "t", "u"])
    return {
        "numpy": (a, b),
        "lists": (a.tolist(), b.tolist()),
        "strings": (words[a], words[b]),
        "objects": (a.astype(object), words[b].astype(object)),
        "floats": (a.astype("f4"), b.astype("f8")),
        "unsigned": (a.astype("u1"), b.astype("u8")),
        "pandas": (pd.Series(a), pd.Series(words[b], dtype="category")),
        "dask": (da.from_array(a, chunks=70), da.from_array(b, chunks=70)),
        "dask, other chunks": (da.from_array(a, chunks=70), da.from_array(b, chunks=133)),
        "dask and numpy": (da.from_array(a, chunks=70), b),
        "numpy and dask": (words[a], da.from_array(words[b], chunks=70)),
        "dask, empty chunk": (da.from_array(a, chunks=((0, 200, 0, 300),)), b),
        "dask series": (dd.from_pandas(pd.Series(a), npartitions=3), da.from_array(b, chunks=70)),
    }


@pytest.mark.parametrize("kind", kinds())
def test_kinds_of_labels(kind: str) -> None:
    x, y = kinds()[kind]
    assert dk.metrics.contingency(x, y).tolist() == oracles.contingency(a, b).tolist()
    assert dk.metrics.adjusted_rand(x, y) == pytest.approx(oracles.ari(a, b), abs=1e-12)


def test_unknown_chunks() -> None:
    x = da.from_array(np.r_[a, a], chunks=90)
    x = x[da.from_array(np.arange(1000) < 500, chunks=90)]
    assert dk.metrics.contingency(x, b).tolist() == oracles.contingency(a, b).tolist()


def test_booleans() -> None:
    assert dk.metrics.contingency(a > 1, [bool(t) for t in b > 2]).shape == (2, 2)


def test_counts_do_not_overflow() -> None:
    """n (n - 1) / 2 squared passes 2^63 from about 80 000 rows of one cluster on."""
    x = np.repeat([0, 1], [300_000, 100_000])
    y = x.copy()
    y[:1000] = 1
    table = oracles.contingency([0, 0, 1], [0, 1, 1])
    table[0, 0], table[0, 1], table[1, 1] = 299_000, 1000, 100_000
    assert dk.metrics.adjusted_rand(x, y) == pytest.approx(oracles.ari_of_table(table), rel=1e-12)
    assert dk.metrics.normalized_mutual_info(x, y) == pytest.approx(oracles.nmi_of_table(table), rel=1e-12)


def test_labels_of_many_clusters() -> None:
    x = np.arange(3000)
    assert dk.metrics.adjusted_rand(x, x[::-1]) == 1.0


@pytest.mark.parametrize("form", [np.asarray, lambda x: da.from_array(np.asarray(x), chunks=2)])
def test_bad_labels(form: Any) -> None:
    for x, y, message in [
        ([0, 1, 1], [0, 1], "lengths 3 and 2"),
        ([[0, 1]], [0, 1], r"shape \(1, 2\)"),
        ([0.0, np.nan], [0, 1], "NaN"),
        ([], [], r"shape \(0,\)"),
    ]:
        with pytest.raises(InputError, match=message):
            dk.metrics.contingency(form(x), form(y))
