"""Layer 6: what all estimators share: checks at the door, nested kernel parameters, seeds, and the
surroundings of a fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import dask
import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..events import Reporter, Sink, Timings, reporter
from ..frames import Lazy, feature_names, is_frame, refuse_columns, unwrapped
from ..grid import Grid
from ..inputs import (
    Input,
    InputError,
    give_back,
    in_client,
    is_lazy,
    lazy_rows,
    open_table,
    resident_rows,
    weight_rows,
    with_lengths,
)
from ..kernels import AnyKernel, as_kernel
from ..plan import FETCHED_BYTES, Machine, residence
from ..rowblocks import RowBlocks
from ..runtime import Runtime, active_runtime
from ..scratch import Scratch
from ..store import Dataset
from ..threads import single_blas_thread
from ..xp import is_on_device
from .progress import ProgressBar
from .watching import sizes_of


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
    undo: ExitStack  # of what the fit does to the estimator
    sample_weight: Any = None
    y: Any = None  # as `targets.open_targets` leaves it, with known lengths

    def keep(self) -> None:
        """What the estimator has learned so far outlives an error from here on."""
        self.undo.pop_all()

    def held(self, rows: RowBlocks, stage: str) -> RowBlocks:
        """The same rows for many passes: held by the workers, else in scratch, else computed in each."""
        where = residence(rows.nbytes, self.runtime.machine, stored=False, in_caller=False)
        if where == "memory":
            return self.runtime.run([], [rows], reporter=self.reporter, stage=stage)[1][0]
        return rows if self.scratch.url is None else self.scratch.spool(rows, self.runtime, self.reporter)

    def lasting(self, weights: RowBlocks, stage: str) -> Any:
        """Weights (n, l) of a model: up to 64 MB are fetched, so that they outlive the workers."""
        if self.source.kind == "numpy" or weights.nbytes <= FETCHED_BYTES:
            return self.runtime.collect(weights, reporter=self.reporter, stage=stage)
        return self.runtime.run([], [weights], reporter=self.reporter, stage=stage)[1][0].to_dask()

    def weights_on(self, grid: Grid) -> RowBlocks:
        """The sample weights on another grid of the same rows."""
        return weight_rows(self.sample_weight, grid, self.runtime)


class DaskEstimator(BaseEstimator):
    """Base of all estimators: input of any kind, `kernel__...` parameters, progress."""

    kernel: Any
    verbose: int
    _by_rows: ClassVar[tuple[str, ...]] = ()  # fitted attributes that workers may hold

    def __getstate__(self) -> dict[str, Any]:
        """The model without its cluster: what workers hold is fetched, a pickle outlives them."""
        state: dict[str, Any] = super().__getstate__()
        held = [name for name in self._by_rows if dask.is_dask_collection(state.get(name))]
        return state | {name: state[name].compute() for name in held}

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
        return self._open_with(X, None, reset=reset)[0]

    def _open_with(self, X: Any, y: Any, *, reset: bool) -> tuple[Input, Any]:
        """The same, and y: what both need to have computed is computed together, after all other checks."""
        X = X.X if isinstance(X, Dataset) else X
        names = feature_names(X)
        if is_on_device(X) or is_lazy(X) or hasattr(X, "tocsr") or isinstance(X, np.ma.MaskedArray):
            table = open_table(X)
            array = table.array if isinstance(table, Lazy) else table
            validate_data(self, _named(None, names, array), reset=reset, skip_check_array=True)
            return with_lengths(table, y)
        if is_frame(X):
            refuse_columns(X)
        X = X if is_frame(X) else _named(unwrapped(X), names, X)
        checked = validate_data(
            self, X, reset=reset, dtype="numeric", ensure_all_finite=False, accept_sparse=False
        )
        return with_lengths(open_table(checked), y)

    def _given_back(self, source: Input, make: Callable[[RowBlocks, Runtime], RowBlocks], stage: str) -> Any:
        """make(rows, runtime) of the rows of a table, lazily, in the kind that the table has."""
        runtime = active_runtime()
        report, bar = self._reporter()
        try:
            with single_blas_thread():
                made = make(lazy_rows(source, runtime), runtime)
                return give_back(made, source, runtime, report, stage)
        finally:
            if bar is not None:
                bar.close()

    def _transformed(self, source: Input, make: Callable[[RowBlocks, Runtime], RowBlocks], stage: str) -> Any:
        """The same for what `transform` returns.

        Raises InputError where scikit-learn would load a lazy result into a data frame.
        """
        chosen = getattr(self, "_sklearn_output_config", {}).get(
            "transform", get_config()["transform_output"]
        )
        if source.kind == "dask" and chosen != "default":
            raise InputError(
                f"transform_output={chosen!r} would load all of a lazy result into memory: wanted "
                "set_output(transform='default') for Dask input"
            )
        return self._given_back(source, make, stage)

    def _reporter(self, sinks: Iterable[Sink] = ()) -> tuple[Reporter, ProgressBar | None]:
        bar = ProgressBar() if self.verbose else None
        return reporter([*sinks, *([bar] if bar is not None else [])]), bar

    def _described(self, X: Any) -> Input:
        """The input, checked without leaving a trace on this estimator."""
        return type(self)(**self.get_params(deep=False))._open(X, reset=True)

    @contextmanager
    def _working(
        self, X: Any, sample_weight: Any = None, y: Any = None, steps: Sink | None = None
    ) -> Iterator[Work]:
        """Open the input for a fit; scratch data and the progress bar go away at the end, however it ends.

        `steps` is one more listener. A fit that fails leaves the estimator as it was, unless it has said
        `work.keep()`.
        """
        runtime, timings = active_runtime(), Timings()
        report, bar = self._reporter([timings, *runtime.listeners(), *([] if steps is None else [steps])])
        with ExitStack() as undo:
            undo.callback(self._be, dict(vars(self)))
            try:
                source, y = self._open_with(X, y, reset=True)
                started = report.fit(type(self).__name__, sizes_of(source))
                with started, single_blas_thread(), Scratch(self._scratch_url(runtime)) as scratch:
                    if sample_weight is not None:  # computed once
                        sample_weight = in_client(sample_weight, "sample_weight")
                    weights = weight_rows(sample_weight, source.grid, runtime)
                    rows = resident_rows(source, runtime, report, scratch)
                    yield Work(
                        source, rows, weights, runtime, report, timings, scratch, undo, sample_weight, y
                    )
                    undo.pop_all()
            finally:
                if bar is not None:
                    bar.close()

    def _be(self, attributes: dict[str, Any]) -> None:
        """Have these attributes and no others."""
        self.__dict__.clear()
        self.__dict__.update(attributes)

    def _scratch_url(self, runtime: Runtime) -> str | None:
        """The estimator's own scratch, else that of the session."""
        given: str | None = getattr(self, "scratch", None)
        return given or runtime.scratch


def _named(values: Any, names: tuple[Any, ...] | None, otherwise: Any) -> Any:
    """What scikit-learn reads feature names and their number from: a frame where there are names."""
    if names is None:
        return otherwise
    import pandas as pd

    return pd.DataFrame(values, columns=list(names))


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


def not_negative(name: str, value: Any) -> None:
    """Raises InputError unless the parameter is a number >= 0."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= 0:
        raise InputError(f"{name}={value!r}: wanted a number >= 0")


LARGEST_COUNT = 2**53  # what a parameter may ask for: more is no size of anything


def machine_of(machine: Any) -> Machine:
    """What is planned for: the one described, or the workers at hand, measured. Raises InputError."""
    if machine is None:
        return active_runtime().measured()
    if not isinstance(machine, Machine):
        raise InputError(
            f"machine={machine!r}: wanted a daskkernels.plan.Machine, or None for the one at hand"
        )
    return machine


def positive_int(name: str, value: Any, most: int | None = None, of: str = "") -> int:
    """A parameter that counts something. Raises InputError naming it, what was given and the limits."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InputError(f"{name}={value!r}: wanted a whole number of at least 1")
    if int(value) > LARGEST_COUNT:
        raise InputError(f"{name}={value!r:.20}...: wanted a number that can be counted to")
    if most is not None and int(value) > most:
        raise InputError(f"{name}={value} is more than the {most} {of}: lower {name}")
    return int(value)


def clusters_of(model: Any, n: int) -> int:
    """k of a clustering of n rows, after checks of it and of `n_init` and `max_iter`. Raises InputError."""
    k = positive_int("n_clusters", model.n_clusters)
    if k > n:
        raise InputError(f"n_samples={n} should be >= n_clusters={k}: lower n_clusters")
    positive_int("n_init", model.n_init)
    positive_int("max_iter", model.max_iter)
    return k


def between(value: Any, low: float, high: float) -> bool:
    """Whether a parameter is a number between two others, neither of them."""
    return isinstance(value, Real) and not isinstance(value, bool) and low < float(value) < high


def check_learning(model: Any, n: int) -> None:
    """Rows and parameters that every estimator that learns y has. Raises InputError."""
    if n < 2:
        raise InputError("n_samples=1: two rows at least are needed to learn from")
    if model.patience is not None:
        positive_int("patience", model.patience)
    fraction = model.validation_fraction
    if fraction is not None and not between(fraction, 0, 1):
        raise InputError(f"validation_fraction={fraction!r}: wanted a number between 0 and 1, or None")


def kernel_of(kernel: Any) -> AnyKernel:
    """The estimator's kernel parameter as a kernel object; "precomputed" is refused with the reason."""
    if kernel == "precomputed" and isinstance(kernel, str):
        raise ValueError(
            "kernel='precomputed' is not supported: the n x n matrix is never held; pass a function f(X, Z)"
        )
    return as_kernel(kernel)
