"""Layer 2: orthonormal columns of a tall matrix in row blocks: one block's part of a tall, skinny QR.

R factors come from Householder's algorithm; those of several blocks are stacked and factored again (TSQR:
Demmel, Grigori, Hoemmen, Langou 2012). Cholesky's algorithm on P^T P fails for smooth kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from ..linalg import DegenerateMatrixError
from ..xp import Array, like, module_of, to_host
from .sketches import normals

F8 = np.dtype(np.float64)


def gaussian_rows(*, keys: tuple[int, int], columns: int, start: int, stop: int) -> np.ndarray:
    """Rows (b, c) of a matrix of standard normal numbers, counted through all rows."""
    return normals(keys, start * columns, (stop - start) * columns).reshape(-1, columns)


def r_factor(P: Array) -> np.ndarray:
    """R (min(b, c), c) of one block P (b, c) = Q R. Cost 2 b c^2."""
    return np.asarray(np.linalg.qr(to_host(P), mode="r"))


def merge_r(parts: Sequence[np.ndarray]) -> np.ndarray:
    """R of the blocks below each other."""
    return parts[0] if len(parts) == 1 else np.asarray(np.linalg.qr(np.concatenate(parts), mode="r"))


def whitening(R: np.ndarray) -> np.ndarray:
    """V diag(1 / sigma) (c, r) of R = U diag(sigma) V^T, without directions that are rounding of the first.

    P V diag(1 / sigma) is orthonormal up to eps sigma_1 / sigma_r, less than one, which a second
    factorisation removes. Raises DegenerateMatrixError.
    """
    if not np.isfinite(R).all():
        raise DegenerateMatrixError("products with K hold NaN or infinity: rescale the data or the kernel")
    _, sigma, V = np.linalg.svd(R, full_matrices=False)
    if not sigma[0] > 0:
        raise DegenerateMatrixError("the kernel matrix is zero")
    kept = sigma > max(R.shape) * np.finfo(F8).eps * sigma[0]
    return np.asarray(V[kept].T / sigma[kept])


def times_inverse(P: Array, R: np.ndarray) -> Array:
    """P R^-1 (b, r) for a well conditioned triangular R (r, r)."""
    return like(np.ascontiguousarray(solve_triangular(R, to_host(P).T, trans="T").T), P)


def column_sums(P: Array) -> Array:
    """Sums of the columns (c,) of a block."""
    return P.sum(axis=0)


def without(P: Array, mean: np.ndarray) -> Array:
    """P less a row (c,)."""
    return P - like(mean, P)


def with_ones(P: Array) -> Array:
    """P with a column of ones appended, (b, c + 1): K 1 comes along with K P."""
    xp = module_of(P)
    return xp.concatenate([P, xp.ones((len(P), 1))], axis=1)
