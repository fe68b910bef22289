"""Layer 4: EigenPro 1 in exact rounds: the set-up of its n-long eigenvectors, and what its rounds compute.

Batches change the weights of all rows, but only by E D c with a c of p x l numbers: K(S, X) E in the pass of
a round is enough to solve its batches exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial

import numpy as np

from ..block import eigenpro1 as block
from ..block.eigenpro import Step
from ..block.tiles import prepare
from ..events import Reporter
from ..rounds import RoundWork, paired
from ..rowblocks import RowBlocks, absent
from ..rows import map_rows, take_rows
from ..runtime import Runtime
from ..xp import Array, to_host
from .eigenpro_problem import Problem, Weights
from .nystrom import fit_nystrom

EXACT = np.dtype(np.float64)
RANK = 2  # times as many eigenvectors of the subsample as are wanted of all rows


@dataclass(frozen=True)
class LongProblem(Problem):
    """A problem whose preconditioner acts on all rows: its projections of a row are a row of E (n, p)."""

    directions: RowBlocks = field(kw_only=True)

    @property
    def pair_columns(self) -> int:
        """Multiplications for each pair of rows in an epoch."""
        return super().pair_columns + self.spectrum.preconditioner.n_directions

    def sources(self) -> tuple[RowBlocks, Callable[[int], Sequence[int]] | None]:
        """Rows with their part of E."""
        return paired(self.X, self.directions), None

    def round_work(self, step: Step) -> RoundWork:
        """The block functions, those that know of E in the place of EigenPro 2's."""
        solve = partial(block.solve_round, step=step, m=self.spectrum.batch_size)
        return replace(super().round_work(step), share=block.share_of_round, solve=solve)

    def predicting(self, weights: Weights, runtime: Runtime) -> tuple[RowBlocks, np.ndarray, Array]:
        """alpha + E D c (n, l): the subsample has no weights of its own."""
        damping, outputs = self.spectrum.preconditioner.damping, self.encode.n_outputs
        spread = map_rows(
            block.spread,
            weights.alpha,
            self.directions,
            stage="eigenpro1-weights",
            columns=outputs,
            dtype=np.float64,
            operands=[runtime.place(damping[:, None] * weights.c)],
        )
        return spread, np.zeros(0, np.int64), np.zeros((0, outputs))


def lengthened(
    problem: Problem, keep: Callable[[RowBlocks], RowBlocks], runtime: Runtime, reporter: Reporter
) -> LongProblem:
    """The problem of EigenPro 1 with the q, m and step of a problem of EigenPro 2.

    E = R V diag(g)^(-1/2), R R^T the Nyström approximation of K from the 2 q leading eigenvectors of the
    subsample, R^T R = V diag(g) V^T: orthonormal, the eigenvectors of that approximation of all of K, with
    the eigenvalues g. Damping 1 - g_q / g_i, i < q. Cost 2 n s (d + 2 q), and again 2 n s (d + q) for E, both
    in float64: I - E D E^T has eigenvalues down to g_q / g_1, and is not to have one below zero.
    """
    spectrum = problem.spectrum
    q = spectrum.n_directions
    taken = take_rows(problem.X, spectrum.indices, stage="eigenpro1-subsample")
    (Z,), _ = runtime.run([taken], reporter=reporter, stage="eigenpro1-subsample")
    fit = fit_nystrom(
        problem.X,
        problem.kernel,
        Z,
        rank=min(len(Z), RANK * q),
        n_components=None,
        dtype=EXACT,
        keep_columns=False,
        runtime=runtime,
        reporter=reporter,
        weights=absent(problem.X.grid),
    )
    g = to_host(fit.gram_eigenvalues)
    q = min(q, int((g > float(np.finfo(EXACT).eps) * g.sum()).sum()))
    preconditioner = replace(
        spectrum.preconditioner,
        right=prepare(problem.kernel, Z, EXACT, spectrum.center),
        vectors=to_host(fit.map.components)[:, : q - 1] / np.sqrt(g[: q - 1]),
        damping=1.0 - g[q - 1] / g[: q - 1],
    )
    placed = runtime.place(preconditioner)
    rows = map_rows(
        partial(block.directions, dtype=problem.dtype),
        problem.X,
        stage="eigenpro1-directions",
        columns=q - 1,
        dtype=problem.dtype,
        operands=[placed],
    )
    given = {f.name: getattr(problem, f.name) for f in fields(problem)}
    changed = {"spectrum": replace(spectrum, preconditioner=preconditioner), "preconditioner": placed}
    return LongProblem(**(given | changed), directions=keep(rows))
