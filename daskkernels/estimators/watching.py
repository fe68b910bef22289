"""Layer 6: what a fit tells those who watch it besides its stages: sizes, plan, rounds and epochs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..events import Iteration, Planned
from ..inputs import Input
from ..plan import Plan
from ..solvers.eigenpro import STAGE, Training
from ..solvers.eigenpro_problem import Problem
from .callbacks import Steps, StoppedError

if TYPE_CHECKING:
    from .base import Work
    from .eigenpro_plan import EigenProPlan

ROUND = "eigenpro-round"


def sizes_of(source: Input) -> dict[str, float]:
    """Rows, columns and bytes of the data."""
    n, d = source.shape
    return {"rows": n, "columns": d, "bytes": source.nbytes}


def planned_passes(plan: Plan, n: int, iterations: int | None = None) -> Planned:
    """A plan of passes over n rows; `iterations` is the most there can be."""
    figures: dict[str, float] = {
        "seconds": plan.seconds,
        "flops": plan.flops,
        "worker_bytes": plan.worker_bytes,
    }
    if iterations is not None:
        figures["iterations"] = iterations
    passes = {
        step.stage: {"rows": n, "flops": step.flops / step.passes, "bytes": step.bytes_read / step.passes}
        for step in plan.steps
        if step.passes
    }
    return Planned(figures, passes)


class Rounds:
    """Saves like the function it wraps, and says how far the training is whenever it is called.

    Raises StoppedError after an epoch that a callback of scikit-learn made the last.
    """

    def __init__(
        self,
        save: Callable[[Training, bool], None],
        estimator: Any,
        keep: Callable[[Training], None],
        plan: EigenProPlan,
        training: Training,
        problem: Problem,
        work: Work,
        steps: Steps,
    ) -> None:
        self._save, self._estimator, self._keep, self._problem = save, estimator, keep, problem
        self._plan, self._work, self._steps = plan, work, steps
        self._outputs, self._used = problem.encode.n_outputs, problem.spectrum.n_used
        self._row_flops = plan.rounds.epoch_flops / self._used
        self._round_bytes = problem.streamed * work.source.nbytes
        self._before = (training.rows_done, training.residual)
        self._since = self._epoch_since = time.perf_counter()
        work.reporter.emit(self._planned(training))

    def _planned(self, training: Training) -> Planned:
        rounds, epochs = self._plan.rounds, self._estimator.max_epochs
        size = min(rounds.rounds_a_group * self._problem.round_size, self._used)
        figures: dict[str, float] = {
            "seconds": rounds.epoch_seconds * (epochs - training.epoch),
            "flops": self._row_flops * self._used * (epochs - training.epoch),
            "worker_bytes": rounds.worker_bytes,
            "epochs": epochs,
            "epochs_before": training.epoch,
            "rounds": -(-self._used // self._problem.round_size),
            "epoch_rows": self._used,
            "group_rows": size,
        }
        group = {"rows": size, "flops": self._row_flops * size, "bytes": self._bytes(size)}
        return Planned(figures, {STAGE: group})

    def _bytes(self, rows: float) -> float:
        """Bytes that the rounds of so many rows read from storage."""
        return self._round_bytes * -(-rows // self._problem.round_size)

    def __call__(self, training: Training, epoch_over: bool) -> None:
        """After each group of rounds, and once more after an epoch, its validation and its judgement."""
        self._report(training, epoch_over)
        self._save(training, epoch_over)
        self._before = (training.rows_done, training.residual)
        if epoch_over and self._steps.done(lambda: self._attributes(training)):
            raise StoppedError
        self._since = time.perf_counter()
        self._epoch_since = self._since if epoch_over else self._epoch_since

    def _report(self, training: Training, epoch_over: bool) -> None:
        done, residual, epoch = training.rows_done, training.residual, training.epoch
        spent = time.perf_counter() - self._since
        if epoch_over:  # the counters are at the next epoch already, and validation took its time
            last = training.history[-1]
            done, epoch = self._used, epoch - 1
            residual = last["train_mse"] * self._used * self._outputs
            spent = max(last["seconds"] - (self._since - self._epoch_since), 1e-9)
        rows = done - self._before[0]
        figures: dict[str, float] = {"epoch": epoch, "rows": done, "halvings": training.halvings}
        if rows > 0:  # else the rounds were done over with a smaller step
            figures["train_mse"] = (residual - self._before[1]) / (rows * self._outputs)
            figures["rows_per_second"] = rows / spent
            figures["flops_per_second"] = rows * self._row_flops / spent
            figures["bytes_per_second"] = self._bytes(rows) / spent
        self._work.reporter.emit(Iteration(ROUND, -(-done // self._problem.round_size), figures))

    def _attributes(self, training: Training) -> dict[str, Any]:
        """The fitted attributes of a model that stopped here."""
        before = dict(vars(self._estimator))
        try:
            self._keep(replace(training, best=None))
            return dict(vars(self._estimator))
        finally:
            self._estimator._be(before)
