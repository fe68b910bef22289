"""Layer 6: `NystromFeatures`, rank-restricted Nyström features of a kernel."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import plan as planning
from ..block.tiles import compute_dtype
from ..inputs import Input, InputError, give_back, lazy_rows
from ..kernels import Stationary
from ..linalg import NumericalWarning
from ..runtime import active_runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.nystrom import NystromFit, NystromMap, choose_landmarks, feature_rows, fit_nystrom
from ..xp import to_host
from .base import DaskEstimator, Work, kernel_of, positive_int, seed_sequence

AUTO_LANDMARKS = 400


class NystromFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DaskEstimator):
    """Features B (n, s) with B B^T = the best rank-s part of the Nyström approximation of K.

    C = K[:, landmarks] (n, c), W = C[landmarks] (c, c); B B^T = (C W_l^{-1} C^T)_s, W_l the rank-l part of W.
    Two passes over the rows; neither K (n, n) nor C need be held. Cost n c d + n c l + n l^2, then n c (d +
    s).

    Parameters
    ----------
    kernel : a kernel object such as `Gaussian(3.0)`; "gaussian", "laplacian", "cauchy", "matern",
        "polynomial", "linear" or "cosine" for one with its defaults; or a function f(X, Z) -> (n, m).
    n_landmarks : c, number of landmark rows, drawn uniformly; "auto" is min(n, 400).
    rank : l, eigenvalues of W that are kept; "auto" is half of them (or n_components, if that is more), None
      all above rounding.
    n_components : s, number of features; "auto" is the kept rank.
    landmarks : array (c, d) of landmark rows in the data's own units, instead of drawn ones.
    dtype : "float32" or "float64" for the arithmetic on rows; None keeps the type of float input, else
      float32.
    scratch : folder or URL for data that does not fit in memory.
    random_state : None, int, RandomState or Generator.
    verbose : 1 shows a progress bar.

    Attributes
    ----------
    kernel_ : the kernel with its bandwidth as a number.
    landmarks_ : (c, d), in the data's own units and type.
    landmark_indices_ : (c,) row numbers, None when `landmarks` was given.
    eigenvalues_ : (c,) of W, descending.
    rank_ : eigenvalues kept. n_components_ : s.
    components_ : Q (c, s), B(x) = k(x, landmarks) Q.
    trace_error_ : (tr K - tr B B^T) / tr K. rank_trace_error_ : the same before the restriction to s.
    plan_ : the plan, with the measured seconds.

    Raises InputError, PlanError (before running), NonFiniteError (with the row).

    References
    ----------
    Wang, Gittens, Mahoney, "Scalable Kernel K-Means Clustering with Nyström Approximation", JMLR 20(12),
    2019.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import Gaussian, NystromFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> NystromFeatures(Gaussian(2.0), n_landmarks=40, n_components=5, random_state=0).fit_transform(X).shape
    (200, 5)
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_landmarks: int | str = "auto",
        rank: int | str | None = "auto",
        n_components: int | str = "auto",
        landmarks: Any = None,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.rank = rank
        self.n_components = n_components
        self.landmarks = landmarks
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NystromFeatures:
        """Choose landmarks and find Q from X (n, d); `sample_weight` (n,) counts rows. `y` is ignored."""
        with self._working(X, sample_weight) as work:
            self._fit(work, keep_columns=False)  # nothing would use them
            self._warn_if_short()
            self._note_timings(work)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the features (n, s) of X; kernel columns are computed once where they fit in
        memory.
        """
        with self._working(X, sample_weight) as work:
            fit = self._fit(work, keep_columns=work.source.kind == "numpy")
            self._warn_if_short()
            if work.source.kind == "numpy":
                B = feature_rows(work.rows, self._map(), work.runtime, columns=fit.columns)
                features = work.runtime.collect(B, reporter=work.reporter, stage="nystrom-project")
                self._note_timings(work)
                return features
            self._note_timings(work)
        return self.transform(X)

    def transform(self, X: Any) -> Any:
        """Features (n, s) of new rows X (n, d), in the kind X has: numpy for numpy, lazy dask for dask. Cost
        n c (d + s).
        """
        check_is_fitted(self)
        source = self._open(X, reset=False)
        runtime = active_runtime()
        B = feature_rows(lazy_rows(source, runtime), self._map(), runtime)
        report, bar = self._reporter()
        features = give_back(B, source, runtime, report, "nystrom-project")
        if bar is not None:
            bar.close()
        return features

    def plan(self, X: Any) -> planning.Plan:
        """What fit and transform of X will cost on the active scheduler's workers, without running anything.
        Prints as a table.
        """
        source = self._described(X)
        machine = active_runtime().measured()
        return planning.plan_features(self._task(source, machine), machine)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _task(self, source: Input, machine: planning.Machine, k: int = 0, n_init: int = 1) -> planning.Task:
        """The sizes of this fit as the planner wants them; checks the parameters that are sizes."""
        n, d = source.shape
        if self.landmarks is not None:
            self._given_landmarks(d)
        c = self._landmark_count(n)
        rank = self._rank(c)
        s = (
            rank
            if self.n_components == "auto"
            else min(rank, positive_int("n_components", self.n_components))
        )
        itemsize = source.array.dtype.itemsize
        kernel = kernel_of(self.kernel)
        return planning.Task(
            n=n,
            d=d,
            stored=itemsize,
            width=self._dtype(source).itemsize,
            c=c,
            rank=rank,
            s=s,
            k=k,
            n_init=n_init,
            moments_pass=isinstance(kernel, Stationary) and not kernel.resolved,
            residence=source.residence(machine),
        )

    def _dtype(self, source: Input) -> np.dtype[np.floating]:
        return compute_dtype(source.array.dtype, self.dtype)

    def _landmark_count(self, n: int) -> int:
        if self.landmarks is not None:
            return len(self.landmarks)
        return (
            min(n, AUTO_LANDMARKS)
            if self.n_landmarks == "auto"
            else positive_int("n_landmarks", self.n_landmarks, n, "rows")
        )

    def _rank(self, c: int) -> int:
        """The largest rank that is kept, as a number."""
        if self.rank is None:
            return c
        if self.rank == "auto":
            wanted = 0 if self.n_components == "auto" else positive_int("n_components", self.n_components)
            return max(-(-c // 2), min(c, wanted))
        return positive_int("rank", self.rank, c, "landmarks")

    def _fit(self, work: Work, keep_columns: bool) -> NystromFit:
        """Kernel, landmarks, pass one; sets the fitted attributes. Columns are kept if asked for and if they
        fit.
        """
        machine = work.runtime.machine
        task = self._task(work.source, machine)
        plan = planning.plan_features(task, machine)
        for_landmarks, for_bandwidth = (
            np.random.default_rng(s) for s in seed_sequence(self.random_state).spawn(2)
        )
        kernel = resolve_kernel(
            kernel_of(self.kernel), work.rows, work.weights, work.runtime, work.reporter, for_bandwidth
        )
        indices, landmarks = self._choose(work, task.c, for_landmarks)
        fit = fit_nystrom(
            work.rows,
            kernel,
            landmarks,
            rank=task.rank,
            n_components=None if self.n_components == "auto" else task.s,
            dtype=self._dtype(work.source),
            keep_columns=keep_columns and plan.keep_columns,
            runtime=work.runtime,
            reporter=work.reporter,
            weights=work.weights,
        )
        self.kernel_, self.landmarks_, self.landmark_indices_ = kernel, landmarks, indices
        self.dtype_ = fit.map.dtype
        self.eigenvalues_, self.rank_ = to_host(fit.eigenvalues), fit.rank
        self.components_ = fit.map.components
        self.n_components_ = int(fit.map.components.shape[1])
        self.gram_eigenvalues_ = to_host(fit.gram_eigenvalues)
        self.trace_error_, self.rank_trace_error_ = fit.trace_error(), fit.trace_error(restricted=False)
        self.plan_ = plan
        return fit

    def _choose(self, work: Work, count: int, rng: np.random.Generator) -> tuple[np.ndarray | None, Any]:
        if self.landmarks is None:
            return choose_landmarks(work.rows, count, work.runtime, work.reporter, rng)
        return None, self._given_landmarks(work.source.shape[1])

    def _given_landmarks(self, d: int) -> np.ndarray:
        """The parameter `landmarks` as an array (c, d). Raises InputError."""
        landmarks = np.array(self.landmarks, order="C")
        if landmarks.ndim != 2 or landmarks.shape[1] != d or len(landmarks) == 0:
            raise InputError(f"landmarks have shape {landmarks.shape}: wanted (c, {d}), like rows of X")
        if landmarks.dtype.kind not in "biuf" or not np.isfinite(landmarks).all():
            raise InputError("landmarks hold values that are not finite numbers")
        return landmarks

    def _warn_if_short(self) -> None:
        if isinstance(self.n_components, Integral) and self.n_components_ < int(self.n_components):
            warnings.warn(
                f"n_components={self.n_components}, but only {self.rank_} eigenvalues of the kernel matrix "
                f"of {len(self.landmarks_)} landmarks were kept: raise n_landmarks or rank for more",
                NumericalWarning,
                stacklevel=3,
            )

    def _map(self) -> NystromMap:
        return NystromMap(self.kernel_, self.landmarks_, self.components_, self.dtype_)

    def _note_timings(self, work: Work) -> None:
        self.plan_ = replace(self.plan_, measured=dict(work.timings.seconds))
