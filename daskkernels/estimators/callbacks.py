"""Layer 6: scikit-learn's callbacks (`set_callbacks`): a task for a fit, one in it for each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..events import Event, StageStarted

Attributes = dict[str, Any] | Callable[[], dict[str, Any]]


class StoppedError(Exception):
    """A callback asked for the end of the training; what is learned is kept."""


class Steps:
    """The tasks of one fit. As a sink it hears when a step begins: with the first start of its stage.

    Attributes that make an estimator ready to predict are worked out only for callbacks that ask for one.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, name: str, stage: str, most: int) -> None:
        self._given = {"estimator": estimator, "X": X, "y": y}
        self._name, self._stage = name, stage
        self._fit = estimator._init_callback_context(max_subtasks=most)
        self._fit.call_on_fit_task_begin(**self._given)
        self._step: Any = None

    def __call__(self, event: Event) -> None:
        """Begin a step."""
        if isinstance(event, StageStarted) and event.stage == self._stage and self._step is None:
            self._step = self._fit.subcontext(task_name=self._name)
            self._step.call_on_fit_task_begin(**self._given)

    def done(self, attributes: Attributes) -> bool:
        """End a step; whether a callback wants it to have been the last."""
        step, self._step = self._step, None
        if step is None:
            return False
        return bool(step.call_on_fit_task_end(**self._given, reconstruction_attributes=attributes))

    def over(self) -> None:
        """The fit has succeeded."""
        self._fit.call_on_fit_task_end(**self._given, reconstruction_attributes={})
