"""Layer 6: `FalkonClassifier` and `FalkonRegressor`: kernel ridge regression on M centers, linear in n."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..block import targets
from ..rowblocks import RowBlocks
from .base import Work
from .falkon_base import Falkon
from .supervised import Classifies, Regresses


class FalkonClassifier(Classifies, Falkon):
    """Kernel classifier: ridge regression of one-hot targets on M centers, by FALKON.

    f(x) = k(x, Z) a, where a (M, classes) solves (K^T K + lam n K(Z, Z)) a = K^T Y, K = K(X, Z) (n, M), by
    conjugate gradients with a preconditioner of the centers alone [Rudi, Carratino, Rosasco 2017]; the class
    is that of the largest f. One pass over the rows an iteration: linear in n, and nothing of size n need be
    held. Cost 2 n M (d + 2 classes) an iteration, 4 n M classes where kernel values are kept, and M^3 once.

    Parameters
    ----------
    kernel : a kernel object such as `Gaussian(5.0)`, its short name, or a function f(X, Z) -> (n, m).
    n_centers : M; "auto" is min(n, 2000), 5000 above 100 000 rows.
    penalty : lam, of the mean squared error: n lam is `alpha` of scikit-learn's KernelRidge.
    max_iter : iterations at most.
    tol : an output stops when its residual is below `tol` times that of the beginning.
    patience : where there is a validation set, stop after so many iterations without a better loss on it;
        the best is kept. None never stops.
    validation_fraction : share of the rows (10 000 at most) that is kept back to judge the iterations.
    sampling : how centers are chosen: "uniform", "leverage", "rls" or "kmeans", as in `NystromFeatures`.
    dtype : "float32" or "float64" for the kernel; None keeps the type of float input, else float32. What is
        M x M is float64.
    keep_kernel : whether the n x M kernel values are kept in memory, so that they are computed once; "auto"
        where they fit. The answer has the same bits.
    scratch : folder or URL for data that does not fit in memory.
    random_state : None, int, RandomState or Generator.
    verbose : 1 shows a progress bar.

    Attributes
    ----------
    classes_ : the labels, ascending.
    kernel_ : the kernel with its bandwidth as a number.
    centers_ : Z (M, d), in the data's own units.
    center_indices_ : (M,) their row numbers, None where they are not rows.
    dual_coef_ : a (M, classes).
    n_iter_ : iterations done.
    history_ : a dict for each iteration: iteration, seconds, residual (the largest of an output, relative to
        that of the beginning), train_mse, rows_per_second, gflops; with a validation set also validation_mse
        and validation_error.
    plan_ : the plan, with the measured seconds.

    Raises InputError (one class, lengths, bad parameters), PlanError (before running), NonFiniteError (with
    the row), DegenerateMatrixError (a kernel that is 0 or overflows).

    References
    ----------
    Rudi, Carratino, Rosasco, "FALKON: An optimal large scale kernel method", NIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import FalkonClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "different")
    >>> FalkonClassifier(n_centers=50, random_state=0).fit(X, y).predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    ['same', 'different']
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> FalkonClassifier:
        """Learn the classes y (n,) of the rows of X (n, d).

        Parameters
        ----------
        X : (n, d), of any kind.
        y : (n,) strings, whole numbers or bools; numpy, pandas or lazy.
        sample_weight : (n,) counts rows.
        validation : a pair (X, y) to judge the iterations by.
        checkpoint : a folder or URL that the state of the fit, M x l, is saved in after every iteration.
        resume : whether to go on from the checkpoint, with more iterations where `max_iter` has been raised.

        Raises what the class raises, and InputError where the checkpoint holds a fit that is not to be
        resumed, holds none to resume, or holds another one.
        """
        return self._fit(X, y, sample_weight, validation, checkpoint, resume)  # type: ignore[no-any-return]


class FalkonRegressor(Regresses, Falkon):
    """Kernel ridge regression on M centers, by FALKON.

    f(x) = k(x, Z) a, a (M, l) as in `FalkonClassifier` with the targets themselves for Y; y is (n,) or
    (n, l), and predictions have its shape. As in scikit-learn's KernelRidge there is no intercept: far from
    all centers the prediction is 0. Parameters and attributes as in `FalkonClassifier`, but `classes_`.

    Attributes
    ----------
    dual_coef_ : a (M, l).

    Raises InputError, PlanError (before running), NonFiniteError (with the row), DegenerateMatrixError.

    Examples
    --------
    >>> import numpy as np
    >>> from daskkernels import FalkonRegressor
    >>> X = np.linspace(0, 3, 100)[:, None]
    >>> model = FalkonRegressor(n_centers=20, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.01)
    True
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: Any = None,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> FalkonRegressor:
        """Learn the targets y (n,) or (n, l) of the rows of X (n, d); the rest as in `FalkonClassifier`."""
        return self._fit(X, y, sample_weight, validation, checkpoint, resume)  # type: ignore[no-any-return]

    def _targets(self, work: Work) -> tuple[RowBlocks, targets.Encode]:
        values, encode = super()._targets(work)
        del self.intercept_
        return values, targets.Centered(np.zeros(encode.n_outputs))

    def _mean(self) -> np.ndarray:
        return np.zeros(self.dual_coef_.shape[1])
