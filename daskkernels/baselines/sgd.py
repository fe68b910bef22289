"""Layer 7: `KernelSGDClassifier`, gradient descent in the kernel's space without a preconditioner."""

from __future__ import annotations

from typing import Any

from ..estimators import EigenProClassifier


class KernelSGDClassifier(EigenProClassifier):
    """Kernel classifier: least squares on one-hot targets by plain stochastic gradient descent.

    f(x) = k(x, X) alpha; a batch of rows S does alpha_S -= (X/m) (f(S) - y). EigenPro with one direction, so
    that nothing is damped: exact rounds, measured step, kept kernel values and stopping are those of
    `EigenProClassifier`, and only the preconditioner is missing. The critical batch size of the plain kernel
    is small (about 6 on MNIST): longer batches need as many epochs again. Cost 2 n^2 (d + classes) an epoch.

    Parameters
    ----------
    kernel, batch_size, round_size, step_size, max_epochs, patience, validation_fraction, class_weight, dtype,
        keep_kernel, warm_start, scratch, random_state, verbose : as in `EigenProClassifier`.
    n_subsamples : s, rows that with min(2 s, 4000) others the largest eigenvalue, and so the step, is
        measured on.

    Attributes
    ----------
    classes_, kernel_, centers_, dual_coef_, plan_, history_, n_epochs_, n_halvings_ : as in
        `EigenProClassifier`; `subsample_coef_` is zero.

    Raises what `EigenProClassifier` raises.

    References
    ----------
    Kivinen, Smola, Williamson, "Online learning with kernels", IEEE Trans. Signal Processing 52(8), 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels.baselines import KernelSGDClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> KernelSGDClassifier(random_state=0).fit(X, y).predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'different']
    """

    def __init__(
        self,
        kernel: Any = "laplacian",
        n_subsamples: int | str = "auto",
        batch_size: int | str = "auto",
        round_size: int | str = "auto",
        step_size: float | str = "auto",
        max_epochs: int = 10,
        patience: int | None = 3,
        validation_fraction: float | None = None,
        class_weight: Any = None,
        dtype: Any = None,
        keep_kernel: bool | str = "auto",
        warm_start: bool = False,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            n_subsamples,
            1,
            batch_size,
            round_size,
            step_size,
            max_epochs,
            patience,
            validation_fraction,
            class_weight,
            dtype,
            keep_kernel,
            warm_start,
            scratch,
            random_state,
            verbose,
        )
