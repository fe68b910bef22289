"""Layer 6: `Standardize`, centering and scaling of columns in one streaming pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..block.moments import standardize
from ..block.tiles import compute_dtype
from ..inputs import Input, InputError
from ..rowblocks import RowBlocks
from ..rows import map_rows
from ..runtime import Runtime
from ..solvers.bandwidth import moments
from .base import DaskEstimator


class Standardize(OneToOneFeatureMixin, TransformerMixin, DaskEstimator):
    """(x - mean) / standard deviation of each column; scikit-learn's scalers load a dask array into memory,
    this one streams.

    Moments are exact in float64 (population variance); columns without variance are only centered. Cost 3 n
    d, one pass.

    Parameters
    ----------
    with_mean, with_std : whether the mean is subtracted, and whether columns are divided by their deviation.
    dtype : "float32" or "float64" of the result; None keeps the type of float input, else float32.
    verbose : 1 shows a progress bar.

    Attributes
    ----------
    mean_, var_ : (d,) float64, population variances.
    scale_ : (d,) float64, what columns are divided by; 1 where a column has no variance.
    n_samples_seen_ : n.

    Raises InputError and NonFiniteError (with the row).

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import Standardize
    >>> Standardize().fit_transform(np.array([[1.0], [3.0]])).ravel().tolist()
    [-1.0, 1.0]
    """

    def __init__(
        self, with_mean: bool = True, with_std: bool = True, dtype: Any = None, verbose: int = 0
    ) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        self.dtype = dtype
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Standardize:
        """Means and variances of X (n, d); `sample_weight` (n,) counts rows. `y` is ignored."""
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and scale the rows of X, whose unknown lengths are found once."""
        return self._scaled(self._fit(X, sample_weight))

    def transform(self, X: Any) -> Any:
        """Scaled rows (n, d), in the kind X has; integers become float32."""
        check_is_fitted(self)
        return self._scaled(self._open(X, reset=False))

    def _fit(self, X: Any, sample_weight: Any) -> Input:
        with self._working(X, sample_weight) as work:
            found = moments(work.rows, work.weights, work.runtime, work.reporter, stage="standardize-moments")
            self.mean_, self.var_ = found.mean, found.variance
            # the mean of equal values may be off by a rounding for each of the 256 rows summed at a time
            if not np.isfinite(self.var_).all():
                column = int(np.argmin(np.isfinite(self.var_)))
                raise InputError(f"the variance of column {column} of X is beyond float64: rescale it")
            flat = self.var_ <= (256 * np.finfo(np.float64).eps * np.abs(self.mean_)) ** 2
            self.scale_ = np.where(flat, 1.0, np.sqrt(self.var_))
            self.n_samples_seen_ = work.source.shape[0]
        return work.source

    def _scaled(self, source: Input) -> Any:
        dtype = compute_dtype(source.array.dtype, self.dtype)
        scale = partial(
            standardize,
            mean=self.mean_ if self.with_mean else None,
            scale=self.scale_ if self.with_std else None,
            dtype=dtype,
        )
        columns = source.shape[1]

        def scaled(rows: RowBlocks, _runtime: Runtime) -> RowBlocks:
            return map_rows(scale, rows, stage="standardize", columns=columns, dtype=dtype)

        return self._transformed(source, scaled, "standardize")
