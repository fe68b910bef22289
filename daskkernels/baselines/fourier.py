"""Layer 7: `RandomFourierFeatures`, rank-restricted random features of a Gaussian or Laplacian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..block.tiles import compute_dtype
from ..callers import warn
from ..estimators.base import DaskEstimator, Work, kernel_of, positive_int, seed_sequence
from ..inputs import InputError
from ..kernels import Gaussian, Laplacian
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..runtime import Runtime
from ..solvers.bandwidth import resolve_kernel
from ..solvers.fourier import FourierMap, draw_frequencies, fit_fourier, fourier_rows
from ..solvers.nystrom import choose_landmarks
from ..xp import to_host

CENTER_ROWS = 256  # whose mean is subtracted from all rows


class RandomFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DaskEstimator):
    """Features B (n, s): the best rank-s part of c random Fourier features of a kernel.

    R(x) = [cos(w_1 x), ..., sin(w_1 x), ...] / sqrt(c / 2) with c / 2 random frequencies w, so that the mean
    of R(x) R(z)^T is k(x, z), with an error of about 1 / sqrt(c). B = R V, V the top-s eigenvectors of
    G = R^T R, the restriction that `NystromFeatures` makes. Two passes; cost n c d + n c^2, then n c (d + s).

    Gaussian: w ~ N(0, I / s^2). Laplacian exp(-|x - z| / s): w = g / (s |h|), g ~ N(0, I), one h ~ N(0, 1) a
    frequency.

    Parameters
    ----------
    kernel : a `Gaussian` or a `Laplacian`, or "gaussian" or "laplacian".
    n_features : c, an even number: a cosine and a sine for each frequency.
    n_components : s; None keeps the c features as they are, without the first pass.
    dtype, scratch, random_state, verbose : as in `NystromFeatures`.

    Attributes
    ----------
    kernel_ : the kernel with its bandwidth as a number.
    frequencies_ : w (c / 2, d).
    center_ : (d,), subtracted from a row first; products of features do not depend on it, rounding does.
    components_ : V (c, s), or None.
    n_components_ : s.
    gram_eigenvalues_ : (c,) of G, descending, or None.
    trace_error_ : (tr R R^T - tr B B^T) / tr R R^T, what the restriction loses; tr R R^T = n = tr K. Not what
        the randomness loses: for random features tr(K - B B^T) does not bound K - B B^T.

    Raises InputError (an odd number, another kernel), NonFiniteError (with the row).

    References
    ----------
    Rahimi, Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import Gaussian
    >>> from daskkernels.baselines import RandomFourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> B = RandomFourierFeatures(Gaussian(2.0), n_features=1000, random_state=0).fit_transform(X)
    >>> bool(abs(B[0] @ B[1] - np.exp(-((X[0] - X[1]) ** 2).sum() / 8)) < 0.1)
    True
    """

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_features: int = 400,
        n_components: int | None = None,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.n_components = n_components
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> RandomFourierFeatures:
        """Draw the frequencies and find V from X (n, d). `y` is ignored."""
        with self._working(X) as work:
            self._fit(work)
            self._warn_if_short()
        return self

    def transform(self, X: Any) -> Any:
        """Features (n, s) of new rows X (n, d), in the kind X has: numpy for numpy, lazy dask for dask."""
        check_is_fitted(self)
        return self._transformed(self._open(X, reset=False), self._rows_of, "fourier-features")

    def _rows_of(self, rows: RowBlocks, runtime: Runtime) -> RowBlocks:
        return fourier_rows(rows, self._map(), runtime)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _kernel(self) -> Gaussian | Laplacian:
        """The kernel parameter. Raises InputError."""
        kernel = kernel_of(self.kernel)
        if not isinstance(kernel, Gaussian | Laplacian):
            raise InputError(
                f"kernel={self.kernel!r}: random Fourier features are made for Gaussian and Laplacian kernels"
            )
        return kernel

    def _counts(self) -> tuple[int, int | None]:
        """c / 2 and s. Raises InputError."""
        c = positive_int("n_features", self.n_features)
        if c % 2:
            raise InputError(f"n_features={c}: wanted an even number, a cosine and a sine for each frequency")
        if self.n_components is None:
            return c // 2, None
        return c // 2, positive_int("n_components", self.n_components, c, "features")

    def _fit(self, work: Work) -> None:
        """Kernel, frequencies, pass one; sets the fitted attributes."""
        runtime, reporter = work.runtime, work.reporter
        (half, s), asked = self._counts(), self._kernel()
        seeds = seed_sequence(self.random_state).spawn(3)
        for_frequencies, for_bandwidth, for_center = map(np.random.default_rng, seeds)
        kernel = resolve_kernel(asked, work.rows, work.weights, runtime, reporter, for_bandwidth)
        assert isinstance(kernel, Gaussian | Laplacian)
        count = min(work.source.shape[0], CENTER_ROWS)
        _, sample = choose_landmarks(work.rows, count, runtime, reporter, for_center)
        drawn = FourierMap(
            draw_frequencies(kernel, half, work.source.shape[1], for_frequencies),
            to_host(sample).mean(axis=0, dtype=np.float64),
            None,
            compute_dtype(work.source.array.dtype, self.dtype),
        )
        fit = fit_fourier(work.rows, drawn, s, runtime, reporter)
        self.kernel_, self.dtype_ = kernel, drawn.dtype
        self.frequencies_, self.center_ = fit.map.frequencies, fit.map.shift
        self.components_, self.n_components_ = fit.map.components, fit.map.n_components
        self.gram_eigenvalues_, self.trace_error_ = fit.gram_eigenvalues, fit.trace_error()

    def _warn_if_short(self) -> None:
        if self.n_components is not None and self.n_components_ < self.n_components:
            warn(
                f"n_components={self.n_components}, but the features have {self.n_components_} directions "
                "above rounding",
                NumericalWarning,
            )

    def _map(self) -> FourierMap:
        return FourierMap(self.frequencies_, self.center_, self.components_, self.dtype_)
