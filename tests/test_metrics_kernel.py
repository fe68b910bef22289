"""Tests: clusters and features measured against the kernel matrix itself, in float64 and float32."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels.errors import InputError, NonFiniteError
from daskkernels.solvers import kernel_sums
from tests import oracles, oracles_kernel
from tests.estimators.rows_in_many_forms import row_cuts, table

X = table(n=2500)  # three blocks, the last one short
LABELS = np.random.default_rng(1).choice([0, 1, 2, 5], 2500)  # 3 and 4 have no rows
KERNELS: dict[str, tuple[Any, Callable[[Any, Any], Any], float]] = {
    "gaussian": (dk.Gaussian(3.0), lambda a, b: oracles.gaussian(a, b, 3.0), 1e-6),
    "narrow": (dk.Gaussian(0.3), lambda a, b: oracles.gaussian(a, b, 0.3), 1e-6),
    "laplacian": (dk.Laplacian(2.0), lambda a, b: oracles.laplacian(a, b, 2.0), 1e-6),
    "polynomial": (dk.Polynomial(2), lambda a, b: oracles.polynomial(a, b, 2), 1e-6),
    "cosine": (dk.Cosine(), oracles.cosine, 1e-6),
    "function": (lambda a, b: (a @ b.T) ** 2, lambda a, b: oracles.linear(a, b) ** 2, 1e-6),
}


def dense_objective(K: np.ndarray, labels: np.ndarray, definition: str) -> float:
    """By squared distances within clusters: sum over pairs of a cluster, divided by twice its size."""
    if definition == "columns":
        return oracles_kernel.kernel_objective(K, labels, definition)
    own, total = np.diag(K), 0.0
    for cluster in np.unique(labels):
        at = np.flatnonzero(labels == cluster)
        pairs = own[at][:, None] + own[at] - 2.0 * K[np.ix_(at, at)]
        total += pairs.sum() / (2 * len(at))
    return float(total / len(K))


@pytest.mark.parametrize("definition", ["features", "columns"])
@pytest.mark.parametrize("name", KERNELS)
def test_objective(name: str, definition: str) -> None:
    kernel, dense, rtol = KERNELS[name]
    expected = dense_objective(dense(X, X), LABELS, definition)
    found = dk.metrics.kernel_kmeans_objective(X, LABELS, kernel, definition)
    assert found == pytest.approx(expected, rel=1e-10)
    single = dk.metrics.kernel_kmeans_objective(X, LABELS, kernel, definition, dtype="float32")
    assert single == pytest.approx(expected, rel=rtol)
    assert single != found


def test_the_oracle_is_the_scatter_of_features() -> None:
    K = oracles.gaussian(X[:150], X[:150], 3.0)
    expected = oracles_kernel.kernel_objective(K, LABELS[:150], "features")
    assert dense_objective(K, LABELS[:150], "features") == pytest.approx(expected, rel=1e-10)


def test_a_wide_kernel_keeps_its_digits_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """K is within 0.003 of 1: squares of sums of K are wrong by half a percent, those of K - 1 are not."""
    kernel = dk.Gaussian("mean", factor=20.0)
    K = oracles.gaussian(X, X, oracles.mean_bandwidth(X, 20.0))

    def error(definition: str) -> float:
        found = dk.metrics.kernel_kmeans_objective(X, LABELS, kernel, definition, dtype="float32")
        return abs(found / dense_objective(K, LABELS, definition) - 1)

    assert error("features") < 1e-5
    assert error("columns") < 1e-5
    monkeypatch.setattr(kernel_sums, "NEAR_ONE", 2.0)
    assert error("columns") > 1e-3


def test_linear_is_the_inertia_of_the_rows() -> None:
    expected = oracles_kernel.scatter(X, LABELS) / len(X)
    assert dk.metrics.kernel_kmeans_objective(X, LABELS, dk.Linear()) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("definition", ["features", "columns"])
def test_clusters_of_single_rows_have_no_objective(definition: str) -> None:
    """1500 clusters, three groups of passes; and one cluster, which has the variance."""
    few = X[:1500]
    kernel = dk.Laplacian(1.0)
    assert dk.metrics.kernel_kmeans_objective(few, np.arange(1500), kernel, definition) < 1e-9
    K = oracles.laplacian(few, few, 1.0)
    pairs = np.arange(1500) // 2
    for labels in (np.zeros(1500, int), pairs, pairs % 700):
        expected = dense_objective(K, labels, definition)
        found = dk.metrics.kernel_kmeans_objective(few, labels, kernel, definition)
        assert found == pytest.approx(expected, rel=1e-9)


@given(row_cuts(2500), row_cuts(2500), st.sampled_from(["f4", "f8", "i2"]))
def test_objective_of_any_chunks(cuts: tuple[int, ...], other: tuple[int, ...], dtype: str) -> None:
    rows = X.astype(dtype)
    for definition in ("features", "columns"):
        found = dk.metrics.kernel_kmeans_objective(rows, LABELS, "gaussian", definition)
        lazy = da.from_array(rows, chunks=(cuts, 2)), da.from_array(LABELS, chunks=(other,))
        assert dk.metrics.kernel_kmeans_objective(*lazy, "gaussian", definition) == found


def test_objective_of_tables(tmp_path: Path, client_processes: Any) -> None:
    """Stores, data frames, other kinds of labels; by worker processes too."""
    kernel = dk.Gaussian("mean")
    expected = dense_objective(oracles.gaussian(X, X, oracles.mean_bandwidth(X)), LABELS, "features")
    data = dk.write_dataset(tmp_path / "rows.zarr", X)
    for rows, labels in [
        (data, da.from_array(LABELS.astype("u1"), chunks=300)),
        (pd.DataFrame(X), pd.Series(LABELS)),
    ]:
        found = dk.metrics.kernel_kmeans_objective(rows, labels, kernel)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"definition": "rows"}, "definition='rows': wanted 'features' or 'columns'"),
        ({"labels": LABELS[:-1]}, "2499 labels for 2500 rows"),
        ({"labels": LABELS - 1}, "labels hold -1"),
        ({"labels": LABELS + 0.5}, "dtype float64"),
        ({"kernel": "cubic"}, "kernel='cubic'"),
        ({"dtype": "float16"}, "dtype='float16'"),
    ],
)
def test_bad_objectives(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dk.metrics.kernel_kmeans_objective(**{"X": X, "labels": LABELS, **options})


@pytest.mark.parametrize("row", [2, 2345])
def test_a_bad_row_is_named(row: int) -> None:
    rows = X.copy()
    rows[row, 1] = np.nan
    with pytest.raises(NonFiniteError, match=f"row {row}"):
        dk.metrics.kernel_kmeans_objective(rows, LABELS, dk.Gaussian(1.0))
    with pytest.raises(NonFiniteError, match=f"row {row}"):
        dk.metrics.approximation_error(rows, X, dk.Gaussian(1.0))


# --- approximation -----------------------------------------------------------------------------------------
ROWS = X[:1200]
KERNEL = dk.Gaussian(3.0)
K = oracles.gaussian(ROWS, ROWS, 3.0)
FEATURES = dk.NystromFeatures(KERNEL, n_landmarks=40, n_components=9, random_state=0).fit(ROWS)
B = FEATURES.transform(ROWS)


@pytest.mark.parametrize("norm", ["trace", "frobenius", "spectral"])
def test_approximation(norm: str) -> None:
    """All columns, and an eigenvalue that has settled: exact."""
    error, whole = oracles_kernel.norms(K - B @ B.T)[norm], oracles_kernel.norms(K)[norm]
    found = dk.metrics.approximation_error(ROWS, B, KERNEL, norm, n_columns=5000)
    rtol = 1e-3 if norm == "spectral" else 1e-9
    assert (found.norm, found.error, found.kernel) == (
        norm,
        pytest.approx(error, rel=rtol),
        pytest.approx(whole, rel=rtol),
    )
    assert found.relative == found.error / found.kernel
    assert abs(found.relative - error / whole) <= max(found.uncertainty, 1e-9)
    assert (found.uncertainty > 0) == (norm == "spectral")


def test_trace_error_is_that_of_the_fit() -> None:
    found = dk.metrics.approximation_error(ROWS, FEATURES)
    assert found.relative == pytest.approx(FEATURES.trace_error_, rel=1e-9)


def test_standard_error_covers_the_error() -> None:
    """Of 60 samples of 50 columns: the mean square of the deviation in standard errors is about 1."""
    exact = dk.metrics.approximation_error(ROWS, B, KERNEL, "frobenius", n_columns=1200).relative
    sampled = [
        dk.metrics.approximation_error(ROWS, B, KERNEL, "frobenius", n_columns=50, random_state=seed)
        for seed in range(60)
    ]
    deviations = np.array([(s.relative - exact) / s.uncertainty for s in sampled])
    assert 0.6 < np.mean(deviations**2) < 1.6
    assert len({s.error for s in sampled}) == 60


def test_spectral_norm_of_what_is_not_positive() -> None:
    """Features that are too long make K - B B^T negative: the largest eigenvalue by size is found."""
    long = 2.0 * B
    expected = np.linalg.eigvalsh(K - long @ long.T)
    assert abs(expected[0]) > expected[-1]
    found = dk.metrics.approximation_error(ROWS, long, KERNEL, "spectral")
    assert found.error == pytest.approx(-expected[0], rel=1e-3)


@pytest.mark.parametrize("norm", ["trace", "frobenius", "spectral"])
def test_exact_features_have_no_error(norm: str) -> None:
    found = dk.metrics.approximation_error(ROWS, ROWS, dk.Linear(), norm)
    assert found.relative < 1e-12
    nothing = dk.metrics.approximation_error(ROWS, np.zeros((1200, 2)), dk.Linear(), norm)
    assert nothing.relative == pytest.approx(1.0, rel=1e-12)
    none = dk.metrics.approximation_error(np.zeros((5, 2)), np.zeros((5, 2)), dk.Linear(), norm)
    assert (none.error, none.relative) == (0.0, 0.0)


@given(row_cuts(1200), row_cuts(1200))
def test_approximation_of_any_chunks(cuts: tuple[int, ...], other: tuple[int, ...]) -> None:
    for norm in ("trace", "frobenius", "spectral"):
        found = dk.metrics.approximation_error(ROWS, B, KERNEL, norm, n_columns=30)
        lazy = da.from_array(ROWS, chunks=(cuts, 2)), da.from_array(B, chunks=(other, 4))
        assert dk.metrics.approximation_error(*lazy, KERNEL, norm, n_columns=30) == found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "nuclear"}, "norm='nuclear': wanted"),
        ({"features": B[:-1]}, r"shape \(1199, 9\) and dtype float64: wanted numbers \(1200, s\)"),
        ({"features": B[:, 0]}, r"shape \(1200,\)"),
        ({"kernel": None}, "kernel=None"),
        ({"n_columns": 0}, "n_columns=0"),
        ({"n_columns": 2.0}, "n_columns=2.0"),
    ],
)
def test_bad_approximations(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dk.metrics.approximation_error(**{"X": ROWS, "features": B, "kernel": KERNEL, **options})


def test_bad_features_are_named() -> None:
    bad = B.copy()
    bad[1100, 3] = np.inf
    with pytest.raises(NonFiniteError, match="1100"):
        dk.metrics.approximation_error(ROWS, bad, KERNEL)


# --- accuracy ----------------------------------------------------------------------------------------------
@given(
    st.integers(1, 30).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n)] * 2)
    )
)
def test_accuracy(pair: tuple[list[int], list[int]]) -> None:
    a, b = (np.array(side) for side in pair)
    expected = oracles_kernel.accuracy(a, b)
    assert dk.metrics.accuracy(a, b) == pytest.approx(expected, abs=1e-12)
    assert dk.metrics.accuracy(da.from_array(a, chunks=3), b) == dk.metrics.accuracy(b, a)


def test_accuracy_pairs_labels_once() -> None:
    assert dk.metrics.accuracy([0, 1, 2, 3], ["a", "a", "b", "b"]) == 0.5
    assert dk.metrics.accuracy([2, 2, 0], ["x", "x", "y"]) == 1.0
    with pytest.raises(InputError, match="lengths 2 and 3"):
        dk.metrics.accuracy([0, 1], [0, 1, 2])
