"""Layer 2: how well kernels do on a sample, each solved exactly on one half and judged on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels import Stationary
from ..linalg import solve_positive
from ..xp import Array, to_host
from .targets import Encode, OneHot


@dataclass(frozen=True)
class Trial:
    """A kernel and its errors on the half that it was not fitted to, over both halves."""

    kernel: Stationary
    mse: float
    error: float | None  # share of wrong classes

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are compared by: wrong classes first, where there are classes."""
        return (self.mse if self.error is None else self.error, self.mse)


def tried(
    kernels: Sequence[Stationary], sample: tuple[Array, Array], encode: Encode, n: int, epochs: int
) -> list[Trial]:
    """Every kernel on a sample (rows, y) in random order. Cost: one distance matrix, two solves a kernel.

    Training for some epochs fits directions with an eigenvalue of K far above k(x, x) / (1.5 epochs): a ridge
    of that size stands for it, in proportion to the rows that the sample has of all n.
    """
    rows, y = to_host(sample[0]), to_host(sample[1])
    D, targets = _squared_distances(rows), encode(y)
    half = len(rows) // 2
    ridge = half / n / (1.5 * epochs)  # of kernels with k(x, x) = 1
    folds = (slice(0, half), slice(half, 2 * half)), (slice(half, 2 * half), slice(0, half))
    trials = []
    for kernel in kernels:
        K = kernel.tile_map(kernel.coefficient(rows.shape[1]) * D, np.empty_like(D))
        f = np.concatenate(
            [
                K[judged, fitted] @ solve_positive(K[fitted, fitted], targets[fitted], ridge)
                for judged, fitted in folds
            ]
        )
        wrong = None
        if isinstance(encode, OneHot):
            wrong = float((f.argmax(axis=1) != y[: len(f)]).mean())
        trials.append(Trial(kernel, float(((f - targets[: len(f)]) ** 2).mean()), wrong))
    return trials


def _squared_distances(rows: np.ndarray) -> np.ndarray:
    """|x - z|^2 for all pairs (m, m) in float64."""
    X = rows.astype(np.float64)
    X -= X.mean(axis=0)
    norms = np.vecdot(X, X)
    D = norms[:, None] + norms - 2.0 * X @ X.T
    np.maximum(D, 0.0, out=D)
    np.fill_diagonal(D, 0.0)
    return np.asarray(D)
