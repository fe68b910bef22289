"""Layer 2: one block's part in choosing landmark rows: scores, draws by an exponential race, ridge scores.

Draws are counter-based on the global row number, so that a choice does not depend on the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finite import check_sample
from ..grid import TILE_ROWS
from ..kernels import AnyKernel
from ..linalg import top_eigenpairs
from ..xp import Array, like, module_of, to_host
from .draw import uniforms, uniforms_of
from .nystrom import features
from .order import shuffled
from .sized import Sized
from .tiles import RightOperand, evaluate, kernel_block, kernel_diagonal, prepare

FLOOR = 1e-12  # the least weight of a row, so that as many rows are drawn as were asked for
TINY = 1e-300
F8 = np.dtype(np.float64)


@dataclass(frozen=True)
class Racers(Sized):
    """Rows that may still be drawn: times, row numbers and weights (m,), and the sum of all weights."""

    times: Array
    rows: Array
    weights: Array
    total: float = 0.0

    def first(self, count: int) -> Racers:
        """The `count` earliest; equal times by row number."""
        order = np.lexsort((self.rows, self.times))[:count]
        return Racers(self.times[order], self.rows[order], self.weights[order], self.total)


def race(weights: np.ndarray, numbers: np.ndarray, draws: np.ndarray, count: int) -> Racers:
    """A block's candidates for `count` rows drawn without replacement, weights (b,), uniform draws (b,).

    Times -log(u) / weight: the earliest are rows drawn one after another in proportion to their weights, each
    draw of a row that is there already thrown away and made again (Efraimidis, Spirakis 2006).
    """
    return Racers(-np.log(draws) / weights, numbers, weights, float(weights.sum())).first(count)


def merge_race(parts: Sequence[Racers], *, count: int) -> Racers:
    """The earliest of several blocks."""
    times, rows, weights = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "rows", "weights")
    )
    return Racers(times, rows, weights, float(sum(part.total for part in parts))).first(count)


def leverage_race(
    X: Array, landmarks: RightOperand, components: Array, *, key: int, count: int, start: int
) -> Racers:
    """Race of a block by |k(x, landmarks) Q'|^2, Q' scaled so that the features are orthonormal columns."""
    scores = np.empty(len(X))
    for first in range(0, len(X), TILE_ROWS):
        tile = slice(first, first + TILE_ROWS)
        scores[tile] = to_host((features(X[tile], landmarks, components, first).astype(F8) ** 2).sum(axis=1))
    return race(scores + FLOOR, start + np.arange(len(X)), uniforms(key, start, len(X)), count)


def exact_leverage(kernel: AnyKernel, X: Array, s: int) -> np.ndarray:
    """|row i of V_s|^2 (n,), V_s the leading eigenvectors of K(X, X) in float64. Cost n^2 d + n^3."""
    _, V = top_eigenpairs(kernel_block(kernel, to_host(X).astype(F8)), s)
    return np.asarray((V**2).sum(axis=1))


@dataclass(frozen=True)
class Ridge(Sized):
    """What a weighted sample says of the ridge leverage score of any row [Musco, Musco 2017]."""

    sample: RightOperand  # in float64: scores are differences
    whitening: Array  # diag(w) L^-T (m, m), L L^T = diag(w) S diag(w) + lam I
    lam: float


def ridge_of(kernel: AnyKernel, sample: Array, weights: np.ndarray, k: int) -> Ridge:
    """lam = the mean of the eigenvalues of M beyond the leading k, over k; M = diag(w) k(sample) diag(w)."""
    from scipy.linalg import solve_triangular  # not needed to import the library

    sample = sample.astype(F8)
    M = kernel_block(kernel, to_host(sample)) * weights[:, None] * weights
    trace = float(M.trace())
    leading = float(top_eigenpairs(M, k)[0].sum())
    lam = max((trace - leading) / k, 1e-10 * trace, TINY)
    L = np.linalg.cholesky(M + lam * np.eye(len(M)))
    whitening = solve_triangular(L, np.diag(weights), lower=True).T
    return Ridge(prepare(kernel, sample, F8), like(np.ascontiguousarray(whitening), sample), lam)


def ridge_scores(X: Array, ridge: Ridge) -> np.ndarray:
    """max(0, k(x, x) - |T|^2) / lam (b,), T = L^-1 diag(w) k(sample, x), not cut at 1. Cost b m (d + m)."""
    scores = np.empty(len(X))
    for start in range(0, len(X), TILE_ROWS):
        rows = X[start : start + TILE_ROWS]
        T = evaluate(rows, ridge.sample) @ ridge.whitening
        rest = kernel_diagonal(ridge.sample.kernel, rows, F8) - module_of(T).einsum("ij,ij->i", T, T)
        scores[start : start + TILE_ROWS] = np.maximum(to_host(rest), 0.0) / ridge.lam
    return scores


@dataclass(frozen=True)
class Level:
    """One level of the recursion: rows whose place in the order is below `size`, `most` of them wanted."""

    size: int
    n_rows: int  # of all the data: the order is one of them
    most: int  # s_L, or at level 0 the rows that are asked for
    order: int  # key of the order
    keys: tuple[int, int]  # of the independent draws and of the race
    oversampling: float  # o; 0 at the last level, where only the race counts

    def has(self, numbers: np.ndarray) -> np.ndarray:
        """Whether the rows with these numbers belong to it."""
        return shuffled(numbers, self.n_rows, self.order) < self.size


@dataclass(frozen=True)
class LevelPart(Sized):
    """A block's share of a level: rows kept independently with their 1 / p, how many; and the race."""

    rows: Array
    inverse: Array
    count: int
    racers: Racers


def level_part(X: Array, ridge: Ridge, level: Level, *, start: int) -> LevelPart:
    """The rows of a block that belong to a level: scored, drawn independently and raced."""
    return scored_part(*level_rows(X, level, start=start), ridge, level)


def scored_part(X: Array, numbers: np.ndarray, ridge: Ridge, level: Level) -> LevelPart:
    """The same for rows (b, d) that are known to belong to it, with their numbers (b,)."""
    raw = ridge_scores(X, ridge)
    p = np.minimum(1.0, level.oversampling * raw)
    independent, draws = (uniforms_of(key, numbers) for key in level.keys)
    kept = np.flatnonzero(independent < p)
    few = kept[: 4 * level.most + 1]  # more are refused anyway
    racers = race(np.minimum(1.0, raw) + FLOOR, numbers, draws, level.most)
    return LevelPart(numbers[few], 1.0 / p[few], len(kept), racers)


def merge_level(parts: Sequence[LevelPart], *, count: int) -> LevelPart:
    """The shares of several blocks, in order."""
    return LevelPart(
        np.concatenate([p.rows for p in parts])[: 4 * count + 1],
        np.concatenate([p.inverse for p in parts])[: 4 * count + 1],
        sum(p.count for p in parts),
        merge_race([p.racers for p in parts], count=count),
    )


def level_rows(X: Array, level: Level, *, start: int) -> tuple[Array, np.ndarray]:
    """The rows of a block that belong to a level, and their numbers. Raises NonFiniteError."""
    numbers = np.arange(start, start + len(X))
    mine = np.flatnonzero(level.has(numbers))
    check_sample(X[mine], mine)
    return X[mine], numbers[mine]


def merge_level_rows(parts: Sequence[tuple[Array, np.ndarray]]) -> tuple[Array, np.ndarray]:
    """Rows and numbers of several blocks, in order."""
    xp = module_of(parts[0][0])
    return xp.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def cast_sample(X: Array, offsets: np.ndarray, dtype: np.dtype[Any]) -> Array:
    """Sampled rows (b, d) in the type of the computation; `offsets` (b,) lead from a place to a row number.

    Raises NonFiniteError, with the number in all the data once the first place of the block is added.
    """
    check_sample(X, np.arange(len(X)) + offsets)
    return X.astype(dtype)
