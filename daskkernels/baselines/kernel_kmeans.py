"""Layer 7: `ExactKernelKMeans`, kernel k-means with all of K: what approximations are compared with."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..block.tiles import compute_dtype
from ..callers import warn
from ..estimators.base import DaskEstimator, Work, clusters_of, kernel_of, not_negative, seed_sequence
from ..inputs import Input, InputError, in_client, keep_labels, lazy_rows, open_input
from ..linalg import NumericalWarning
from ..rounds import inline
from ..rowblocks import RowBlocks, from_dask
from ..runtime import Runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.kernel_kmeans import KernelKMeansFit, Partition, assigned_rows, fit_kernel_kmeans
from ..solvers.kernel_sums import KernelMatrix, matrix_of, open_matrix

STAGE = "kernel-kmeans-labels"


class KernelPartition(ClusterMixin, DaskEstimator):
    """Base of clusterings whose clusters are sets of rows: predicted is the nearest mean in feature space."""

    n_clusters: int
    kernel: Any
    n_init: int
    max_iter: int
    tol: float
    dtype: Any
    random_state: Any
    cluster_sizes_: np.ndarray
    own_sums_: np.ndarray
    _by_rows = ("labels_",)

    def _members(self) -> tuple[Any, Any]:
        """The rows that clusters are made of, and their labels."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Nearest cluster (m,) int32 of each row of X (m, d), in the kind X has. Cost 2 m n d for n members.

        argmin_j (1/|J_j|^2) sum_{i,l in J_j} K_il - (2/|J_j|) sum_{i in J_j} k(x, x_i).
        """
        check_is_fitted(self)
        members, labels = self._members()

        def assigned(rows: RowBlocks, runtime: Runtime) -> RowBlocks:
            within = rows_of(members, runtime)
            K = matrix_of(within, self.kernel_, self.dtype_, self.center_, self.shift_)
            partition = Partition(_column(labels, within, runtime), self.cluster_sizes_, self.own_sums_)
            return assigned_rows(K, rows, partition, runtime)

        return self._given_back(self._open(X, reset=False), assigned, STAGE)

    def _check_parameters(self, n: int) -> int:
        """Raises InputError. Returns k."""
        k = clusters_of(self, n)
        not_negative("tol", self.tol)
        return k

    def _resolved(self, work: Work, seed: np.random.SeedSequence) -> None:
        """The kernel with its bandwidth as a number, and the type of the arithmetic."""
        kernel = kernel_of(self.kernel)
        rng = np.random.default_rng(seed)
        self.kernel_ = resolve_kernel(kernel, work.rows, work.weights, work.runtime, work.reporter, rng)
        self.dtype_ = compute_dtype(work.source.array.dtype, self.dtype)

    def _lloyd(
        self, work: Work, rows: RowBlocks, k: int, init: RowBlocks | None, seed: np.random.SeedSequence
    ) -> tuple[KernelMatrix, KernelKMeansFit]:
        """Kernel k-means of these rows; sets what prediction needs."""
        K = open_matrix(rows, self.kernel_, self.dtype_, work.runtime, work.reporter)
        found = fit_kernel_kmeans(
            K,
            k,
            init=init,
            seeds=seed.spawn(self.n_init),
            max_iter=self.max_iter,
            tol=self.tol,
            runtime=work.runtime,
            reporter=work.reporter,
        )
        work.runtime.release(K.diagonal)
        self.center_, self.shift_ = K.center, K.shift
        self.cluster_sizes_, self.own_sums_ = found.partition.sizes, found.partition.own
        self.n_iter_, self.history_ = found.n_iter, found.history
        used = int((self.cluster_sizes_ > 0).sum())
        if used < k:
            warn(
                f"n_clusters={k}, but only {used} clusters have members: the rows that are clustered have "
                f"about {used} distinct ones in feature space",
                NumericalWarning,
            )
        return K, found


def rows_of(X: Any, runtime: Runtime) -> RowBlocks:
    """A table on its grid."""
    return lazy_rows(open_input(X), runtime)


def _column(labels: Any, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
    """Labels (n,) on the grid of their rows."""
    if dask.is_dask_collection(labels):
        return from_dask(labels, rows.grid)
    return runtime.place_rows(np.asarray(labels), rows.grid)


class ExactKernelKMeans(KernelPartition):
    """Kernel k-means with the whole kernel matrix, by Lloyd's algorithm in feature space.

    Minimises sum_i |phi(x_i) - mean of its cluster|^2 = tr K - sum_j (H^T K H)_jj / |J_j|, H (n, k) one-hot.
    K H is streamed in every iteration and K is never held: cost 2 n^2 (d + k n_init) an iteration, memory
    8 n k n_init bytes of the workers. `n_init` restarts share every pass.

    Parameters
    ----------
    n_clusters : k.
    kernel, dtype, scratch, random_state, verbose : as in `NystromFeatures`.
    init : "k-means++" (Arthur, Vassilvitskii 2007) in feature space, k passes of 2 n d; or labels (n,) to
        begin with, numbers from 0 to k - 1.
    n_init : restarts; the one of smallest inertia is kept.
    max_iter : iterations at most.
    tol : a restart is done when its inertia falls by at most tol of itself, or no label changes.

    Attributes
    ----------
    labels_ : (n,) int32; numpy for numpy input, dask for lazy input.
    inertia_ : tr K - sum_j (H^T K H)_jj / |J_j| of these labels, n times
        `metrics.kernel_kmeans_objective(X, labels_, kernel_)`.
    cluster_sizes_ : (k,) rows of each cluster.
    n_iter_ : iterations of the kept restart.
    history_ : list of dicts, one an iteration and restart: inertia, rows that changed.
    kernel_ : the kernel with its bandwidth as a number.
    X_fit_ : the rows of the fit, not copied: prediction streams them.

    A cluster without members takes the row farthest from its mean. Raises InputError (k > n, bad parameters),
    PlanError (lazy rows that fit nowhere), NonFiniteError (with the row).

    References
    ----------
    Dhillon, Guan, Kulis, "Kernel k-means, spectral clustering and normalized cuts", KDD 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels.baselines import ExactKernelKMeans
    >>> X = np.r_[np.zeros(3), np.ones(4)][:, None]
    >>> model = ExactKernelKMeans(2, random_state=0).fit(X)
    >>> sorted(model.cluster_sizes_.tolist()), round(model.inertia_, 9)
    ([3, 4], 0.0)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = "gaussian",
        random_state: Any = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        init: Any = "k-means++",
        dtype: Any = None,
        scratch: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.random_state = random_state
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.dtype = dtype
        self.scratch = scratch
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ExactKernelKMeans:
        """Cluster the rows of X (n, d). `y` is ignored."""
        with self._working(X) as work:
            k = self._check_parameters(work.source.shape[0])
            init = self._initial(work, k)
            for_kernel, for_restarts = seed_sequence(self.random_state).spawn(2)
            self._resolved(work, for_kernel)
            _, found = self._lloyd(work, work.rows, k, init, for_restarts)
            self.X_fit_, self.inertia_ = work.source.array, found.inertia
            self.labels_ = _labels_of(found.partition.labels, work.source, work)
        return self

    def _members(self) -> tuple[Any, Any]:
        return self.X_fit_, self.labels_

    def _initial(self, work: Work, k: int) -> RowBlocks | None:
        """The parameter `init` as rows of labels, None for k-means++. Raises InputError."""
        if isinstance(self.init, str):
            if self.init != "k-means++":
                raise InputError(f"init={self.init!r}: wanted 'k-means++', or an array of labels")
            return None
        labels = in_client(self.init, "init")
        n = work.source.shape[0]
        if labels.shape != (n,) or labels.dtype.kind not in "iu" or not 0 <= labels.min() <= labels.max() < k:
            raise InputError(
                f"init has shape {labels.shape} and dtype {labels.dtype}: wanted labels ({n},), numbers from "
                f"0 to {k - 1}"
            )
        return work.runtime.place_rows(labels.astype(np.int32), work.rows.grid)


def _labels_of(labels: RowBlocks, source: Input, work: Work) -> Any:
    """Labels (n, 1) as a vector in the kind that came in."""
    flat = inline(np.ravel, labels, columns=None, dtype=np.int32)
    return keep_labels(flat, source, work.runtime, work.reporter, STAGE)
