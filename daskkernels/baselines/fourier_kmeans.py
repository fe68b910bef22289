"""Layer 7: `RandomFourierKMeans`, k-means on rank-restricted random Fourier features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import plan_clustering as clustering
from ..estimators.base import positive_int, seed_sequence
from ..estimators.kmeans_parameters import automatic_landmarks
from ..rowblocks import RowBlocks
from ..runtime import Runtime
from ..solvers.fourier import fourier_rows
from .clustering import FeatureClustering
from .fourier import RandomFourierFeatures


class RandomFourierKMeans(FeatureClustering):
    """Approximate kernel k-means: k-means on the rows of B, B the rank-s part of random Fourier features.

    `KernelKMeans` with random features in the place of Nyström's [Wang, Gittens, Mahoney 2019, section 5].
    Cost: that of `RandomFourierFeatures`, then 4 n k s an iteration.

    Parameters
    ----------
    n_clusters : k.
    kernel : a `Gaussian` or a `Laplacian`, or "gaussian" or "laplacian".
    n_features : c, an even number; "auto" is max(40 k, 400).
    n_components : s; "auto" is ceil(sqrt(k c)); None keeps all c features as they are.
    init : "k-means||" or "k-means++".
    n_init, max_iter, tol, dtype, scratch, random_state, verbose : as in `KernelKMeans`.

    Attributes
    ----------
    labels_ : (n,) int32; numpy for numpy input, a persisted dask array for lazy input.
    cluster_centers_ : (k, s) in feature space.
    inertia_, cluster_sizes_, n_iter_ : of the kept restart.
    features_ : the fitted `RandomFourierFeatures`.

    Raises InputError (k > n, bad parameters, another kernel), NonFiniteError (with the row).

    References
    ----------
    Rahimi, Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels.baselines import RandomFourierKMeans
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) / 10
    >>> X[20:] += 1.0
    >>> labels = RandomFourierKMeans(2, random_state=0).fit_predict(X)
    >>> int(abs(labels[:20].mean() - labels[20:].mean()))
    1
    """

    def __init__(
        self,
        n_clusters: int = 8,
        kernel: Any = "gaussian",
        n_features: int | str = "auto",
        n_components: int | str | None = "auto",
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
        self.n_features = n_features
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> RandomFourierKMeans:
        """Cluster the rows of X (n, d). `y` is ignored."""
        with self._working(X) as work:
            k = self._check_parameters(work.source.shape[0])
            for_features, for_kmeans = seed_sequence(self.random_state).spawn(2)
            features = self._features(k, np.random.default_rng(for_features))
            features._fit(work)
            if self.n_components != "auto":
                features._warn_if_short()
            features.n_features_in_ = self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                features.feature_names_in_ = self.feature_names_in_
            self.features_, self.dtype_ = features, features.dtype_
            s, width = features.n_components_, self.dtype_.itemsize
            merge = clustering.lloyd_factor(work.rows.grid, s, width)
            B = fourier_rows(work.rows, features._map(), work.runtime, merge=merge)
            self._cluster(work, B, k, for_kmeans)
        return self

    def _features(self, k: int, random_state: Any) -> RandomFourierFeatures:
        """The features this clustering is made on, not fitted yet, with c and s as numbers."""
        automatic = self.n_features == "auto"
        c = automatic_landmarks(k) if automatic else positive_int("n_features", self.n_features)
        s = min(c, math.ceil(math.sqrt(k * c))) if self.n_components == "auto" else self.n_components
        return RandomFourierFeatures(
            self.kernel,
            c,
            s,  # type: ignore[arg-type]
            dtype=self.dtype,
            random_state=random_state,
            verbose=self.verbose,
        )

    def _features_of(self, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
        return fourier_rows(rows, self.features_._map(), runtime)
