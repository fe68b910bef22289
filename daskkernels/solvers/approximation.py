"""Layer 4: how far B B^T is from K in three norms, without either: traces, sampled columns, Lanczos."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import approximation as block
from ..block.draw import stream_keys
from ..block.tiles import prepare
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel
from ..rounds import inline
from ..rowblocks import RowBlocks, absent, cut
from ..rows import map_rows, reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import to_host
from .products import kernel_product

ACCURACY = 0.01  # residual of the largest eigenvector, relative; its eigenvalue is far more accurate
STEPS = 60  # of Lanczos at most
STAGE = "approximation-product"


@dataclass(frozen=True)
class Norms:
    """A norm of K - B B^T, the same of K, and how uncertain their ratio is."""

    error: float
    kernel: float
    uncertainty: float = 0.0


@dataclass(frozen=True)
class Factored:
    """K of the rows of X, approximated by B B^T: both (n, ...) on one grid, ready for many passes."""

    X: RowBlocks
    B: RowBlocks
    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    runtime: Runtime
    reporter: Reporter


def trace_norm(of: Factored) -> Norms:
    """tr K and tr K - tr B B^T, exact; one pass over both."""
    stage = "approximation-trace"
    function = partial(block.traces, kernel=of.kernel, dtype=of.dtype)
    total = reduce_rows(function, of.X, of.B, combine=block.added, stage=stage)
    (found,), _ = of.runtime.run([total], reporter=of.reporter, stage=stage)
    return Norms(float(found[1]), float(found[0]))


def frobenius_norm(of: Factored, columns: int, rng: np.random.Generator) -> Norms:
    """Both norms from `columns` columns, drawn uniformly without replacement. Cost 2 n columns (d + s).

    |E|^2 is n times the mean square of a column; the uncertainty is that of a ratio of means, 0 for all.
    """
    stage, n = "approximation-columns", of.X.grid.n_rows
    chosen = np.sort(rng.choice(n, columns, replace=False))
    taken = [take_rows(rows, chosen, stage=stage) for rows in (of.X, of.B)]
    (rows, features), _ = of.runtime.run(taken, reporter=of.reporter, stage=stage)
    check_sample(rows, chosen)
    operands = [
        of.runtime.place(prepare(of.kernel, rows, of.dtype)),
        of.runtime.place(to_host(features).astype(np.float64)),
    ]
    total = reduce_rows(block.column_squares, of.X, of.B, operands=operands, combine=block.added, stage=stage)
    ((kernel, error),), _ = of.runtime.run([total], reporter=of.reporter, stage=stage)
    norms = [float(np.sqrt(n * squares.mean())) for squares in (error, kernel)]
    return Norms(norms[0], norms[1], _uncertainty(error, kernel, n))


def _uncertainty(error: np.ndarray, kernel: np.ndarray, n: int) -> float:
    """Standard error of sqrt(mean error / mean kernel) of m of n columns."""
    m, ratio = len(error), float(error.mean() / kernel.mean()) if kernel.any() else 0.0
    if m == n or ratio == 0.0:
        return 0.0
    if m == 1:
        return float("inf")
    spread = float(np.var(error - ratio * kernel, ddof=1)) * (1 - m / n) / m
    return float(np.sqrt(spread) / kernel.mean() / (2 * np.sqrt(ratio)))


@dataclass(frozen=True)
class _Vectors:
    """The vectors of a step (n, 2), not normalised, with the merged `products` of them."""

    rows: RowBlocks
    share: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """(2,)."""
        return np.asarray(np.sqrt(self.share[-2:]))


def spectral_norm(of: Factored, seed: np.random.SeedSequence) -> Norms:
    """The largest |eigenvalue| of K - B B^T and of K, by Lanczos's three-term recurrence for both at once.

    A power iteration whose earlier steps are not thrown away. Cost 2 n^2 d a step; two vectors are kept.
    """
    start = partial(block.start_vectors, keys=stream_keys(seed, 1) * 2)
    current = _kept(of, inline(start, of.X, columns=2, dtype=np.float64, numbered=True))
    before: _Vectors | None = None
    alphas: list[np.ndarray] = []
    betas: list[np.ndarray] = []
    for _ in range(min(STEPS, of.X.grid.n_rows)):
        alpha, following = _step(of, current, before)
        alphas.append(alpha)
        betas.append(following.lengths)
        found = [_largest(np.array(alphas)[:, i], np.array(betas)[:, i]) for i in (0, 1)]
        if before is not None:
            of.runtime.release(before.rows)
        before, current = current, following
        if all(residual <= ACCURACY * value for value, residual in found):
            break
    (error, error_residual), (kernel, kernel_residual) = found
    if kernel == 0.0:
        return Norms(error, kernel)
    return Norms(error, kernel, error_residual / kernel + kernel_residual * error / kernel**2)


def _kept(of: Factored, rows: RowBlocks) -> _Vectors:
    """Vectors computed and held by the workers, with their products."""
    total = reduce_rows(block.products, of.B, rows, combine=block.added, stage=f"{STAGE}-lengths")
    (share,), (kept,) = of.runtime.run([total], [rows], reporter=of.reporter, stage=STAGE)
    return _Vectors(kept, share)


def _step(of: Factored, current: _Vectors, before: _Vectors | None) -> tuple[np.ndarray, _Vectors]:
    """One pass: the Rayleigh quotients (2,) of the vectors, and the vectors after them."""
    P, share = current.rows, of.runtime.place(current.share)
    KP = kernel_product(
        of.kernel, of.dtype, None, of.X, of.X, P, stage=STAGE, finish=np.asarray, columns=2, out=np.float64
    )
    made = partial(map_rows, stage=f"{STAGE}-vectors", columns=2, dtype=np.float64)
    W = made(block.applied, cut(KP, P.grid), of.B, operands=[share])
    alpha = reduce_rows(
        block.rayleigh, W, P, operands=[share], combine=block.added, stage=f"{STAGE}-quotients"
    )
    operands = [
        alpha.operand(),
        share,
        of.runtime.place(None if before is None else before.share),
    ]
    following = made(
        block.orthogonal, W, P, absent(P.grid) if before is None else before.rows, operands=operands
    )
    total = reduce_rows(block.products, of.B, following, combine=block.added, stage=f"{STAGE}-lengths")
    (alphas, found), (kept,) = of.runtime.run([alpha, total], [following], reporter=of.reporter, stage=STAGE)
    return alphas, _Vectors(kept, found)


def _largest(alphas: np.ndarray, betas: np.ndarray) -> tuple[float, float]:
    """The largest |eigenvalue| of the tridiagonal matrix, and the length of its residual."""
    T = np.diag(alphas) + np.diag(betas[:-1], 1) + np.diag(betas[:-1], -1)
    values, vectors = np.linalg.eigh(T)
    best = int(np.abs(values).argmax())
    return float(abs(values[best])), float(betas[-1] * abs(vectors[-1, best]))
