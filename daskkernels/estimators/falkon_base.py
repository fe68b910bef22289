"""Layer 6: what `FalkonClassifier` and `FalkonRegressor` share: set-up, iterations, fitted attributes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from ..block.falkon import row_weights
from ..block.targets import Encode
from ..block.tiles import compute_dtype
from ..inputs import InputError
from ..kernels import AnyKernel
from ..plan import Machine, Plan
from ..plan_falkon import FalkonTask, plan_falkon
from ..rounds import inline
from ..rowblocks import RowBlocks
from ..runtime import Runtime, WorkersLostError
from ..solvers.falkon import STAGE, Iterates, Prepared, Problem, iterate, start
from ..solvers.falkon_predict import decision_rows, validator
from ..solvers.sampling import choose_rows
from ..xp import Array, to_host
from .base import Work
from .callbacks import Steps, StoppedError
from .checkpoint import checkpoint_told, told_if_beyond
from .falkon_checkpoint import FalkonCheckpoint
from .falkon_parameters import FalkonParameters
from .identity import Origin, identity_of
from .targets import open_targets
from .training import Given, Seeds, kept_in_memory, kernel_for, n_used
from .validation import Validation, validation_rows
from .watching import planned_passes


@dataclass(frozen=True)
class _Fit:
    """One fit, set up."""

    prepared: Prepared
    state: Iterates
    center_indices: np.ndarray | None
    validate: Callable[[np.ndarray], dict[str, float]] | None
    save: Callable[[], None]
    task: FalkonTask
    machine: Machine
    began: int  # iterations that a checkpoint had

    def plan(self, measured: dict[str, float]) -> Plan:
        """The plan for the iterations that were made, beside what was measured."""
        made = replace(self.task, iterations=self.state.iteration - self.began)
        return replace(plan_falkon(made, self.machine), measured=dict(measured))


class Falkon(CallbackSupportMixin, FalkonParameters):
    """Fit and prediction: all but the targets."""

    @abstractmethod
    def _targets(self, work: Work) -> tuple[RowBlocks, Encode]:
        """y by row block, and how it becomes targets."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: Any, checkpoint: Any, resume: bool) -> Any:
        """Set up, iterate, keep; an interrupt keeps the weights so far and goes on its way."""
        saved = None if checkpoint is None else FalkonCheckpoint(checkpoint, resume)
        if saved is None and resume:
            raise InputError("resume=True needs checkpoint=, the folder to resume from")
        steps = Steps(self, X, y, "iteration", STAGE, self.max_iter)
        targets = open_targets(y)
        with (
            checkpoint_told(saved),
            self._working(X, sample_weight, targets, steps) as work,
            self._set_up(work, validation, saved) as fit,
        ):

            def after() -> None:
                fit.save()
                if steps.done(lambda: self._attributes(fit, work)):
                    raise StoppedError

            with self._kept(fit, work), suppress(StoppedError):
                iterate(
                    fit.prepared,
                    fit.state,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    patience=self.patience,
                    validate=fit.validate,
                    after=after,
                )
        steps.over()
        return self

    @contextmanager
    def _set_up(self, work: Work, validation: Any, saved: FalkonCheckpoint | None) -> Iterator[_Fit]:
        """Targets, kernel, centers, the first pass, and where a checkpoint was; kept values go at the end."""
        n, before = work.source.shape[0], None if saved is None else saved.saved
        self._check_parameters(n)
        seeds = Seeds.of(self.random_state, None if before is None else before.entropy)
        y, encode = self._targets(work)
        given = Given(work.rows, 0.0, y, encode, seeds, n_used(n, self.validation_fraction))
        judged = validation_rows(self, validation, given, work, "falkon-validate")
        machine = work.runtime.measured()
        sizes = self._task(work.source, encode.n_outputs, 0 if judged is None else len(judged.y), machine)
        plan = plan_falkon(sizes, machine)
        work.reporter.emit(planned_passes(plan, n, self.max_iter))
        if not plan.keep_columns:
            rows, streamed = kept_in_memory(work)
            given = replace(given, rows=rows, streamed=streamed)
        problem, indices = self._problem(work, given)
        prepared = start(
            problem,
            self._center_weights(work, indices),
            keep=plan.keep_columns,
            runtime=work.runtime,
            reporter=work.reporter,
        )
        state, save = self._checkpointed(prepared, saved, seeds)
        try:
            with self._validator(prepared, judged) as validate:
                yield _Fit(prepared, state, indices, validate, save, sizes, machine, state.iteration)
        finally:
            if prepared.kept:
                work.runtime.release(prepared.blocks)

    def _problem(self, work: Work, given: Given) -> tuple[Problem, np.ndarray | None]:
        """Kernel and centers, and the row numbers of the centers where they are rows."""
        n, dtype = work.source.shape[0], compute_dtype(work.source.array.dtype, self.dtype)
        kernel, _ = kernel_for(self.kernel, work, given, self.max_iter)
        indices, centers = self._choose(work, given, kernel, dtype)
        weights = work.weights
        if given.used < n:
            numbers = work.runtime.place(given.seeds.sampling(n, given.used).kept_back())
            function = partial(row_weights, grid=given.rows.grid)
            weights = inline(
                function, weights, columns=None, dtype=np.float64, operands=[numbers], numbered=True
            )
        problem = Problem(
            given.rows, given.y, weights, given.encode, kernel, dtype, centers, float(self.penalty)
        )
        return problem, indices

    def _choose(
        self, work: Work, given: Given, kernel: AnyKernel, dtype: np.dtype[np.floating]
    ) -> tuple[np.ndarray | None, Array]:
        """The centers (M, d), and their row numbers where they are rows."""
        rng, count = np.random.default_rng(given.seeds.sample), self._centers(work.source.shape[0])
        return choose_rows(
            self.sampling,
            given.rows,
            kernel,
            count,
            dtype=dtype,
            runtime=work.runtime,
            reporter=work.reporter,
            rng=rng,
        )

    def _center_weights(self, work: Work, indices: np.ndarray | None) -> np.ndarray | None:
        """The sample weights of the centers, where there are any."""
        if indices is None or work.sample_weight is None or np.ndim(work.sample_weight) == 0:
            return None
        found: np.ndarray = np.asarray(work.sample_weight, np.float64)[indices]
        return found

    def _checkpointed(
        self, prepared: Prepared, saved: FalkonCheckpoint | None, seeds: Seeds
    ) -> tuple[Iterates, Callable[[], None]]:
        """The iterates, as they were in the checkpoint if there is one; the function that saves them."""
        state = Iterates.of(prepared)
        if saved is None:
            return state, _nothing
        chosen = {"method": "falkon", "penalty": self.penalty, "tol": self.tol}
        sums = {"dtype": prepared.problem.dtype, "sums": (prepared.mean_square, prepared.weight)}
        # What is another in data, targets, weights or kernel makes another K^T y of all rows.
        identity = identity_of(chosen | sums, prepared.problem.centers, prepared.rhs)
        saved.restore(state, identity)
        told_if_beyond("max_iter", self.max_iter, state.iteration)
        origin = Origin(seeds.entropy, None, identity)
        return state, lambda: saved.save(state, origin)

    @contextmanager
    def _validator(
        self, prepared: Prepared, judged: Validation | None
    ) -> Iterator[Callable[[np.ndarray], dict[str, float]] | None]:
        """What judges an iteration, or None; kernel values that it keeps go at the end."""
        if judged is None:
            yield None
            return
        codes = prepared.runtime.place_rows(judged.y, judged.rows.grid)
        validate, kept = validator(prepared, judged.rows, codes)
        try:
            yield validate
        finally:
            for rows in kept:
                prepared.runtime.release(rows)

    @contextmanager
    def _kept(self, fit: _Fit, work: Work) -> Iterator[None]:
        """In the end keep the weights, if an iteration is over, whatever ended the training."""
        try:
            yield
        except BaseException:
            with suppress(WorkersLostError, OSError, MemoryError):  # what ended the fit is to be told
                if fit.state.history:
                    self._keep(fit, work)
                    work.keep()
            raise
        self._keep(fit, work)
        work.keep()

    def _keep(self, fit: _Fit, work: Work) -> None:
        """The fitted attributes."""
        problem, state = fit.prepared.problem, fit.state
        self.dual_coef_ = fit.prepared.preconditioner.weights(state.kept)
        self.centers_, self.center_indices_ = to_host(problem.centers), fit.center_indices
        self.kernel_, self.dtype_ = problem.kernel, problem.dtype
        self.history_, self.n_iter_ = list(state.history), state.iteration
        self.plan_ = fit.plan(work.timings.seconds)

    def _attributes(self, fit: _Fit, work: Work) -> dict[str, Any]:
        """The fitted attributes of a model that stopped here."""
        before = dict(vars(self))
        try:
            self._keep(replace(fit, state=replace(fit.state, best=None)), work)
            return dict(vars(self))
        finally:
            self._be(before)

    def _decide(self, X: Any, finish: Any, columns: int | None, dtype: Any) -> Any:
        """finish(f(X)) in the kind X has."""
        check_is_fitted(self)
        centers, weights = self.centers_, self.dual_coef_

        def decided(rows: RowBlocks, runtime: Runtime) -> RowBlocks:
            return decision_rows(
                rows, self.kernel_, self.dtype_, centers, weights, finish, columns, dtype, runtime
            )

        return self._given_back(self._open(X, reset=False), decided, "falkon-predict")


def _nothing() -> None:
    """No checkpoints."""
