"""Tests: k-means|| and k-means++: rows of the data, spread out, k of them where there are k distinct ones."""

from __future__ import annotations

import numpy as np
import pytest

from daskkernels import events
from daskkernels.grid import Grid
from daskkernels.rowblocks import absent
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.seeding import seed_centers
from tests import oracles

N, K = 2500, 8
HERE = LocalRuntime()
METHODS = ["k-means||", "k-means++"]
rng = np.random.default_rng(0)
GROUPS = np.arange(N) % K
X = 30.0 * rng.normal(size=(K, 3))[GROUPS] + rng.normal(size=(N, 3))


def seeds(
    data: np.ndarray,
    method: str,
    k: int = K,
    restarts: int = 1,
    weights: np.ndarray | None = None,
    seed: int = 0,
) -> list[np.ndarray]:
    grid = Grid(len(data), 1024)
    w = absent(grid) if weights is None else HERE.place_rows(weights, grid)
    children = np.random.SeedSequence(seed).spawn(restarts)
    return seed_centers(HERE.place_rows(data, grid), w, k, method, children, HERE, events.reporter())


def cost(centers: np.ndarray, data: np.ndarray = X) -> float:
    return float(oracles.squared_distances(data, centers).min(axis=1).sum())


def test_k_means_plus_plus_takes_distinct_rows() -> None:
    (centers,) = seeds(X, "k-means++")
    matches = oracles.squared_distances(centers, X)
    assert centers.shape == (K, 3)
    assert (matches.min(axis=1) == 0).all()
    assert len(set(matches.argmin(axis=1))) == K


@pytest.mark.parametrize("method", METHODS)
def test_far_better_than_chance(method: str) -> None:
    found = np.median([cost(c) for c in seeds(X, method, restarts=9)])
    chance = np.median([cost(X[rng.choice(N, K, replace=False)]) for _ in range(50)])
    assert found < 0.25 * chance


def test_parallel_seeding_finds_the_groups() -> None:
    """Oversampled, then clustered: nearly the optimum before the first iteration of Lloyd's algorithm."""
    best = oracles.inertia(X, GROUPS, oracles.means(X, GROUPS, K))
    for (centers,) in (seeds(X, "k-means||", seed=s) for s in range(5)):
        assert cost(centers) < 1.1 * best


@pytest.mark.parametrize("method", METHODS)
def test_restarts_are_independent_and_repeat(method: str) -> None:
    first, second = seeds(X, method, restarts=2)
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(seeds(X, method)[0], first)
    assert not np.array_equal(seeds(X, method, seed=1)[0], first)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distinct", [1, 3, 7])
def test_fewer_distinct_rows(method: str, distinct: int) -> None:
    data = X[:distinct][np.arange(1500) % distinct]
    (centers,) = seeds(data, method)
    assert len(centers) == distinct
    assert cost(centers, data) == pytest.approx(0.0, abs=1e-18)


@pytest.mark.parametrize("method", METHODS)
def test_as_many_rows_as_centers(method: str) -> None:
    (centers,) = seeds(X[:K], method)
    np.testing.assert_allclose(np.sort(centers, axis=0), np.sort(X[:K], axis=0), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_weight_are_never_taken(method: str) -> None:
    data, weights = X.copy(), np.ones(N)
    data[::50] += 1e4
    weights[::50] = 0.0
    (centers,) = seeds(data, method, weights=weights)
    assert np.abs(centers).max() < 1000


@pytest.mark.parametrize("method", METHODS)
def test_weights_attract(method: str) -> None:
    """Nearly all weight on two groups, close together: most centers go there."""
    weights = np.where(GROUPS < 2, 1.0, 1e-9)
    (centers,) = seeds(X, method, weights=weights)
    near = oracles.squared_distances(centers, X).argmin(axis=1)
    assert (GROUPS[near] < 2).sum() >= K - 2


@pytest.mark.parametrize("method", METHODS)
def test_outliers_and_scale(method: str) -> None:
    for scale in (1e-12, 1e12):
        (centers,) = seeds(X * scale, method)
        np.testing.assert_allclose(centers / scale, seeds(X, method)[0], rtol=1e-6)
