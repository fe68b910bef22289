"""What a user asked for on the command line, as frozen records.

The jobs read these and nothing else, so that a script can run a job without a command line.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SessionRequest:
    """Where to compute, and how much to say about it."""

    scheduler: str = "local"  # "local", "threads" or the address of a scheduler
    workers: int | None = None  # None: the library's choice
    memory_limit: str | None = None  # of each worker, such as "2GiB"
    quiet: bool = False  # no link to the dashboard
    verbose: bool = False  # the logs of scheduler and workers


@dataclass(frozen=True)
class ModelRequest:
    """What to fit; None leaves the library's own choice."""

    clusters: int
    kernel: str = "gaussian"
    bandwidth: float | str | None = None
    factor: float | None = None
    landmarks: int | None = None
    components: int | None = None
    scale: bool = False
    seed: int = 0
    n_init: int = 1


@dataclass(frozen=True)
class ClusterRequest:
    """A whole clustering job."""

    data: str
    model: ModelRequest
    session: SessionRequest
    command: str
    out: str | None = None
    report: Path | None = None


@dataclass(frozen=True)
class LearnRequest:
    """What to train; None leaves the library's own choice."""

    kernel: str = "auto"
    bandwidth: float | str | None = None
    factor: float | None = None
    epochs: int | None = None
    patience: int | None = None
    validation_fraction: float | None = None
    class_weight: str | None = None
    scale: bool = False
    seed: int = 0


@dataclass(frozen=True)
class MachineRequest:
    """What a job would run on; None stands for what this machine has."""

    workers: int | None = None
    threads: int = 1
    memory: str | None = None  # of each worker
    gflops: float | None = None  # of each worker
    network: float | None = None  # bytes a second
    disk: float | None = None


@dataclass(frozen=True)
class TrainRequest:
    """A whole training job."""

    data: str
    model: LearnRequest
    session: SessionRequest
    command: str
    out: str | None = None
    test: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    overwrite: bool = False  # a model that is at `out` already
    report: Path | None = None


@dataclass(frozen=True)
class PredictRequest:
    """A whole prediction job."""

    model: str
    data: str
    session: SessionRequest
    command: str
    out: str
    centers: str | None = None  # the dataset whose rows are the model's centers, if it is not where it was
    decision: bool = False
