"""Layer 6: features that are products with all rows of the training data, fitted, kept and applied: those of
random projections and of kernel PCA.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..inputs import Input, InputError, lazy_rows, open_input
from ..kernels import AnyKernel
from ..plan import Plan
from ..plan_clustering import Task
from ..rowblocks import RowBlocks, from_dask
from ..runtime import Runtime
from ..solvers.sampling import SAMPLINGS
from ..solvers.sketches import (
    PROJECTIONS,
    RowsFit,
    RowsMap,
    fit_rows,
    mapped_rows,
    middle,
    sketch_of,
    sketched,
)
from .base import DaskEstimator, Work


def sampling_of(sampling: Any, given: bool) -> str:
    """The parameter `sampling`, where landmarks are given or not. Raises InputError."""
    known = (*SAMPLINGS, *PROJECTIONS)
    if not isinstance(sampling, str) or sampling not in known:
        raise InputError(f"sampling={sampling!r}: wanted one of {', '.join(map(repr, known))}")
    if given and sampling != "uniform":
        raise InputError(
            f"sampling={sampling!r} and landmarks are given: leave one of them out, given landmarks are used "
            "as they are"
        )
    return sampling


def is_projection(sampling: str) -> bool:
    """Whether all rows are projected, instead of some chosen as landmarks."""
    return sampling in PROJECTIONS


class Holder:
    """Keeps row blocks between passes, where the plan says: in the workers' memory, or in scratch."""

    def __init__(self, work: Work, plan: Plan) -> None:
        self._work, self._in_memory = work, plan.features == "memory"

    def __call__(self, rows: RowBlocks, stage: str = "sketch-weights") -> RowBlocks:
        """The same rows, computed."""
        work = self._work
        if self._in_memory:
            return work.runtime.run([], [rows], reporter=work.reporter, stage=stage)[1][0]
        return work.scratch.spool(rows, work.runtime, work.reporter)

    def release(self, rows: RowBlocks) -> None:
        """Give up rows that were kept."""
        if self._in_memory:
            self._work.runtime.release(rows)
        else:
            self._work.scratch.discard(rows)


def fit_projection(
    work: Work,
    kernel: AnyKernel,
    task: Task,
    plan: Plan,
    n_components: int | None,
    dtype: np.dtype[np.floating],
    rng: np.random.Generator,
) -> RowsFit:
    """The features of a random projection of all rows of X."""
    sketch = sketch_of(task.sampling, task.c, task.n, rng)
    center = middle(work.rows, work.runtime, work.reporter, rng)
    P, hold = sketched(sketch, work.weights), Holder(work, plan)
    if plan.keep_columns:
        P = hold(P)
    fit = fit_rows(
        RowsMap(kernel, dtype, center, work.rows, P),
        work.weights,
        rank=task.rank,
        n_components=n_components,
        hold=hold,
        runtime=work.runtime,
        reporter=work.reporter,
    )
    if plan.keep_columns:
        hold.release(P)
    return fit


class RowsFeatures(DaskEstimator):
    """An estimator whose features are B(x) = k(x, centers_) dual_coef_ - offset_."""

    kernel_: Any
    dtype_: np.dtype[np.floating]
    _by_rows = ("dual_coef_",)

    def _open_with(self, X: Any, y: Any, *, reset: bool) -> tuple[Input, Any]:
        """Blocks of the table leave room for the rows of the matrices that a fit works with."""
        source, y = super()._open_with(X, y, reset=reset)
        return replace(source, beside=self._beside(source.shape[0]) if reset else self._fitted_beside), y

    def _beside(self, n: int) -> int:
        """Columns of those matrices in a fit to n rows, as far as the parameters say."""
        raise NotImplementedError

    @property
    def _fitted_beside(self) -> int:
        """The same after the fit."""
        raise NotImplementedError

    def _keep_rows(self, fit: RowsFit, work: Work) -> None:
        """The fitted attributes."""
        weights = fit.map.weights
        self.dual_coef_ = work.lasting(weights, "sketch-weights")
        self.centers_, self.center_ = work.source.array, fit.map.center
        self.offset_ = np.zeros(weights.columns or 0) if fit.map.offset is None else fit.map.offset

    def _features_of_rows(self, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
        """B of any rows, lazily."""
        source = replace(open_input(self.centers_), beside=self._fitted_beside)
        centers = lazy_rows(source, runtime)
        if isinstance(self.dual_coef_, np.ndarray):
            weights = runtime.place_rows(self.dual_coef_, centers.grid)
        else:
            weights = from_dask(self.dual_coef_, centers.grid)
        features = RowsMap(self.kernel_, self.dtype_, self.center_, centers, weights, self.offset_)
        return mapped_rows(rows, features)
