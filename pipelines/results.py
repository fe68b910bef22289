"""What a finished job hands on: frozen records of plain arrays and numbers, read by the table and the report.

Nothing here computes; a report can be made from records alone, without data, library or cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DataFacts:
    """What was clustered."""

    name: str
    path: str
    n_rows: int
    n_features: int
    dtype: str
    classes: tuple[str, ...] | None  # names of the known classes, in the order of their codes
    source: str | None
    digest: str | None


@dataclass(frozen=True)
class Scores:
    """How well it went; the two agreements exist where classes are known."""

    inertia: float  # sum of squared distances to the centers
    trace_error: float  # relative to the trace of the kernel matrix
    n_iter: int
    nmi: float | None = None
    ari: float | None = None


@dataclass(frozen=True)
class EmbeddingSample:
    """The first two features of some rows, for a picture."""

    points: np.ndarray  # (m, 2)
    clusters: np.ndarray  # (m,)
    classes: np.ndarray | None  # (m,) codes
    seed: int


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the kernel matrix of the landmarks, largest first, and where it was cut."""

    eigenvalues: np.ndarray
    rank: int  # how many were kept
    n_components: int  # how many features were made of them


@dataclass(frozen=True)
class ClusterRun:
    """One clustering job, complete."""

    title: str
    data: DataFacts
    settings: tuple[tuple[str, str], ...]
    scores: Scores
    spectrum: Spectrum
    cluster_sizes: np.ndarray  # (k,)
    contingency: np.ndarray | None  # (k, classes) counts
    sample: EmbeddingSample
    timings: tuple[tuple[str, float], ...]  # stage and seconds, in order
    command: str
    versions: tuple[tuple[str, str], ...]

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(seconds for _, seconds in self.timings)
