"""Layer 6: one supervised fit from checked input to trained weights; what the EigenPro estimators share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from ..block import eigenpro as block
from ..block import targets
from ..block.draw import GOLDEN, stream_keys
from ..block.kernel_choice import Trial
from ..block.order import Order
from ..grid import Grid
from ..inputs import Input, InputError
from ..kernels import AnyKernel, Gaussian
from ..plan import X_SHARE, Machine
from ..rounds import inline
from ..rowblocks import RowBlocks
from ..rows import reduce_rows
from ..runtime import Runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.decision import decision_rows, kept_stripes
from ..solvers.eigenpro import Surroundings, Training
from ..solvers.eigenpro_problem import Problem, Weights
from ..solvers.kernel_choice import choose_kernel
from .base import Work, kernel_of, seed_sequence
from .checkpoint import Checkpoint
from .identity import Origin

STAGE = "eigenpro-validate"
VALIDATION_ROWS = 10_000  # at most, of those that `validation_fraction` keeps back


@dataclass(frozen=True)
class Seeds:
    """The streams of one fit."""

    entropy: int | list[int]  # what all of them come from
    bandwidth: np.random.SeedSequence
    base: int  # which rows are trained on
    sample: int  # the subsample and the fresh rows
    epochs: int
    trials: int  # the sample that kernels are tried on

    @classmethod
    def of(cls, random_state: Any, entropy: int | list[int] | None = None) -> Seeds:
        """From the estimator's parameter, or from the entropy of an earlier fit that is gone on with.

        Raises InputError for a parameter that is the seed of another fit.
        """
        if entropy is not None and isinstance(random_state, Integral) and random_state != entropy:
            raise InputError(
                f"random_state={random_state} is of another fit: the one that is gone on with has the seed "
                f"{entropy}; give that seed, or None"
            )
        sequence = seed_sequence(random_state) if entropy is None else np.random.SeedSequence(entropy)
        bandwidth, keys = sequence.spawn(2)
        found = sequence.entropy
        kept = [int(part) for part in found] if isinstance(found, Sequence) else int(found or 0)
        return cls(kept, bandwidth, *stream_keys(keys, 4))

    def order(self, n: int, used: int) -> Callable[[int], Order]:
        """The order of each epoch."""
        return lambda epoch: Order(n, used, self.base, (self.epochs + epoch * GOLDEN) % 2**64)

    def trial(self, n: int, used: int) -> Order:
        """The order that the sample for `kernel="auto"` is drawn in."""
        return Order(n, used, self.base, self.trials)

    def sampling(self, n: int, used: int) -> Order:
        """The order that subsample and fresh rows are drawn in."""
        return Order(n, used, self.base, self.sample)


def n_used(n: int, fraction: float | None) -> int:
    """Rows that are trained on when a fraction is kept back for validation. Raises InputError."""
    if fraction is None:
        return n
    kept = min(max(1, round(fraction * n)), VALIDATION_ROWS)
    if n - kept < 2:
        raise InputError(
            f"validation_fraction={fraction} leaves {n - kept} of {n} rows to train on: wanted 2"
        )
    return n - kept


@dataclass(frozen=True)
class Given:
    """The checked input of a fit: rows, the share of them that streams, targets, and which rows are used."""

    rows: RowBlocks
    streamed: float
    y: RowBlocks
    encode: targets.Encode
    seeds: Seeds
    used: int


def kernel_for(asked: Any, work: Work, given: Given, epochs: int) -> tuple[AnyKernel, list[Trial]]:
    """The kernel with its bandwidth as a number, and the trials it was chosen by."""
    runtime, reporter = work.runtime, work.reporter
    automatic = isinstance(asked, str) and asked == "auto"
    kernel = Gaussian("mean") if automatic else kernel_of(asked)
    rng = np.random.default_rng(given.seeds.bandwidth)
    kernel = resolve_kernel(kernel, given.rows, work.weights, runtime, reporter, rng)
    if not automatic:
        return kernel, []
    scale = float(kernel.get_params()["bandwidth"])
    sampling = given.seeds.trial(work.source.shape[0], given.used)
    return choose_kernel(given.rows, given.y, given.encode, scale, sampling, epochs, runtime, reporter)


def streamed_share(source: Input, machine: Machine) -> float:
    """The share of X that is read in every round: the stored blocks that the workers cannot hold."""
    if source.residence(machine) not in ("store", "scratch"):
        return 0.0
    n_blocks = source.grid.n_blocks
    return 1.0 - int(min(1.0, machine.managed * X_SHARE / source.nbytes) * n_blocks) / n_blocks


def kept_in_memory(work: Work) -> tuple[RowBlocks, float]:
    """The rows, those blocks held by the workers that fit, and the share that is read in every round."""
    machine, rows, grid = work.runtime.machine, work.rows, work.rows.grid
    streamed = streamed_share(work.source, machine)
    blocks = round((1.0 - streamed) * grid.n_blocks)
    if blocks == 0 or work.source.residence(machine) not in ("store", "scratch"):
        return rows, streamed
    first = Grid(grid.bounds(blocks - 1)[1], grid.block_rows)
    chosen = replace(rows, grid=first, nodes=rows.nodes[:blocks])
    (held,) = work.runtime.run([], [chosen], reporter=work.reporter, stage="rows-persist")[1]
    graph = {**rows.graph, **held.graph}
    return replace(rows, nodes=held.nodes + rows.nodes[blocks:], graph=graph), streamed


def surroundings(work: Work, save: Callable[[Training, bool], None]) -> Surroundings:
    """How computed weights are kept: in this process as they are, on a cluster by way of the scratch store.

    What is in a store has no history: the scheduler forgets the tasks, and a lost worker costs nothing.
    """
    runtime, scratch, reporter = work.runtime, work.scratch, work.reporter
    if runtime.machine.in_process or scratch.url is None:
        return Surroundings(runtime, reporter, _same, runtime.release, save)

    def settle(alpha: RowBlocks) -> RowBlocks:
        stored = scratch.spool(alpha, runtime, reporter)
        runtime.release(alpha)
        return stored

    return Surroundings(runtime, reporter, settle, scratch.discard, save)


def _same(rows: RowBlocks) -> RowBlocks:
    return rows


def checkpointing(
    checkpoint: Checkpoint | None, training: Training, origin: Origin, work: Work
) -> Callable[[Training, bool], None]:
    """Bring the training to where its checkpoint was, if any; the function that saves it from now on.

    Raises InputError when the checkpoint is of another fit.
    """
    if checkpoint is None:
        return _nothing
    around = (work.runtime, work.reporter)
    if checkpoint.saved is not None:
        checkpoint.restore(training, origin.identity)
        same = training.best is training.weights
        training.weights = _resident(training.weights, work)
        best = training.weights if same or training.best is None else _resident(training.best, work)
        training.best = None if training.best is None else best

    def save(state: Training, epoch_over: bool) -> None:
        checkpoint.save(state, origin, around, epoch_over=epoch_over)

    return save


@contextmanager
def kept_kernel(problem: Problem, tiles: str | None, work: Work) -> Iterator[Problem]:
    """The same problem with kernel values that are kept until the end, where the plan says so."""
    if tiles is None:
        yield problem
        return
    stored, center = np.dtype(tiles), problem.spectrum.center
    stripes = kept_stripes(
        problem.X,
        problem.kernel,
        problem.dtype,
        stored,
        center,
        problem.preconditioner,
        work.runtime,
        work.reporter,
    )
    try:
        yield replace(problem, stripes=stripes, rounded=stored != problem.dtype)
    finally:
        work.runtime.release(stripes)


def _nothing(_training: Training, _epoch_over: bool) -> None:
    """No checkpoints."""


def _resident(weights: Weights, work: Work) -> Weights:
    """Weights out of a checkpoint, which will be written over."""
    _, (alpha,) = work.runtime.run([], [weights.alpha], reporter=work.reporter, stage="eigenpro-weights")
    return Weights(alpha, weights.c)


def prediction_weights(alpha: RowBlocks, indices: np.ndarray, gamma: Any, runtime: Runtime) -> RowBlocks:
    """alpha + gamma at the subsampled rows: f(x) = k(x, X) of them."""
    operands = [runtime.place(value) for value in (indices, gamma)]
    return inline(
        block.with_subsample,
        alpha,
        columns=alpha.columns,
        dtype=alpha.dtype,
        operands=operands,
        numbered=True,
    )


def validator(
    problem: Problem, rows: RowBlocks, y: np.ndarray, work: Work
) -> Callable[[Weights], dict[str, float]]:
    """A function from weights to the validation loss, and for classes the share of wrong ones."""
    runtime, spectrum = work.runtime, problem.spectrum

    def validate(weights: Weights) -> dict[str, float]:
        combined = prediction_weights(*problem.predicting(weights, runtime), runtime)
        outputs = problem.encode.n_outputs
        decided = decision_rows(
            problem.kernel,
            problem.dtype,
            spectrum.center,
            rows,
            problem.X,
            combined,
            np.asarray,
            outputs,
            "f8",
        )
        codes = runtime.place_rows(y, decided.grid)
        encode = runtime.place(problem.encode)
        total = reduce_rows(targets.loss, decided, codes, operands=[encode], combine=sum, stage=STAGE)
        ((squares, wrong),), _ = runtime.run([total], reporter=work.reporter, stage=STAGE)
        n = len(y)
        found = {"validation_mse": float(squares) / (n * outputs)}
        if isinstance(problem.encode, targets.OneHot):
            found["validation_error"] = float(wrong) / n
        return found

    return validate
