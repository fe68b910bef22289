"""Layer 0: how progress leaves the solvers. Events are small frozen records; a sink is any callable that
takes one.

Nothing is printed here and a solver never knows who listens: progress bars, tests and dashboards are sinks.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True)
class StageStarted:
    """A named stage begins; `total` units of work are known in advance (blocks or iterations), or 0."""

    stage: str
    total: int = 0


@dataclass(frozen=True)
class StageProgress:
    """`done` of `total` units of a stage are finished."""

    stage: str
    done: int
    total: int


@dataclass(frozen=True)
class StageEnded:
    """A stage is over after `seconds`."""

    stage: str
    seconds: float


@dataclass(frozen=True)
class Iteration:
    """One iteration of a solver with its figures, for example inertia and the shift of the centers."""

    stage: str
    iteration: int
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class FitStarted:
    """The fit of an estimator begins; `fit` names it among all fits, `figures` are the sizes of its data."""

    fit: str
    estimator: str
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Planned:
    """What a fit is predicted to take in all, and what each pass of a stage does: rows, flops, bytes read."""

    figures: dict[str, float]
    stages: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class FitEnded:
    """A fit is over: "done", "failed" or "interrupted", and the error where there was one."""

    fit: str
    outcome: str
    message: str = ""


Event = StageStarted | StageProgress | StageEnded | Iteration | FitStarted | Planned | FitEnded
"""Any of the records above."""

Sink = Callable[[Event], None]
"""What takes an event: a function, or an object with `__call__`."""

sinks: list[Sink] = []
"""Listeners of every fit in this process: append a sink to hear them all."""


@dataclass(frozen=True)
class Reporter:
    """Hands events to the sinks of one fit and to the process-wide ones."""

    local: tuple[Sink, ...] = ()

    def emit(self, event: Event) -> None:
        """Give one event to every sink, in order."""
        for sink in (*self.local, *sinks):
            sink(event)

    @contextmanager
    def stage(self, name: str, total: int = 0) -> Iterator[None]:
        """Report the beginning, the end and the duration of a stage."""
        started = time.perf_counter()
        self.emit(StageStarted(name, total))
        try:
            yield
        finally:
            self.emit(StageEnded(name, time.perf_counter() - started))

    @contextmanager
    def fit(self, estimator: str, figures: dict[str, float]) -> Iterator[None]:
        """Report the beginning of a fit and how it ended."""
        name = uuid.uuid4().hex[:12]
        self.emit(FitStarted(name, estimator, figures))
        try:
            yield
        except BaseException as error:
            outcome = "failed" if isinstance(error, Exception) else "interrupted"
            self.emit(FitEnded(name, outcome, f"{type(error).__name__}: {error}"))
            raise
        self.emit(FitEnded(name, "done"))


@dataclass
class Timings:
    """A sink that adds up the seconds of every stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageEnded):
            self.seconds[event.stage] = self.seconds.get(event.stage, 0.0) + event.seconds


def reporter(local: Iterable[Sink] = ()) -> Reporter:
    """A reporter for one fit."""
    return Reporter(tuple(local))
