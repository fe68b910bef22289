"""Layer 2: kernel values that are kept. Each pair of row blocks is computed once and serves both ways.

K is symmetric, so half of it is enough: a round gathers rows of a tile for one of its blocks and columns for
the other. Epochs then need no products with all the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..grid import TILE_ROWS
from ..kernels import AnyKernel
from ..xp import Array, module_of
from .eigenpro import Batch, Preconditioner, Share, Solved, Step, solve_batches, updated
from .order import Stretch
from .sized import Sized
from .tiles import evaluate, kernel_diagonal, prepare
from .workspace import borrowed

FIXED = np.dtype(np.uint16)  # kernels with values in [0, 1] as multiples of 1 / 65535
ROUNDING = 1.0 / 65535 / np.sqrt(12.0)  # root mean square of what that leaves out of a value


@dataclass(frozen=True)
class Stripe(Sized):
    """K of some blocks with block b: the first row of each and its values; and U of the block."""

    tiles: tuple[tuple[int, Array], ...]  # (a, b) each; the block's own comes first
    projections: Array  # (b, p)


@dataclass(frozen=True)
class Corner(Sized):
    """K of the rows of a round in one block with those in another, by their places in ascending order."""

    first: int
    second: int
    values: Array  # (rows in the one, rows in the other), as stored


def neighbours(block: int, n_blocks: int) -> tuple[int, ...]:
    """The blocks whose tiles are in the stripe of this one, itself first: every pair in one stripe only."""
    half = n_blocks // 2
    offsets = half if n_blocks % 2 == 0 and block >= half else half + 1
    return tuple((block + offset) % n_blocks for offset in range(min(offsets, n_blocks)))


def stripe_of(
    blocks: Sequence[Array],
    starts: Sequence[int],
    preconditioner: Preconditioner,
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    stored: np.dtype[np.generic],
    center: Array | None,
) -> Stripe:
    """The stripe of the first of these blocks. Cost 2 b (d + 2) for every row of all, 2 b s (d + p)."""
    X = blocks[0]
    right = prepare(kernel, X, dtype, center)
    tiles: list[tuple[int, Array]] = []
    for start, other in zip(starts, blocks, strict=True):
        tile = module_of(X).empty((len(other), len(X)), stored)
        for first in range(0, len(other), TILE_ROWS):
            values = evaluate(other[first : first + TILE_ROWS], right, start=first)
            tile[first : first + TILE_ROWS] = _stored(values, stored)
        if not tiles:
            index = module_of(X).arange(len(X))
            tile[index, index] = _stored(kernel_diagonal(kernel, X, dtype), stored)
        tiles.append((start, tile))
    return Stripe(tuple(tiles), preconditioner.projections(X).astype(dtype))


def share_of_stripe(
    block: tuple[Array, Stripe],
    y: Array,
    weights: Sequence[Array],
    before: Sequence[tuple[Stretch, Solved]],
    batch: Batch,
    after: Stretch,
    *,
    start: int,
) -> Share:
    """What the pairs of blocks of one stripe add to a round, out of kept values; `weights` by its tiles.

    Cost 2 M l b for each pair, divided by the number of blocks; K of the rows of the round comes with it.
    """
    (X, stripe), present = block, batch.stretch
    stop = start + len(X)
    total = module_of(y).zeros(batch.targets.shape)
    own, own_places = present.within(start, stop)
    scale = _scale(stripe.tiles[0][1])
    alphas = [
        scale * updated(alpha, before, start=first)
        for (first, _), alpha in zip(stripe.tiles, weights, strict=True)
    ]
    corners = []
    for (first, tile), alpha in zip(stripe.tiles, alphas, strict=True):
        others, places = present.within(first, first + len(tile))
        with _gathered(tile, others, 0) as rows:
            corners.append(Corner(present.below(first), present.below(start), rows[:, own]))
            total[places] += _product(rows, alphas[0], batch.right.dtype)
        if first != start:
            with _gathered(tile, own, 1) as columns:
                total[own_places] += _product(columns.T, alpha, batch.right.dtype)
    local, _ = after.within(start, stop)
    return Share(total, X[local], y[local], tuple(corners), stripe.projections[local])


def projected(batch: Batch, first: int, stop: int, preconditioner: Preconditioner) -> Array:
    """U of the rows `first` to `stop` of a round; their kernel values come with the shares."""
    if batch.projections is not None:
        return batch.projections[first:stop]
    return preconditioner.projections(batch.rows[first:stop])


def solve_with_corners(
    share: Share,
    batch: Batch,
    strips: Sequence[Array],
    before: Solved | Array,
    preconditioner: Preconditioner,
    step: Step,
    m: int,
) -> Solved:
    """`solve_round`, with K of the rows of the round put together from the shares."""
    size, dtype, first = len(batch.rows), batch.right.dtype, share.corners[0].values
    K = module_of(batch.rows).empty((size, size), first.dtype)  # rows and columns in ascending order
    for corner in share.corners:
        below, right = corner.first + corner.values.shape[0], corner.second + corner.values.shape[1]
        K[corner.first : below, corner.second : right] = corner.values
        K[corner.second : right, corner.first : below] = corner.values.T
    places, scale = batch.stretch.places(), _scale(K)
    ascending = np.argsort(places)

    def effect(first: int, stop: int, change: Array) -> Array:
        with _gathered(K, ascending[first:stop], 0) as rows:
            return _product(rows, scale * change[places], dtype)

    return solve_batches(share, batch, strips, effect, before, preconditioner, step, m)


def squared_norms(weights: Array) -> np.ndarray:
    """The sum of squares of every column of a block of weights (l,)."""
    return np.asarray((weights * weights).sum(axis=0))


@contextmanager
def _gathered(values: Array, index: Array, axis: int) -> Iterator[Array]:
    """Rows or columns of kept values, in a buffer of this thread: fresh memory costs more than the copy."""
    shape = (len(index), values.shape[1]) if axis == 0 else (values.shape[0], len(index))
    with borrowed("gathered", shape, values.dtype, values) as out:
        module_of(values).take(values, index, axis=axis, out=out, mode="clip")
        yield out


def _product(values: Array, weights: Array, dtype: np.dtype[np.floating]) -> Array:
    """values (m, b) times weights (b, l) in `dtype`; nothing where no row has a weight."""
    if not weights.any():
        return module_of(weights).zeros((values.shape[0], weights.shape[1]))
    weights = weights.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is judged by the solver
        if values.dtype == dtype:
            return values @ weights
        transposed = values.flags.f_contiguous
        plain = values.T if transposed else values
        with borrowed("converted", plain.shape, dtype, values) as converted:
            converted[...] = plain
            return (converted.T if transposed else converted) @ weights


def _stored(values: Array, stored: np.dtype[np.generic]) -> Array:
    """Kernel values in the type they are kept in."""
    return np.rint(values * values.dtype.type(65535)) if stored == FIXED else values


def _scale(values: Array) -> float:
    """What kept values are multiplied by."""
    return 1.0 / 65535 if values.dtype == FIXED else 1.0
