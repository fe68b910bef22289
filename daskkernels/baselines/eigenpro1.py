"""Layer 7: `EigenPro1Classifier`, the first EigenPro, whose preconditioner acts on all rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ..estimators import EigenProClassifier
from ..estimators.base import Work
from ..estimators.eigenpro_plan import EigenProPlan
from ..estimators.training import Given
from ..plan_rounds import RoundTask
from ..solvers.eigenpro1 import LongProblem, lengthened
from ..solvers.spectrum import Spectrum


class EigenPro1Classifier(EigenProClassifier):
    """Kernel classifier: least squares on one-hot targets, trained by EigenPro 1.

    f(x) = k(x, X) alpha. A batch of rows S does g = f(S) - y; alpha_S -= (X/m) g, and for all n rows
    alpha += (X/m) E D E_S^T g: E (n, q - 1) are orthonormal eigenvectors extended from a subsample, with
    eigenvalues g of all rows, D_i = 1 - g_q / g_i. q, m and the step are chosen as `EigenProClassifier`
    chooses them, for the kernel that both damp alike.

    Rounds are exact here too: all of alpha changes, but only along E, so that one pass for K(S, X) [alpha, E]
    tells all that the batches of a round need. Every epoch costs 2 n^2 (d + classes + q), which is 2 n m q a
    batch more than EigenPro 2; E takes n q values, kept by the workers, else in scratch, else computed in
    every round. Cost of the set-up: that of EigenPro 2, and 4 n s (d + q) in float64 for E. Kernel values are
    not kept.

    Parameters
    ----------
    kernel, n_subsamples, n_directions, batch_size, round_size, step_size, max_epochs, patience, class_weight,
        dtype, scratch, random_state, verbose : as in `EigenProClassifier`.

    Attributes
    ----------
    dual_coef_ : alpha (n, classes); `subsample_coef_` is empty.
    classes_, kernel_, centers_, plan_, history_, n_epochs_, n_halvings_ : as in `EigenProClassifier`.

    Raises what `EigenProClassifier` raises.

    References
    ----------
    Ma, Belkin, "Diving into the shallows: a computational perspective on large-scale shallow learning",
    NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels.baselines import EigenPro1Classifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> EigenPro1Classifier(random_state=0).fit(X, y).predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'different']
    """

    def __init__(
        self,
        kernel: Any = "laplacian",
        n_subsamples: int | str = "auto",
        n_directions: int | str = "auto",
        batch_size: int | str = "auto",
        round_size: int | str = "auto",
        step_size: float | str = "auto",
        max_epochs: int = 10,
        patience: int | None = 3,
        class_weight: Any = None,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            n_subsamples,
            n_directions,
            batch_size,
            round_size,
            step_size,
            max_epochs,
            patience,
            class_weight=class_weight,
            dtype=dtype,
            keep_kernel=False,
            scratch=scratch,
            random_state=random_state,
            verbose=verbose,
        )

    def fit(self, X: Any, y: Any, validation: Any = None) -> EigenPro1Classifier:  # type: ignore[override]
        """Learn the classes y (n,) of the rows of X (n, d); a pair `validation` (X, y) judges the epochs."""
        return self._fit(X, y, validation, None, False)  # type: ignore[no-any-return]

    def _sizes(self, sizes: RoundTask, spectrum: Spectrum) -> RoundTask:
        """E is as many more columns of weights."""
        sizes = super()._sizes(sizes, spectrum)
        return replace(sizes, outputs=sizes.outputs + sizes.p)

    def _problem(self, work: Work, given: Given, round_size: int | None) -> tuple[LongProblem, EigenProPlan]:
        """The set-up of EigenPro 2, and E."""
        problem, plan = super()._problem(work, given, round_size)
        keep = partial(work.held, stage="eigenpro1-directions")
        return lengthened(problem, keep, work.runtime, work.reporter), plan
