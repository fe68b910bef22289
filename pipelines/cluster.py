"""The clustering job: open a dataset, fit, score, write the labels and the report.

What can be refused is refused before any worker starts.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from fsspec.core import url_to_fs

import daskkernels as dk
from pipelines.connection import connected
from pipelines.failures import InputError
from pipelines.labels import write_labels
from pipelines.model import estimator
from pipelines.progress import StageClock, stage
from pipelines.report import write_report
from pipelines.requests import ClusterRequest
from pipelines.results import ClusterRun
from pipelines.summary import summarise


def cluster(request: ClusterRequest, clock: StageClock) -> ClusterRun:
    """Do the job; `clock` is a sink that listens already, and may have heard earlier stages."""
    check_outputs(request)
    model = estimator(request.model)
    with stage("open dataset"):
        data = dk.open_dataset(request.data)
    with connected(request.session):
        with stage("fit"):
            X = dk.Standardize().fit_transform(data.X) if request.model.scale else data.X
            model.fit(X)
        with stage("score"):
            record = summarise(request, data, X, model)
        if request.out:
            with stage("write labels"):
                write_labels(model.labels_, request, labels_record(record))
    record = replace(record, timings=clock.timings)
    if request.report:
        with stage("draw report"):
            write_report(record, request.report)
    return record


def check_outputs(request: ClusterRequest) -> None:
    """Raise InputError if an output is there already, or has no folder to go to."""
    if request.out:
        filesystem, path = url_to_fs(request.out)
        if filesystem.exists(path):
            raise InputError(f"--out {request.out}: exists already; remove it or choose another path")
    if request.report:
        check_report(request.report)


def check_report(path: Path) -> None:
    """Raise InputError unless a new file can be put there."""
    if path.exists():
        raise InputError(f"--report {path}: exists already; remove it or choose another path")
    if not path.parent.is_dir():
        raise InputError(f"--report {path}: there is no folder {path.parent}")


def labels_record(record: ClusterRun) -> dict[str, Any]:
    """What the labels' attributes say about their making, beside the command and the versions."""
    return {
        "digest": record.data.digest,
        "settings": dict(record.settings),
        "inertia": record.scores.inertia,
        "trace_error": record.scores.trace_error,
        "n_iter": record.scores.n_iter,
    }
