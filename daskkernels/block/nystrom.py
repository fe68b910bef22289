"""Layer 2: the Nyström method on one block: its columns, its share of the Gram matrix, its features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..grid import TILE_ROWS
from ..xp import Array, module_of
from .tiles import RightOperand, evaluate, kernel_diagonal


@dataclass(frozen=True)
class GramPart:
    """A block's share of pass one: G = sum of R_b^T R_b (l, l) in float64, and of tr(K)."""

    gram: Array
    trace: float


def columns(X: Array, landmarks: RightOperand) -> Array:
    """C_b = k(X_b, landmarks) (b, c)."""
    with _quiet():
        return evaluate(X, landmarks)


def _quiet() -> np.errstate:
    """Overflow is not reported where it happens: the Gram matrix it spoils is refused by name."""
    return np.errstate(over="ignore", invalid="ignore")


def gram_of_columns(
    C: Array, X: Array | None, weights: Array | None, landmarks: RightOperand, root: Array
) -> GramPart:
    """The share of one block in G = R^T R, R = C U_l diag(lam_l)^(-1/2) [K Alg. 3], and in tr(K).

    Float32 products of 1024 rows each are summed in float64. Cost b c l + b l^2. X is needed only where
    k(x, x) is not 1.
    """
    xp, trace = module_of(C), 0.0
    root = root.astype(C.dtype, copy=False)
    diagonal = xp.ones(C.shape[0]) if X is None else kernel_diagonal(landmarks.kernel, X, landmarks.dtype)
    gram = xp.zeros((root.shape[1], root.shape[1]), np.float64)
    R = xp.empty((min(TILE_ROWS, C.shape[0]), root.shape[1]), C.dtype)
    with _quiet():
        for start in range(0, C.shape[0], TILE_ROWS):
            tile = C[start : start + TILE_ROWS]
            rows = xp.matmul(tile, root, out=R[: tile.shape[0]])
            if weights is not None:
                rows *= xp.sqrt(weights[start : start + TILE_ROWS, None]).astype(C.dtype)
            gram += rows.T @ rows  # A.T @ A: half the arithmetic of a general product
            if weights is not None:
                diagonal[start : start + TILE_ROWS] *= weights[start : start + TILE_ROWS]
            trace += float(diagonal[start : start + TILE_ROWS].sum())
    return GramPart(gram, trace)


def gram(X: Array, weights: Array | None, landmarks: RightOperand, root: Array) -> GramPart:
    """`gram_of_columns` for columns computed tile by tile and thrown away: memory stays at one tile."""
    parts = []
    for start in range(0, X.shape[0], TILE_ROWS):
        rows = X[start : start + TILE_ROWS]
        tile_weights = None if weights is None else weights[start : start + TILE_ROWS]
        parts.append(gram_of_columns(columns(rows, landmarks), rows, tile_weights, landmarks, root))
    return merge_gram(parts)


def merge_gram(parts: Sequence[GramPart]) -> GramPart:
    """The sum of the shares, in order."""
    return reduce(lambda a, b: GramPart(a.gram + b.gram, a.trace + b.trace), parts)


def features_of_columns(C: Array, components: Array) -> Array:
    """B_b = C_b Q (b, s), tile by tile so that a row's features do not depend on its block."""
    xp = module_of(C)
    components = components.astype(C.dtype, copy=False)
    B = xp.empty((C.shape[0], components.shape[1]), C.dtype)
    for start in range(0, C.shape[0], TILE_ROWS):
        xp.matmul(C[start : start + TILE_ROWS], components, out=B[start : start + TILE_ROWS])
    return B


def features(X: Array, landmarks: RightOperand, components: Array) -> Array:
    """B_b = k(X_b, landmarks) Q (b, s) for rows of any origin; memory stays at one tile of columns."""
    xp = module_of(X)
    B = xp.empty((X.shape[0], components.shape[1]), landmarks.dtype)
    for start in range(0, X.shape[0], TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        B[rows] = features_of_columns(evaluate(X[rows], landmarks), components)
    return B
