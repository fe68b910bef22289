"""Layer 2: counts, means and squared deviations of a block in float64, and their exact merging (Chan, Golub,
LeVeque 1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..finite import check_rows
from ..xp import Array, module_of
from .sized import Sized
from .workspace import borrowed

_ROWS = 256  # rows converted to float64 at a time: they stay in the cache for the three sweeps over them


@dataclass(frozen=True)
class Moments(Sized):
    """Weight (a count without weights), mean (d,) and summed squared deviations M2 (d,) of some rows."""

    weight: float
    mean: Array
    m2: Array

    @property
    def variance(self) -> Array:
        """Population variance of each column (d,)."""
        return self.m2 / self.weight

    def mean_squared_distance(self) -> float:
        """(1/n^2) sum_ij |a_i - a_j|^2 = 2 sum_f Var_f [K eq. 5]."""
        return float(2.0 * self.variance.sum())


def block_moments(X: Array, weights: Array | None = None) -> Moments:
    """Moments of a block X (b, d), rows weighted by `weights` (b,). Raises NonFiniteError naming the row."""
    xp, n = module_of(X), X.shape[0]
    merged = Moments(0.0, xp.zeros(X.shape[1]), xp.zeros(X.shape[1]))
    with borrowed("moments", (min(_ROWS, n), X.shape[1]), np.float64, X) as buffer:
        for start in range(0, n, _ROWS):
            stop = min(start + _ROWS, n)
            rows = buffer[: stop - start]
            rows[...] = X[start:stop]
            with np.errstate(over="ignore", invalid="ignore"):
                if X.dtype.kind == "f":
                    check_rows(rows.sum(axis=1), start)
                part = _moments(rows, None if weights is None else weights[start:stop])
            merged = _merge_two(merged, part)
    return merged


def _moments(rows: Array, weights: Array | None) -> Moments:
    """Moments of a few rows (b, d) in float64; the rows are spoiled."""
    xp = module_of(rows)
    if weights is None:
        mean = rows.mean(axis=0)
        rows -= mean
        return Moments(float(rows.shape[0]), mean, xp.einsum("ij,ij->j", rows, rows))
    weight = float(weights.sum())
    mean = weights @ rows / weight if weight > 0 else xp.zeros(rows.shape[1])
    rows -= mean
    return Moments(weight, mean, xp.einsum("i,ij,ij->j", weights, rows, rows))


def merge_moments(parts: Sequence[Moments]) -> Moments:
    """The moments of all the rows together."""
    return reduce(_merge_two, parts)


def _merge_two(a: Moments, b: Moments) -> Moments:
    weight = a.weight + b.weight
    if weight == 0.0:
        return a
    delta = b.mean - a.mean
    share = b.weight / weight
    with np.errstate(over="ignore", invalid="ignore"):  # a variance that is not finite is refused by its user
        return Moments(weight, a.mean + delta * share, a.m2 + b.m2 + delta**2 * (a.weight * share))


def standardize(X: Array, mean: Array | None, scale: Array | None, dtype: np.dtype[np.floating]) -> Array:
    """(X - mean) / scale (b, d) in `dtype`, the difference taken in float64 when the rows are not exact in
    `dtype`.
    """
    result = X.astype(np.float64, order="C")
    with np.errstate(over="ignore", invalid="ignore"):
        check_rows(result.sum(axis=1))
    if mean is not None:
        result -= mean
    if scale is not None:
        result /= scale
    return result.astype(dtype)
