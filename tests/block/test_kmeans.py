"""Tests: one block's share of Lloyd's algorithm and of its seeding; draws are the same in any blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from daskkernels.block import kmeans as block
from daskkernels.block.draw import uniforms
from daskkernels.kernels import Kernel
from tests import oracles

rng = np.random.default_rng(0)
B = rng.normal(size=(2500, 3))
CENTERS = rng.normal(size=(5, 3))
WEIGHTS = rng.integers(0, 4, 2500) / 4.0
CUTS = [(0, 1024), (1024, 2048), (2048, 2500)]
DTYPES = ["f4", "f8"]
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


def centers_of(points: np.ndarray, dtype: str = "f8") -> block.Centers:
    return block.Centers.of(points, np.dtype(dtype))


def cut(values: Any, bounds: tuple[int, int]) -> Any:
    return None if values is None else values[slice(*bounds)]


@weighted
@pytest.mark.parametrize("dtype", DTYPES)
def test_assign(weights: np.ndarray | None, dtype: str) -> None:
    data = B.astype(dtype)
    sets = (centers_of(CENTERS, dtype), centers_of(CENTERS[:2] + 1, dtype))
    parts = block.assign(data, weights, sets)
    for part, centers in zip(parts, sets, strict=True):
        nearest = oracles.nearest(data, centers.points)
        H = np.eye(len(centers.points))[nearest] * (1 if weights is None else weights[:, None])
        np.testing.assert_allclose(part.weights, H.sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(part.sums, H.T @ B, atol=1e-3 if dtype == "f4" else 1e-10)
        assert part.sums.dtype == part.weights.dtype == np.float64


@weighted
def test_shares_of_blocks_add_up(weights: np.ndarray | None) -> None:
    sets = (centers_of(CENTERS),)
    whole = block.assign(B, weights, sets)[0]
    merged = block.merge_sets([block.assign(B[slice(*c)], cut(weights, c), sets) for c in CUTS])[0]
    np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-12)
    np.testing.assert_array_equal(merged.weights, whole.weights)


@pytest.mark.parametrize("dtype", DTYPES)
def test_labels_and_distances(dtype: str) -> None:
    data, centers = B.astype(dtype), centers_of(CENTERS, dtype)
    found, D = block.labels(data, centers), block.distances(data, centers)
    assert found.dtype == np.int32
    assert D.dtype == dtype
    np.testing.assert_array_equal(found, oracles.nearest(data, CENTERS))
    np.testing.assert_array_equal(found, D.argmin(axis=1))
    np.testing.assert_allclose(D, oracles.distances(data, CENTERS), atol=1e-5 if dtype == "f4" else 1e-12)
    np.testing.assert_array_equal(block.labels(data[1024:], centers), found[1024:])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_of_equal_centers(dtype: str) -> None:
    centers = centers_of(np.repeat(CENTERS[:1], 4, axis=0), dtype)
    assert not block.labels(B.astype(dtype), centers).any()


def test_distance_to_itself_is_a_number() -> None:
    """Rounding makes some squared distances negative; their root must not be NaN."""
    D = block.distances(B.astype("f4"), centers_of(B[:50].astype("f4"), "f4"))
    assert np.isfinite(D).all()
    assert np.diag(D[:50]).max() < 2e-3


@weighted
def test_quality(weights: np.ndarray | None) -> None:
    centers, nearest = centers_of(CENTERS), oracles.nearest(B, CENTERS)
    whole = block.quality(B, nearest, weights, centers)
    assert whole.inertia == pytest.approx(oracles.inertia(B, nearest, CENTERS, weights), rel=1e-12)
    np.testing.assert_array_equal(whole.sizes, np.bincount(nearest, minlength=5))
    parts = [block.quality(B[slice(*c)], nearest[slice(*c)], cut(weights, c), centers) for c in CUTS]
    assert block.merge_quality(parts).inertia == pytest.approx(whole.inertia, rel=1e-12)
    assert block.merge_quality(parts).sizes.sum() == 2500


def test_quality_of_tight_clusters() -> None:
    """Squares of 1e8 and a radius of 1e-3: the expanded form would lose the inertia entirely in float32."""
    points = np.array([[1e4, 0.0], [-1e4, 0.0]])
    y = np.arange(2500) % 2
    data = (points[y] + np.array([0.0, 1e-3])).astype("f4")
    assert block.quality(data, y, None, centers_of(points, "f4")).inertia == pytest.approx(2500e-6, rel=1e-4)


def expected_mass(sets: np.ndarray | None, weights: np.ndarray | None) -> np.ndarray:
    d2 = np.ones(len(B)) if sets is None else oracles.squared_distances(B, sets).min(axis=1)
    return d2 if weights is None else d2 * weights


def in_blocks(function: Any, merge: Any, weights: np.ndarray | None, *operands: Any) -> Any:
    return merge([function(B[slice(*c)], cut(weights, c), *operands, start=c[0]) for c in CUTS])


@weighted
@pytest.mark.parametrize("points", [None, CENTERS], ids=["no center", "centers"])
def test_race(weights: np.ndarray | None, points: np.ndarray | None) -> None:
    sets = (None if points is None else centers_of(points),) * 3
    keys = [11, 12, 13]
    drawn = in_blocks(block.race, block.merge_race, weights, sets, keys)
    mass = expected_mass(points, weights)
    for winner, key in zip(drawn, keys, strict=True):
        with np.errstate(divide="ignore"):
            expected = (-np.log(uniforms(key, 0, len(B))) / mass).argmin()
        assert winner.rows.tolist() == [expected]
        np.testing.assert_array_equal(winner.points, B[[expected]])
    whole = block.race(B, weights, sets, keys, start=0)
    assert [w.rows.tolist() for w in whole] == [w.rows.tolist() for w in drawn]


def test_race_draws_by_mass() -> None:
    data, w = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([5.0, 1.0, 2.0, 0.0])
    sets = (centers_of(np.zeros((1, 1))),) * 4000
    winners = [d.rows[0] for d in block.race(data, w, sets, range(4000), start=0)]
    counts = np.bincount(winners, minlength=4)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert stats.chisquare(counts[[1, 2]], 4000 * np.array([1, 8]) / 9).pvalue > 1e-3


def test_nothing_to_draw() -> None:
    """All rows on a center, or without weight: nobody wins, nothing is divided by zero."""
    data = np.zeros((10, 2))
    sets, zero = (centers_of(np.zeros((1, 2))),), np.zeros(10)
    assert len(block.race(data, None, sets, [0], start=0)[0].rows) == 0
    assert len(block.race(data, zero, (None,), [0], start=0)[0].rows) == 0
    parts = [block.propose(data, None, sets, [0], oversampling=4.0, start=0)] * 2
    assert len(block.merge_propose(parts, oversampling=4.0)[0].rows) == 0
    far = [block.farthest(data, None, sets, count=3, start=0)] * 2
    assert len(block.merge_farthest(far, count=3)[0].rows) == 0


@weighted
@pytest.mark.parametrize("oversampling", [1.0, 10.0, 100.0])
def test_propose(weights: np.ndarray | None, oversampling: float) -> None:
    """One pass draws exactly the rows with u <= min(1, L w d^2 / phi), phi known only at the end of it."""
    keys, limits = [3, 4], {"oversampling": oversampling}
    sets = (centers_of(CENTERS), centers_of(CENTERS[:1]))
    drawn = in_blocks(
        partial(block.propose, **limits), partial(block.merge_propose, **limits), weights, sets, keys
    )
    for found, key, points in zip(drawn, keys, (CENTERS, CENTERS[:1]), strict=True):
        mass = expected_mass(points, weights)
        u = uniforms(key, 0, len(B))
        expected = np.flatnonzero(u <= oversampling * mass / mass.sum())
        np.testing.assert_array_equal(np.sort(found.rows), expected)
        np.testing.assert_array_equal(found.points, B[found.rows])
        assert found.total == pytest.approx(mass.sum(), rel=1e-12)


def test_merging_in_a_tree_draws_the_same() -> None:
    limits, sets = {"oversampling": 30.0}, (centers_of(CENTERS),)
    one, two, three = (block.propose(B[slice(*c)], None, sets, [5], **limits, start=c[0]) for c in CUTS)
    merge = partial(block.merge_propose, **limits)
    flat, tree = merge([one, two, three])[0], merge([merge([one, two]), merge([three])])[0]
    assert flat.rows.tolist() == tree.rows.tolist()


@weighted
@pytest.mark.parametrize("count", [1, 7, 2500])
def test_farthest(weights: np.ndarray | None, count: int) -> None:
    found = in_blocks(
        partial(block.farthest, count=count),
        partial(block.merge_farthest, count=count),
        weights,
        (centers_of(CENTERS),),
    )[0]
    d2 = expected_mass(CENTERS, None)
    allowed = np.flatnonzero(d2 > 0) if weights is None else np.flatnonzero(weights > 0)
    expected = allowed[np.argsort(-d2[allowed], kind="stable")][:count]
    np.testing.assert_array_equal(found.rows, expected)


def test_ties_of_farthest_rows_go_by_row_number() -> None:
    data = np.ones((20, 1))
    parts = [
        block.farthest(data, None, (centers_of(np.zeros((1, 1))),), count=3, start=s) for s in (40, 0, 20)
    ]
    assert block.merge_farthest(parts, count=3)[0].rows.tolist() == [0, 1, 2]


def test_centers_are_kept_exactly() -> None:
    centers = centers_of(CENTERS, "f4")
    assert centers.points.dtype == np.float64
    np.testing.assert_array_equal(centers.points, CENTERS)
    assert isinstance(centers.right.kernel, Kernel)
    assert centers.right.matrix.dtype == np.float32
