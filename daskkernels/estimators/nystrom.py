"""Layer 6: `NystromFeatures`, rank-restricted Nyström features of a kernel."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import plan_clustering as clustering
from ..callers import warn
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..runtime import Runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.nystrom import PROJECT, Approximation, NystromFit, NystromMap, feature_rows, fit_nystrom
from ..solvers.sampling import choose_rows
from ..solvers.sketches import RowsFit
from ..xp import to_host
from .base import Work, kernel_of, seed_sequence
from .nystrom_parameters import NystromParameters
from .sketches import fit_projection
from .watching import planned_passes

LANDMARK_ATTRIBUTES = ("landmarks_", "landmark_indices_")
PROJECTION_ATTRIBUTES = ("centers_", "dual_coef_", "center_", "offset_")


class NystromFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NystromParameters):
    """Features B (n, s) with B B^T = the best rank-s part of the Nyström approximation of K.

    C = K[:, landmarks] (n, c), W = C[landmarks] (c, c); B B^T = (C W_l^{-1} C^T)_s, W_l the rank-l part of W.
    Two passes over the rows; neither K (n, n) nor C need be held. Cost n c d + n c l + n l^2, then n c (d +
    s).

    Parameters
    ----------
    kernel : a kernel object such as `Gaussian(3.0)`; "gaussian", "laplacian", "cauchy", "matern",
        "polynomial", "linear" or "cosine" for one with its defaults; or a function f(X, Z) -> (n, m).
    n_landmarks : c, number of landmark rows, or columns of a projection; "auto" is min(n, 400).
    rank : l, eigenvalues of W that are kept; "auto" is half of them (or n_components, if that is more), None
        all above rounding.
    n_components : s, number of features; "auto" is the kept rank.
    landmarks : array (c, d) of landmark rows in the data's own units, instead of drawn ones.
    dtype : "float32" or "float64" for the arithmetic on rows; None keeps the type of float input, else
      float32.
    scratch : folder or URL for data that does not fit in memory.
    random_state : None, int, RandomState or Generator.
    verbose : 1 shows a progress bar.
    sampling : how landmarks are chosen: "uniform", "leverage" (scores of a first approximation), "rls" (ridge
        leverage scores, for rows in rare groups), "kmeans" (centers, which are not rows). Or a projection of
        all rows, C = K P, P (n, c) "gaussian", "srht" or "countsketch": 2 n^2 (d + c) operations, then 2 n^2
        (d + s) for the features, K never held; new rows need all rows of X, which the estimator keeps.

    Attributes
    ----------
    kernel_ : the kernel with its bandwidth as a number.
    landmarks_ : (c, d), in the data's own units and type; not there for a projection.
    landmark_indices_ : (c,) row numbers, None where landmarks are not rows; not there for a projection.
    eigenvalues_ : (c,) of W, descending.
    rank_ : eigenvalues kept.
    n_components_ : s.
    components_ : Q (c, s), B(x) = k(x, landmarks) Q, or k(x, X) P Q.
    centers_, dual_coef_, center_, offset_ : for a projection only: X itself, P Q (n, s), what distances are
        taken around (d,), zeros (s,); B(x) = k(x, centers_) dual_coef_ - offset_.
    trace_error_ : (tr K - tr B B^T) / tr K.
    rank_trace_error_ : the same before the restriction to s.
    trace_errors_ : (rank_,), entry j is what trace_error_ would be with j + 1 components: tr((K - (C W_l^{-1}
        C^T)_{j+1})) / tr K; entry n_components_ - 1 is trace_error_.
    rank_trace_errors_ : (rank_,), entry j is what rank_trace_error_ would be with rank j + 1: tr(K - C
        W_{j+1}^{-1} C^T) / tr K; its last entry is rank_trace_error_. Both come from G of pass one, at no
        cost.
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NystromFeatures:
        """Choose landmarks and find Q from X (n, d); `sample_weight` (n,) counts rows. `y` is ignored."""
        with self._working(X, sample_weight) as work:
            self._fit(work, keep_columns=False, announce=True)  # nothing would use the columns
            self._warn_if_short()
            self._note_timings(work)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the features (n, s) of X; kernel columns are computed once where they fit in
        memory.
        """
        with self._working(X, sample_weight) as work:
            keep = work.source.kind == "numpy"
            fit = self._fit(work, keep_columns=keep, announce=True)
            self._warn_if_short()
            if work.source.kind == "numpy":
                B = self._rows_of(work.rows, work.runtime, fit)
                features = work.runtime.collect(B, reporter=work.reporter, stage=PROJECT)
                self._note_timings(work)
                return features
            self._note_timings(work)
        return self._transformed(work.source, self._rows_of, PROJECT)

    def transform(self, X: Any) -> Any:
        """Features (n, s) of new rows X (n, d), in the kind X has: numpy for numpy, lazy dask for dask. Cost
        n c (d + s); for a projection n m (d + s) for m rows.
        """
        check_is_fitted(self)
        return self._transformed(self._open(X, reset=False), self._rows_of, PROJECT)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _fit(self, work: Work, keep_columns: bool, announce: bool = False) -> Approximation:
        """Kernel, landmarks, pass one; sets the fitted attributes. Columns are kept if asked for and if they
        fit. `announce` tells those who watch what it will take: else another fit has, of which it is a part.
        """
        machine = work.runtime.measured()
        task = self._task(work.source, machine)
        plan = clustering.plan_features(task, machine, work.scratch.url is not None, keep_columns)
        if announce:
            work.reporter.emit(planned_passes(plan, work.source.shape[0]))
        for_landmarks, for_bandwidth = (
            np.random.default_rng(s) for s in seed_sequence(self.random_state).spawn(2)
        )
        self.kernel_ = resolve_kernel(
            kernel_of(self.kernel), work.rows, work.weights, work.runtime, work.reporter, for_bandwidth
        )
        self.dtype_ = self._dtype(work.source)
        for name in (*LANDMARK_ATTRIBUTES, *PROJECTION_ATTRIBUTES):
            self.__dict__.pop(name, None)
        fit: NystromFit | RowsFit
        if task.projected:
            s = None if self.n_components == "auto" else task.s
            fit = fit_projection(work, self.kernel_, task, plan, s, self.dtype_, for_landmarks)
            self._keep_rows(fit, work)
            self.components_ = fit.components
        else:
            fit = self._fit_landmarks(work, task, plan.keep_columns, for_landmarks)
            self.components_ = fit.map.components
        self._keep(fit)
        self.plan_ = plan
        return fit

    def _fit_landmarks(
        self, work: Work, task: clustering.Task, keep_columns: bool, rng: np.random.Generator
    ) -> NystromFit:
        """Landmarks and pass one."""
        indices, landmarks = self._choose(work, task, rng)
        self.landmarks_, self.landmark_indices_ = landmarks, indices
        return fit_nystrom(
            work.rows,
            self.kernel_,
            self.landmarks_,
            rank=task.rank,
            n_components=None if self.n_components == "auto" else task.s,
            dtype=self.dtype_,
            keep_columns=keep_columns,
            runtime=work.runtime,
            reporter=work.reporter,
            weights=work.weights,
        )

    def _keep(self, fit: Approximation) -> None:
        """The fitted attributes of any approximation."""
        self.eigenvalues_, self.rank_ = to_host(fit.eigenvalues), fit.rank
        self.n_components_ = fit.n_components
        self.gram_eigenvalues_ = to_host(fit.gram_eigenvalues)
        self.trace_error_, self.rank_trace_error_ = fit.trace_error(), fit.trace_error(restricted=False)
        self.trace_errors_, self.rank_trace_errors_ = fit.trace_errors(), fit.rank_trace_errors()

    def _choose(
        self, work: Work, task: clustering.Task, rng: np.random.Generator
    ) -> tuple[np.ndarray | None, Any]:
        if self.landmarks is not None:
            return None, self._given_landmarks(task.d)
        return choose_rows(
            task.sampling,
            work.rows,
            self.kernel_,
            task.c,
            dtype=self.dtype_,
            runtime=work.runtime,
            reporter=work.reporter,
            rng=rng,
            directions=None if self.n_components == "auto" else task.s,
        )

    def _warn_if_short(self) -> None:
        if isinstance(self.n_components, Integral) and self.n_components_ < int(self.n_components):
            warn(
                f"n_components={self.n_components}, but only {self.rank_} eigenvalues of the kernel matrix "
                f"of {len(self.eigenvalues_)} landmarks were kept: raise n_landmarks or rank for more",
                NumericalWarning,
            )

    def _rows_of(
        self, rows: RowBlocks, runtime: Runtime, fit: Approximation | None = None, merge: int = 1
    ) -> RowBlocks:
        """B of any rows, lazily; of the training rows from the columns that their fit has kept."""
        if hasattr(self, "centers_"):
            return self._features_of_rows(rows, runtime)
        features = NystromMap(self.kernel_, self.landmarks_, self.components_, self.dtype_)
        columns = getattr(fit, "columns", None)
        return feature_rows(rows, features, runtime, columns=columns, merge=merge)

    def _note_timings(self, work: Work) -> None:
        self.plan_ = replace(self.plan_, measured=dict(work.timings.seconds))
