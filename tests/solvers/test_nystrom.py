"""Tests: the two passes of the Nyström method: landmarks, whitening, traces, and columns that may be kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels import events
from daskkernels.grid import Grid
from daskkernels.kernels import as_kernel
from daskkernels.linalg import DegenerateMatrixError
from daskkernels.rowblocks import absent
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.nystrom import NystromFit, choose_landmarks, feature_rows, fit_nystrom
from tests import oracles

N = 2500
GRID = Grid(N, 1024)
X = np.random.default_rng(0).normal(size=(N, 3))
HERE, SILENT = LocalRuntime(), events.reporter()


def fit(kernel: Any, dtype: str = "f8", *, weights: np.ndarray | None = None, **options: Any) -> NystromFit:
    settings: dict[str, Any] = {"rank": 12, "n_components": 6, "keep_columns": False, **options}
    return fit_nystrom(
        HERE.place_rows(X.astype(dtype), GRID),
        kernel,
        X[:30].astype(dtype),
        dtype=np.dtype(dtype),
        runtime=HERE,
        reporter=SILENT,
        weights=absent(GRID) if weights is None else HERE.place_rows(weights, GRID),
        **settings,
    )


def features(found: NystromFit, dtype: str = "f8", merge: int = 1) -> np.ndarray:
    rows = HERE.place_rows(X.astype(dtype), GRID)
    B = feature_rows(rows, found.map, HERE, columns=found.columns, merge=merge)
    return HERE.collect(B, reporter=SILENT, stage="nystrom-project")


def test_landmarks_are_distinct_rows_in_order() -> None:
    rows = HERE.place_rows(X, GRID)
    for count in (1, 100, N):
        indices, landmarks = choose_landmarks(rows, count, HERE, SILENT, np.random.default_rng(3))
        assert len(np.unique(indices)) == count
        assert (np.diff(indices) > 0).all()
        np.testing.assert_array_equal(landmarks, X[indices])


@pytest.mark.parametrize("kernel", [dk.Gaussian(2.0), dk.Polynomial(2), oracles.linear], ids=["g", "p", "f"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_kept_columns_change_no_bits(kernel: Any, dtype: str) -> None:
    thrown, kept = (
        fit(as_kernel(kernel), dtype, rank=3, n_components=2, keep_columns=keep) for keep in (False, True)
    )
    assert thrown.columns is None
    assert kept.columns is not None
    np.testing.assert_array_equal(kept.map.components, thrown.map.components)
    np.testing.assert_array_equal(kept.gram_eigenvalues, thrown.gram_eigenvalues)
    assert kept.trace_error() == thrown.trace_error()
    for merge in (1, 2, 5):
        np.testing.assert_array_equal(features(kept, dtype, merge), features(thrown, dtype))


@pytest.mark.parametrize(("rank", "s", "kept"), [(None, None, 30), (12, None, 12), (12, 6, 6), (3, 20, 3)])
def test_ranks(rank: int | None, s: int | None, kept: int) -> None:
    found = fit(dk.Laplacian(2.0), rank=rank, n_components=s)
    assert found.rank == (rank or 30)
    assert found.map.components.shape == (30, kept)
    assert found.eigenvalues.shape == (30,)
    assert found.gram_eigenvalues.shape == (found.rank,)


def test_traces() -> None:
    found = fit(dk.Laplacian(2.0))
    dense = oracles.nystrom_of(lambda A, B: oracles.laplacian(A, B, 2.0), X, X[:30], rank=12, n_components=6)
    assert found.trace == N
    assert found.trace_error() == pytest.approx(dense.trace_error_after, rel=1e-9)
    assert found.trace_error(restricted=False) == pytest.approx(dense.trace_error_before, rel=1e-9)
    assert 0 < found.trace_error(restricted=False) < found.trace_error() < 1


@pytest.mark.parametrize(("dtype", "tolerance"), [("f8", 1e-10), ("f4", 1e-5)])
def test_traces_of_every_rank(dtype: str, tolerance: float) -> None:
    """Each entry is the error of a fit with that many components, or of that rank."""
    found = fit(dk.Laplacian(2.0), dtype)

    def dense(**sizes: int) -> oracles.Nystrom:
        return oracles.nystrom_of(lambda A, B: oracles.laplacian(A, B, 2.0), X, X[:30], **sizes)

    ranks = [dense(rank=j).trace_error_before for j in range(1, 13)]
    components = [dense(rank=12, n_components=j).trace_error_after for j in range(1, 13)]
    np.testing.assert_allclose(found.rank_trace_errors(), ranks, rtol=tolerance)
    np.testing.assert_allclose(found.trace_errors(), components, rtol=tolerance)
    assert found.trace_error() == found.trace_errors()[5]
    assert found.trace_error(restricted=False) == found.rank_trace_errors()[-1]
    assert (np.diff(found.rank_trace_errors()) <= 0).all()
    assert (found.trace_errors()[:-1] < found.rank_trace_errors()[:-1]).all()  # the best directions


def test_a_trace_of_zero_loses_nothing() -> None:
    """Nothing is divided by it."""
    found = replace(fit(dk.Gaussian(2.0)), trace=0.0)
    assert found.trace_errors().tolist() == found.rank_trace_errors().tolist() == [0.0] * 12


def test_features_are_orthogonal_with_the_gram_eigenvalues_as_squares() -> None:
    found = fit(dk.Gaussian(2.0))
    B = features(found)
    np.testing.assert_allclose(B.T @ B, np.diag(found.gram_eigenvalues[:6]), atol=1e-8 * N)


def test_exact_when_the_kernel_has_the_rank() -> None:
    """The linear kernel of 3 columns has rank 3: nothing is lost, in any number of landmarks."""
    found = fit(dk.Linear(), rank=None, n_components=None)
    assert found.rank == 3
    assert found.trace_error() < 1e-12
    B = features(found)
    np.testing.assert_allclose(B @ B.T, X @ X.T, atol=1e-10)


def test_weights_repeat_rows() -> None:
    counts = np.random.default_rng(1).integers(0, 3, N)
    found = fit(dk.Gaussian(2.0), weights=counts.astype("f8"))
    dense = oracles.nystrom_of(
        lambda A, B: oracles.gaussian(A, B, 2.0),
        np.repeat(X, counts, axis=0),
        X[:30],
        rank=12,
        n_components=6,
    )
    assert found.trace == counts.sum()
    np.testing.assert_allclose(found.gram_eigenvalues, dense.gram_eigenvalues, rtol=1e-7)
    assert found.trace_error() == pytest.approx(dense.trace_error_after, rel=1e-9)


def test_a_zero_kernel() -> None:
    with pytest.raises(DegenerateMatrixError, match="zero"):
        fit(as_kernel(lambda A, B: np.zeros((len(A), len(B)), A.dtype)))
