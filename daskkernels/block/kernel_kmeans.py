"""Layer 2: kernel k-means on one block: sums of kernel values by cluster, and the nearest cluster in feature
space that follows from them.

With Y = K H, H one-hot, the squared distance of row i to the mean of cluster j is
K_ii - 2 Y_ij / |J_j| + (H^T Y)_jj / |J_j|^2. Nothing changes when a constant is subtracted from all of K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..finite import check_rows
from ..kernels import AnyKernel, CallableKernel
from ..xp import Array, like, module_of, to_host
from .products import right_side
from .sized import Sized
from .tiles import RightOperand, kernel_diagonal, kernel_tiles

Numbered = tuple[int, Array]  # the number of the first row of a block in all the data, and the block
_SAME = 64.0  # times eps: distances up to this share of K_ii are rounding


def numbered(block: Array, *, start: int) -> Numbered:
    """A block with the number of its first row."""
    return start, block


@dataclass(frozen=True)
class LeftSide(Sized):
    """Rows whose sums are wanted: ready for the tile engine, their first number, and k(x, x) (m,).

    `start` is None for rows that are not among those summed over.
    """

    right: RightOperand
    start: int | None
    diagonal: Array


def left_side(
    parts: Sequence[Numbered],
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    center: Array | None,
    same: bool,
) -> LeftSide:
    """Neighbouring blocks of rows made ready; `same` where the sums run over these very rows."""
    blocks = [block for _, block in parts]
    right = right_side(blocks, kernel, dtype, center)
    if not same:
        return LeftSide(right, None, module_of(blocks[0]).empty(0))
    diagonal = [kernel_diagonal(kernel, block, dtype) for block in blocks]
    return LeftSide(right, parts[0][0], module_of(blocks[0]).concatenate(diagonal))


def cluster_sums(
    rows: Numbered, labels: Array, left: LeftSide, *, first: int, count: int, shift: float, squares: bool
) -> Array:
    """What a block X (b, d) adds to Y = (K - shift) H of the left side's rows (m, R count), in float64.

    `labels` (b, R), one column a restart, of which clusters `first` to `first + count` are summed; other rows
    cost nothing. With `squares` one more column has the sums of (K - shift)^2 over these rows. k(x, x) is
    exact. Cost 2 b m (d + R count).
    """
    start, X = rows
    xp, right = module_of(X), left.right
    places = xp.asarray(labels).reshape(len(X), -1) - first  # (b, R)
    members = (places >= 0) & (places < count)
    live = xp.flatnonzero(members.any(axis=1))
    if len(live) < len(X):
        X, places, members = X[live], places[live], members[live]
    H = _one_hot(places, members, count, right.dtype)
    total = xp.zeros((right.n_rows, H.shape[1] + squares), np.float64)
    numbers = to_host(live) + start
    for tile_rows, columns, found in kernel_tiles(X, right, None):
        tile = found.copy() if isinstance(right.kernel, CallableKernel) else found  # it may be the user's own
        _set_diagonal(tile, numbers[tile_rows], left, columns)
        if shift:
            tile -= tile.dtype.type(shift)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is found in the sums
            total[columns, : H.shape[1]] += tile.T @ H[tile_rows]
            if squares:
                total[columns, -1] += xp.einsum("ij,ij->j", tile, tile)
    return total


def _one_hot(places: Array, members: Array, count: int, dtype: Any) -> Array:
    """H (b, R count): a one for every restart in which the row is a member of one of the clusters."""
    xp = module_of(places)
    H = xp.zeros((len(places), places.shape[1] * count), dtype)
    rows, restarts = xp.nonzero(members)
    H[rows, restarts * count + places[rows, restarts]] = 1.0
    return H


def _set_diagonal(tile: Array, numbers: np.ndarray, left: LeftSide, columns: slice) -> None:
    """k(x, x) exactly where a tile meets the diagonal of K: a Laplacian's is off by the root of rounding."""
    if left.start is None or not len(numbers):
        return
    low, high = left.start + columns.start, left.start + columns.stop
    if numbers[-1] < low or numbers[0] >= high:
        return
    at = np.flatnonzero((numbers >= low) & (numbers < high))
    own = numbers[at] - left.start
    tile[at, own - columns.start] = left.diagonal[own]


def diagonal(X: Array, *, kernel: AnyKernel, dtype: np.dtype[np.floating], shift: float) -> Array:
    """k(x, x) - shift (b,) in float64. Raises NonFiniteError: values may overflow where rows do not."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = kernel_diagonal(kernel, X, dtype) - shift
    check_rows(values)
    return values


def label_counts(labels: Array) -> tuple[np.ndarray, np.ndarray]:
    """The labels (m,) that occur in a block, ascending, and their rows (m,)."""
    values, counts = np.unique(to_host(labels), return_counts=True)
    return values.astype(np.int64), counts.astype(np.int64)


def merge_label_counts(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The labels of several blocks and their rows."""
    values, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    counts = np.zeros(len(values), np.int64)
    np.add.at(counts, places, np.concatenate([part[1] for part in parts]))
    return values, counts


def ranks(labels: Array, values: np.ndarray) -> np.ndarray:
    """Labels (b,) by their places among all `values`, int32."""
    return np.searchsorted(values, to_host(labels)).astype(np.int32)


def as_column(labels: Array, *, index: int = 0) -> np.ndarray:
    """One restart's labels as a column (b, 1)."""
    values = to_host(labels)
    return values.reshape(len(values), -1)[:, index : index + 1].astype(np.int32)


def restart_counts(labels: Array, *, k: int) -> np.ndarray:
    """Rows (R, k) of each cluster in labels (b, R)."""
    return np.stack([np.bincount(column, minlength=k) for column in to_host(labels).T])


def added(parts: Sequence[Any]) -> Any:
    """The sum of shares, in order."""
    return reduce(lambda a, b: a + b, parts)


def within(Y: Array, labels: Array, *, k: int) -> np.ndarray:
    """(H^T Y)_jj (R, k): the sums of the rows of each cluster over their own cluster.

    Raises NonFiniteError: kernel values may overflow where rows do not.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        check_rows(Y.sum(axis=1), 0, "the kernel's values")
    Y, labels = to_host(Y), to_host(labels).reshape(len(Y), -1)
    rows = np.arange(len(Y))
    return np.stack(
        [
            np.bincount(column, weights=Y[rows, r * k + column], minlength=k)
            for r, column in enumerate(labels.T)
        ]
    )


def objective_share(Y: Array, labels: Array, sizes: np.ndarray, *, first: int, squares: bool) -> float:
    """A block's share of sum_j (H^T Y)_jj / |J_j|, or with `squares` of |K|^2 - sum_ij Y_ij^2 / |J_j|."""
    with np.errstate(over="ignore", invalid="ignore"):
        check_rows(Y.sum(axis=1), 0, "the kernel's values")
    Y = to_host(Y)
    if squares:
        return float(Y[:, -1].sum() - ((Y[:, :-1] ** 2).sum(axis=0) / sizes).sum())
    places = to_host(labels) - first
    live = np.flatnonzero((places >= 0) & (places < len(sizes)))
    return float((Y[live, places[live]] / sizes[places[live]]).sum())


def nearest_clusters(Y: Array, own: np.ndarray, sizes: np.ndarray) -> Array:
    """The nearest cluster (b, R) int32 of each row by its sums Y (b, R k); the first of equal ones.

    `own` (R, k) is (H^T Y)_jj; a cluster without members is nobody's.
    """
    return _scores(Y, own, sizes).argmin(axis=2).astype(np.int32)


def nearest_cluster(Y: Array, own: np.ndarray, sizes: np.ndarray) -> Array:
    """The same for one restart, as a vector (b,)."""
    return nearest_clusters(Y, own, sizes)[:, 0]


def distance_sum(Y: Array, labels: Array, own_diagonal: Array, own: np.ndarray, sizes: np.ndarray) -> float:
    """The sum of squared distances of a block's rows to the means of their clusters."""
    places = to_host(labels)[:, None]
    scores = np.take_along_axis(to_host(_scores(Y, own, sizes))[:, 0], places, axis=1)[:, 0]
    return float(np.maximum(to_host(own_diagonal) + scores, 0.0).sum())


def _scores(Y: Array, own: np.ndarray, sizes: np.ndarray) -> Array:
    """Squared distances less K_ii (b, R, k); infinite for clusters without members."""
    xp = module_of(Y)
    members = np.where(sizes > 0, sizes, 1)
    norms = np.where(sizes > 0, own / members**2, np.inf)
    return like(norms, Y) - 2.0 * xp.reshape(Y, (len(Y), *sizes.shape)) / like(members, Y)


@dataclass(frozen=True)
class Moves(Sized):
    """What a step did to the rows of some blocks, for R restarts of k clusters."""

    changed: np.ndarray  # (R,) rows with another label
    sizes: np.ndarray  # (R, k)
    farthest: tuple[np.ndarray, ...]  # (m, 3) each: squared distance, row, label; the farthest first


def moves(
    Y: Array,
    labels: Array,
    before: Array,
    own_diagonal: Array,
    own: np.ndarray,
    sizes: np.ndarray,
    *,
    start: int,
) -> Moves:
    """How the labels (b, R) of a block differ from those before, and its k farthest rows of each restart."""
    labels, before, values = to_host(labels), to_host(before), to_host(own_diagonal)
    scores = np.take_along_axis(to_host(_scores(Y, own, sizes)), labels[:, :, None], axis=2)[:, :, 0]
    squares = np.maximum(values[:, None] + scores, 0.0)  # (b, R)
    floor = _SAME * float(np.finfo(np.float32).eps) * np.abs(values)
    rows, k, far = np.arange(len(labels)), sizes.shape[1], []
    for r, column in enumerate(labels.T):
        order = np.lexsort((rows, -squares[:, r]))[:k]
        order = order[squares[order, r] > floor[order]]
        far.append(np.c_[squares[order, r], start + order, column[order]])
    return Moves((labels != before).sum(axis=0), restart_counts(labels, k=k), tuple(far))


def merge_moves(parts: Sequence[Moves]) -> Moves:
    """The moves of several blocks."""
    k, far = parts[0].sizes.shape[1], []
    for found in zip(*(part.farthest for part in parts), strict=True):
        rows = np.concatenate(found)
        far.append(rows[np.lexsort((rows[:, 1], -rows[:, 0]))[:k]])
    return Moves(added([p.changed for p in parts]), added([p.sizes for p in parts]), tuple(far))


def relabelled(labels: Array, changes: np.ndarray, *, start: int) -> np.ndarray:
    """Labels (b, R) in which `changes` (m, 3), each a restart, a row and a label, are made."""
    result = to_host(labels).copy()
    here = changes[(changes[:, 1] >= start) & (changes[:, 1] < start + len(result))]
    result[here[:, 1] - start, here[:, 0]] = here[:, 2]
    return result
