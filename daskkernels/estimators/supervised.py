"""Layer 6: how a kernel machine shows itself as a classifier or a regressor, however it was trained."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from ..block import targets
from ..inputs import is_lazy
from ..rowblocks import RowBlocks
from .base import Work
from .targets import (
    codes_of,
    labels_of,
    numbers_of,
    open_labels,
    open_numbers,
    predicted,
    values_of,
    weights_of,
)

ASSUMED_CLASSES = 10  # in a plan, of labels that are not in memory


class Classifies(ClassifierMixin):
    """Labels in, classes out: least squares on one-hot targets; the class is that of the largest f."""

    classes_: np.ndarray
    dtype_: np.dtype[np.floating]
    _decide: Any  # finish(f(X)) in the kind X has

    def predict(self, X: Any) -> Any:
        """The class (n,) of each row of X."""
        check_is_fitted(self)
        finish = partial(targets.decided, classes=self.classes_)
        return self._decide(X, finish, None, self.classes_.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows of X whose class is y (n,); lazy ones are computed once."""
        return float(
            accuracy_score(labels_of(y), predicted(self, X), sample_weight=weights_of(sample_weight))
        )

    def decision_function(self, X: Any) -> Any:
        """f(X) (n, classes), or (n,) for two classes: positive for the second."""
        check_is_fitted(self)
        two = len(self.classes_) == 2
        finish = partial(targets.margins, dtype=self.dtype_)
        return self._decide(X, finish, None if two else len(self.classes_), self.dtype_)

    def _targets(self, work: Work) -> tuple[RowBlocks, targets.Encode]:
        labels = open_labels(work.y, work)
        self.classes_ = labels.classes
        weights = labels.class_weights(getattr(self, "class_weight", None))
        return labels.codes, targets.OneHot(len(labels.classes), weights)

    def _outputs(self, y: Any) -> int:
        return ASSUMED_CLASSES if y is None or is_lazy(y) else max(2, len(np.unique(np.asarray(y))))

    def _validation_targets(self, y: Any, _outputs: int) -> np.ndarray:
        return codes_of(y, self.classes_)


class Regresses(RegressorMixin):
    """Numbers (n,) or (n, l) in, predictions of their shape out."""

    intercept_: np.ndarray
    dtype_: np.dtype[np.floating]
    _flat: bool
    _decide: Any

    def predict(self, X: Any) -> Any:
        """The targets (n,) or (n, l) of each row of X, in the shape y had."""
        check_is_fitted(self)
        mean = self._mean()
        finish = partial(targets.shifted, mean=mean, flat=self._flat, dtype=self.dtype_)
        return self._decide(X, finish, None if self._flat else len(mean), self.dtype_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions for the rows of X, y (n,) or (n, l); lazy ones are computed once."""
        return float(r2_score(values_of(y), predicted(self, X), sample_weight=weights_of(sample_weight)))

    def _targets(self, work: Work) -> tuple[RowBlocks, targets.Encode]:
        numbers = open_numbers(work.y, work)
        self._flat, self.intercept_ = numbers.flat, numbers.encode.mean
        return numbers.values, numbers.encode

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _mean(self) -> np.ndarray:
        """What is added to every prediction (l,)."""
        return self.intercept_

    def _outputs(self, y: Any) -> int:
        return 1 if y is None or len(y.shape) == 1 else int(y.shape[1])

    def _validation_targets(self, y: Any, outputs: int) -> np.ndarray:
        return numbers_of(y, outputs)
