"""Layer 6: `KernelPCA`, the leading components of a kernel matrix by the power method."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..block.tiles import compute_dtype
from ..callers import warn
from ..inputs import Input, InputError
from ..kernels import Stationary
from ..linalg import NumericalWarning
from ..plan import Machine, Plan
from ..plan_products import ProductTask, plan_products
from ..rowblocks import absent
from ..runtime import active_runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.kernel_pca import STAGE, PowerMethod
from ..solvers.nystrom import PROJECT
from ..solvers.sketches import RowsFit, RowsMap, middle
from ..xp import to_host
from .base import Work, kernel_of, machine_of, positive_int, seed_sequence
from .sketches import Holder, RowsFeatures
from .watching import planned_passes

AUTO_COMPONENTS = 10
HELD = 3  # matrices (n, c) at a time: a product, and what is made of it


class KernelPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowsFeatures):
    """Features B (n, s), B B^T the best rank-s part of K within a subspace found by the power method.

    P (n, c) normal, c = 2 s; t times P <- orth(K P); with U = P, C = K U and W = U^T K U, the features are
    those of (C W^+ C^T)_s. K (n, n) is computed anew in each of the t + 1 products, never held: cost
    2 (t + 1) n^2 (d + c) operations, then 2 n^2 (d + s) for the features; memory a few matrices (n, c).
    Two or three rounds serve k-means as well as the exact eigenvectors [Wang, Gittens, Mahoney 2019,
    Theorem 4]; eigenvectors themselves may need many more.

    Not centered by default, as in the paper, where B B^T approximates K itself. With center=True it
    approximates H K H, H = I - 1 1^T / n, as scikit-learn's `KernelPCA` does: features and eigenvalues agree
    with those of scikit-learn when the rounds have converged, up to the sign of each feature.

    Parameters
    ----------
    n_components : s; "auto" is min(n, 10).
    kernel : as in `NystromFeatures`.
    n_rounds : t, rounds of the power method.
    center : whether rows are centered in feature space.
    dtype, scratch, random_state, verbose : as in `NystromFeatures`.

    Attributes
    ----------
    kernel_ : the kernel with its bandwidth as a number.
    n_components_ : s; fewer where K has fewer eigenvalues above rounding.
    eigenvalues_ : (s,) of the approximated K or H K H, descending: squared lengths of the features' columns.
    explained_trace_ : (s,) the same divided by the trace of K or H K H.
    trace_error_ : 1 - the sum of `explained_trace_`.
    dual_coef_ : (n, s), B(x) = k(x, centers_) dual_coef_ - offset_.
    centers_ : X itself, numpy or lazy: not copied.
    offset_ : (s,), zeros unless centered.
    center_ : (d,) what distances are taken around.
    n_iter_ : rounds.
    plan_ : the plan, with the measured seconds.

    Raises InputError, PlanError (before running), NonFiniteError (with the row), DegenerateMatrixError.

    References
    ----------
    Wang, Gittens, Mahoney, "Scalable Kernel K-Means Clustering with Nyström Approximation", JMLR 20(12),
    2019, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import Gaussian, KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> KernelPCA(5, Gaussian(2.0), random_state=0).fit_transform(X).shape
    (200, 5)
    """

    def __init__(
        self,
        n_components: int | str = "auto",
        kernel: Any = "gaussian",
        n_rounds: int = 3,
        center: bool = False,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.n_rounds = n_rounds
        self.center = center
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Find the components of X (n, d). `y` is ignored."""
        with self._working(X) as work:
            self._fit(work)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and the features (n, s) of X, in the kind X has."""
        with self._working(X) as work:
            self._fit(work)
        return self._transformed(work.source, self._features_of_rows, PROJECT)

    def transform(self, X: Any) -> Any:
        """Features (m, s) of new rows X (m, d), in the kind X has. Cost 2 m n (d + s)."""
        check_is_fitted(self)
        return self._transformed(self._open(X, reset=False), self._features_of_rows, PROJECT)

    def plan(self, X: Any, y: Any = None, machine: Machine | None = None) -> Plan:
        """What fit and transform of X will cost here or on another `machine`; nothing is run."""
        source, runtime = self._described(X), active_runtime()
        machine = machine_of(machine)
        return plan_products(self._task(source, machine), machine, self._scratch_url(runtime) is not None)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _beside(self, n: int) -> int:
        return min(n, 2 * self._components())

    @property
    def _fitted_beside(self) -> int:
        return 2 * int(self.n_components_)

    def _components(self) -> int:
        """The parameter as a number."""
        return positive_int(
            "n_components", AUTO_COMPONENTS if self.n_components == "auto" else self.n_components
        )

    def _task(self, source: Input, machine: Machine) -> ProductTask:
        """The sizes of this fit; checks the parameters."""
        (n, d), s = source.shape, self._components()
        if not isinstance(self.center, bool | np.bool_):
            raise InputError(f"center={self.center!r}: wanted True or False")
        kernel, dtype = kernel_of(self.kernel), compute_dtype(source.array.dtype, self.dtype)
        return ProductTask(
            n=n,
            d=d,
            stored=source.array.dtype.itemsize,
            width=dtype.itemsize,
            c=self._beside(n),
            s=min(n, s),
            stage=STAGE,
            products=positive_int("n_rounds", self.n_rounds) + 1,
            held=HELD,
            moments_pass=isinstance(kernel, Stationary) and not kernel.resolved,
            residence=source.residence(machine),
        )

    def _fit(self, work: Work) -> None:
        """All passes; sets the fitted attributes."""
        runtime, report, machine = work.runtime, work.reporter, work.runtime.machine
        task = self._task(work.source, machine)
        plan = plan_products(task, machine, work.scratch.url is not None)
        report.emit(planned_passes(plan, task.n))
        rng, for_bandwidth = (np.random.default_rng(s) for s in seed_sequence(self.random_state).spawn(2))
        kernel = resolve_kernel(
            kernel_of(self.kernel), work.rows, work.weights, runtime, report, for_bandwidth
        )
        dtype = compute_dtype(work.source.array.dtype, self.dtype)
        shift = middle(work.rows, runtime, report, rng)
        nothing = absent(work.rows.grid)
        power = PowerMethod(
            RowsMap(kernel, dtype, shift, work.rows, nothing),
            bool(self.center),
            Holder(work, plan),
            runtime,
            report,
        )
        keys = (int(rng.integers(2**63)), int(rng.integers(2**63)))
        fit = power.fit(power.basis(keys, task.c, self.n_rounds), task.s)
        self.kernel_, self.dtype_ = kernel, dtype
        self._keep_rows(fit, work)
        self._keep(fit)
        self.plan_ = replace(plan, measured=dict(work.timings.seconds))

    def _keep(self, fit: RowsFit) -> None:
        """The fitted attributes that are small."""
        self.n_components_, self.n_iter_ = fit.n_components, int(self.n_rounds)
        self.eigenvalues_ = to_host(fit.gram_eigenvalues)[: fit.n_components]
        self.explained_trace_ = self.eigenvalues_ / fit.trace if fit.trace > 0 else 0 * self.eigenvalues_
        self.trace_error_ = fit.trace_error()
        asked = self.n_components
        if isinstance(asked, Integral) and self.n_components_ < int(asked):
            warn(
                f"n_components={asked}, but the kernel matrix has only {self.n_components_} eigenvalues "
                "above rounding: lower n_components",
                NumericalWarning,
            )
