"""Layer 4: EigenPro 2.0 in exact rounds: epochs over fresh orders, judged by residual and validation.

A round's batches are predicted in one pass over all rows and then solved one after another, exactly; data is
read, weights are reduced and the scheduler is asked once a round [E Algorithm 1; rounds are ours].
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..block import eigenpro as block
from ..block import stripes
from ..block.order import Order, Stretch
from ..events import Iteration, Reporter
from ..rounds import round_group
from ..rowblocks import RowBlocks
from ..rows import reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import Array
from .eigenpro_problem import Problem, Weights
from .judgement import HALVINGS, DivergenceError, Judge, Window, halved, settled, worthless

STAGE = "eigenpro-predict"
MOST_ROUNDING = 0.01  # of the root mean squared target, that kept kernel values may change a prediction by
Orders = Callable[[int], Order]  # the order of each epoch


@dataclass
class Training:
    """A fit on its way: all that is needed to go on with it."""

    weights: Weights
    step: block.Step
    epoch: int = 0  # epochs done
    rows_done: int = 0  # of the present epoch
    residual: float = 0.0  # squared, of those rows as they were met
    targets: float = 0.0  # squared, of the same rows
    window: Window = field(default_factory=Window)
    halvings: int = 0  # after a divergence
    history: list[dict[str, float]] = field(default_factory=list)
    best: Weights | None = None
    best_loss: float = np.inf
    since: int = 0  # epochs without a better loss
    picked: tuple[Stretch, tuple[Array, ...]] | None = None  # rows, y and U of the next round, picked already

    @property
    def kept(self) -> Weights:
        """The weights to keep: the best so far, or the last before any epoch is over."""
        return self.weights if self.best is None else self.best


@dataclass(frozen=True)
class Surroundings:
    """Where the work runs, who listens, and how computed weights are kept, given up and saved."""

    runtime: Runtime
    reporter: Reporter
    settle: Callable[[RowBlocks], RowBlocks]  # made independent of the tasks that computed them
    discard: Callable[[RowBlocks], None]
    save: Callable[[Training, bool], None]  # True where an epoch is over


def train(
    problem: Problem,
    training: Training,
    orders: Orders,
    max_epochs: int,
    validate: Callable[[Weights], dict[str, float]] | None,
    patience: int | None,
    around: Surroundings,
) -> None:
    """Go on until `max_epochs` are done, or `patience` of them without a better validation loss.

    `training.kept` are the best weights by validation loss, or the last where nothing is validated.
    """
    while training.epoch < max_epochs and not (patience and training.since >= patience):
        started = time.perf_counter()
        _epoch(problem, training, orders, around)
        figures = _figures(problem, training, time.perf_counter() - started)
        problem = _checked(problem, training, figures, around)
        if validate is not None:
            figures |= validate(training.weights)
        training.history.append(figures)
        around.reporter.emit(Iteration("eigenpro-epoch", training.epoch, dict(figures)))
        loss = figures.get("validation_mse", -float(training.epoch))
        training.since = 0 if loss < training.best_loss else training.since + 1
        if loss < training.best_loss:
            outdone, training.best, training.best_loss = training.best, training.weights, loss
            if outdone is not None:
                around.discard(outdone.alpha)
        training.epoch += 1
        if problem.settles and settled(training.history, training.targets / _values(problem)):
            training.step = halved(training.step)
        training.rows_done, training.residual, training.targets = 0, 0.0, 0.0
        around.save(training, True)


def _checked(
    problem: Problem, training: Training, figures: dict[str, float], around: Surroundings
) -> Problem:
    """The same without the kernel values that are kept, once their rounding is seen in the predictions.

    Each value is wrong by ROUNDING, independently: a prediction by that times the norm of the weights.
    """
    if problem.stripes is None or not problem.rounded:
        return problem
    total = reduce_rows(stripes.squared_norms, training.weights.alpha, combine=sum, stage="eigenpro-rounding")
    (norms,), _ = around.runtime.run([total], reporter=around.reporter, stage="eigenpro-rounding")
    figures["rounding"] = stripes.ROUNDING * float(norms.max()) ** 0.5
    if figures["rounding"] ** 2 <= MOST_ROUNDING**2 * training.targets / _values(problem):
        return problem
    around.runtime.release(problem.stripes)
    return replace(problem, stripes=None)


def _values(problem: Problem) -> int:
    """How many targets an epoch meets."""
    return problem.spectrum.n_used * problem.encode.n_outputs


def _figures(problem: Problem, training: Training, seconds: float) -> dict[str, float]:
    """What is known of an epoch before it is validated."""
    n, used = problem.X.shape[0], problem.spectrum.n_used
    rounds = -(-used // problem.round_size)
    flops = 2.0 * n * used * problem.pair_columns
    return {
        "epoch": training.epoch,
        "seconds": seconds,
        "train_mse": training.residual / _values(problem),
        "rows_per_second": used / seconds,
        "gflops": flops / seconds / 1e9,
        "bytes_read": problem.streamed * problem.X.nbytes * rounds,
        "step_size": training.step.size(problem.spectrum.batch_size),
    }


def _epoch(problem: Problem, training: Training, orders: Orders, around: Surroundings) -> None:
    """The rows of the epoch that are left, once each; begun anew with half the step after a divergence."""
    size, spectrum = problem.round_size, problem.spectrum
    judge = Judge.of(spectrum.n_used, spectrum.batch_size, spectrum.critical_batch)
    following = _stretches(orders(training.epoch + 1), 0, size)[0]
    start = replace(training)
    while stretches := _stretches(orders(training.epoch), training.rows_done, size):
        group = stretches[: problem.rounds_a_group]
        last = len(group) == len(stretches)
        after = following if last else stretches[len(group)]
        report, alpha, picked = _group(problem, training, group, after, around)
        before = training.weights
        window = judge.after(training.window, report.residuals, last)
        residual, targets = np.add((training.residual, training.targets), report.residuals.sum(axis=0))
        first = problem.settles and last and training.epoch == 0
        if window is None or (first and worthless(residual, targets)):
            around.runtime.release(alpha)
            _go_back(training, start)
            _discard(before, (training.weights, training.best), around)
            continue
        training.weights, training.window = Weights(around.settle(alpha), report.c), window
        training.picked = (after, picked)
        training.residual, training.targets = float(residual), float(targets)
        training.rows_done += sum(stretch.count for stretch in group)
        _discard(before, (start.weights, training.best), around)
        if not last:
            around.save(training, False)
    _discard(start.weights, (training.weights, training.best), around)


def _go_back(training: Training, start: Training) -> None:
    """To where the epoch began, with half the step. Raises DivergenceError."""
    training.step, training.halvings = halved(training.step), training.halvings + 1
    if training.halvings > HALVINGS:
        raise DivergenceError(
            f"the residual grew in spite of {HALVINGS} halved steps: leave step_size at 'auto', or see "
            "whether the kernel is positive definite"
        )
    for name in ("weights", "rows_done", "residual", "targets", "window"):
        setattr(training, name, getattr(start, name))


def _discard(weights: Weights, kept: Sequence[Weights | None], around: Surroundings) -> None:
    """Give up weights that are none of those kept."""
    if all(weights is not other for other in kept):
        around.discard(weights.alpha)


def _stretches(order: Order, start: int, size: int) -> list[Stretch]:
    """The rounds of an epoch from row `start` on."""
    used = order.used
    return [Stretch(order, first, min(size, used - first)) for first in range(start, used, size)]


def _group(
    problem: Problem, training: Training, group: Sequence[Stretch], after: Stretch, around: Surroundings
) -> tuple[block.Report, RowBlocks, tuple[Array, ...]]:
    """Some rounds in one graph: their report, the weights after them, and the rows picked to go on with."""
    if training.picked is None or training.picked[0] != group[0]:
        training.picked = (group[0], _first_rows(problem, group[0], around))
    rows = training.picked[1]
    ready = problem.ready()(*rows, group[0])
    X, near = problem.sources()
    graph = round_group(
        problem.round_work(training.step),
        X,
        problem.y,
        training.weights.alpha,
        around.runtime.place(ready),
        around.runtime.place(training.weights.c),
        group,
        after,
        sizes=[stretch.count for stretch in group],
        strip_rows=problem.strip_rows,
        name="eigenpro",
        operands=[problem.preconditioner],
        near=near,
    )
    (report, picked), (alpha,) = around.runtime.run(
        [graph.report, graph.picked], [graph.weights], reporter=around.reporter, stage=STAGE
    )
    return report, alpha, picked


def _first_rows(problem: Problem, stretch: Stretch, around: Surroundings) -> tuple[Array, ...]:
    """Rows and y of a round that no earlier round could pick."""
    numbers = stretch.order.rows(stretch.first, stretch.count)
    totals = [take_rows(source, numbers, stage="eigenpro-rows") for source in (problem.X, problem.y)]
    (rows, y), _ = around.runtime.run(totals, reporter=around.reporter, stage="eigenpro-rows")
    return rows, y, None
