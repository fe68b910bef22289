"""Layer 2: the Nyström method on one block: its columns, its share of the Gram matrix, its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..finite import check_rows
from ..grid import TILE_ROWS
from ..kernels import AnyKernel
from ..linalg import InverseRoot, truncated_inverse_root
from ..xp import Array, like, module_of, to_host
from .sized import Sized
from .tiles import RightOperand, evaluate, kernel_block, kernel_diagonal
from .workspace import borrowed


@dataclass(frozen=True)
class GramPart(Sized):
    """A block's share of pass one: G = sum of R_b^T R_b (l, l) in float64, and of tr(K)."""

    gram: Array
    trace: float


@dataclass(frozen=True)
class Whitening(Sized):
    """W^{-1/2} restricted to its largest eigenvalues, and the root once more in the type of the columns."""

    inverse: InverseRoot
    root: Array  # (c, l)


def whiten(kernel: AnyKernel, landmarks: Array, rank: int, dtype: np.dtype[np.floating]) -> Whitening:
    """The eigensystem of W = k(landmarks, landmarks) in float64, cut to `rank` and to rounding."""
    W = kernel_block(kernel, to_host(landmarks).astype(np.float64))
    inverse = truncated_inverse_root(W, rank, float(np.finfo(dtype).eps))
    return Whitening(inverse, like(inverse.root.astype(dtype), landmarks))


def columns(X: Array, landmarks: RightOperand) -> Array:
    """C_b = k(X_b, landmarks) (b, c)."""
    with _quiet():
        return evaluate(X, landmarks)


def _quiet() -> np.errstate:
    """Overflow is not reported where it happens: the Gram matrix that it spoils is refused by name."""
    return np.errstate(over="ignore", invalid="ignore")


def gram_of_columns(
    C: Array, X: Array, weights: Array | None, landmarks: RightOperand, whitening: Whitening
) -> GramPart:
    """The share of one block in G = R^T R, R = C U_l diag(lam_l)^(-1/2) [K Alg. 3], and in tr(K).

    Float32 products of 1024 rows each are summed in float64. Cost b c l + b l^2.
    """
    xp, root, trace = module_of(C), whitening.root, 0.0
    total = xp.zeros((root.shape[1], root.shape[1]), np.float64)
    with (
        borrowed("whitened", (min(TILE_ROWS, C.shape[0]), root.shape[1]), C.dtype, C) as buffer,
        borrowed("squares", total.shape, C.dtype, C) as square,
        _quiet(),
    ):
        for start in range(0, C.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, C.shape[0]))
            R = xp.matmul(C[rows], root, out=buffer[: rows.stop - start])
            diagonal = kernel_diagonal(landmarks.kernel, X[rows], landmarks.dtype)
            if weights is not None:
                R *= xp.sqrt(weights[rows, None]).astype(R.dtype)
                diagonal *= weights[rows]
            total += xp.matmul(R.T, R, out=square)  # A.T A: half the arithmetic of a general product
            trace += float(diagonal.sum())
    return GramPart(total, trace)


def gram(X: Array, weights: Array | None, landmarks: RightOperand, whitening: Whitening) -> GramPart:
    """`gram_of_columns` for columns that are computed tile by tile and thrown away."""
    share = GramPart(0.0, 0.0)
    shape = (min(TILE_ROWS, X.shape[0]), landmarks.n_rows)
    with borrowed("columns", shape, landmarks.dtype, X) as tile, _quiet():
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            C = evaluate(X[rows], landmarks, out=tile[: rows.stop - start], start=start)
            tile_weights = None if weights is None else weights[rows]
            share = merge_gram([share, gram_of_columns(C, X[rows], tile_weights, landmarks, whitening)])
    return share


def merge_gram(parts: Sequence[GramPart]) -> GramPart:
    """The sum of the shares, in order."""
    return reduce(lambda a, b: GramPart(a.gram + b.gram, a.trace + b.trace), parts)


def features_of_columns(C: Array, components: Array) -> Array:
    """B_b = C_b Q (b, s), tile by tile so that a row's features do not depend on its block."""
    components = components.astype(C.dtype, copy=False)
    B = module_of(C).empty((C.shape[0], components.shape[1]), C.dtype)
    for start in range(0, C.shape[0], TILE_ROWS):
        rows = slice(start, min(start + TILE_ROWS, C.shape[0]))
        _project(C[rows], components, B[rows], start)
    return B


def features(X: Array, landmarks: RightOperand, components: Array, first: int = 0) -> Array:
    """B_b = k(X_b, landmarks) Q (b, s) for rows of any origin; memory stays at one tile of columns.

    `first` is the number of the first row, for errors.
    """
    components = components.astype(landmarks.dtype, copy=False)
    B = module_of(X).empty((X.shape[0], components.shape[1]), landmarks.dtype)
    shape = (min(TILE_ROWS, X.shape[0]), landmarks.n_rows)
    with borrowed("columns", shape, landmarks.dtype, X) as tile, _quiet():
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            C = evaluate(X[rows], landmarks, out=tile[: rows.stop - start], start=first + start)
            _project(C, components, B[rows], first + start)
    return B


def _project(C: Array, components: Array, B: Array, start: int) -> None:
    """B = C Q of one tile. Raises NonFiniteError: kernel values may overflow where rows do not."""
    with _quiet():
        module_of(C).matmul(C, components, out=B)
        check_rows(B.sum(axis=1), start, "the kernel's values")
