"""Layer 4: what EigenPro learns: the data, the choices of the set-up, the weights, and how a round of it is
computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import eigenpro as block
from ..block import stripes, targets
from ..kernels import AnyKernel
from ..rounds import RoundWork, paired
from ..rowblocks import Operand, RowBlocks, zeros
from ..runtime import Runtime
from ..xp import Array
from .spectrum import Spectrum


@dataclass(frozen=True)
class Weights:
    """A model: alpha by row block (n, l), and c (p, l) with gamma = V D c."""

    alpha: RowBlocks
    c: Array


@dataclass(frozen=True)
class Problem:
    """What is learned: rows and y by block, how y becomes targets, and the choices of the set-up."""

    X: RowBlocks
    y: RowBlocks
    encode: targets.OneHot | targets.Centered
    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    spectrum: Spectrum
    preconditioner: Operand
    round_size: int  # M
    strip_rows: int
    rounds_a_group: int
    streamed: float = 0.0  # share of X that is read in every round
    stripes: RowBlocks | None = None  # kernel values that are kept, so that no product with X is needed
    rounded: bool = False  # whether those are stored in fewer digits than they are computed in
    settles: bool = True  # whether the step is halved after an epoch that did not lower the residual

    @property
    def pair_columns(self) -> int:
        """Multiplications for each pair of rows in an epoch."""
        return (0 if self.stripes else self.X.shape[1]) + self.encode.n_outputs

    def sources(self) -> tuple[RowBlocks, Callable[[int], Sequence[int]] | None]:
        """The blocks that the tasks of a round read, and the blocks whose weights each of them takes."""
        if self.stripes is None:
            return self.X, None
        return paired(self.X, self.stripes), partial(stripes.neighbours, n_blocks=self.X.grid.n_blocks)

    def ready(self) -> Callable[..., block.Batch]:
        """What makes a batch of rows, y and U."""
        return partial(
            block.batch_of,
            encode=self.encode,
            kernel=self.kernel,
            dtype=self.dtype,
            center=self.spectrum.center,
        )

    def round_work(self, step: block.Step) -> RoundWork:
        """The block functions, bound to the choices of this fit."""
        kept = self.stripes is not None
        solve = stripes.solve_with_corners if kept else block.solve_round
        return RoundWork(
            share=stripes.share_of_stripe if kept else block.share_of_round,
            merge=block.merge_shares,
            batch=partial(block.next_batch, ready=self.ready()),
            local=stripes.projected if kept else block.local_strip,
            solve=partial(solve, step=step, m=self.spectrum.batch_size),
            update=block.updated,
            report=block.report,
            picked=block.picked,
        )

    def predicting(self, weights: Weights, runtime: Runtime) -> tuple[RowBlocks, np.ndarray, Array]:
        """alpha (n, l), the numbers of the subsampled rows (s,), and their further weights gamma (s, l)."""
        gamma = self.spectrum.preconditioner.gamma(weights.c)
        return weights.alpha, self.spectrum.indices, gamma


def start_weights(problem: Problem) -> Weights:
    """All zero; blocks of zeros are made where they are used."""
    outputs = problem.encode.n_outputs
    alpha = zeros(problem.X.grid, outputs, np.float64)
    return Weights(alpha, np.zeros((problem.spectrum.preconditioner.n_directions, outputs)))
