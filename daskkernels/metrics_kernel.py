"""Layer 5: how good clusters and features are for a kernel, against K itself, which is streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import dask
import dask.array as da
import numpy as np

from .block.tiles import compute_dtype
from .events import Reporter, reporter
from .inputs import InputError, resident_rows
from .kernels import AnyKernel, as_kernel
from .metrics_inputs import label_rows, open_rows
from .rowblocks import RowBlocks, absent, from_dask
from .runtime import Runtime, active_runtime
from .scratch import Scratch
from .solvers.approximation import Factored, Norms, frobenius_norm, spectral_norm, trace_norm
from .solvers.bandwidth import resolve_kernel
from .solvers.kernel_sums import counted_labels, exact_objective, open_matrix, ranked_labels
from .threads import single_blas_thread

DEFINITIONS = ("features", "columns")
NORMS = ("trace", "frobenius", "spectral")
COLUMNS = 400  # sampled for the Frobenius norm


def kernel_kmeans_objective(
    X: Any,
    labels: Any,
    kernel: Any = "gaussian",
    definition: str = "features",
    *,
    dtype: Any = None,
    random_state: int | None = 0,
) -> float:
    """Mean squared distance of rows to the means of their clusters, exact, without a matrix of n^2 values.

    "features": (1/n) [tr K - sum_j (H^T Y)_jj / |J_j|], in the feature space of the kernel; H (n, k) one-hot,
    Y = K H streamed, J_j the rows of cluster j. "columns": (1/n) [|K|_F^2 - sum_ij Y_ij^2 / |J_j|], of the
    columns of K as points (eq. 6 of the reference). Where k(x, x) = 1 and K is near 1, as for wide kernels,
    K - 1 takes its place: the value is the same, and float32 is enough.

    Parameters
    ----------
    X : (n, d), all that estimators take.
    labels : (n,) cluster numbers, numpy or dask, such as `labels_`; numbers without rows are skipped.
    kernel : as in `NystromFeatures`; a bandwidth "mean" or "median" is found from X.
    definition : "features" or "columns".
    dtype : "float32" or "float64"; None keeps the type of float input, else float32.
    random_state : seed of the sample for a bandwidth "median".

    Cost 2 n^2 (d + k); in memory are blocks of X, and sums (b, k) for k up to 512.
    The same bits for any chunks. Raises InputError, NonFiniteError (with the row).

    References
    ----------
    Wang, Gittens, Mahoney, "Scalable Kernel K-Means Clustering with Nyström Approximation", JMLR 20(12),
    2019.

    Examples
    --------
    >>> X = [[0.0], [2.0], [10.0]]
    >>> kernel_kmeans_objective(X, [0, 0, 1], "linear")
    0.6666666666666666
    """
    if definition not in DEFINITIONS:
        raise InputError(f"definition={definition!r}: wanted 'features' or 'columns'")
    with _opened(X, kernel, dtype, random_state) as at:
        rows = label_rows(labels, at.rows.grid, at.runtime)
        kept, values, sizes = counted_labels(rows, at.runtime, at.report)
        if values[0] < 0:
            raise InputError(f"labels hold {values[0]}: wanted cluster numbers 0, 1, ...")
        ranked = ranked_labels(kept, values, at.runtime)
        K = open_matrix(at.rows, at.kernel, at.dtype, at.runtime, at.report)
        value = exact_objective(K, ranked, sizes, definition == "columns", at.runtime, at.report)
        for held in (kept, K.diagonal):
            at.runtime.release(held)
    return value


@dataclass(frozen=True)
class Approximation:
    """How far B B^T is from K in one norm.

    Attributes
    ----------
    norm : "trace", "frobenius" or "spectral".
    error : |K - B B^T|.
    kernel : |K|.
    uncertainty : of `relative`: 0 where it is exact; the standard error of a sample of columns; for
        "spectral" the residual of the eigenvector: some eigenvalue is that near. Such an error is never above
        the norm, and is below it where the leading eigenvalues are hardly apart.
    """

    norm: str
    error: float
    kernel: float
    uncertainty: float

    @property
    def relative(self) -> float:
        """|K - B B^T| / |K|; 0 where K is 0."""
        return self.error / self.kernel if self.kernel else 0.0


def approximation_error(
    X: Any,
    features: Any,
    kernel: Any = None,
    norm: str = "trace",
    *,
    n_columns: int = COLUMNS,
    dtype: Any = None,
    random_state: int | None = 0,
) -> Approximation:
    """|K - B B^T| beside |K|, for features B (n, s) of the rows of X (n, d), without a matrix of n^2 values.

    "trace": tr K - tr B B^T, exact, one pass. It is the sum of all singular values where K - B B^T is
    positive, as for `NystromFeatures`. "frobenius": from `n_columns` columns drawn uniformly, with its
    standard error; cost 2 n n_columns (d + s). "spectral": the largest |eigenvalue|, by Lanczos's algorithm
    with ten to twenty products of K, 2 n^2 d each.

    Parameters
    ----------
    X : (n, d), all that estimators take.
    features : B (n, s), numpy or dask; or a fitted `NystromFeatures`, or what else has `transform`.
    kernel : as in `NystromFeatures`; None takes `features.kernel_`.
    norm : "trace", "frobenius" or "spectral".
    n_columns : columns of K that are sampled, at most n.
    dtype : "float32" or "float64" for kernel values; None keeps the type of float input, else float32, in
        which relative errors below about 1e-6 are rounding.
    random_state : seed of columns and of vectors to begin with.

    Raises InputError, NonFiniteError (with the row).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3.0, 0.0], [0.0, 4.0]])
    >>> approximation_error(X, X[:, 1:], "linear").relative
    0.36
    """
    if norm not in NORMS:
        raise InputError(f"norm={norm!r}: wanted 'trace', 'frobenius' or 'spectral'")
    if isinstance(n_columns, bool) or not isinstance(n_columns, Integral) or n_columns < 1:
        raise InputError(f"n_columns={n_columns!r}: wanted a whole number of at least 1")
    if hasattr(features, "transform"):
        kernel = getattr(features, "kernel_", None) if kernel is None else kernel
        features = features.transform(X)
    if kernel is None:
        raise InputError("kernel=None: wanted the kernel that the features approximate")
    with _opened(X, kernel, dtype, random_state) as at:
        B = _feature_rows(features, at)
        of = Factored(at.rows, B, at.kernel, at.dtype, at.runtime, at.report)
        found = _norms(of, norm, min(int(n_columns), at.rows.grid.n_rows), random_state)
        at.runtime.release(B)
    return Approximation(norm, found.error, found.kernel, found.uncertainty)


def _norms(of: Factored, norm: str, columns: int, random_state: int | None) -> Norms:
    if norm == "trace":
        return trace_norm(of)
    seed = np.random.SeedSequence(random_state)
    if norm == "frobenius":
        return frobenius_norm(of, columns, np.random.default_rng(seed))
    return spectral_norm(of, seed)


@dataclass(frozen=True)
class _Opened:
    """Rows ready for many passes, the kernel with its bandwidth as a number, and the surroundings."""

    rows: RowBlocks
    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    runtime: Runtime
    report: Reporter
    scratch: Scratch


@contextmanager
def _opened(X: Any, kernel: Any, dtype: Any, random_state: int | None) -> Iterator[_Opened]:
    """Open a table for a measure; what was spooled goes away at the end."""
    source, runtime, report = open_rows(X), active_runtime(), reporter()
    kernel, rng = as_kernel(kernel), np.random.default_rng(random_state)
    with single_blas_thread(), Scratch(runtime.scratch) as scratch:
        rows = resident_rows(source, runtime, report, scratch)
        kernel = resolve_kernel(kernel, rows, absent(rows.grid), runtime, report, rng)
        computed = compute_dtype(source.array.dtype, dtype)
        yield _Opened(rows, kernel, computed, runtime, report, scratch)


def _feature_rows(B: Any, at: _Opened) -> RowBlocks:
    """Features (n, s) on the grid of the rows, computed once. Raises InputError."""
    grid, runtime = at.rows.grid, at.runtime
    B = B if dask.is_dask_collection(B) else np.asarray(B)
    if B.ndim != 2 or B.shape[0] != grid.n_rows or B.dtype.kind not in "fiub":
        raise InputError(
            f"features have shape {B.shape} and dtype {B.dtype}: wanted numbers ({grid.n_rows}, s), a row "
            "for each row of X"
        )
    if not isinstance(B, da.Array):
        return runtime.place_rows(B, grid)
    rows, stage = from_dask(B, grid), "approximation-features"
    if rows.nbytes > runtime.machine.managed // 2 and at.scratch.url is not None:
        return at.scratch.spool(rows, runtime, at.report)
    return runtime.run([], [rows], reporter=at.report, stage=stage)[1][0]
