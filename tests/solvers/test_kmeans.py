"""Tests: Lloyd's algorithm over blocks against the dense one: fixed points, stopping, empty clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels import events
from daskkernels.grid import Grid
from daskkernels.rowblocks import absent
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.kmeans import ConvergenceWarning, KMeansFit, fit_kmeans
from tests import oracles

HERE, SILENT = LocalRuntime(), events.reporter()
rng = np.random.default_rng(0)
X = rng.normal(size=(2500, 3)) + 2 * rng.normal(size=(5, 3))[rng.integers(0, 5, 2500)]


def cluster(data: np.ndarray, k: int, *, weights: Any = None, restarts: int = 1, **options: Any) -> KMeansFit:
    grid = Grid(len(data), 1024)
    settings: dict[str, Any] = {"init": "k-means||", "max_iter": 300, "tol": 0.0, **options}
    return fit_kmeans(
        HERE.place_rows(data, grid),
        absent(grid) if weights is None else HERE.place_rows(weights, grid),
        k,
        seeds=np.random.SeedSequence(0).spawn(restarts),
        runtime=HERE,
        reporter=SILENT,
        **settings,
    )


def labels(found: KMeansFit) -> np.ndarray:
    return HERE.collect(found.labels, reporter=SILENT, stage="s")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_same_path_as_the_dense_algorithm(k: int, weighted: bool) -> None:
    w = rng.integers(1, 4, len(X)).astype("f8") if weighted else None
    found = cluster(X, k, init=X[:k].copy(), weights=w)
    expected, centers, inertia = oracles.lloyd(X, X[:k], weights=w)
    np.testing.assert_array_equal(labels(found), expected)
    np.testing.assert_allclose(found.centers, centers, atol=1e-12)
    assert found.inertia == pytest.approx(inertia, rel=1e-12)
    np.testing.assert_array_equal(found.sizes, np.bincount(expected, minlength=k))
    assert found.history[-1]["shift"] == 0.0


@given(st.integers(0, 10**6))
def test_tiny_problems(seed: int) -> None:
    """Ten restarts on at most 8 rows: never better than the best of all partitions, nearly always as good."""
    data = np.random.default_rng(seed).normal(size=(8, 2))
    _, best = oracles.best_kmeans(data, 3)
    found = cluster(data, 3, init="k-means++", restarts=10)
    assert found.inertia >= best - 1e-12
    assert found.inertia <= best * 1.2


def test_inertia_never_grows() -> None:
    inertias = []
    for iterations in (1, 2, 4, 8):
        with pytest.warns(ConvergenceWarning):
            inertias.append(cluster(X, 7, init=X[:7].copy(), max_iter=iterations).inertia)
    assert inertias == sorted(inertias, reverse=True)


def test_tolerance_is_relative_to_the_variance() -> None:
    found = [cluster(X * scale, 5, init=X[:5] * scale, tol=1e-2) for scale in (1.0, 1024.0)]
    assert found[0].n_iter == found[1].n_iter < cluster(X, 5, init=X[:5].copy()).n_iter


@pytest.mark.parametrize("empty", [1, 3, 6])
def test_empty_clusters_move_to_the_farthest_rows(empty: int) -> None:
    start = np.vstack([X[: 7 - empty], np.full((empty, 3), 1e3) + np.arange(empty)[:, None]])
    found = cluster(X, 7, init=start)
    assert (found.sizes > 0).all()
    assert found.history[0]["empty"] == empty
    assert found.inertia < cluster(X, max(1, 7 - empty), init=X[: max(1, 7 - empty)].copy()).inertia


@pytest.mark.parametrize("distinct", [1, 2, 4])
def test_fewer_distinct_rows_than_clusters(distinct: int) -> None:
    data = X[:distinct][np.arange(1200) % distinct]
    for init in ("k-means||", "k-means++", np.repeat(data[:1], 5, axis=0)):
        found = cluster(data, 5, init=init)
        assert found.inertia == pytest.approx(0.0, abs=1e-18)
        assert (found.sizes > 0).sum() == distinct
        assert found.n_iter < 10


def test_the_best_of_many() -> None:
    found = cluster(X, 9, restarts=6, init="k-means++")
    alone = cluster(X, 9, init="k-means++")
    assert found.inertia <= alone.inertia
    assert {entry["restart"] for entry in found.history} == set(range(6))
    assert sum(entry["restart"] == 0 for entry in found.history) == alone.n_iter
    np.testing.assert_array_equal(labels(found), oracles.nearest(X, found.centers))


def test_not_converged_is_said() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations: raise max_iter or tol"):
        found = cluster(X, 7, init=X[:7].copy(), max_iter=2)
    assert found.n_iter == 2
    np.testing.assert_array_equal(labels(found), oracles.nearest(X, found.centers))


def test_float32_sums_do_not_drift() -> None:
    """Many rows far from zero: float32 sums of all rows would lose the fraction."""
    data = (rng.normal(size=(40_000, 2)) + 1000.0).astype("f4")
    found = cluster(data, 1, init=data[:1].astype("f8"))
    np.testing.assert_allclose(found.centers[0], data.astype("f8").mean(axis=0), rtol=1e-7)
