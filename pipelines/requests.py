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
