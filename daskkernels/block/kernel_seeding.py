"""Layer 2: one block's share of k-means++ in feature space: it takes columns of K for chosen rows.

Every restart has its own stream of random numbers; columns are computed in float64, centered on their row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels import AnyKernel
from ..xp import Array, to_host
from .draw import uniforms
from .sized import Sized
from .tiles import RightOperand, evaluate, kernel_diagonal, prepare

_F64 = np.dtype(np.float64)
_SAME = 1e-12  # of k(x, x) + k(z, z): a smaller squared distance is rounding


@dataclass(frozen=True)
class Pick(Sized):
    """The row z chosen last in one restart: made ready, and k(z, z)."""

    right: RightOperand
    diagonal: float

    @classmethod
    def of(cls, kernel: AnyKernel, row: Array) -> Pick:
        """Make a row z (d,) ready; it is its own center, so that rows equal to it are at distance 0."""
        z = row[None]
        return cls(prepare(kernel, z, _F64), float(kernel_diagonal(kernel, z, _F64)[0]))


def nearer(X: Array, state: Array | None, picks: Sequence[Pick | None], *, step: int) -> np.ndarray:
    """The state (b, 2 R) with a chosen row more in every restart: squared distances to the nearest, and its
    number. Cost 2 b d a restart.

    `state` is None before the first one; a restart whose rows are all chosen has no pick.
    """
    if state is None:
        state = np.concatenate([np.full((len(X), len(picks)), np.inf), np.zeros((len(X), len(picks)))], 1)
    result, count = state.copy(), len(picks)
    for r, pick in enumerate(picks):
        if pick is None:
            continue
        own = to_host(kernel_diagonal(pick.right.kernel, X, _F64))
        d2 = own - 2.0 * to_host(evaluate(X, pick.right))[:, 0] + pick.diagonal
        d2[d2 <= _SAME * (np.abs(own) + abs(pick.diagonal))] = 0.0
        closer = np.flatnonzero(d2 < result[:, r])
        result[closer, r], result[closer, count + r] = d2[closer], step
    return result


def race(block: Array, state: Array | None, keys: Sequence[int], *, start: int) -> np.ndarray:
    """The block's candidate for the next row of each restart, drawn with probability proportional to d^2.

    An exponential race (R, 2): the smallest -log(u) / d^2 of its rows, and the row. Rows are at distance 1
    before the first is chosen; infinite where all are at distance 0.
    """
    winners = np.empty((len(keys), 2))
    for r, key in enumerate(keys):
        mass = np.ones(len(block)) if state is None else to_host(state)[:, r]
        with np.errstate(divide="ignore"):
            times = -np.log(uniforms(key, start, len(block))) / mass
        first = int(times.argmin())
        winners[r] = times[first], start + first
    return winners


def merge_race(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The winners of several blocks, restart by restart; the lower row of equal times."""
    together = np.stack(parts)  # (parts, R, 2)
    best = np.array([np.lexsort((rows[:, 1], rows[:, 0]))[0] for rows in together.transpose(1, 0, 2)])
    return np.asarray(together[best, np.arange(together.shape[1])])


def seeded_labels(state: Array) -> np.ndarray:
    """Labels (b, R) int32: the nearest of the chosen rows."""
    return to_host(state)[:, state.shape[1] // 2 :].astype(np.int32)
