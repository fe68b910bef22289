"""Layer 6: `EigenProClassifier` and `EigenProRegressor`: kernel machines trained in exact rounds."""

from __future__ import annotations

from typing import Any

from .eigenpro_base import EigenPro
from .supervised import Classifies, Regresses


class EigenProClassifier(Classifies, EigenPro):
    """Kernel classifier: least squares on one-hot targets, trained by EigenPro 2.0 with nothing to tune.

    f(x) = k(x, X) alpha + k(x, Z) gamma, alpha (n, classes), Z the s subsampled rows; the class is that of
    the largest f. Stochastic gradient descent in a preconditioned kernel whose q - 1 leading directions are
    damped [Ma, Belkin 2019]; stopping early is the only regularisation. The batches of a round are predicted
    in one pass over the rows and then solved exactly, so data that streams from a store is read once a round,
    and neither n x n nor n x m values are held. Cost 2 n^2 (d + classes) an epoch.

    Parameters
    ----------
    kernel : a kernel object such as `Laplacian("mean")`, its short name, or a function f(X, Z) -> (n, m).
    n_subsamples : s, rows of the eigensystem; "auto" is min(n, 2000), 4000 above 100 000 rows.
    n_directions : q; "auto" damps as many as keep the critical batch size, verified on fresh rows, below
        2000. 1 is plain stochastic gradient descent.
    batch_size : m; "auto" is a quarter of the critical batch size; "resource" the published rule, as many
        rows as fill the machine, which makes the answer depend on it.
    round_size : M, rows predicted in one pass; "auto" is chosen for the machine. Changes rounding only.
    step_size : X of a batch of m rows; "auto" is 0.9 of the largest stable one, halved after an epoch that
        hardly lowered the residual. Any step is halved on divergence, and the epoch begun anew.
    max_epochs, patience : passes over all training rows; stop after `patience` epochs without a better
        validation loss, where there is a validation set; None never stops.
    validation_fraction : share of the rows (10 000 at most) that is kept back to judge the epochs.
    class_weight : None, "balanced" or a dict from class to weight of its residuals.
    dtype : "float32" or "float64" for the kernel; None keeps the type of float input, else float32.
    keep_kernel : whether half of the n x n kernel values are kept in memory, so that they are computed once;
        "auto" where they fit and an epoch takes a second. Where only 16 bits a value fit (of kernels in
        [0, 1], float32), they are given up when their rounding could matter.
    warm_start : whether `fit` goes on from the kept weights when it is called again with the same data and
        parameters and a larger `max_epochs`.
    scratch : folder or URL for data that does not fit in memory.
    random_state : None, int, RandomState or Generator.
    verbose : 1 shows a progress bar.

    Attributes
    ----------
    classes_ : the labels, ascending.
    kernel_ : the kernel with its bandwidth as a number.
    centers_ : X itself, numpy or lazy: not copied.
    dual_coef_ : alpha (n, classes); a dask array where it is large and X was lazy.
    subsample_coef_, subsample_indices_ : gamma (s, classes) and the row numbers of Z.
    plan_ : the choices and their reasons, and measured seconds; prints as a table.
    history_ : a dict for each epoch: epoch, seconds, train_mse (of the rows as they were met),
        rows_per_second, gflops, bytes_read, step_size; with a validation set also validation_mse and
        validation_error.
    n_epochs_, n_halvings_ : epochs trained, and how often an epoch diverged and was begun anew.

    Raises InputError (one class, lengths, bad parameters), PlanError (before running), NonFiniteError (with
    the row), DivergenceError.

    References
    ----------
    Ma, Belkin, "Kernel machines that adapt to GPUs for effective large batch training", MLSys 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import EigenProClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> EigenProClassifier(random_state=0).fit(X, y).predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
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
            n_directions,
            batch_size,
            round_size,
            step_size,
            max_epochs,
            patience,
            validation_fraction,
            dtype,
            keep_kernel,
            warm_start,
            scratch,
            random_state,
            verbose,
        )
        self.class_weight = class_weight

    def fit(
        self, X: Any, y: Any, validation: Any = None, checkpoint: Any = None, resume: bool = False
    ) -> EigenProClassifier:
        """Learn the classes y (n,) of the rows of X (n, d).

        Parameters
        ----------
        X : (n, d), of any kind.
        y : (n,) strings, whole numbers or bools; numpy, pandas or lazy.
        validation : a pair (X, y) to judge the epochs by.
        checkpoint : a folder or URL that the state of the fit is saved in, after every epoch and, within a
            long one, every ten seconds or more.
        resume : whether to go on from the checkpoint, with more epochs where `max_epochs` has been raised;
            a fit that is further already stays as it is, with a warning.

        Raises what the class raises, and InputError where the checkpoint holds a fit that is not to be
        resumed, holds none to resume, holds another one (also by its seed), is damaged, or cannot be written.
        """
        return self._fit(X, y, validation, checkpoint, resume)  # type: ignore[no-any-return]


class EigenProRegressor(Regresses, EigenPro):
    """Kernel regression: least squares on centered targets, trained by EigenPro 2.0 with nothing to tune.

    f(x) = mean + k(x, X) alpha + k(x, Z) gamma, alpha (n, l). y is (n,) or (n, l), and predictions have its
    shape. Parameters and attributes as in `EigenProClassifier`, but `classes_` and `class_weight`.

    Attributes
    ----------
    intercept_ : (l,), the mean of the targets.
    dual_coef_, subsample_coef_ : alpha (n, l) and gamma (s, l).

    Raises InputError, PlanError (before running), NonFiniteError (with the row), DivergenceError.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import EigenProRegressor
    >>> X = np.linspace(0, 3, 100)[:, None]
    >>> model = EigenProRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    def fit(
        self, X: Any, y: Any, validation: Any = None, checkpoint: Any = None, resume: bool = False
    ) -> EigenProRegressor:
        """Learn the targets y (n,) or (n, l) of the rows of X (n, d); the rest as in `EigenProClassifier`."""
        return self._fit(X, y, validation, checkpoint, resume)  # type: ignore[no-any-return]
