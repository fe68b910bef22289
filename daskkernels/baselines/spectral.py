"""Layer 7: `NystromSpectralClustering`, spectral clustering with the Nyström method."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plan_clustering as clustering
from ..block.tiles import compute_dtype
from ..callers import warn
from ..estimators.base import Work, kernel_of, positive_int, seed_sequence
from ..estimators.kmeans_parameters import automatic_landmarks
from ..kernels import Stationary
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..runtime import Runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.nystrom import NystromMap, choose_landmarks
from ..solvers.spectral import SpectralFit, embedding_rows, fit_spectral
from ..xp import to_host
from .clustering import FeatureClustering


class NystromSpectralClustering(FeatureClustering):
    """Spectral clustering with Nyström columns: k-means on the rows of the leading k eigenvectors of
    D^(-1/2) K~ D^(-1/2), scaled to length 1.

    K~ = C W^+ C^T = R R^T, C = K[:, landmarks] (n, c), with all eigenvalues of W = C[landmarks] (c, c) above
    rounding; D its row sums. Three streamed passes: v = R^T 1; d = R v and G = R^T diag(1/d) R = Q L Q^T;
    V = diag(d)^(-1/2) R Q_k L_k^(-1/2), where the scaling of the rows takes d away. Equal to the one-shot
    method, which takes the eigenvectors of A + A^(-1/2) B B^T A^(-1/2), and more accurate. Cost n c d +
    n c l + n l^2, l <= c, then 4 n k^2 an iteration of k-means.

    K~ has negative entries. Rows far from all landmarks (outliers, narrow kernels) may have a degree of zero
    or less, for which the method has no meaning: such a degree becomes k(x, x), as if the row were like no
    other. How many there were is in `n_floored_`, with a NumericalWarning.

    Parameters
    ----------
    n_clusters : k.
    kernel, landmarks : as in `NystromFeatures`; kernel values are to be positive.
    n_landmarks : c; "auto" is min(n, max(40 k, 400)).
    init : "k-means||" or "k-means++".
    n_init, max_iter, tol, dtype, scratch, random_state, verbose : as in `KernelKMeans`.

    Attributes
    ----------
    labels_ : (n,) int32; numpy for numpy input, a persisted dask array for lazy input.
    cluster_centers_ : (k, k) among the rows of the embedding.
    inertia_, cluster_sizes_, n_iter_ : of the kept restart.
    n_floored_ : rows whose degree was zero or less, within rounding.
    eigenvalues_ : (l,) of D^(-1/2) K~ D^(-1/2), descending; the first is 1 to rounding.
    rank_ : l, eigenvalues of W that were kept.
    components_ : (c, k), the embedding of a row is k(x, landmarks) components_, scaled to length 1.
    kernel_, landmarks_, landmark_indices_ : as in `NystromFeatures`.

    Raises InputError (k > n, bad parameters), PlanError (before running), NonFiniteError (with the row).

    References
    ----------
    Fowlkes, Belongie, Chung, Malik, "Spectral grouping using the Nyström method", IEEE TPAMI 26(2), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import Gaussian
    >>> from daskkernels.baselines import NystromSpectralClustering
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) / 10
    >>> X[20:] += 1.0
    >>> labels = NystromSpectralClustering(2, Gaussian(0.5), random_state=0).fit_predict(X)
    >>> int(abs(labels[:20].mean() - labels[20:].mean()))
    1
    """

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = "gaussian",
        n_landmarks: int | str = "auto",
        init: str = "k-means||",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> NystromSpectralClustering:
        """Cluster the rows of X (n, d). `y` is ignored."""
        with self._working(X) as work:
            n = work.source.shape[0]
            k = self._check_parameters(n)
            c = self._landmark_count(n, k)
            for_landmarks, for_bandwidth, for_kmeans = seed_sequence(self.random_state).spawn(3)
            rng = np.random.default_rng(for_bandwidth)
            runtime, reporter = work.runtime, work.reporter
            kernel = kernel_of(self.kernel)
            task = self._task(work, c, k)
            plan = clustering.plan_kmeans(task, runtime.machine, work.scratch.url is not None, self.max_iter)
            kernel = resolve_kernel(kernel, work.rows, work.weights, runtime, reporter, rng)
            rng = np.random.default_rng(for_landmarks)
            indices, landmarks = choose_landmarks(work.rows, c, runtime, reporter, rng)
            fit = fit_spectral(
                work.rows,
                kernel,
                landmarks,
                n_vectors=k,
                dtype=compute_dtype(work.source.array.dtype, self.dtype),
                keep_columns=plan.keep_columns,
                runtime=runtime,
                reporter=reporter,
            )
            self._set_fitted(fit, indices, k)
            merge = clustering.lloyd_factor(work.rows.grid, k, self.dtype_.itemsize)
            V = embedding_rows(work.rows, fit.map, runtime, columns=fit.columns, merge=merge)
            self._cluster(work, V, k, for_kmeans)
            if fit.columns is not None:
                runtime.release(fit.columns)
        return self

    def _landmark_count(self, n: int, k: int) -> int:
        if self.n_landmarks == "auto":
            return min(n, automatic_landmarks(k))
        return positive_int("n_landmarks", self.n_landmarks, n, "rows")

    def _task(self, work: Work, c: int, k: int) -> clustering.Task:
        """The sizes as the planner wants them: those of Nyström features of full rank, and of k-means."""
        (n, d), stored = work.source.shape, work.source.array.dtype.itemsize
        kernel = kernel_of(self.kernel)
        return clustering.Task(
            n=n,
            d=d,
            stored=stored,
            width=compute_dtype(work.source.array.dtype, self.dtype).itemsize,
            c=c,
            rank=c,
            s=k,
            k=k,
            n_init=self.n_init,
            moments_pass=isinstance(kernel, Stationary) and not kernel.resolved,
            residence=work.source.residence(work.runtime.machine),
        )

    def _set_fitted(self, fit: SpectralFit, indices: np.ndarray, k: int) -> None:
        self.kernel_, self.dtype_ = fit.map.kernel, fit.map.dtype
        self.landmarks_, self.landmark_indices_ = fit.map.landmarks, indices
        self.components_, self.rank_ = fit.map.components, fit.rank
        self.eigenvalues_, self.n_floored_ = to_host(fit.eigenvalues), fit.n_floored
        if fit.n_floored:
            warn(
                f"{fit.n_floored} rows have a degree of zero or less in the Nyström approximation, and count "
                "as rows that are like no other: raise n_landmarks or the kernel's bandwidth",
                NumericalWarning,
            )
        found = fit.map.components.shape[1]
        if found < k:
            warn(
                f"n_clusters={k}, but the approximated kernel has {found} eigenvectors: raise n_landmarks",
                NumericalWarning,
            )

    def _features_of(self, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
        found = NystromMap(self.kernel_, self.landmarks_, self.components_, self.dtype_)
        return embedding_rows(rows, found, runtime)
