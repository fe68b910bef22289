"""Layer 2: spectral clustering with Nyström columns on one block: column sums, degrees, its rows of the
eigenvectors [Fowlkes et al. 2004].

Rows are whitened in the type of the columns; degrees and all sums are float64.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..grid import TILE_ROWS
from ..xp import Array, like, module_of
from .nystrom import features, features_of_columns
from .sized import Sized
from .tiles import RightOperand, evaluate, kernel_diagonal
from .workspace import borrowed


@dataclass(frozen=True)
class DegreePart(Sized):
    """A block's share of G = R^T diag(1/d) R (l, l) in float64, and how many of its degrees were replaced."""

    gram: Array
    n_floored: int = 0

    def __add__(self, other: DegreePart) -> DegreePart:
        return DegreePart(self.gram + other.gram, self.n_floored + other.n_floored)


def sums_of_columns(C: Array, _X: Array) -> Array:
    """C_b^T 1 (c,) in float64 of columns that are kept, tile by tile."""
    tiles = (C[start : start + TILE_ROWS] for start in range(0, C.shape[0], TILE_ROWS))
    return reduce(operator.add, (tile.sum(axis=0, dtype=np.float64) for tile in tiles))


def column_sums(X: Array, landmarks: RightOperand) -> Array:
    """The same of columns that are computed tile by tile and thrown away. Cost b c d."""
    sums = module_of(X).zeros(landmarks.n_rows, np.float64)
    shape = (min(TILE_ROWS, X.shape[0]), landmarks.n_rows)
    with borrowed("columns", shape, landmarks.dtype, X) as tile:
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            C = evaluate(X[rows], landmarks, out=tile[: rows.stop - start], start=start)
            sums += C.sum(axis=0, dtype=np.float64)
    return sums


def degrees_of_columns(C: Array, X: Array, landmarks: RightOperand, root: Array, v: Array) -> DegreePart:
    """d_b = R_b v and the share of G, R_b = C_b U diag(lam)^(-1/2), v = R^T 1 (l,). Cost b c l + b l^2.

    A degree that is not above its rounding, eps |r| |v|, says nothing: it becomes k(x, x), which a row has
    that is like no other.
    """
    xp, part = module_of(C), DegreePart(0.0)
    shape = (min(TILE_ROWS, C.shape[0]), root.shape[1])
    with (
        borrowed("whitened", shape, C.dtype, C) as buffer,
        borrowed("squares", (root.shape[1], root.shape[1]), C.dtype, C) as square,
    ):
        for start in range(0, C.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, C.shape[0]))
            R = xp.matmul(C[rows], root, out=buffer[: rows.stop - start])
            degrees, floored = _degrees(R, X[rows], landmarks, v)
            R /= xp.sqrt(degrees).astype(R.dtype)[:, None]
            part += DegreePart(xp.matmul(R.T, R, out=square).astype(np.float64), floored)
    return part


def _degrees(R: Array, X: Array, landmarks: RightOperand, v: Array) -> tuple[Array, int]:
    """The degrees (b,) of a tile, all positive, and how many had to be made so."""
    xp, v = module_of(R), like(v, R)
    with borrowed("whitened-float64", R.shape, np.float64, R) as exact:
        exact[...] = R
        degrees = exact @ v
        rounding = float(np.finfo(R.dtype).eps) * xp.sqrt(xp.einsum("ij,ij->i", exact, exact) * (v @ v))
    bad = ~(degrees > rounding)
    count = int(bad.sum())
    if count:
        alone = kernel_diagonal(landmarks.kernel, X[bad], landmarks.dtype)
        degrees[bad] = xp.where(alone > 0, alone, 1.0)
    return degrees, count


def degrees(X: Array, landmarks: RightOperand, root: Array, v: Array) -> DegreePart:
    """`degrees_of_columns` for columns that are computed tile by tile and thrown away."""
    part = DegreePart(0.0)
    shape = (min(TILE_ROWS, X.shape[0]), landmarks.n_rows)
    with borrowed("columns", shape, landmarks.dtype, X) as tile:
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            C = evaluate(X[rows], landmarks, out=tile[: rows.stop - start], start=start)
            part += degrees_of_columns(C, X[rows], landmarks, root, v)
    return part


def merge_parts(parts: Sequence[DegreePart]) -> DegreePart:
    """The sum of the shares, in order."""
    return reduce(operator.add, parts)


def directions_of_columns(C: Array, components: Array) -> Array:
    """The rows of V (b, k) scaled to length 1, from kept columns: diag(d)^(-1/2) cancels in the scaling."""
    return _unit_rows(features_of_columns(C, components))


def directions(X: Array, landmarks: RightOperand, components: Array) -> Array:
    """The same for rows of any origin. Cost b c (d + k)."""
    return _unit_rows(features(X, landmarks, components))


def _unit_rows(V: Array) -> Array:
    """Rows scaled to length 1; a row of zeros, which no landmark is like, stays."""
    xp = module_of(V)
    exact = V.astype(np.float64)  # the squares of what far rows have vanish in float32
    lengths = xp.sqrt(xp.einsum("ij,ij->i", exact, exact))
    exact /= xp.where(lengths > 0, lengths, 1.0)[:, None]
    return exact.astype(V.dtype)
