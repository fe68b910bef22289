"""Tests: how landmarks are chosen: draws against their probabilities, scores against dense formulas."""

from __future__ import annotations

from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import events
from daskkernels.block import sampling as block
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid
from daskkernels.rowblocks import RowBlocks, from_dask, from_memory
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers import sampling
from daskkernels.solvers.nystrom import choose_landmarks
from tests import oracles, oracles_sketches

HERE, SILENT, F8 = LocalRuntime(), events.reporter(), np.dtype("f8")
N, KERNEL = 2600, dk.Gaussian(2.0)


def table(n: int = N) -> np.ndarray:
    """Ten groups, the rarest of a few rows."""
    rng = np.random.default_rng(0)
    share = 3.0 ** -np.arange(10)
    group = rng.choice(10, n, p=share / share.sum())
    return 8 * rng.normal(size=(10, 4))[group] + rng.normal(size=(n, 4))


X = table()


def blocks(data: Any, rows: int = 1024) -> RowBlocks:
    grid = Grid(len(data), rows)
    return from_memory(data, grid) if isinstance(data, np.ndarray) else from_dask(data, grid)


def chosen(kind: str, data: Any = X, count: int = 30, seed: int = 0, **options: Any) -> Any:
    given_options: dict[str, Any] = {"dtype": F8, "runtime": HERE, "reporter": SILENT, **options}
    rows = data if isinstance(data, RowBlocks) else blocks(data)
    rng = np.random.default_rng(seed)
    return sampling.choose_rows(kind, rows, KERNEL, count, rng=rng, **given_options)


def error(landmarks: np.ndarray, data: np.ndarray) -> float:
    """Trace error with all eigenvalues of W."""
    C, W = oracles.gaussian(data, landmarks, 2.0), oracles.gaussian(landmarks, landmarks, 2.0)
    return oracles.nystrom(C, W, np.ones(len(data)), rank=None).trace_error_before


def test_uniform_as_ever() -> None:
    rows = blocks(X)
    indices, landmarks = choose_landmarks(rows, 30, HERE, SILENT, np.random.default_rng(5))
    found = chosen("uniform", rows, seed=5)
    np.testing.assert_array_equal(found[0], indices)
    np.testing.assert_array_equal(found[1], landmarks)


@pytest.mark.parametrize("kind", ["uniform", "leverage", "rls"])
@pytest.mark.parametrize("count", [1, 30, N])
def test_distinct_rows_ascending(kind: str, count: int) -> None:
    indices, landmarks = chosen(kind, count=count)
    assert len(indices) == count
    assert (np.diff(indices) > 0).all()
    np.testing.assert_array_equal(landmarks, X[indices])


@pytest.mark.parametrize("n", [1, 2, 5, 9])
@pytest.mark.parametrize("kind", sampling.SAMPLINGS)
def test_few_rows(kind: str, n: int) -> None:
    for count in range(1, n + 1):
        assert chosen(kind, X[:n].copy(), count)[1].shape == (count, 4)


@pytest.mark.parametrize("kind", ["leverage", "rls"])
def test_equal_rows_and_zero_kernels(kind: str) -> None:
    """No division by zero: ranks of one, and of nothing."""
    for data, kernel in ((np.ones((1500, 2)), KERNEL), (np.zeros((800, 2)), dk.Linear())):
        rng = np.random.default_rng(0)
        options: dict[str, Any] = {"dtype": F8, "runtime": HERE, "reporter": SILENT, "rng": rng}
        assert len(set(sampling.choose_rows(kind, blocks(data), kernel, 20, **options)[0])) == 20


@settings(max_examples=8)
@given(st.lists(st.integers(0, N), max_size=5), st.sampled_from(sampling.SAMPLINGS))
def test_any_chunks(cuts: list[int], kind: str) -> None:
    rows = tuple(np.diff([0, *sorted(cuts), N]).tolist())
    lazy = blocks(da.from_array(X).rechunk((rows, 4)))
    for found, expected in zip(chosen(kind, lazy), chosen(kind), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["leverage", "rls"])
def test_any_blocks(kind: str) -> None:
    """Draws belong to row numbers, not to blocks; scores differ by the rounding of sums at most."""
    np.testing.assert_array_equal(chosen(kind, blocks(X, 1024))[0], chosen(kind, blocks(X, 2048))[0])


def test_race_draws_in_proportion() -> None:
    """First places by weight; the second among the rest by weight: successive sampling."""
    weights, numbers = np.array([5.0, 3.0, 2.0]), np.arange(3)
    draws = np.random.default_rng(0).uniform(size=(20_000, 3))
    firsts, pairs = np.zeros(3), np.zeros((3, 3))
    for u in draws:
        order = block.race(weights, numbers, u, 2).rows
        firsts[order[0]] += 1
        pairs[order[0], order[1]] += 1
    np.testing.assert_allclose(firsts / 20_000, weights / 10, atol=0.015)
    np.testing.assert_allclose(pairs[0] / firsts[0], [0, 0.6, 0.4], atol=0.015)


@given(st.lists(st.integers(1, 39), max_size=6, unique=True), st.integers(1, 40))
def test_merged_races_are_one(cuts: list[int], count: int) -> None:
    rng = np.random.default_rng(1)
    weights, draws, numbers = rng.uniform(size=40), rng.uniform(size=40), np.arange(40)
    parts = [block.race(weights[part], part, draws[part], count) for part in np.split(numbers, sorted(cuts))]
    merged, whole = block.merge_race(parts, count=count), block.race(weights, numbers, draws, count)
    np.testing.assert_array_equal(merged.rows, whole.rows)
    assert merged.total == pytest.approx(whole.total)


def test_exact_leverage() -> None:
    small = X[:300]
    found = block.exact_leverage(KERNEL, small, 6)
    dense = oracles_sketches.leverage(oracles.gaussian(small, small, 2.0), 6)
    np.testing.assert_allclose(found, dense, rtol=1e-6, atol=1e-9)
    assert found.sum() == pytest.approx(6.0)


def test_leverage_of_an_approximation() -> None:
    """From all rows as landmarks the streamed scores are those of K: the race is the same."""
    small = X[:1100].copy()
    K = oracles.gaussian(small, small, 2.0)
    lam, V = oracles_sketches.descending(K)
    scaled = V[:, :6] / lam[:6]  # k(x, X) V / lam = V
    part = block.leverage_race(small, block.prepare(KERNEL, small, F8), scaled, key=7, count=20, start=0)
    dense = oracles_sketches.leverage(K, 6) + block.FLOOR
    expected = block.race(dense, np.arange(1100), block.uniforms(7, 0, 1100), 20)
    np.testing.assert_array_equal(part.rows, expected.rows)
    np.testing.assert_allclose(part.weights, expected.weights, rtol=1e-6)


def test_ridge_scores_of_all_rows() -> None:
    """With every row in the sample, weight 1, the score is (K (K + lam I)^-1)_ii."""
    small = X[:200]
    K = oracles.gaussian(small, small, 2.0)
    ridge = block.ridge_of(KERNEL, small, np.ones(200), 10)
    lam = oracles_sketches.descending(K)[0]
    assert ridge.lam == pytest.approx(lam[10:].sum() / 10, rel=1e-9)
    dense = oracles_sketches.ridge_leverage(K, ridge.lam)
    np.testing.assert_allclose(block.ridge_scores(small, ridge), dense, rtol=1e-7)


def test_ridge_scores_of_a_weighted_sample() -> None:
    """k(x, x) - b^T diag(w) (diag(w) S diag(w) + lam I)^-1 diag(w) b, over lam."""
    sample, w = X[:40], np.random.default_rng(0).uniform(1, 3, 40)
    ridge = block.ridge_of(KERNEL, sample, w, 5)
    b = oracles.gaussian(X[:90], sample, 2.0) * w
    M = oracles.gaussian(sample, sample, 2.0) * w[:, None] * w
    dense = (1 - np.einsum("ij,ij->i", b, np.linalg.solve(M + ridge.lam * np.eye(40), b.T).T)) / ridge.lam
    np.testing.assert_allclose(block.ridge_scores(X[:90], ridge), dense, rtol=1e-8, atol=1e-9)


def test_levels_halve() -> None:
    numbers = np.arange(1000)
    levels = [block.Level(size, 1000, 8, 3, (1, 2), 2.0) for size in (1000, 500, 250, 125)]
    within = [set(numbers[level.has(numbers)]) for level in levels]
    assert [len(rows) for rows in within] == [1000, 500, 250, 125]
    assert within[3] < within[2] < within[1] < within[0]


@pytest.mark.parametrize("bytes_held", [1, 30_000, 2**30])
def test_levels_in_memory_or_streamed(bytes_held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the small levels are computed changes nothing."""
    expected = chosen("rls")[0]
    monkeypatch.setattr(sampling, "BLOCK_BYTES", bytes_held)
    np.testing.assert_array_equal(chosen("rls")[0], expected)


def rare() -> np.ndarray:
    """Thirty tight groups, the rarest of a row or two."""
    rng = np.random.default_rng(0)
    share = np.arange(1, 31) ** -2.5
    group = rng.choice(30, 6000, p=share / share.sum())
    return 6 * rng.normal(size=(30, 5))[group] + 0.5 * rng.normal(size=(6000, 5))


def test_rare_groups_are_found() -> None:
    """Means of six draws: ridge scores beat uniform rows by far, the others do not lose much."""
    data = rare()
    errors = {}
    for kind in sampling.SAMPLINGS:
        drawn = [chosen(kind, data, 60, seed)[1] for seed in range(6)]
        errors[kind] = np.mean([error(landmarks, data) for landmarks in drawn])
    assert errors["rls"] < 0.85 * errors["uniform"], errors
    assert errors["kmeans"] < errors["uniform"], errors
    assert errors["leverage"] < 1.15 * errors["uniform"], errors


def test_kmeans_centers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Near a fixed point of Lloyd's algorithm; not rows, in the type of the computation."""
    tight = 9.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]])[np.arange(2000) % 4]
    tight += np.random.default_rng(0).normal(size=tight.shape) / 10
    indices, centers = chosen("kmeans", tight.astype("f4"), 4, dtype=np.dtype("f4"))
    assert indices is None
    assert centers.dtype == np.float32
    at_rest = oracles.lloyd(tight, centers)[2]
    assert oracles.inertia(tight, oracles.nearest(tight, centers), centers) < 1.01 * at_rest
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 50)
    fewer = chosen("kmeans", (tight * 10).astype("i4"), 4)[1]
    assert fewer.shape == (4, 2)
    assert fewer.dtype == np.float64


@pytest.mark.parametrize("kind", sampling.SAMPLINGS)
def test_bad_rows_are_named(kind: str) -> None:
    for row in (3, 2100):
        bad = X.copy()
        bad[row] = np.nan
        with pytest.raises(NonFiniteError, match=f"row {row}:"):
            chosen(kind, bad, 2600 if kind == "uniform" else 30)


def test_directions_sharpen_the_scores() -> None:
    """With s = 1 the leading group has all the leverage."""
    part = partial(chosen, "leverage", count=40)
    groups = np.unique(np.round(X[part(directions=1)[0]] / 8), axis=0)
    assert len(groups) < len(np.unique(np.round(X[part(directions=40)[0]] / 8), axis=0))
