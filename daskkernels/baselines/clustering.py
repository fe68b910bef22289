"""Layer 7: what the clusterings of this package share: k-means on some features, and the nearest center."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..block import kmeans as block
from ..callers import warn
from ..estimators.base import DaskEstimator, Work, clusters_of, not_negative
from ..estimators.kmeans_parameters import INITS
from ..inputs import InputError, keep_labels
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..rows import map_rows
from ..runtime import Runtime
from ..solvers.kmeans import fit_kmeans


class FeatureClustering(ClusterMixin, DaskEstimator):
    """k-means on features that a subclass makes: parameters, labels, prediction."""

    n_clusters: int
    init: str
    n_init: int
    max_iter: int
    tol: float
    dtype_: np.dtype[np.floating]
    _by_rows = ("labels_",)

    @abstractmethod
    def _features_of(self, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
        """The features (n, s) of rows by what was fitted, lazily."""

    def predict(self, X: Any) -> Any:
        """Nearest cluster (n,) int32 of each row of X (n, d), in the kind X has."""
        check_is_fitted(self)

        def labels(rows: RowBlocks, runtime: Runtime) -> RowBlocks:
            centers = runtime.place(block.Centers.of(self.cluster_centers_, self.dtype_))
            points = self._features_of(rows, runtime)
            return map_rows(
                block.labels, points, operands=[centers], stage="kmeans-labels", columns=None, dtype=np.int32
            )

        return self._given_back(self._open(X, reset=False), labels, "kmeans-labels")

    def _check_parameters(self, n: int) -> int:
        """The parameters of k-means. Returns k. Raises InputError."""
        k = clusters_of(self, n)
        if self.init not in INITS:
            raise InputError(f"init={self.init!r}: wanted {' or '.join(map(repr, INITS))}")
        not_negative("tol", self.tol)
        return k

    def _cluster(self, work: Work, features: RowBlocks, k: int, seed: np.random.SeedSequence) -> None:
        """k-means on features (n, s) that are kept while it runs, and its fitted attributes."""
        runtime, reporter = work.runtime, work.reporter
        features = work.held(features, "kmeans-points")
        found = fit_kmeans(
            features,
            work.weights_on(features.grid),
            k,
            init=self.init,
            seeds=seed.spawn(self.n_init),
            max_iter=self.max_iter,
            tol=self.tol,
            runtime=runtime,
            reporter=reporter,
        )
        runtime.release(features)
        self.cluster_centers_, self.inertia_ = found.centers, found.inertia
        self.cluster_sizes_, self.n_iter_ = found.sizes, found.n_iter
        self.labels_ = keep_labels(found.labels, work.source, runtime, reporter, "kmeans-labels")
        used = int((found.sizes > 0).sum())
        if used < k:
            warn(
                f"n_clusters={k}, but only {used} clusters have members: the rows have about {used} distinct "
                "features",
                NumericalWarning,
            )
