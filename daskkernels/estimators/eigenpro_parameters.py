"""Layer 6: the parameters of `EigenProClassifier` and `EigenProRegressor`, and what a fit will cost."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from ..block.tiles import compute_dtype
from ..inputs import Input, InputError
from ..kernels import Gaussian, Stationary
from ..plan import Machine, Plan
from ..plan_rounds import RoundTask, resource_batch
from ..plan_training import TrainingTask, assumed, plan_training
from .base import DaskEstimator, between, check_learning, kernel_of, machine_of, positive_int
from .training import n_used, streamed_share

SUBSAMPLE, LARGE_SUBSAMPLE, LARGE = 2000, 4000, 100_000  # rows of the eigensystem; more above LARGE rows
MOST_BATCH = 2000  # m_G
_RULES = {"batch_size": ("resource",)}  # besides "auto" and numbers


class EigenProParameters(DaskEstimator):
    """Parameters, checked, and the plan that follows from them."""

    def __init__(
        self,
        kernel: Any = "laplacian",
        n_subsamples: int | str = "auto",
        n_directions: int | str = "auto",
        batch_size: int | str = "auto",
        round_size: int | str = "auto",
        step_size: float | str = "auto",
        max_epochs: int = 10,
        patience: int | None = 3,
        validation_fraction: float | None = None,
        dtype: Any = None,
        keep_kernel: bool | str = "auto",
        warm_start: bool = False,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_subsamples = n_subsamples
        self.n_directions = n_directions
        self.batch_size = batch_size
        self.round_size = round_size
        self.step_size = step_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.dtype = dtype
        self.keep_kernel = keep_kernel
        self.warm_start = warm_start
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def plan(self, X: Any, y: Any = None, machine: Machine | None = None) -> Plan:
        """What fitting X will cost on the active scheduler's workers, without running anything. Prints as a
        table.

        `y` tells how many outputs there are (in memory: else 10 classes or one column are assumed);
        `machine` describes other workers than those at hand. Raises PlanError for what cannot fit.
        """
        source = self._described(X)
        n = source.shape[0]
        self._check_parameters(n)
        machine = machine_of(machine)
        used, outputs = n_used(n, self.validation_fraction), self._outputs(y)
        task = self._task(source, outputs, used, streamed_share(source, machine), machine)
        most = resource_batch(task.rounds, machine) if self.batch_size == "resource" else None
        sizes = assumed(task.rounds)
        directions = chosen(self.n_directions)
        if directions is not None:
            sizes = replace(sizes, p=min(directions - 1, sizes.p))
        m = most or chosen(self.batch_size)
        sizes = replace(sizes, m=min(m, used)) if m else sizes
        return plan_training(replace(task, rounds=sizes), machine, chosen(self.round_size))[1]

    def _task(
        self,
        source: Input,
        outputs: int,
        used: int,
        streamed: float,
        machine: Machine,
    ) -> TrainingTask:
        """The sizes of this fit as the planner wants them, but p and m."""
        (n, d), stored = source.shape, source.array.dtype.itemsize
        dtype = compute_dtype(source.array.dtype, self.dtype)
        automatic = isinstance(self.kernel, str) and self.kernel == "auto"
        asked = Gaussian("mean") if automatic else kernel_of(self.kernel)
        unit = dtype == np.float32 and isinstance(asked, Stationary)
        sizes = RoundTask(
            n,
            d,
            outputs,
            self._subsamples(used),
            0,
            1,
            stored,
            dtype.itemsize,
            streamed,
            unit=unit,
            keep=None if self.keep_kernel == "auto" else bool(self.keep_kernel),
        )
        return TrainingTask(
            sizes,
            self.max_epochs,
            source.residence(machine),
            moments_pass=isinstance(asked, Stationary) and not asked.resolved,
            trials=automatic,
            validation=n - used,
        )

    def _subsamples(self, used: int) -> int:
        """s."""
        if self.n_subsamples != "auto":
            return min(int(self.n_subsamples), used)
        return min(used, SUBSAMPLE if used <= LARGE else LARGE_SUBSAMPLE)

    @abstractmethod
    def _outputs(self, y: Any) -> int:
        """l for these targets, or what is assumed where they are not in memory."""

    def _check_parameters(self, n: int) -> None:
        """Raises InputError for a parameter that cannot be right, before anything is computed."""
        check_learning(self, n)
        for name in ("n_subsamples", "n_directions", "batch_size", "round_size"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in ("auto", *_RULES.get(name, ()))):
                positive_int(name, value)
        if self.keep_kernel not in ("auto", True, False):
            raise InputError(f"keep_kernel={self.keep_kernel!r}: wanted True, False or 'auto'")
        positive_int("max_epochs", self.max_epochs)
        if self.step_size != "auto" and not between(self.step_size, 0, np.inf):
            raise InputError(f"step_size={self.step_size!r}: wanted a positive number or 'auto'")


def chosen(value: int | str) -> int | None:
    """A parameter that is given, None for "auto"."""
    return None if isinstance(value, str) else int(value)
