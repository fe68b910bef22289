"""Layer 6: what `EigenProClassifier` and `EigenProRegressor` share: set-up, training, fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from ..block.tiles import compute_dtype
from ..inputs import InputError, lazy_rows, open_input
from ..kernels import AnyKernel
from ..plan import Machine
from ..plan_rounds import RoundTask, resource_batch
from ..plan_training import plan_training
from ..rowblocks import RowBlocks, from_dask
from ..runtime import Runtime, WorkersLostError
from ..solvers.decision import decision_rows
from ..solvers.eigenpro import STAGE, Training, train
from ..solvers.eigenpro_problem import Problem, start_weights
from ..solvers.spectrum import BATCH_SHARE, Spectrum, measure_spectrum
from ..xp import to_host
from .base import Work
from .callbacks import Steps, StoppedError
from .checkpoint import Checkpoint, checkpoint_told, told_if_beyond
from .eigenpro_parameters import MOST_BATCH, EigenProParameters, chosen
from .eigenpro_plan import EigenProPlan
from .identity import Origin, identity_of_fit
from .targets import open_targets
from .training import (
    Given,
    Seeds,
    checkpointing,
    kept_in_memory,
    kept_kernel,
    kernel_for,
    n_used,
    prediction_weights,
    surroundings,
    validator,
)
from .validation import validation_rows
from .warm_start import FitSoFar
from .watching import Rounds, planned_passes


class EigenPro(CallbackSupportMixin, EigenProParameters):
    """Fit and prediction: all but the targets."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, validation: Any, checkpoint: Any, resume: bool) -> Any:
        """Set up, train, keep; an interrupt keeps the best whole epoch's weights and goes on its way."""
        saved = None if checkpoint is None else Checkpoint(checkpoint, resume)
        if saved is None and resume:
            raise InputError("resume=True needs checkpoint=, the folder to resume from")
        before: FitSoFar | None = getattr(self, "_so_far", None) if self.warm_start else None
        going_on = before if saved is None or saved.saved is None else saved.saved
        steps = Steps(self, X, y, "epoch", STAGE, self.max_epochs)
        with checkpoint_told(saved), self._working(X, y=open_targets(y), steps=steps) as work:
            n = work.source.shape[0]
            self._check_parameters(n)
            used = n_used(n, self.validation_fraction)
            seeds = Seeds.of(self.random_state, None if going_on is None else going_on.entropy)
            rows, streamed = kept_in_memory(work)
            y_rows, encode = self._targets(work)
            given = Given(rows, streamed, y_rows, encode, seeds, used)
            judged = validation_rows(self, validation, given, work)
            problem, plan = self._problem(work, given, None if going_on is None else going_on.round_size)
            origin = Origin(seeds.entropy, problem.round_size, identity_of_fit(problem, work))
            training = Training(start_weights(problem), problem.spectrum.step)
            if before is not None and going_on is before:
                before.restore(training, origin.identity, self.dual_coef_, work)
            save = checkpointing(saved, training, origin, work)
            began = training.epoch
            told_if_beyond("max_epochs", self.max_epochs, training.epoch + training.rows_done / used)
            validate = None if judged is None else validator(problem, judged.rows, judged.y, work)
            tiles = plan.rounds.tiles if training.epoch < self.max_epochs else None
            with kept_kernel(problem, tiles, work) as problem:

                def keep(training: Training) -> None:
                    made = plan.after(training.epoch - began, work.timings.seconds)
                    self._keep(training, problem, made, origin, work)

                save = Rounds(save, self, keep, plan, training, problem, work, steps)
                around, orders = surroundings(work, save), seeds.order(n, used)
                with self._kept(training, keep, work), suppress(StoppedError):
                    train(problem, training, orders, self.max_epochs, validate, self.patience, around)
        steps.over()
        return self

    @contextmanager
    def _kept(self, training: Training, keep: Callable[[Training], None], work: Work) -> Iterator[None]:
        """In the end keep the best whole epoch's weights, if there are any, whatever ended the training."""
        try:
            yield
        except BaseException:
            with suppress(WorkersLostError, OSError, MemoryError):  # what ended the fit is to be told
                if training.history:
                    keep(training)
                    work.keep()
            raise
        keep(training)
        work.keep()

    def _problem(self, work: Work, given: Given, round_size: int | None) -> tuple[Problem, EigenProPlan]:
        """The set-up: kernel, spectrum, rounds; `round_size` of a fit that is gone on with."""
        dtype, machine = compute_dtype(work.source.array.dtype, self.dtype), work.runtime.measured()
        task = self._task(work.source, given.encode.n_outputs, given.used, given.streamed, machine)
        least = replace(task, rounds=replace(task.rounds, p=0, m=1))
        _, cost = plan_training(least, machine, round_size or chosen(self.round_size))  # or it can not fit
        work.reporter.emit(planned_passes(cost, work.source.shape[0]))
        kernel, trials = kernel_for(self.kernel, work, given, self.max_epochs)
        spectrum = self._spectrum(work, given, kernel, dtype, task.rounds, machine)
        task = replace(task, rounds=self._sizes(task.rounds, spectrum))
        rounds, cost = plan_training(task, machine, round_size or chosen(self.round_size))
        names = ("n_subsamples", "n_directions", "batch_size", "round_size", "step_size")
        asked = {name: getattr(self, name) for name in names if getattr(self, name) != "auto"}
        problem = Problem(
            given.rows,
            given.y,
            given.encode,
            kernel,
            dtype,
            spectrum,
            work.runtime.place(spectrum.preconditioner),
            rounds.round_size,
            rounds.strip_rows,
            rounds.rounds_a_group,
            given.streamed,
            settles=self.step_size == "auto",
        )
        return problem, EigenProPlan.of(kernel, trials, spectrum, rounds, task, cost, asked)

    def _sizes(self, sizes: RoundTask, spectrum: Spectrum) -> RoundTask:
        """The sizes of the rounds once q and m are known."""
        return replace(sizes, p=spectrum.n_directions - 1, m=spectrum.batch_size)

    def _spectrum(
        self,
        work: Work,
        given: Given,
        kernel: AnyKernel,
        dtype: np.dtype[np.floating],
        sizes: RoundTask,
        machine: Machine,
    ) -> Spectrum:
        """q, m and the step: measured, or as they were asked for."""
        resource, most = self.batch_size == "resource", MOST_BATCH
        spectrum = measure_spectrum(
            given.rows,
            kernel,
            given.seeds.sampling(sizes.n, given.used),
            s=sizes.s,
            n_directions=chosen(self.n_directions),
            batch_size=None if resource else chosen(self.batch_size),
            most_batch=min(given.used, resource_batch(sizes, machine) if resource else most),
            batch_share=1.0 if resource else BATCH_SHARE,
            dtype=dtype,
            runtime=work.runtime,
            reporter=work.reporter,
        )
        return spectrum if self.step_size == "auto" else spectrum.with_step(float(self.step_size))

    def _keep(
        self, training: Training, problem: Problem, plan: EigenProPlan, origin: Origin, work: Work
    ) -> None:
        """The fitted attributes."""
        weights = training.kept
        alpha, indices, gamma = problem.predicting(weights, work.runtime)
        self.dual_coef_ = work.lasting(alpha, "eigenpro-weights")
        self.subsample_coef_, self.subsample_indices_ = gamma, indices
        spectrum = problem.spectrum
        self.center_ = np.zeros(problem.X.shape[1]) if spectrum.center is None else to_host(spectrum.center)
        self.centers_ = work.source.array
        self.kernel_, self.dtype_ = problem.kernel, problem.dtype
        self.history_, self.n_epochs_ = training.history, len(training.history)
        self.n_halvings_ = training.halvings
        self.plan_ = plan
        self._so_far = FitSoFar.of(training, weights, origin)

    def _decide(self, X: Any, finish: Any, columns: int | None, dtype: Any) -> Any:
        """finish(f(X)) in the kind X has."""
        check_is_fitted(self)

        def decided(rows: RowBlocks, runtime: Runtime) -> RowBlocks:
            centers = lazy_rows(open_input(self.centers_), runtime)
            weights = self._weights(centers, runtime)
            return decision_rows(
                self.kernel_, self.dtype_, self.center_, rows, centers, weights, finish, columns, dtype
            )

        return self._given_back(self._open(X, reset=False), decided, STAGE)

    def _weights(self, centers: RowBlocks, runtime: Runtime) -> RowBlocks:
        """The weights that predictions are made with, by the blocks of the centers."""
        if isinstance(self.dual_coef_, np.ndarray):
            combined = self.dual_coef_.copy()
            combined[self.subsample_indices_] += self.subsample_coef_
            return runtime.place_rows(combined, centers.grid)
        alpha = from_dask(self.dual_coef_, centers.grid)
        return prediction_weights(alpha, self.subsample_indices_, self.subsample_coef_, runtime)
