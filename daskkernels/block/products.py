"""Layer 2: one block's share of a kernel matrix times a matrix of weights, in tiles that are never kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels import AnyKernel
from ..xp import Array, module_of
from .tiles import RightOperand, prepare, transposed_matvec

LIVE = 0.9  # rows whose weights are zero are left out of the product where this share, or less, remains


def right_side(
    parts: Sequence[Array], kernel: AnyKernel, dtype: np.dtype[np.floating], center: Array | None
) -> RightOperand:
    """Neighbouring blocks of rows to predict, as the right side of a kernel block."""
    xp = module_of(parts[0])
    return prepare(kernel, parts[0] if len(parts) == 1 else xp.concatenate(parts), dtype, center)


def product(X: Array, weights: Array, right: RightOperand) -> Array:
    """K(Z, X) weights (m, l) for a prepared Z, without the rows that have no weight."""
    live = (weights != 0).any(axis=1)
    count = int(live.sum())
    if count == 0:
        return module_of(X).zeros((right.n_rows, weights.shape[1]))
    if count <= LIVE * len(X):
        X, weights = X[live], weights[live]
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is judged by the solver
        return transposed_matvec(X, right, weights)
