"""Layer 6: the parameters of `KernelKMeans`, checked, and the plan that follows from them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .. import plan as planning
from .. import plan_clustering as clustering
from ..inputs import Input, InputError
from ..runtime import active_runtime
from .base import DaskEstimator, clusters_of, machine_of, not_negative
from .nystrom import NystromFeatures
from .nystrom_parameters import AUTO_LANDMARKS


def automatic_landmarks(k: int) -> int:
    """c for k clusters, where there are as many rows."""
    return max(40 * k, AUTO_LANDMARKS)


INITS = ("k-means||", "k-means++")


class KMeansParameters(DaskEstimator):
    """The parameters and the features that follow from them."""

    features_: NystromFeatures

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
        sampling: str = "uniform",
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
        self.sampling = sampling

    def plan(self, X: Any, y: Any = None, machine: planning.Machine | None = None) -> planning.Plan:
        """What fitting X will cost here or on another `machine`; nothing is run. Prints as a table."""
        source = self._described(X)
        k = self._check_parameters(source.shape[0])
        runtime = active_runtime()
        machine = machine_of(machine)
        task = self._features(source.shape[0], k, None)._task(source, machine, k, self.n_init)
        return clustering.plan_kmeans(task, machine, self._scratch_url(runtime) is not None, self.max_iter)

    def _open_with(self, X: Any, y: Any, *, reset: bool) -> tuple[Input, Any]:
        """Blocks of the table leave room for what its features work with."""
        source, y = super()._open_with(X, y, reset=reset)
        n = source.shape[0]
        if reset:
            return replace(source, beside=self._features(n, self._check_parameters(n), None)._beside(n)), y
        return replace(source, beside=self.features_._fitted_beside), y

    def _check_parameters(self, n: int) -> int:
        """All parameters that are not the features' own. Returns k."""
        k = clusters_of(self, n)
        if isinstance(self.init, str) and self.init not in INITS:
            raise InputError(
                f"init={self.init!r}: wanted {' or '.join(map(repr, INITS))}, or an array of centers"
            )
        not_negative("tol", self.tol)
        return k

    def _features(self, n: int, k: int, random_state: Any) -> NystromFeatures:
        """The features this clustering is made on, not fitted yet, with c and s as numbers."""
        features = NystromFeatures(
            kernel=self.kernel,
            n_landmarks=min(n, automatic_landmarks(k)) if self.n_landmarks == "auto" else self.n_landmarks,
            rank=self.rank,
            n_components=self.n_components,
            landmarks=self.landmarks,
            dtype=self.dtype,
            random_state=random_state,
            verbose=self.verbose,
            sampling=self.sampling,
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
            raise InputError(f"init has shape {init.shape}: wanted finite centers ({k}, {s}) of features")
        return init
