"""Layer 4: FALKON: preconditioned conjugate gradients for the weights of M centers, one pass an iteration.

(K^T W K + lam sum(w) K(Z, Z)) a = K^T W Y, K = K(X, Z) (n, M), with a = T^-1 A^-1 b [Rudi 2017]; every column
of Y has coefficients of its own and stops by itself. All that iterates is M x l, float64, in the client.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..block import falkon as block
from ..block.nystrom import columns
from ..block.targets import Encode
from ..block.tiles import prepare
from ..callers import warn
from ..events import Iteration, Reporter
from ..kernels import AnyKernel
from ..linalg import NumericalWarning
from ..rowblocks import Operand, RowBlocks
from ..rows import Total, map_reduce_rows, reduce_rows
from ..runtime import Runtime
from ..xp import Array, to_host

STAGE, START = "falkon-pass", "falkon-start"


@dataclass(frozen=True)
class Problem:
    """What is learned: rows, y and weights by block, how y becomes targets, kernel, centers, penalty."""

    X: RowBlocks
    y: RowBlocks
    weights: RowBlocks
    encode: Encode
    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    centers: Array  # Z (M, d)
    penalty: float  # lam

    @property
    def n_outputs(self) -> int:
        """l."""
        return self.encode.n_outputs


@dataclass(frozen=True)
class Prepared:
    """A problem made ready: the blocks that passes read (rows, or kernel values), and small things."""

    problem: Problem
    blocks: RowBlocks  # X (n, d), or K (n, M) and `right` is None in the tasks
    right: Operand
    preconditioner: block.Preconditioner
    rhs: np.ndarray  # A^-T T^-T K^T W Y / sum(w) (M, l)
    mean_square: float  # of the targets, over rows by their weights and over outputs
    weight: float  # sum(w)
    runtime: Runtime
    reporter: Reporter

    @property
    def kept(self) -> bool:
        """Whether the kernel values are kept."""
        return self.blocks is not self.problem.X


@dataclass
class Iterates:
    """A fit on its way: all that is needed to go on with it."""

    b: np.ndarray  # (M, l)
    r: np.ndarray  # residual
    p: np.ndarray  # direction; 0 in columns that have come to their end
    iteration: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    best: np.ndarray | None = None  # b, by validation loss
    best_loss: float = np.inf
    since: int = 0  # iterations without a better loss

    @classmethod
    def of(cls, prepared: Prepared) -> Iterates:
        """The beginning, all zero."""
        return cls(np.zeros_like(prepared.rhs), prepared.rhs.copy(), prepared.rhs.copy())

    @property
    def kept(self) -> np.ndarray:
        """The b to keep: the best where there is validation, else the last."""
        return self.b if self.best is None else self.best


def start(
    problem: Problem,
    center_weights: np.ndarray | None,
    *,
    keep: bool,
    runtime: Runtime,
    reporter: Reporter,
) -> Prepared:
    """The first pass, K^T W Y, and the preconditioner; kernel values are kept where asked for.

    Cost 2 n M (d + l) and 2 M^2 d + M^3. Raises NonFiniteError (with the row), DegenerateMatrixError.
    """
    right = runtime.place(prepare(problem.kernel, problem.centers, problem.dtype))
    encode = runtime.place(problem.encode)
    total, blocks = _first_pass(problem, right, encode, keep)
    arguments = (problem.kernel, problem.centers, center_weights, problem.penalty, problem.dtype)
    wanted = [total]
    if runtime.machine.in_process:  # on one core, while the others pass over the rows
        task = runtime.defer("falkon-preconditioner", block.precondition, *arguments)
        wanted.append(Total(task.node.key, task.graph))
    values, kept = runtime.run(wanted, blocks, reporter=reporter, stage=START)
    if len(values) == 1:
        with reporter.stage("falkon-preconditioner"):
            values.append(block.precondition(*arguments))
    first, preconditioner = values
    rhs = preconditioner.back(to_host(first.product)) / first.weight
    mean_square = float(to_host(first.squares).sum()) / (first.weight * problem.n_outputs)
    if kept:
        right = runtime.place(None)
    return Prepared(
        problem,
        kept[0] if kept else problem.X,
        right,
        preconditioner,
        rhs,
        mean_square,
        first.weight,
        runtime,
        reporter,
    )


def _first_pass(
    problem: Problem, right: Operand, encode: Operand, keep: bool
) -> tuple[Total, list[RowBlocks]]:
    """K^T W Y, lazily, and the kernel values where they are to be kept."""
    merge: dict[str, Any] = {"combine": block.merge_starts, "stage": START}
    if not keep:
        operands = [right, encode]
        return reduce_rows(
            block.start_share, problem.X, problem.y, problem.weights, operands=operands, **merge
        ), []
    made, total = map_reduce_rows(
        columns,
        block.start_of_columns,
        problem.X,
        problem.y,
        problem.weights,
        make_operands=[right],
        share_operands=[encode],
        kept="falkon-columns",
        columns=len(problem.centers),
        dtype=problem.dtype,
        **merge,
    )
    return total, [made]


def iterate(
    prepared: Prepared,
    state: Iterates,
    *,
    max_iter: int,
    tol: float,
    patience: int | None,
    validate: Callable[[np.ndarray], dict[str, float]] | None,
    after: Callable[[], None],
) -> None:
    """Go on to `max_iter` iterations, until every |r| is under tol |rhs|, or validation is out of patience.

    `validate` takes a (M, l); `after` is called when an iteration is over. Cost 2 n M (d + 2 l) an iteration.
    """
    while state.iteration < max_iter and state.p.any() and not (patience and state.since >= patience):
        started = time.perf_counter()
        inner = _step(prepared, state, tol)
        state.iteration += 1
        figures = _figures(prepared, state, inner, time.perf_counter() - started)
        if validate is not None:
            figures |= validate(prepared.preconditioner.weights(state.b))
            loss = figures["validation_mse"]
            state.since = 0 if loss < state.best_loss else state.since + 1
            if loss < state.best_loss:
                state.best, state.best_loss = state.b, loss
        state.history.append(figures)
        prepared.reporter.emit(Iteration(STAGE, state.iteration, dict(figures)))
        after()
    _warn_if_stuck(prepared, state, tol)


def _warn_if_stuck(prepared: Prepared, state: Iterates, tol: float) -> None:
    """An output may have come to its end before its residual is small."""
    rounding = float(np.finfo(prepared.problem.dtype).eps)
    left = _squares(state.r) > max(tol, rounding) ** 2 * _squares(prepared.rhs)
    if bool((left & ~state.p.any(axis=0)).any()):
        warn(
            f"iteration {state.iteration} left nothing but rounding of the {prepared.problem.dtype} kernel "
            "values: raise penalty or tol, or compute with dtype='float64'",
            NumericalWarning,
        )


def _step(prepared: Prepared, state: Iterates, tol: float) -> np.ndarray:
    """One step of conjugate gradients in every column that goes on; returns A^-1 b after it."""
    P, before, goal = prepared.preconditioner, _squares(state.r), tol**2 * _squares(prepared.rhs)
    inner = P.inner(state.p)
    product = P.back(_passed(prepared, P.weights(state.p)) / prepared.weight, inner)
    curvature = (state.p * product).sum(axis=0)
    live = curvature > 0  # 0 where p is; below, and NaN, where rounding is all that is left
    length = np.divide(before, curvature, out=np.zeros_like(before), where=live)
    state.b, state.r = state.b + length * state.p, state.r - length * product
    after = _squares(state.r)
    live &= after > goal
    ratio = np.divide(after, before, out=np.zeros_like(before), where=live)
    state.p = np.where(live, state.r + ratio * state.p, 0.0)
    return P.inner(state.b)


def _passed(prepared: Prepared, v: np.ndarray) -> np.ndarray:
    """K^T W K v (M, l): the pass over all rows."""
    problem, runtime = prepared.problem, prepared.runtime
    operands = [prepared.right, runtime.place(v.astype(problem.dtype))]
    total = reduce_rows(
        block.pass_share, prepared.blocks, problem.weights, operands=operands, combine=sum, stage=STAGE
    )
    (found,), _ = runtime.run([total], reporter=prepared.reporter, stage=STAGE)
    return to_host(found)


def _figures(prepared: Prepared, state: Iterates, inner: np.ndarray, seconds: float) -> dict[str, float]:
    """What is known of an iteration before it is validated.

    The squared error is that of the targets - b.(rhs + r) - lam |A^-1 b|^2, which needs no pass.
    """
    problem = prepared.problem
    (n, d), M, outputs = problem.X.shape, len(problem.centers), problem.n_outputs
    squares = _squares(prepared.rhs)
    relative = np.divide(_squares(state.r), squares, out=np.zeros_like(squares), where=squares > 0)
    gained = float((state.b * (prepared.rhs + state.r)).sum() + problem.penalty * _squares(inner).sum())
    return {
        "iteration": state.iteration,
        "seconds": seconds,
        "residual": float(np.sqrt(relative.max())),
        "train_mse": max(0.0, prepared.mean_square - gained / outputs),
        "rows_per_second": n / seconds,
        "gflops": 2.0 * n * M * ((0 if prepared.kept else d) + 2 * outputs) / seconds / 1e9,
    }


def _squares(x: np.ndarray) -> np.ndarray:
    """The squared norm of every column (l,)."""
    return np.asarray((x * x).sum(axis=0))
