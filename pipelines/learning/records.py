"""What a finished training or prediction hands on: frozen records, read by the tables and the report.

Nothing here computes; a report can be made from records alone, without data, library or cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.results import ClusterRun, DataFacts


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows that are trained on; errors are shares of wrong classes."""

    number: int  # from 1
    seconds: float
    residual: float  # mean squared, of the rows as they were met
    step: float
    validation_mse: float | None = None
    validation_error: float | None = None


@dataclass(frozen=True)
class Trial:
    """A kernel that was tried on a sample."""

    kernel: str  # "Gaussian" or "Laplacian"
    bandwidth: float
    factor: float  # of the root mean squared distance
    mse: float
    error: float | None  # share of wrong classes
    chosen: bool


@dataclass(frozen=True)
class Choice:
    """Something that was chosen before the training, and why."""

    letter: str
    name: str
    value: float
    why: str


@dataclass(frozen=True)
class Scores:
    """How well a model does on rows that it was not trained on; of classes the error, of numbers the rest."""

    data: DataFacts
    error: float | None = None  # share of wrong classes
    confusion: np.ndarray | None = None  # (classes of the data, classes of the model) counts
    mse: float | None = None
    r2: float | None = None


@dataclass(frozen=True)
class Foreseen:
    """What the plan said, beside what happened."""

    epoch_seconds: float
    workers: str
    gflops: float
    worker_bytes: int
    limit_bytes: int
    measured_bytes: int | None  # the largest peak of any worker; None where that was not measured
    how: str  # how the rows are held


@dataclass(frozen=True)
class TrainRun:
    """One training, complete."""

    title: str
    data: DataFacts
    n_used: int  # rows that were trained on; the others validate
    classes: tuple[str, ...] | None  # of the model; None for a regressor
    kernel: str
    trials: tuple[Trial, ...]  # what the kernel was chosen by
    choices: tuple[Choice, ...]
    eigenvalues: np.ndarray  # the leading ones of K_s / s, descending
    n_directions: int  # q: q - 1 of them are damped
    epochs: tuple[Epoch, ...]
    kept: int  # the epoch whose weights are the model, from 1
    halvings: int
    test: Scores | None
    plan: Foreseen
    settings: tuple[tuple[str, str], ...]
    timings: tuple[tuple[str, float], ...]
    command: str
    versions: tuple[tuple[str, str], ...]

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(seconds for _, seconds in self.timings)

    @property
    def kept_epoch(self) -> Epoch:
        """The figures of the weights that are the model."""
        return self.epochs[self.kept - 1]


@dataclass(frozen=True)
class PredictRun:
    """One prediction, complete."""

    data: DataFacts
    model: str
    about: str  # the model in words
    scores: Scores | None  # where the data has a y
    timings: tuple[tuple[str, float], ...]

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(seconds for _, seconds in self.timings)


@dataclass(frozen=True)
class DemoRun:
    """Both halves, and the seconds of all stages around and in them."""

    title: str
    clustering: ClusterRun
    learning: TrainRun
    timings: tuple[tuple[str, float], ...]  # of what belongs to neither half
    command: str

    @property
    def seconds(self) -> float:
        """All of it."""
        own = sum(seconds for _, seconds in self.timings)
        return own + self.clustering.seconds + self.learning.seconds
