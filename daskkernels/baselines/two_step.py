"""Layer 7: `TwoStepKernelKMeans`, kernel k-means on sampled rows; all others go to the nearest mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.base import positive_int, seed_sequence
from ..estimators.kmeans_parameters import automatic_landmarks
from ..inputs import InputError, keep_labels
from ..solvers.kernel_kmeans import assign_rows
from ..solvers.nystrom import choose_landmarks
from ..xp import to_host
from .kernel_kmeans import STAGE, KernelPartition, rows_of


class TwoStepKernelKMeans(KernelPartition):
    """Kernel k-means on c sampled rows, and every row to the nearest of their means in feature space.

    argmin_j (1/|J_j|^2) sum_{i,l in J_j} K_il - (2/|J_j|) sum_{i in J_j} k(x, x_i), J_j the sampled rows of
    cluster j. One pass over the rows; memory is that of a block. Cost 2 c^2 d an iteration, then 2 n c d.

    Parameters
    ----------
    n_clusters : k.
    kernel, dtype, scratch, random_state, verbose : as in `NystromFeatures`.
    n_landmarks : c, rows that are sampled uniformly; "auto" is min(n, max(40 k, 400)).
    n_init, max_iter, tol : as in `ExactKernelKMeans`, on the sampled rows.

    Attributes
    ----------
    labels_ : (n,) int32; numpy for numpy input, dask for lazy input.
    inertia_ : sum of squared distances of all rows to the mean they are nearest to.
    cluster_sizes_ : (k,) sampled rows of each cluster.
    landmarks_, landmark_indices_, landmark_labels_ : (c, d) sampled rows, (c,) their numbers and labels.
    n_iter_, history_ : of the sampled rows.
    kernel_ : the kernel with its bandwidth as a number.

    Raises InputError (k > c, bad parameters), NonFiniteError (with the row).

    References
    ----------
    Chitta, Jin, Havens, Jain, "Approximate kernel k-means: solution to large scale kernel clustering",
    KDD 2011, where it is the two-step baseline.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels.baselines import TwoStepKernelKMeans
    >>> X = np.r_[np.zeros(30), np.ones(40)][:, None]
    >>> labels = TwoStepKernelKMeans(2, n_landmarks=20, random_state=0).fit_predict(X)
    >>> sorted(np.bincount(labels).tolist())
    [30, 40]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = "gaussian",
        n_landmarks: int | str = "auto",
        random_state: Any = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-6,
        dtype: Any = None,
        scratch: str | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.scratch = scratch
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> TwoStepKernelKMeans:
        """Cluster the rows of X (n, d). `y` is ignored."""
        with self._working(X) as work:
            n, runtime = work.source.shape[0], work.runtime
            k = self._check_parameters(n)
            c = self._landmark_count(n, k)
            seeds = seed_sequence(self.random_state).spawn(3)
            self._resolved(work, seeds[0])
            rng = np.random.default_rng(seeds[1])
            indices, Z = choose_landmarks(work.rows, c, runtime, work.reporter, rng)
            self.landmark_indices_, self.landmarks_ = indices, to_host(Z)
            K, found = self._lloyd(work, rows_of(self.landmarks_, runtime), k, None, seeds[2])
            self.landmark_labels_ = runtime.collect(
                found.partition.labels, reporter=work.reporter, stage=STAGE
            )[:, 0]
            labels, self.inertia_ = assign_rows(K, work.rows, found.partition, runtime, work.reporter)
            self.labels_ = keep_labels(labels, work.source, runtime, work.reporter, STAGE)
        return self

    def _members(self) -> tuple[Any, Any]:
        return self.landmarks_, self.landmark_labels_

    def _landmark_count(self, n: int, k: int) -> int:
        """c as a number. Raises InputError."""
        if isinstance(self.n_landmarks, str):
            if self.n_landmarks != "auto":
                raise InputError(f"n_landmarks={self.n_landmarks!r}: wanted 'auto' or a whole number")
            return min(n, automatic_landmarks(k))
        c = positive_int("n_landmarks", self.n_landmarks, n, "rows")
        if c < k:
            raise InputError(f"n_landmarks={c} is less than n_clusters={k}: raise n_landmarks")
        return c
