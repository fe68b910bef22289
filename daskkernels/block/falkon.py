"""Layer 2: FALKON on row blocks: a block's share of K^T W K v, its predictions, and the M x M preconditioner.

Every tile of K(X_b, Z) is made once: u = K v by rows, then K^T u while the tile is at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finite import check_rows
from ..grid import TILE_ROWS, Grid
from ..kernels import AnyKernel
from ..linalg import DegenerateMatrixError, upper_cholesky
from ..xp import Array, like, module_of, to_host
from .sized import Sized
from .targets import Encode, loss
from .tiles import TILE_COLUMNS, RightOperand, evaluate, kernel_block
from .workspace import borrowed

JITTER = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-13}  # of tr K(Z, Z), by the type of the tiles


@dataclass(frozen=True)
class Start(Sized):
    """What the iterations begin with, of one block or of all: sums over its rows in float64."""

    product: Array  # K^T W Y (M, l)
    squares: Array  # sum of w y^2 (l,)
    weight: float  # sum of w


@dataclass(frozen=True)
class Preconditioner(Sized):
    """Upper T and A (M, M), a = T^-1 A^-1 b: T^T T = K(Z, Z) + jitter, A^T A = T D T^T / tr D + lam I.

    D holds the weights of the centers, 1 where they are not known: rows of the data stand for all of them.
    """

    T: np.ndarray
    A: np.ndarray
    penalty: float  # lam

    def inner(self, b: np.ndarray) -> np.ndarray:
        """A^-1 b (M, l); its squared norm is that of the function with the weights of b."""
        return _solved(self.A, b)

    def weights(self, b: np.ndarray) -> np.ndarray:
        """a = T^-1 A^-1 b (M, l)."""
        return _solved(self.T, self.inner(b))

    def back(self, g: np.ndarray, c: np.ndarray | None = None) -> np.ndarray:
        """A^-T (T^-T g + lam c) (M, l)."""
        g = _solved(self.T, g, transposed=True)
        return _solved(self.A, g if c is None else g + self.penalty * c, transposed=True)


def precondition(
    kernel: AnyKernel,
    centers: Array,
    weights: np.ndarray | None,
    penalty: float,
    dtype: np.dtype[np.floating],
) -> Preconditioner:
    """T and A for centers Z (M, d), in float64 on one core; `weights` (M,) are those of the centers.

    Cost 2 M^2 d + M^3, memory 3 M^2 numbers. Raises DegenerateMatrixError.
    """
    from scipy.linalg.lapack import dlauum  # not needed to import the library

    K = to_host(kernel_block(kernel, to_host(centers).astype(np.float64)))
    trace = float(np.trace(K))
    if not trace > 0:
        raise DegenerateMatrixError(
            f"the kernel matrix of the {len(K)} centers is zero or not finite: rescale the data or the kernel"
        )
    T = upper_cholesky(K, JITTER[dtype] * trace)
    del K
    scale = np.ones(len(T)) if weights is None or not weights.any() else np.asarray(weights, np.float64)
    square, _ = dlauum(T * np.sqrt(scale / scale.sum()), lower=0, overwrite_c=1)  # U U^T, in U's own place
    return Preconditioner(T, upper_cholesky(square, penalty), penalty)


def _solved(R: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    from scipy.linalg import solve_triangular

    found = solve_triangular(R, B, trans=int(transposed), lower=False, check_finite=False)
    return np.ascontiguousarray(found)  # the order of sums and products depends on it


def row_weights(weights: Array | None, held_out: np.ndarray, grid: Grid, *, start: int) -> Array:
    """The weights (b,) of a block, 0 for rows that are kept back for validation; their numbers ascend."""
    stop = min(start + grid.block_rows, grid.n_rows)
    found = np.ones(stop - start) if weights is None else weights.copy()
    low, high = np.searchsorted(held_out, [start, stop])
    found[held_out[low:high] - start] = 0.0
    return found


def start_share(
    X: Array, y: Array, weights: Array | None, right: RightOperand | None, encode: Encode
) -> Start:
    """A block's share of K^T W Y, where X (b, d) are rows, or kernel values (b, M) and `right` is None.

    Cost 2 b M (d + l). Raises NonFiniteError: kernel values may overflow where rows do not.
    """
    total: Any = 0.0
    squares, weight = total, 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, K in _tiles(X, right):
            check_rows(K.sum(axis=1, dtype=np.float64), rows.start, "the kernel's values")
            Y = like(encode(y[rows]), K)
            scaled = Y if weights is None else Y * like(weights[rows, None], K)
            squares = squares + (scaled * Y).sum(axis=0)
            weight += float(len(Y) if weights is None else weights[rows].sum())
            total = total + (K.T @ scaled.astype(K.dtype)).astype(np.float64)
    return Start(total, squares, weight)


def start_of_columns(K: Array, _rows: Array, y: Array, weights: Array | None, encode: Encode) -> Start:
    """`start_share` of kernel values that were made a moment ago."""
    return start_share(K, y, weights, None, encode)


def merge_starts(parts: Sequence[Start]) -> Start:
    """The sum of the shares, in order."""
    return Start(
        sum(part.product for part in parts),
        sum(part.squares for part in parts),
        sum(part.weight for part in parts),
    )


def pass_share(X: Array, weights: Array | None, right: RightOperand | None, v: Array) -> Array:
    """K^T W K v (M, l) of one block in float64, X as in `start_share`, v (M, l). Cost 2 b M (d + 2 l)."""
    v = like(v, X)
    total = module_of(X).zeros(v.shape, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, K in _tiles(X, right):
            u = _product(K, v)
            if weights is not None:
                u *= like(weights[rows, None], K)
            total += K.T @ u.astype(K.dtype)
    return total


def predicted(
    X: Array, right: RightOperand | None, weights: Array, finish: Callable[[Array], Array]
) -> Array:
    """finish(K a) for the rows of a block, X as in `start_share`, a (M, l). Cost 2 b M (d + l).

    Raises NonFiniteError.
    """
    weights = like(weights, X)
    f = module_of(X).empty((X.shape[0], weights.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, K in _tiles(X, right):
            f[rows] = _product(K, weights)
            check_rows(f[rows].sum(axis=1), rows.start, "the kernel's values")
    return finish(f)


def judged(X: Array, y: Array, right: RightOperand | None, weights: Array, encode: Encode) -> np.ndarray:
    """Squared errors and wrong classes of a block that is not trained on."""
    return loss(predicted(X, right, weights, _same), y, encode)


def _tiles(X: Array, right: RightOperand | None) -> Iterator[tuple[slice, Array]]:
    """K of a block by 1024 rows: evaluated in one buffer, or cut out of values that were kept."""
    stops = ((start, min(start + TILE_ROWS, X.shape[0])) for start in range(0, X.shape[0], TILE_ROWS))
    if right is None:
        yield from ((slice(start, stop), X[start:stop]) for start, stop in stops)
        return
    shape = (min(TILE_ROWS, X.shape[0]), right.n_rows)
    with borrowed("columns", shape, right.dtype, X) as buffer:
        for start, stop in stops:
            yield slice(start, stop), evaluate(X[start:stop], right, out=buffer[: stop - start], start=start)


def _product(K: Array, v: Array) -> Array:
    """K v (b, l), products of 512 columns summed in float64: v is large and of both signs."""
    total = module_of(K).zeros((K.shape[0], v.shape[1]), np.float64)
    for first in range(0, K.shape[1], TILE_COLUMNS):
        columns = slice(first, first + TILE_COLUMNS)
        total += K[:, columns] @ v[columns]
    return total


def _same(f: Array) -> Array:
    return f
