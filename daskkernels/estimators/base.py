"""Layer 6: what all estimators share: checks at the door, nested kernel parameters, seeds, and the
surroundings of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..events import Reporter, Timings, reporter
from ..grid import Grid
from ..inputs import Input, InputError, Scratch, is_lazy, open_input, resident_rows, weight_rows
from ..kernels import AnyKernel, as_kernel
from ..rowblocks import RowBlocks
from ..runtime import Runtime, active_runtime
from ..store import Dataset
from ..threads import single_blas_thread
from ..xp import is_on_device
from .progress import ProgressBar


@dataclass(frozen=True)
class Work:
    """The surroundings of one fit: rows ready for many passes, and all a solver needs besides numbers."""

    source: Input
    rows: RowBlocks
    weights: RowBlocks
    runtime: Runtime
    reporter: Reporter
    timings: Timings
    scratch: Scratch
    sample_weight: Any = None

    def weights_on(self, grid: Grid) -> RowBlocks:
        """The sample weights on another grid of the same rows."""
        return weight_rows(self.sample_weight, grid, self.runtime)


class DaskEstimator(BaseEstimator):
    """Base of all estimators: input of any kind, `kernel__...` parameters, progress."""

    kernel: Any
    verbose: int

    def set_params(self, **params: Any) -> Any:
        """Set parameters; `kernel__bandwidth` and the like replace the (frozen) kernel by a changed one."""
        nested = {
            name.removeprefix("kernel__"): params.pop(name)
            for name in list(params)
            if name.startswith("kernel__")
        }
        if nested:
            kernel = as_kernel(params.get("kernel", self.kernel))
            unknown = sorted(set(nested) - set(kernel.get_params()))
            if unknown:
                raise ValueError(f"kernel {kernel!r} has no parameter {', '.join(unknown)}")
            params["kernel"] = replace(kernel, **nested)
        return super().set_params(**params)

    def _open(self, X: Any, *, reset: bool) -> Input:
        """The table checked and described; records or compares feature names and their number."""
        if isinstance(X, Dataset):
            X = X.X
        if is_on_device(X) or is_lazy(X):
            source = open_input(X)
            validate_data(self, _names_frame(X, source), reset=reset, skip_check_array=True)
            return source
        if hasattr(X, "tocsr") or isinstance(X, np.ma.MaskedArray):
            open_input(X)  # refused
        return open_input(
            validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=False, accept_sparse=False)
        )

    def _reporter(self, timings: Timings | None = None) -> tuple[Reporter, ProgressBar | None]:
        bar = ProgressBar() if self.verbose else None
        return reporter([sink for sink in (timings, bar) if sink is not None]), bar

    def _described(self, X: Any) -> Input:
        """The input, checked without leaving a trace on this estimator."""
        return type(self)(**self.get_params(deep=False))._open(X, reset=True)

    @contextmanager
    def _working(self, X: Any, sample_weight: Any = None) -> Iterator[Work]:
        """Open the input for a fit; scratch data and the progress bar go away at the end, however it ends."""
        source = self._open(X, reset=True)
        runtime, timings = active_runtime(), Timings()
        report, bar = self._reporter(timings)
        try:
            with single_blas_thread(), Scratch(self._scratch_url(runtime)) as scratch:
                weights = weight_rows(sample_weight, source.grid, runtime)
                rows = resident_rows(source, runtime, report, scratch)
                yield Work(source, rows, weights, runtime, report, timings, scratch, sample_weight)
        finally:
            if bar is not None:
                bar.close()

    def _scratch_url(self, runtime: Runtime) -> str | None:
        """The estimator's own scratch, else that of the session."""
        given: str | None = getattr(self, "scratch", None)
        return given or runtime.scratch


def _names_frame(X: Any, source: Input) -> Any:
    """What scikit-learn reads feature names and their number from."""
    if hasattr(X, "to_dask_array"):
        import pandas as pd

        return pd.DataFrame(columns=X.columns)
    return source.array


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """One seed for a whole fit from None, an int, a RandomState or a Generator (both of which move on)."""
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence([int(v) for v in random_state.randint(0, 2**31, size=4)])
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence([int(v) for v in random_state.integers(0, 2**31, size=4)])
    raise ValueError(f"random_state={random_state!r}: wanted None, an int >= 0, a RandomState or a Generator")


def positive_int(name: str, value: Any, most: int | None = None, of: str = "") -> int:
    """A parameter that counts something. Raises InputError naming it, what was given and the limits."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"{name}={value!r}: wanted a whole number of at least 1")
    if most is not None and int(value) > most:
        raise InputError(f"{name}={value} is more than the {most} {of}: lower {name}")
    return int(value)


def kernel_of(kernel: Any) -> AnyKernel:
    """The estimator's kernel parameter as a kernel object; "precomputed" is refused with the reason."""
    if kernel == "precomputed" and isinstance(kernel, str):
        raise ValueError(
            "kernel='precomputed' is not supported: the n x n matrix is never held; pass a function f(X, Z)"
        )
    return as_kernel(kernel)
