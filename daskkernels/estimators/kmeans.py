"""Layer 6: `KernelKMeans`, kernel k-means on rank-restricted Nyström features."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted

from .. import plan as planning
from .. import plan_clustering as clustering
from ..block import kmeans as block
from ..callers import warn
from ..inputs import Input, keep_labels, lazy_rows, weight_rows
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime, active_runtime
from ..solvers.kmeans import STAGE, KMeansFit, fit_kmeans
from ..solvers.nystrom import Approximation
from .base import Work, seed_sequence
from .callbacks import Steps
from .kmeans_parameters import KMeansParameters
from .nystrom import NystromFeatures
from .watching import planned_passes


class KernelKMeans(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KMeansParameters
):
    """Kernel k-means: k-means on the rows of B, B B^T = the rank-s Nyström approximation of K.

    Minimises sum_i w_i |b_i - mean of its cluster|^2. With s near sqrt(k c) the objective of K itself is
    within 1 + eps + k / s of the best [Wang, Gittens, Mahoney 2019, Theorem 2]. Cost: that of
    `NystromFeatures`, then 4 n k s an iteration.

    Parameters
    ----------
    n_clusters : k.
    kernel, rank, landmarks, dtype, scratch, random_state, verbose, sampling : as in `NystromFeatures`.
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

    _by_rows = ("labels_",)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Cluster the rows of X (n, d); `sample_weight` (n,) counts rows. `y` is ignored."""
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the distances (n, k) of the rows of X, whose unknown lengths are found once."""
        return self._distances(self._fit(X, y, sample_weight))

    def predict(self, X: Any) -> Any:
        """Nearest cluster (n,) int32 of each row of X (n, d), in the kind X has."""
        check_is_fitted(self)
        make = partial(self._of_points, block.labels, "kmeans-labels", None, np.int32)
        return self._given_back(self._open(X, reset=False), make, "kmeans-labels")

    def transform(self, X: Any) -> Any:
        """Distances (n, k) to the cluster centers in feature space, in the kind X has."""
        check_is_fitted(self)
        return self._distances(self._open(X, reset=False))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the weighted sum of squared distances of the rows of X to their nearest centers.

        Not comparable between kernels or bandwidths: the features themselves shrink with the bandwidth.
        """
        check_is_fitted(self)
        source, runtime = self._open(X, reset=False), active_runtime()
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

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    @with_callbacks  # type: ignore[untyped-decorator]
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Input:
        steps = Steps(self, X, y, "iteration", STAGE, self.max_iter)
        with self._working(X, sample_weight, steps=steps) as work:
            k = self._check_parameters(work.source.shape[0])
            for_features, for_kmeans = seed_sequence(self.random_state).spawn(2)
            features = self._features(work.source.shape[0], k, np.random.default_rng(for_features))
            machine, spooled = work.runtime.measured(), work.scratch.url is not None
            task = features._task(work.source, machine, k, self.n_init)
            plan = clustering.plan_kmeans(task, machine, spooled, self.max_iter)
            work.reporter.emit(planned_passes(plan, work.source.shape[0], iterations=self.max_iter))
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
                stop=lambda centers: steps.done({"features_": features, "cluster_centers_": centers[0]}),
            )
            work.runtime.release(B)
            made = len(found.history) / self.n_init
            plan = clustering.plan_kmeans(task, machine, spooled, self.max_iter, made)
            self._set_fitted(work, features, found, replace(plan, measured=dict(work.timings.seconds)))
        steps.over()
        return work.source

    def _points(
        self, work: Work, features: NystromFeatures, fit: Approximation, plan: planning.Plan
    ) -> RowBlocks:
        """The features of all rows in few, large blocks, where the plan keeps them."""
        merge = clustering.lloyd_factor(work.rows.grid, features.n_components_, features.dtype_.itemsize)
        B = features._rows_of(work.rows, work.runtime, fit, merge)
        if plan.features == "memory":
            _, (B,) = work.runtime.run([], [B], reporter=work.reporter, stage="nystrom-project")
        elif plan.features == "scratch":
            B = work.scratch.spool(B, work.runtime, work.reporter)
        columns = getattr(fit, "columns", None)
        if columns is not None and plan.features != "recomputed":
            work.runtime.release(columns)
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
            warn(
                f"n_clusters={len(found.centers)}, but only {used} clusters have members: "
                f"the data have about {used} distinct rows in feature space",
                NumericalWarning,
            )

    def _projected(self, rows: RowBlocks, runtime: Runtime) -> tuple[RowBlocks, Any]:
        """Features of new rows, lazily, and the centers as an operand."""
        B = self.features_._rows_of(rows, runtime)
        return B, runtime.place(block.Centers.of(self.cluster_centers_, self.features_.dtype_))

    def _distances(self, source: Input) -> Any:
        k, dtype = len(self.cluster_centers_), self.features_.dtype_
        make = partial(self._of_points, block.distances, "kmeans-distances", k, dtype)
        return self._transformed(source, make, "kmeans-distances")

    def _of_points(
        self, function: Any, stage: str, columns: int | None, dtype: Any, rows: RowBlocks, runtime: Runtime
    ) -> RowBlocks:
        """function(features, centers) of new rows, lazily."""
        B, centers = self._projected(rows, runtime)
        return map_rows(function, B, operands=[centers], stage=stage, columns=columns, dtype=dtype)
