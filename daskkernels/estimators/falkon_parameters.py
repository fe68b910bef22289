"""Layer 6: the parameters of `FalkonClassifier` and `FalkonRegressor`, and what a fit will cost."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..block.tiles import compute_dtype
from ..inputs import Input, InputError
from ..kernels import Stationary
from ..plan import Machine, Plan
from ..plan_falkon import FalkonTask, plan_falkon
from ..solvers.sampling import SAMPLINGS
from .base import DaskEstimator, between, check_learning, kernel_of, machine_of, not_negative, positive_int
from .training import n_used, streamed_share

CENTERS, LARGE_CENTERS, LARGE = 2000, 5000, 100_000  # M; more above LARGE rows


class FalkonParameters(DaskEstimator):
    """Parameters, checked, and the plan that follows from them."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_centers: int | str = "auto",
        penalty: float = 1e-6,
        max_iter: int = 20,
        tol: float = 1e-6,
        patience: int | None = 3,
        validation_fraction: float | None = None,
        sampling: str = "uniform",
        dtype: Any = None,
        keep_kernel: bool | str = "auto",
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_centers = n_centers
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.sampling = sampling
        self.dtype = dtype
        self.keep_kernel = keep_kernel
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
        kept_back = n - n_used(n, self.validation_fraction)
        return plan_falkon(self._task(source, self._outputs(y), kept_back, machine), machine)

    @abstractmethod
    def _outputs(self, y: Any) -> int:
        """l for these targets, or what is assumed where they are not in memory."""

    def _task(self, source: Input, outputs: int, validation: int, machine: Machine) -> FalkonTask:
        """The sizes of this fit as the planner wants them."""
        n, d = source.shape
        kernel = kernel_of(self.kernel)
        return FalkonTask(
            n,
            d,
            source.array.dtype.itemsize,
            compute_dtype(source.array.dtype, self.dtype).itemsize,
            self._centers(n),
            outputs,
            self.max_iter,
            source.residence(machine),
            streamed_share(source, machine),
            moments_pass=isinstance(kernel, Stationary) and not kernel.resolved,
            validation=validation,
            keep=None if self.keep_kernel == "auto" else bool(self.keep_kernel),
        )

    def _centers(self, n: int) -> int:
        """M."""
        if self.n_centers == "auto":
            return min(n, CENTERS if n <= LARGE else LARGE_CENTERS)
        return positive_int("n_centers", self.n_centers, n, "rows")

    def _check_parameters(self, n: int) -> None:
        """Raises InputError for a parameter that cannot be right, before anything is computed."""
        check_learning(self, n)
        if isinstance(self.kernel, str) and self.kernel == "auto":
            raise InputError(
                "kernel='auto' is chosen for models that interpolate, as EigenPro's: give a kernel here, or "
                "choose one with GridSearchCV over kernel__factor"
            )
        self._centers(n)
        if self.sampling not in SAMPLINGS:
            wanted = ", ".join(map(repr, SAMPLINGS))
            raise InputError(f"sampling={self.sampling!r}: wanted one of {wanted}")
        if not between(self.penalty, 0, np.inf):
            raise InputError(f"penalty={self.penalty!r}: wanted a positive number")
        positive_int("max_iter", self.max_iter)
        not_negative("tol", self.tol)
        if not isinstance(self.keep_kernel, bool) and self.keep_kernel != "auto":
            raise InputError(f"keep_kernel={self.keep_kernel!r}: wanted True, False or 'auto'")
