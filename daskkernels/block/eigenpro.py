"""Layer 2: EigenPro 2.0 on row blocks: shares of a round's predictions, and its batches solved exactly.

Notation of [E Algorithm 1]: f(x) = k(x, X) alpha + k(x, Z) gamma. The weights of the subsample are kept as
c (p, l) with gamma = V D c: every batch changes them by V D U^T g and uses them as U D c, U = K(., Z) V.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finite import check_rows
from ..kernels import AnyKernel
from ..xp import Array, module_of
from .order import Stretch
from .products import product
from .sized import Sized
from .targets import Encode
from .tiles import RightOperand, evaluate, kernel_diagonal, matvec, prepare


@dataclass(frozen=True)
class Preconditioner(Sized):
    """The directions that P_q damps: k_P(x, z) = k(x, z) - u(x)^T D u(z), u(x) = V^T k(Z, x)."""

    right: RightOperand  # Z (s, d)
    vectors: Array  # V (s, p) float64
    damping: Array  # D (p,) float64

    @property
    def n_directions(self) -> int:
        """p = q - 1."""
        return int(self.damping.shape[0])

    def gamma(self, c: Array) -> Array:
        """The weights V D c of the subsample (s, l)."""
        return self.vectors @ (self.damping[:, None] * c)

    def projections(self, X: Array) -> Array:
        """u(x) for each row of X (b, d): (b, p) float64. Cost 2 b s (d + p)."""
        if self.n_directions == 0:
            return module_of(X).zeros((X.shape[0], 0))
        return matvec(X, self.right, self.vectors)


@dataclass(frozen=True)
class Step:
    """The step of a batch of any length: X(m) = safety * 2 m / (beta + (m - 1) lam') [MATHS 5, ours]."""

    beta: float  # largest k_P(x, x) over all rows
    eigenvalue: float  # lam', the largest of k_P / n, verified on fresh rows
    safety: float = 0.9

    def size(self, m: int) -> float:
        """X(m)."""
        return self.safety * 2.0 * m / (self.beta + (m - 1) * self.eigenvalue)


@dataclass(frozen=True)
class Batch(Sized):
    """The rows of one round in their order, and the same rows ready as the right side of a kernel block."""

    rows: Array  # (M, d) as stored
    targets: Array  # (M, l)
    weights: Array | None  # (M, 1) of the residuals, at most 1
    right: RightOperand
    stretch: Stretch  # which rows they are
    projections: Array | None = None  # U (M, p), where it was kept


@dataclass(frozen=True)
class Share(Sized):
    """What one block adds to a round: its part of the predictions, and its rows of the next round."""

    predictions: Array  # (M, l) float64
    rows: Array  # (m_b, d) as stored, in the order of their numbers
    y: Array
    corners: tuple[Any, ...] = ()  # kept kernel values of the round's rows with each other
    projections: Array | None = None  # kept U of the rows that were picked


@dataclass(frozen=True)
class Solved(Sized):
    """One round: the change of the weights of its rows, c after it, and the squared residuals by batch."""

    change: Array  # (M, l)
    c: Array  # (p, l)
    residuals: np.ndarray  # (batches, 2): of each batch |f - y|^2 before its step, and |y|^2


def batch_of(
    rows: Array,
    y: Array,
    projections: Array | None,
    stretch: Stretch,
    encode: Encode,
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    center: Array | None,
) -> Batch:
    """Rows in the order of a round, made ready."""
    right = prepare(kernel, rows, dtype, center)
    return Batch(rows, encode(y), encode.weights(y), right, stretch, projections)


def picked(share: Share, stretch: Stretch) -> tuple[Array, Array, Array | None]:
    """Rows, y and kept U of the next round, from ascending order into the order of the stretch."""
    places = stretch.places()

    def ordered(part: Array | None) -> Array | None:
        if part is None:
            return None
        result = module_of(part).empty(part.shape, part.dtype)  # C order: sums over columns depend on it
        result[places] = part
        return result

    return ordered(share.rows), ordered(share.y), ordered(share.projections)


def next_batch(share: Share, stretch: Stretch, ready: Callable[..., Batch]) -> Batch:
    """The rows of the next round out of the merged shares of this one."""
    return ready(*picked(share, stretch), stretch)


def share_of_round(
    X: Array,
    y: Array,
    weights: Array,
    before: Sequence[tuple[Stretch, Solved]],
    batch: Batch,
    after: Stretch,
    *,
    start: int,
) -> Share:
    """K(S, X_b) alpha_b (M, l), alpha_b as it is after the rounds `before`, and the rows picked for `after`.

    Cost 2 b M (d + l); rows whose weights are still zero, as most are early in the first epoch, cost nothing.
    """
    weights = updated(weights, before, start=start)
    local, _ = after.within(start, start + len(X))
    return Share(product(X, weights, batch.right), X[local], y[local])


def merge_shares(shares: Sequence[Share]) -> Share:
    """Predictions added in order, picked rows one after another."""
    xp = module_of(shares[0].predictions)
    total = shares[0].predictions.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        for share in shares[1:]:
            total += share.predictions
    rows, y = xp.concatenate([s.rows for s in shares]), xp.concatenate([s.y for s in shares])
    kept = [share.projections for share in shares if share.projections is not None]
    projections = xp.concatenate(kept) if kept else None
    return Share(total, rows, y, tuple(corner for s in shares for corner in s.corners), projections)


def local_strip(batch: Batch, first: int, stop: int, preconditioner: Preconditioner) -> tuple[Array, Array]:
    """K of the rows `first` to `stop` of a round with the rows of the round up to there, and their U."""
    rows = batch.rows[first:stop]
    return evaluate(rows, batch.right.first(stop), start=0), preconditioner.projections(rows)


def solve_round(
    share: Share,
    batch: Batch,
    strips: Sequence[tuple[Array, Array]],
    before: Solved | Array,
    preconditioner: Preconditioner,
    step: Step,
    m: int,
    seen: Array | None = None,
) -> Solved:
    """The batches of a round one after another, exactly as if each had been predicted afresh [ours].

    `seen` as in `solve_batches`. Cost M^2 l + 4 M p l.
    """

    def effect(first: int, stop: int, change: Array) -> Array:
        parts = _within([kernel for kernel, _ in strips], first, stop)
        return module_of(change).concatenate(
            [kernel[:, :first] @ change[:first].astype(kernel.dtype, copy=False) for kernel in parts]
        )

    projections = [projections for _, projections in strips]
    return solve_batches(share, batch, projections, effect, before, preconditioner, step, m, seen)


def solve_batches(
    share: Share,
    batch: Batch,
    projections: Sequence[Array],
    effect: Callable[[int, int, Array], Array],
    before: Solved | Array,
    preconditioner: Preconditioner,
    step: Step,
    m: int,
    seen: Array | None = None,
) -> Solved:
    """g = F + U D c + K(S_j, S_<j) dalpha - y;  dalpha_j = -(X/m) g;  c += (X/m) U_j^T g.

    `projections` hold U (M, p) by strips of rows; `effect(first, stop, dalpha)` is the product with K.
    `seen` (M, p) stands for U in predictions, where they do not see c as gradients change it.
    """
    xp = module_of(batch.rows)
    size, outputs = batch.targets.shape
    damping = preconditioner.damping[:, None]
    change, c = xp.zeros((size, outputs)), (before.c if isinstance(before, Solved) else before).copy()
    residuals: list[tuple[float, float]] = []
    with np.errstate(over="ignore", invalid="ignore"):  # divergence is judged by the solver, not by a warning
        for first in range(0, size, m):
            stop = min(first + m, size)
            g = share.predictions[first:stop] - batch.targets[first:stop]
            U = xp.concatenate(_within(projections, first, stop))
            g += (U if seen is None else seen[first:stop]) @ (damping * c)
            g += effect(first, stop, change)
            residuals.append((float((g * g).sum()), float((batch.targets[first:stop] ** 2).sum())))
            if batch.weights is not None:
                g *= batch.weights[first:stop]
            rate = step.size(stop - first) / (stop - first)
            change[first:stop] = -rate * g
            c += rate * (U.T @ g)
    return Solved(change, c, np.array(residuals))


@dataclass(frozen=True)
class Report(Sized):
    """What a group of rounds leaves besides the weights of its rows."""

    c: Array
    residuals: np.ndarray  # of all batches, as in `Solved`


def report(rounds: Sequence[Solved]) -> Report:
    """The report of a group."""
    return Report(rounds[-1].c, np.concatenate([solved.residuals for solved in rounds]))


def _within(strips: Sequence[Array], first: int, stop: int) -> list[Array]:
    """The rows [first, stop) of what is held in strips of rows one after another."""
    found, start = [], 0
    for strip in strips:
        low, high = max(first, start), min(stop, start + len(strip))
        if low < high:
            found.append(strip[low - start : high - start])
        start += len(strip)
    return found


def updated(weights: Array, rounds: Sequence[tuple[Stretch, Solved]], *, start: int) -> Array:
    """The weights (b, l) of a block after some rounds; the array that is given stays as it is."""
    result = weights
    for stretch, solved in rounds:
        local, places = stretch.within(start, start + len(weights))
        if len(local):
            result = result.copy() if result is weights else result
            result[local] += solved.change[places]
    return result


def with_subsample(weights: Array, indices: np.ndarray, gamma: Array, *, start: int) -> Array:
    """alpha + gamma at the rows of the subsample (their numbers ascending): what predictions take."""
    low, high = np.searchsorted(indices, [start, start + len(weights)])
    if low == high:
        return weights
    weights = weights.copy()
    weights[indices[low:high] - start] += gamma[low:high]
    return weights


def largest_diagonal(X: Array, preconditioner: Preconditioner) -> float:
    """max k_P(x, x) over the rows of a block. Raises NonFiniteError with the row. Cost 2 b s (d + p)."""
    right = preconditioner.right
    diagonal = kernel_diagonal(right.kernel, X, right.dtype)
    check_rows(X.sum(axis=1, dtype=np.float64) if X.dtype.kind == "f" else diagonal)
    u = preconditioner.projections(X)
    return float((diagonal - (u * u) @ preconditioner.damping).max())
