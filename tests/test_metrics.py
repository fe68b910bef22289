"""Tests: scores of clusterings, from counts as exact integers, numpy and dask, any kind of label; means."""

from __future__ import annotations

from pathlib import Path
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
from tests.estimators.rows_in_many_forms import row_cuts

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


rows = np.random.default_rng(2).normal(size=(3000, 3)) + 100.0  # three blocks, the last one short
clusters = np.random.default_rng(3).choice([0, 1, 2, 5], 3000)


def means_of(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Each mean for itself, in long doubles."""
    means = np.full((k, X.shape[1]), np.nan)
    for cluster in np.unique(labels):
        means[cluster] = X[labels == cluster].astype(np.longdouble).mean(axis=0)
    return means


@given(row_cuts(), row_cuts(), st.sampled_from(["f4", "f8", "u1", "?"]))
def test_cluster_means(cuts: tuple[int, ...], other_cuts: tuple[int, ...], dtype: str) -> None:
    """Right, and the same bits for any chunks of rows and of labels."""
    X = rows.astype(dtype)
    found = dk.metrics.cluster_means(X, clusters)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, means_of(X, clusters, 6), rtol=1e-14)
    for lazy in (clusters, da.from_array(clusters, chunks=(other_cuts,))):
        again = dk.metrics.cluster_means(da.from_array(X, chunks=(cuts, 2)), lazy)
        np.testing.assert_array_equal(again, found)


@given(labelings)
def test_cluster_means_of_few_rows(pair: tuple[list[int], list[int]]) -> None:
    labels, values = pair
    X = np.array(values, "f4")[:, None]
    np.testing.assert_allclose(dk.metrics.cluster_means(X, labels, 7), means_of(X, np.array(labels), 7))


def test_cluster_means_of_many_clusters() -> None:
    """More than the 256 rows that are added up at a time."""
    labels = np.random.default_rng(4).permutation(3000) // 3
    np.testing.assert_allclose(dk.metrics.cluster_means(rows, labels), means_of(rows, labels, 1000))


def test_cluster_means_of_tables(tmp_path: Path) -> None:
    expected = dk.metrics.cluster_means(rows, clusters)
    frame = pd.DataFrame(rows, columns=["a", "dtype", "c"])
    data = dk.write_dataset(tmp_path / "rows.zarr", rows, clusters)
    for X, labels in [
        (rows.tolist(), clusters.tolist()),
        (frame, pd.Series(clusters)),
        (dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(clusters), npartitions=2)),
        (data, clusters.astype("u1")),
        (data.X, da.from_array(np.r_[clusters, clusters])[da.arange(6000) < 3000]),
    ]:
        np.testing.assert_allclose(dk.metrics.cluster_means(X, labels), expected, rtol=1e-14)
    two = dk.metrics.cluster_means(rows, clusters > 0)
    np.testing.assert_allclose(two[0], expected[0], rtol=1e-14)


def test_cluster_means_by_workers(client_processes: Any) -> None:
    expected = means_of(rows, clusters, 8)
    lazy = da.from_array(rows, chunks=700), da.from_array(clusters, chunks=900)
    np.testing.assert_allclose(dk.metrics.cluster_means(*lazy, n_clusters=8), expected, rtol=1e-14)


def test_cluster_means_read_the_rows_once() -> None:
    seen: list[int] = []

    def counted(block: np.ndarray) -> np.ndarray:
        seen.append(len(block))
        return block

    X = da.from_array(rows, chunks=1000).map_blocks(counted, dtype="f8", meta=rows[:0])
    dk.metrics.cluster_means(X, clusters)
    assert sum(seen) == 3000


@pytest.mark.parametrize(
    ("labels", "k", "message"),
    [
        (clusters[:-1], None, "2999 labels for 3000 rows"),
        (clusters[:, None], None, r"shape \(3000, 1\)"),
        (clusters.astype("f8"), None, "labels have dtype float64: wanted cluster numbers"),
        (clusters.astype(str), None, "labels have dtype <U"),
        (clusters - 1, None, "labels hold -1: wanted cluster numbers from 0"),
        (clusters, 5, "labels hold 5: wanted cluster numbers from 0 to 4"),
        (clusters + 3000, None, "labels hold 3005 for 3000 rows"),
        (clusters, 0, "n_clusters=0"),
        (clusters, 2.5, "n_clusters=2.5"),
    ],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_bad_clusters(labels: np.ndarray, k: Any, message: str, lazy: bool) -> None:
    with pytest.raises(InputError, match=message):
        dk.metrics.cluster_means(rows, da.from_array(labels, chunks=700) if lazy else labels, k)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_cluster_means_name_a_bad_row(bad: float) -> None:
    X = rows.copy()
    X[2345, 1] = bad
    with pytest.raises(dk.errors.NonFiniteError, match="row 2345"):
        dk.metrics.cluster_means(X, clusters)
