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
    feature_names: tuple[str, ...] | None = None
    feature_shape: tuple[int, ...] | None = None  # of one row, where rows are images


@dataclass(frozen=True)
class Scores:
    """How well it went; the two agreements exist where classes are known."""

    inertia: float  # sum of squared distances to the centers
    trace_error: float  # relative to the trace of the kernel matrix
    n_iter: int
    nmi: float | None = None
    ari: float | None = None


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of the kernel matrix of the landmarks, largest first, where it was cut, what that loses."""

    eigenvalues: np.ndarray  # (landmarks,)
    rank: int  # how many were kept
    n_components: int  # how many features were made of them
    errors: np.ndarray  # (rank,) trace error, by the number of features
    rank_errors: np.ndarray  # (rank,) trace error without a choice of features, by the rank


@dataclass(frozen=True)
class RowSample:
    """Some rows, looked at one by one."""

    points: np.ndarray  # (m, 2), or (m, 1) of a single feature: the first ones
    clusters: np.ndarray  # (m,)
    classes: np.ndarray | None  # (m,) codes
    silhouettes: np.ndarray | None  # (m,) among the sample, in all features
    no_silhouettes: str  # the reason where there are none
    seed: int


@dataclass(frozen=True)
class Means:
    """The clusters in input space."""

    values: np.ndarray  # (k, columns), NaN for a cluster without rows
    deviations: np.ndarray  # (columns,) standard deviation of each column in the sample


@dataclass(frozen=True)
class Step:
    """One step of the fit: seconds as the plan predicted them and as they were; None where one is unknown."""

    name: str
    predicted: float | None
    measured: float | None
    passes: float | None  # over the rows, as planned


@dataclass(frozen=True)
class PlanFacts:
    """What the plan said before the fit, beside what happened."""

    steps: tuple[Step, ...]
    gflops: float  # of all workers, measured before the fit
    workers: str
    iterations: int  # of k-means, that the plan reckons with
    worker_bytes: int  # predicted peak of one worker
    limit_bytes: int  # of one worker
    measured_bytes: int | None  # the largest peak of any worker; None where that was not measured
    choices: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ClusterRun:
    """One clustering job, complete; what only a report shows is there when one was asked for."""

    title: str
    data: DataFacts
    settings: tuple[tuple[str, str], ...]
    scores: Scores
    spectrum: Spectrum
    cluster_sizes: np.ndarray  # (k,)
    contingency: np.ndarray | None  # (k, classes) counts
    timings: tuple[tuple[str, float], ...]  # stage and seconds, in order
    command: str
    versions: tuple[tuple[str, str], ...]
    sample: RowSample | None = None
    means: Means | None = None
    plan: PlanFacts | None = None

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(seconds for _, seconds in self.timings)

    @property
    def silhouette(self) -> float | None:
        """The mean over the sample, None where there is none."""
        found = None if self.sample is None else self.sample.silhouettes
        return None if found is None else float(found.mean())
