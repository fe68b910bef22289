"""Layer 6: `KernelKMeans`, kernel k-means on rank-restricted Nyström features."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import dask
import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import plan as planning
from ..block import kmeans as block
from ..inputs import InputError, give_back, keep_labels, lazy_rows, weight_rows
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime, active_runtime
from ..solvers.kmeans import KMeansFit, fit_kmeans
from ..solvers.nystrom import NystromFit, feature_rows
from .base import DaskEstimator, Work, positive_int, seed_sequence
from .nystrom import NystromFeatures

INITS = ("k-means||", "k-means++")


class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, DaskEstimator):
    """Kernel k-means: k-means on the rows of B, B B^T = the rank-s Nyström approximation of K.

    Minimises sum_i w_i |b_i - mean of its cluster|^2. With s near sqrt(k c) the objective of K itself is
    within 1 + eps + k / s of the best [Wang, Gittens, Mahoney 2019, Theorem 2]. Cost: that of
    `NystromFeatures`, then 4 n k s an iteration.

    Parameters
    ----------
    n_clusters : k.
    kernel, rank, landmarks, dtype, scratch, random_state, verbose : as in `NystromFeatures`.
    n_landmarks : c; "auto" is min(n, max(40 k, 400)).
    n_components : s; "auto" is ceil(sqrt(k c)), at most the kept rank.
    init : "k-means||" (Bahmani 2012), "k-means++", or an array (k, s) of centers in feature space.
    n_init : restarts, which share every pass; the one of smallest inertia is kept.
    max_iter, tol : stop when the centers' squared movement is below tol times the mean variance of a feature.

    Attributes
    ----------
    labels_ : (n,) int32, the nearest of `cluster_centers_`; numpy for numpy input, a persisted dask array for
        lazy input.
    cluster_centers_ : (k, s) in feature space.
    inertia_ : weighted sum of squared distances to the own center.
    cluster_sizes_ : (k,) rows of each cluster.
    n_iter_ : iterations of the kept restart.
    history_ : list of dicts, one an iteration and restart.
    features_ : the fitted `NystromFeatures`.
    plan_ : the plan, with measured seconds.

    Raises InputError (k > n, bad parameters), PlanError (before running), NonFiniteError (with the row).

    References
    ----------
    Wang, Gittens, Mahoney, "Scalable Kernel K-Means Clustering with Nyström Approximation",
    JMLR 20(12), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import KernelKMeans
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) / 10
    >>> X[20:] += 1.0
    >>> labels = KernelKMeans(2, random_state=0).fit_predict(X)
    >>> int(abs(labels[:20].mean() - labels[20:].mean()))
    1
    """

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = "gaussian",
        n_landmarks: int | str = "auto",
        rank: int | str | None = "auto",
        n_components: int | str = "auto",
        landmarks: Any = None,
        init: Any = "k-means||",
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
        self.rank = rank
        self.n_components = n_components
        self.landmarks = landmarks
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Cluster the rows of X (n, d); `sample_weight` (n,) counts rows. `y` is ignored."""
        with self._working(X, sample_weight) as work:
            k = self._check_parameters(work.source.shape[0])
            for_features, for_kmeans = seed_sequence(self.random_state).spawn(2)
            features = self._features(work.source.shape[0], k, np.random.default_rng(for_features))
            machine = work.runtime.machine
            task = features._task(work.source, machine, k, self.n_init)
            plan = planning.plan_kmeans(task, machine, work.scratch.url is not None, self.max_iter)
            fit = features._fit(work, keep_columns=True)
            features.plan_ = plan
            if self.n_components != "auto":
                features._warn_if_short()
            B = self._points(work, features, fit, plan)
            found = fit_kmeans(
                B,
                work.weights_on(B.grid),
                k,
                init=self._initial(k, features.n_components_),
                seeds=for_kmeans.spawn(self.n_init),
                max_iter=self.max_iter,
                tol=self.tol,
                runtime=work.runtime,
                reporter=work.reporter,
            )
            work.runtime.release(B)
            self._set_fitted(work, features, found, replace(plan, measured=dict(work.timings.seconds)))
        return self

    def __getstate__(self) -> dict[str, Any]:
        """The model without its cluster: labels that workers hold are fetched, a pickle outlives them."""
        state: dict[str, Any] = super().__getstate__()
        if dask.is_dask_collection(state.get("labels_")):
            state = state | {"labels_": state["labels_"].compute()}
        return state

    def predict(self, X: Any) -> Any:
        """Nearest cluster (n,) int32 of each row of X (n, d), in the kind X has."""
        return self._apply(X, block.labels, None, np.int32, "kmeans-labels")

    def transform(self, X: Any) -> Any:
        """Distances (n, k) to the cluster centers in feature space, in the kind X has."""
        check_is_fitted(self)
        return self._apply(
            X, block.distances, len(self.cluster_centers_), self.features_.dtype_, "kmeans-distances"
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum of squared distances of the rows of X to their nearest centers.

        Not comparable between kernels or bandwidths: the features themselves shrink with the bandwidth.
        """
        check_is_fitted(self)
        source = self._open(X, reset=False)
        runtime = active_runtime()
        B, centers = self._projected(lazy_rows(source, runtime), runtime)
        nearest = map_rows(
            block.labels, B, operands=[centers], stage="kmeans-labels", columns=None, dtype=np.int32
        )
        weights = weight_rows(sample_weight, B.grid, runtime)
        total = reduce_rows(
            block.quality,
            B,
            nearest,
            weights,
            operands=[centers],
            combine=block.merge_quality,
            stage="kmeans-score",
        )
        (quality,), _ = runtime.run([total], reporter=self._reporter()[0], stage="kmeans-score")
        return -float(quality.inertia)

    def plan(self, X: Any) -> planning.Plan:
        """What fitting X will cost on the active scheduler's workers, without running anything. Prints as a
        table.
        """
        source = self._described(X)
        k = self._check_parameters(source.shape[0])
        runtime = active_runtime()
        machine = runtime.measured()
        task = self._features(source.shape[0], k, None)._task(source, machine, k, self.n_init)
        scratch = self._scratch_url(runtime) is not None
        return planning.plan_kmeans(task, machine, scratch, self.max_iter)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _check_parameters(self, n: int) -> int:
        """All parameters that are not the features' own. Returns k."""
        k = positive_int("n_clusters", self.n_clusters)
        if k > n:
            raise InputError(f"n_samples={n} should be >= n_clusters={k}: lower n_clusters")
        positive_int("n_init", self.n_init)
        positive_int("max_iter", self.max_iter)
        if isinstance(self.init, str) and self.init not in INITS:
            raise InputError(
                f"init={self.init!r}: wanted {' or '.join(map(repr, INITS))}, or an array of centers"
            )
        if (
            isinstance(self.tol, bool)
            or not isinstance(self.tol, int | float | np.number)
            or not self.tol >= 0
        ):
            raise InputError(f"tol={self.tol!r}: wanted a number >= 0")
        return k

    def _features(self, n: int, k: int, random_state: Any) -> NystromFeatures:
        """The features this clustering is made on, not fitted yet, with c and s as numbers."""
        features = NystromFeatures(
            kernel=self.kernel,
            n_landmarks=min(n, max(40 * k, 400)) if self.n_landmarks == "auto" else self.n_landmarks,
            rank=self.rank,
            n_components=self.n_components,
            landmarks=self.landmarks,
            dtype=self.dtype,
            random_state=random_state,
            verbose=self.verbose,
        )
        if self.n_components == "auto":
            c = features._landmark_count(n)
            if self.rank == "auto":
                features.rank = max(features._rank(c), min(c, k))  # k clusters need as many dimensions
            features.n_components = min(features._rank(c), math.ceil(math.sqrt(k * c)))
        return features

    def _initial(self, k: int, s: int) -> str | np.ndarray:
        if isinstance(self.init, str):
            return self.init
        init = np.array(self.init, dtype=np.float64, order="C")
        if init.shape != (k, s) or not np.isfinite(init).all():
            raise InputError(
                f"init has shape {init.shape}: wanted finite centers ({k}, {s}) in feature space"
            )
        return init

    def _points(
        self, work: Work, features: NystromFeatures, fit: NystromFit, plan: planning.Plan
    ) -> RowBlocks:
        """The features of all rows in few, large blocks, where the plan keeps them."""
        merge = planning.lloyd_factor(work.rows.grid, features.n_components_, features.dtype_.itemsize)
        B = feature_rows(work.rows, features._map(), work.runtime, columns=fit.columns, merge=merge)
        if plan.features == "memory":
            _, (B,) = work.runtime.run([], [B], reporter=work.reporter, stage="nystrom-project")
        elif plan.features == "scratch":
            B = work.scratch.spool(B, work.runtime, work.reporter)
        if fit.columns is not None and plan.features != "recomputed":
            work.runtime.release(fit.columns)
        return B

    def _set_fitted(
        self, work: Work, features: NystromFeatures, found: KMeansFit, plan: planning.Plan
    ) -> None:
        self.features_, self.plan_ = features, plan
        features.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            features.feature_names_in_ = self.feature_names_in_
        self.cluster_centers_, self.inertia_ = found.centers, found.inertia
        self.cluster_sizes_, self.n_iter_, self.history_ = found.sizes, found.n_iter, found.history
        self.labels_ = keep_labels(found.labels, work.source, work.runtime, work.reporter, "kmeans-labels")
        used = int((found.sizes > 0).sum())
        if used < len(found.centers):
            warnings.warn(
                f"n_clusters={len(found.centers)}, but only {used} clusters have members: "
                f"the data have about {used} distinct rows in feature space",
                NumericalWarning,
                stacklevel=3,
            )

    def _projected(self, rows: RowBlocks, runtime: Runtime) -> tuple[RowBlocks, Any]:
        """Features of new rows, lazily, and the centers as an operand."""
        B = feature_rows(rows, self.features_._map(), runtime)
        return B, runtime.place(block.Centers.of(self.cluster_centers_, self.features_.dtype_))

    def _apply(self, X: Any, function: Any, columns: int | None, dtype: Any, stage: str) -> Any:
        check_is_fitted(self)
        source = self._open(X, reset=False)
        runtime = active_runtime()
        B, centers = self._projected(lazy_rows(source, runtime), runtime)
        result = map_rows(function, B, operands=[centers], stage=stage, columns=columns, dtype=dtype)
        return give_back(result, source, runtime, self._reporter()[0], stage)
