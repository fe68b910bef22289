"""Layer 2: one block's share of the norms of K - B B^T."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from ..finite import check_rows
from ..grid import TILE_ROWS
from ..kernels import AnyKernel
from ..xp import Array, to_host
from .draw import uniforms
from .tiles import RightOperand, evaluate, kernel_diagonal


def traces(X: Array, B: Array, *, kernel: AnyKernel, dtype: np.dtype[np.floating]) -> np.ndarray:
    """[tr K, tr K - tr B B^T] (2,) of a block, in float64; the differences are taken row by row.

    Raises NonFiniteError.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        check_rows(X.sum(axis=1, dtype=np.float64))
    own = to_host(kernel_diagonal(kernel, X, dtype))
    kept = np.concatenate(
        [np.einsum("ij,ij->i", b, b) for b in _in_double(B)]
    )  # |b_i|^2, 1024 rows converted at a time
    return np.array([own.sum(), (own - kept).sum()])


def column_squares(X: Array, B: Array, right: RightOperand, B_columns: np.ndarray) -> np.ndarray:
    """Sums of squares (2, m) over a block's rows of m columns of K and of K - B B^T, in float64.

    Cost 2 b m (d + s).
    """
    total = np.zeros((2, right.n_rows))
    for i, b in enumerate(_in_double(B)):
        start = i * TILE_ROWS
        tile = to_host(evaluate(X[start : start + TILE_ROWS], right, start=start)).astype(np.float64)
        total[0] += np.einsum("ij,ij->j", tile, tile)
        tile -= b @ B_columns.T
        total[1] += np.einsum("ij,ij->j", tile, tile)
    return total


def _in_double(B: Array) -> list[np.ndarray]:
    """Rows of features in float64, 1024 at a time. Raises NonFiniteError."""
    parts = []
    for start in range(0, len(B), TILE_ROWS):
        part = to_host(B[start : start + TILE_ROWS]).astype(np.float64)
        check_rows(part.sum(axis=1), start, "the features")
        parts.append(part)
    return parts


def start_vectors(block: Array, *, keys: Sequence[int], start: int) -> np.ndarray:
    """Rows (b, len(keys)) of vectors to begin with, uniform in (-1, 1) by their global row numbers."""
    return np.stack([2.0 * uniforms(key, start, len(block)) - 1.0 for key in keys], axis=1)


def products(B: Array, P: Array) -> np.ndarray:
    """A block's share of [B^T p_1, |p_1|^2, |p_2|^2] (s + 2,), for P = [p_1, p_2] (b, 2)."""
    P, share = to_host(P), np.zeros(B.shape[1])
    for i, b in enumerate(_in_double(B)):
        share += P[i * TILE_ROWS : (i + 1) * TILE_ROWS, 0] @ b
    return np.concatenate([share, np.einsum("ij,ij->j", P, P)])


def applied(KP: Array, B: Array, share: np.ndarray) -> np.ndarray:
    """[(K - B B^T) q_1, K q_2] (b, 2) for q = p / |p|, out of K P and the merged `products`."""
    lengths = np.sqrt(share[-2:])
    result = to_host(KP).astype(np.float64)
    for i, b in enumerate(_in_double(B)):
        result[i * TILE_ROWS : (i + 1) * TILE_ROWS, 0] -= b @ share[:-2]
    return np.asarray(result / np.where(lengths > 0, lengths, 1.0))


def rayleigh(W: Array, P: Array, share: np.ndarray) -> np.ndarray:
    """A block's share of q.w (2,)."""
    lengths = np.sqrt(share[-2:])
    return np.asarray(np.einsum("ij,ij->j", W, P) / np.where(lengths > 0, lengths, 1.0))


def orthogonal(
    W: Array, P: Array, before: Array | None, alpha: np.ndarray, share: np.ndarray, share_before: np.ndarray
) -> np.ndarray:
    """The next vectors (b, 2) of Lanczos's algorithm, not normalised: w - alpha q - beta q_before."""
    lengths = np.sqrt(share[-2:])
    result = W - alpha * (P / np.where(lengths > 0, lengths, 1.0))
    if before is not None:
        beta = np.sqrt(share_before[-2:])
        result -= lengths * (before / np.where(beta > 0, beta, 1.0))
    return np.asarray(result)


def added(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of shares, in order."""
    return reduce(np.add, parts)
