"""Layer 4: the set-up of EigenPro 2.0: how many directions to damp, how long the batches and the steps are.

Everything here is measured: the largest eigenvalue on rows outside the subsample, whose own estimate is
several times too small, and the largest diagonal value on all rows [MATHS 5, ours].
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..block.eigenpro import Preconditioner, Step, largest_diagonal
from ..block.order import Order
from ..block.tiles import kernel_block, kernel_diagonal, prepare
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel
from ..linalg import DegenerateMatrixError, largest_eigenvalue, symmetric_product, top_eigenpairs
from ..rowblocks import RowBlocks
from ..rows import reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import Array, to_host

STAGE = "eigenpro-spectrum"
MOST_ABOVE = 4.0  # times the subsample's own estimate, that lam' on fresh rows may be
LEAST_DIAGONAL = 3e-4  # of max k(x, x), that k_P must leave
POWER = 0.95  # a: how far the directions are damped
BATCH_SHARE = (
    0.25  # of the verified critical batch size: well inside, since exact rounds make short batches free
)


@dataclass(frozen=True)
class Sample:
    """The subsample Z and the fresh rows, or all rows where there are few, with the numbers of Z."""

    indices: np.ndarray  # (s,)
    Z: Array  # (s, d)
    fresh: Array | None  # (t, d); None: the subsample is all there is


@dataclass(frozen=True)
class Spectrum:
    """What was measured and chosen; `assumed` figures are what the subsample alone would have said."""

    indices: np.ndarray  # of the subsample (s,)
    preconditioner: Preconditioner
    step: Step
    batch_size: int  # m
    eigenvalues: np.ndarray  # of K_s / s, the leading ones, descending
    n_used: int  # rows that are trained on
    n_fresh: int
    most_directions: int  # q_cap
    assumed_eigenvalue: float
    assumed_beta: float

    @property
    def n_directions(self) -> int:
        """q; 1 is plain stochastic gradient descent."""
        return self.preconditioner.n_directions + 1

    def with_step(self, size: float) -> Spectrum:
        """The same with X(m) = `size` at its batch size."""
        share = size / replace(self.step, safety=1.0).size(self.batch_size)
        return replace(self, step=replace(self.step, safety=share))

    @property
    def center(self) -> Array | None:
        """What every product subtracts from the rows of both sides (d,)."""
        return self.preconditioner.right.shift

    @property
    def critical_batch(self) -> float:
        """m*: above it, longer batches need as many epochs again."""
        return self.step.beta / self.step.eigenvalue


def draw_sample(rows: RowBlocks, order: Order, s: int, runtime: Runtime, reporter: Reporter) -> Sample:
    """s rows for the eigensystem and min(2 s, 4000) fresh ones; all rows where there are fewer than 3 s."""
    n = order.used
    fresh = n if n < 3 * s else min(2 * s, 4000)
    fresh = 0 if s == n else fresh
    extra = order.rows(0, n) if 0 < fresh == n else order.rows(s, fresh)
    numbers = [np.sort(order.rows(0, s)), np.sort(extra)]
    totals = [take_rows(rows, taken, stage=STAGE) for taken in numbers if len(taken)]
    values, _ = runtime.run(totals, reporter=reporter, stage=STAGE)
    for taken, sample in zip(numbers, values, strict=False):
        check_sample(sample, taken)
    return Sample(numbers[0], values[0], values[1] if fresh else None)


class Candidates:
    """The preconditioned kernels k_P for every q, on the sample: largest eigenvalue and diagonal value."""

    def __init__(self, kernel: AnyKernel, sample: Sample, dtype: np.dtype[np.floating]) -> None:
        self._kernel, self._sample, self._dtype = kernel, sample, dtype
        s = len(sample.Z)
        with ThreadPoolExecutor(1) as other:  # two halves of the work, on a core each
            beside = other.submit(self._values, sample.fresh)
            values, self._vectors = top_eigenpairs(self._values(sample.Z))
            self._fresh_kernel = beside.result()
        self.eigenvalues = np.maximum(values, 0.0)
        if not self.eigenvalues[0] > 0.0:
            raise DegenerateMatrixError(
                "the kernel has no positive eigenvalue on the subsample: nothing can be learned with it"
            )
        floor = 10 * np.finfo(np.float32).eps * self.eigenvalues[0]  # the root of 1e-16 is 1e-8: float64 too
        above = int((self.eigenvalues[: max(s // 4, 1)] > floor).sum())
        self.most = max(1, above)
        self._vectors = self._vectors[:, : self.most]

    def damping(self, q: int) -> np.ndarray:
        """D (q - 1,): (1 - (sigma_q / sigma_i)^a) / sigma_i."""
        sigma = self.eigenvalues[: q - 1]
        damping: np.ndarray = (1.0 - (self.eigenvalues[q - 1] / sigma) ** POWER) / sigma
        return damping

    def largest(self, q: int) -> tuple[float, float]:
        """lam' and beta of k_P on the fresh rows; the exact ones where the subsample is all there is."""
        u, damping = self._projections[:, : q - 1], self.damping(q)
        beta = float((self._diagonal - (u * u) @ damping).max())
        if self._sample.fresh is None:
            return self.assumed(q), beta
        return self._fresh_eigenvalue(u, damping), beta

    def assumed(self, q: int) -> float:
        """lam' as the subsample alone has it [E eq. 4]."""
        sigma = self.eigenvalues
        return float(sigma[0] * (sigma[q - 1] / sigma[0]) ** POWER / len(self._sample.Z))

    def _fresh_eigenvalue(self, u: np.ndarray, damping: np.ndarray) -> float:
        K = self._fresh_kernel

        def product(v: np.ndarray) -> np.ndarray:
            return np.asarray(symmetric_product(K, v) - u @ (damping * (u.T @ v)))

        return largest_eigenvalue(product, len(K)) / len(K)

    def confirmed(self, q: int, eigenvalue: float, beta: float) -> bool:
        """Whether fresh rows see the spectrum that the subsample does, and something is left of the diagonal.

        Directions that only the subsample has are damped in vain: nothing is learned in the others.
        """
        return eigenvalue <= MOST_ABOVE * self.assumed(q) and beta >= LEAST_DIAGONAL * float(
            self._diagonal.max()
        )

    def preconditioner(self, q: int) -> Preconditioner:
        """P_q, ready for row blocks."""
        Z = self._sample.Z
        center = np.median(to_host(Z), axis=0)  # a few rows far away do not move it
        right = prepare(self._kernel, Z, self._dtype, center)
        return Preconditioner(right, self._vectors[:, : q - 1], self.damping(q))

    @cached_property
    def _fresh(self) -> Array:
        return self._sample.Z if self._sample.fresh is None else self._sample.fresh

    @cached_property
    def _projections(self) -> np.ndarray:
        K = kernel_block(self._kernel, self._fresh, self._sample.Z, dtype=np.float64)
        return np.asarray(to_host(K) @ self._vectors)

    def _values(self, rows: Array | None) -> np.ndarray:
        """K of some rows with each other, float64; nothing of none."""
        if rows is None:
            return np.empty((0, 0))
        return to_host(kernel_block(self._kernel, rows, dtype=np.float64))

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return to_host(kernel_diagonal(self._kernel, self._fresh, np.dtype(np.float64)))


def measure_spectrum(
    rows: RowBlocks,
    kernel: AnyKernel,
    order: Order,
    *,
    s: int,
    n_directions: int | None,
    batch_size: int | None,
    most_batch: int,
    batch_share: float,
    dtype: np.dtype[np.floating],
    runtime: Runtime,
    reporter: Reporter,
) -> Spectrum:
    """Choose q (the most directions whose verified critical batch is at most `most_batch`), m and the step.

    Cost: eigenproblems of s x s and a few matrix-vector products with t x t, then one pass of 2 n s (d + q).
    """
    sample = draw_sample(rows, order, s, runtime, reporter)
    with reporter.stage("eigenpro-directions"):
        candidates = Candidates(kernel, sample, dtype)
        q = _most_directions(candidates, most_batch) if n_directions is None else n_directions
        q = min(q, candidates.most)
        eigenvalue, _ = candidates.largest(q)
        preconditioner = candidates.preconditioner(q)
    total = reduce_rows(
        largest_diagonal, rows, operands=[runtime.place(preconditioner)], combine=max, stage=STAGE
    )
    (beta,), _ = runtime.run([total], reporter=reporter, stage=STAGE)
    scale = float(kernel_diagonal(kernel, sample.Z, np.dtype(np.float64)).max())
    beta = max(float(beta), float(np.finfo(dtype).eps) * scale)
    eigenvalue = max(eigenvalue, beta / order.used)  # no matrix has a diagonal above its largest eigenvalue
    m = batch_size or max(1, min(most_batch, int(batch_share * beta / eigenvalue)))
    return Spectrum(
        indices=sample.indices,
        preconditioner=preconditioner,
        step=Step(beta, eigenvalue),
        batch_size=min(m, order.used),
        eigenvalues=candidates.eigenvalues[: candidates.most] / s,
        n_used=order.used,
        n_fresh=0 if sample.fresh is None else len(sample.fresh),
        most_directions=candidates.most,
        assumed_eigenvalue=candidates.assumed(q),
        assumed_beta=scale,
    )


def _most_directions(candidates: Candidates, most_batch: int) -> int:
    """The largest q with m*(q) <= most_batch that fresh rows confirm, by bisection; 1 where there is none."""
    low, high = 1, candidates.most
    while low < high:
        middle = (low + high + 1) // 2
        eigenvalue, beta = candidates.largest(middle)
        if beta <= most_batch * eigenvalue and candidates.confirmed(middle, eigenvalue, beta):
            low = middle
        else:
            high = middle - 1
    return low
