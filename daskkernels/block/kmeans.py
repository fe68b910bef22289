"""Layer 2: Lloyd's algorithm and its seeding on one block of points, for several sets of centers (restarts)
at once.

Sums run in float64 over products of 1024 rows. A block's share never holds more than a few rows.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np

from ..grid import TILE_ROWS
from ..kernels import Kernel, Product
from ..xp import Array, like, module_of, to_host
from .draw import uniforms
from .sized import Sized
from .tiles import RightOperand, evaluate, prepare
from .workspace import borrowed


@dataclass(frozen=True)
class _SquaredDistance(Kernel):
    """|x - z|^2 through the tile engine."""

    product: ClassVar[Product] = "distance"
    has_scale: ClassVar[bool] = False

    def coefficient(self, n_features: int) -> float:
        return 1.0

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        return tile


@dataclass(frozen=True)
class Centers(Sized):
    """A set of centers: their exact coordinates (k, s) in float64, and made ready for squared distances."""

    points: Array
    right: RightOperand
    first: Array  # (k,) the first of all centers that are equal to each: products differ in their last bits

    @classmethod
    def of(cls, points: Array, dtype: np.dtype[np.floating]) -> Centers:
        """Make points (k, s) ready for distances in `dtype`."""
        host = to_host(points)
        _, earliest, group = np.unique(host, axis=0, return_index=True, return_inverse=True)
        first = like(earliest[group.reshape(-1)].astype(np.int32), points)
        return cls(points, prepare(_SquaredDistance(), points, dtype), first)

    def nearest(self, tile: Array, out: Array | None = None) -> Array:
        """Index of the nearest center (b,) of each row; the first of equal ones."""
        return self.first[evaluate(tile, self.right, out).argmin(axis=1)]


_CANCELLED = 1e-3  # of |b|^2 + |c|^2: a smaller expanded distance has lost three digits or more
_SAME = 256  # times eps |b|: what 1024 equal rows can be off their mean by when added one after another


def snapped(points: np.ndarray, dtype: np.dtype[np.floating]) -> np.ndarray:
    """Centers (k, s) in which those that differ from an earlier one by rounding alone are set equal to it.

    Rows between two such centers would be divided by their last bits.
    """
    result = points.copy()
    sizes = np.einsum("ij,ij->i", points, points)
    for j in range(1, len(points)):
        d2 = ((result[:j] - result[j]) ** 2).sum(axis=1)
        same = np.flatnonzero(d2 <= rounding(dtype) * np.maximum(sizes[:j], sizes[j]))
        if same.size:
            result[j] = result[same[0]]
    return result


def rounding(dtype: np.dtype[np.floating]) -> float:
    """A squared distance up to this share of |b|^2 is rounding."""
    return float((_SAME * np.finfo(dtype).eps) ** 2)


Sets = tuple[Centers | None, ...]  # one for each restart; None: no center yet, every row is at distance 1


@dataclass(frozen=True)
class AssignPart(Sized):
    """Members of each cluster: sums of their points (k, s) and their weights (k,), float64."""

    sums: Array
    weights: Array

    def __add__(self, other: AssignPart) -> AssignPart:
        return AssignPart(self.sums + other.sums, self.weights + other.weights)


def assign(B: Array, weights: Array | None, sets: tuple[Centers, ...]) -> list[AssignPart]:
    """One Lloyd step's share of a block B (b, s): sums and weights by nearest center. Cost 4 b k s a set."""
    return [_assign_one(B, centers, weights) for centers in sets]


def _assign_one(B: Array, centers: Centers, weights: Array | None) -> AssignPart:
    xp, k = module_of(B), centers.right.n_rows
    part = AssignPart(xp.zeros((k, B.shape[1]), np.float64), xp.zeros(k, np.float64))
    for start in range(0, B.shape[0], TILE_ROWS):
        tile = B[start : start + TILE_ROWS]
        nearest = centers.nearest(tile)
        members = xp.zeros((tile.shape[0], k), B.dtype)
        members[xp.arange(tile.shape[0]), nearest] = (
            1 if weights is None else weights[start : start + TILE_ROWS]
        )
        part.sums[...] += members.T @ tile
        part.weights[...] += members.sum(axis=0, dtype=np.float64)
    return part


def merge_sets(parts: Sequence[list[AssignPart]]) -> list[AssignPart]:
    """Shares of several blocks added up, set by set."""
    return [reduce(operator.add, shares) for shares in zip(*parts, strict=True)]


def labels(B: Array, centers: Centers) -> Array:
    """Index of the nearest center of each row (b,), int32; the first of equally near ones."""
    xp = module_of(B)
    nearest = xp.empty(B.shape[0], np.int32)
    with borrowed("distances", (min(TILE_ROWS, B.shape[0]), centers.right.n_rows), B.dtype, B) as D:
        for start in range(0, B.shape[0], TILE_ROWS):
            tile = B[start : start + TILE_ROWS]
            nearest[start : start + TILE_ROWS] = centers.nearest(tile, D[: tile.shape[0]])
    return nearest


def distances(B: Array, centers: Centers) -> Array:
    """Euclidean distances to the centers (b, k); where expansion cancels, taken again by differences."""
    xp = module_of(B)
    D = evaluate(B, centers.right)
    offsets = centers.points - centers.right.shift
    sizes = xp.einsum("ij,ij->i", offsets, offsets)
    for start in range(0, B.shape[0], TILE_ROWS):
        tile, squares = B[start : start + TILE_ROWS], D[start : start + TILE_ROWS]
        centered = tile - centers.right.shift
        norms = xp.einsum("ij,ij->i", centered, centered)
        for j, size in enumerate(sizes):
            near = xp.flatnonzero(squares[:, j] <= _CANCELLED * (norms + size))
            difference = tile[near] - centers.points[j]
            squares[near, j] = xp.einsum("ij,ij->i", difference, difference)
    return xp.sqrt(D, out=D)


@dataclass(frozen=True)
class Quality(Sized):
    """Weighted sum of squared distances to the own center, and the number of rows of each cluster (k,)."""

    inertia: float
    sizes: Array

    def __add__(self, other: Quality) -> Quality:
        return Quality(self.inertia + other.inertia, self.sizes + other.sizes)


def quality(B: Array, labels: Array, weights: Array | None, centers: Centers) -> Quality:
    """A block's share of the inertia and of the cluster sizes."""
    d2 = _squared_differences(B, labels, centers)
    sizes = np.bincount(to_host(labels), minlength=len(centers.points))
    return Quality(float(d2.sum() if weights is None else d2 @ weights), sizes)


def merge_quality(parts: Sequence[Quality]) -> Quality:
    """The shares of several blocks added up."""
    return reduce(operator.add, parts)


def _squared_differences(B: Array, labels: Array, centers: Centers) -> Array:
    """|b - own center|^2 (b,) in float64 by differences: expansions cancel in tight clusters."""
    xp = module_of(B)
    d2 = xp.empty(B.shape[0], np.float64)
    for start in range(0, B.shape[0], TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        difference = B[rows] - centers.points[labels[rows]]
        d2[rows] = xp.einsum("ij,ij->i", difference, difference)
    return d2


@dataclass(frozen=True)
class Drawn(Sized):
    """Rows picked out of a block: what ranks them (m,), their row numbers (m,), their points (m, s)."""

    rank: Array
    rows: Array
    points: Array
    total: float = 0.0  # phi, the weighted sum of squared distances, of all rows seen

    def first(self, count: int) -> Drawn:
        """The `count` rows of smallest rank; equal ranks by row number."""
        order = np.lexsort((self.rows, self.rank))[:count]
        return Drawn(self.rank[order], self.rows[order], self.points[order], self.total)

    def below(self, rank: float) -> Drawn:
        """The rows of rank at most `rank`."""
        kept = self.rank <= rank
        return Drawn(self.rank[kept], self.rows[kept], self.points[kept], self.total)


def _join(parts: Sequence[Drawn]) -> Drawn:
    return Drawn(
        np.concatenate([p.rank for p in parts]),
        np.concatenate([p.rows for p in parts]),
        np.concatenate([p.points for p in parts]),
        float(sum(p.total for p in parts)),
    )


def race(B: Array, weights: Array | None, sets: Sets, keys: Sequence[int], *, start: int) -> list[Drawn]:
    """A block's candidate for one row drawn with probability proportional to w d^2(row, set), for each set.

    An exponential race: the smallest -log(u) / (w d^2) over all rows wins.
    """
    winners = []
    for centers, key in zip(sets, keys, strict=True):
        mass = _mass(B, centers, weights)
        with np.errstate(divide="ignore"):
            times = -np.log(uniforms(key, start, B.shape[0])) / mass  # infinite where the mass is 0
        winners.append(_pick(B, times, np.isfinite(times), start, float(mass.sum())).first(1))
    return winners


def merge_race(parts: Sequence[list[Drawn]]) -> list[Drawn]:
    """The winners of several blocks, set by set."""
    return [_join(drawn).first(1) for drawn in zip(*parts, strict=True)]


def propose(
    B: Array, weights: Array | None, sets: Sets, keys: Sequence[int], *, oversampling: float, start: int
) -> list[Drawn]:
    """Rows that k-means|| may draw: a row is drawn when u <= L w d^2 / phi, that is u / (w d^2) <= L / phi.

    phi of one block is at most phi of all, so that its own L / phi keeps every row that can still be drawn
    (about L rows) and drawing takes one pass instead of two.
    """
    proposals = []
    for centers, key in zip(sets, keys, strict=True):
        mass = _mass(B, centers, weights)
        with np.errstate(divide="ignore"):
            rank = uniforms(key, start, B.shape[0]) / mass
        phi = float(mass.sum())
        limit = oversampling / phi if phi > 0 else 0.0
        proposals.append(_pick(B, rank, rank <= limit, start, phi))
    return proposals


def merge_propose(parts: Sequence[list[Drawn]], *, oversampling: float) -> list[Drawn]:
    """The rows of several blocks that can still be drawn, set by set."""
    joined = [_join(drawn) for drawn in zip(*parts, strict=True)]
    return [d.below(oversampling / d.total) if d.total > 0 else d for d in joined]


def farthest(B: Array, weights: Array | None, sets: Sets, *, count: int, start: int) -> list[Drawn]:
    """The `count` rows of a block farthest from their nearest center, for each set; ranked by -d^2."""
    rows = []
    for centers in sets:
        mass = _mass(B, centers, None)
        if weights is not None:
            mass[to_host(weights) == 0] = 0.0  # such rows never become centers
        limit = np.partition(mass, -min(count, mass.size))[-min(count, mass.size)]
        rows.append(_pick(B, -mass, (mass > 0) & (mass >= limit), start, 0.0).first(count))
    return rows


def merge_farthest(parts: Sequence[list[Drawn]], *, count: int) -> list[Drawn]:
    """The farthest rows of several blocks, set by set."""
    return [_join(drawn).first(count) for drawn in zip(*parts, strict=True)]


def _mass(B: Array, centers: Centers | None, weights: Array | None) -> np.ndarray:
    """w d^2 of each row (b,), d the distance to the nearest center of the set; 0 where d is only rounding.

    The mean of equal rows differs from them by rounding: drawing or moving to such a row would never end.
    """
    if centers is None:
        d2 = np.ones(B.shape[0])
    else:
        d2 = to_host(_squared_differences(B, labels(B, centers), centers))
        d2[d2 <= rounding(B.dtype) * to_host(module_of(B).einsum("ij,ij->i", B, B))] = 0.0
    return d2 if weights is None else d2 * to_host(weights)


def _pick(B: Array, rank: np.ndarray, chosen: np.ndarray, start: int, total: float) -> Drawn:
    rows = np.flatnonzero(chosen)
    return Drawn(rank[rows], start + rows, to_host(B[rows]), total)
