"""The clustering job: open a dataset, fit, score, write the labels and the report.

What can be refused is refused before any worker starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import daskkernels as dk
from daskkernels.session import peak_memory
from datasets.address import check_protocol
from pipelines.connection import connected
from pipelines.illustration import illustrated, plan_facts
from pipelines.labels import write_labels
from pipelines.model import estimator
from pipelines.outputs import check_outputs
from pipelines.progress import StageClock, stage
from pipelines.report import write_report
from pipelines.requests import ClusterRequest
from pipelines.results import ClusterRun
from pipelines.summary import summarise


def cluster(request: ClusterRequest, clock: StageClock) -> ClusterRun:
    """Do the job; `clock` is a sink that listens already, and may have heard earlier stages."""
    check_protocol(request.data)
    check_outputs(request)
    model = estimator(request.model)
    with stage("open dataset"):
        data = dk.open_dataset(request.data)
    with connected(request.session) as client:
        record = clustered(request, data, model, client)
    record = replace(record, timings=clock.timings)
    if request.report:
        with stage("draw report"):
            write_report(record, request.report)
    return replace(record, timings=clock.timings)


def clustered(request: ClusterRequest, data: dk.Dataset, model: dk.KernelKMeans, client: Any) -> ClusterRun:
    """Fit, score, describe where there will be a report, and write the labels."""
    with stage("fit"):
        X = dk.Standardize().fit_transform(data.X) if request.model.scale else data.X
        planned = model.plan(X) if request.report else None
        model.fit(X)
    with stage("score"):
        record = summarise(request, data, model)
    if planned:
        record = replace(record, plan=plan_facts(planned, model, peak_memory(client)))
        with stage("describe"):
            record = illustrated(record, request, data, X, model)
    if request.out:
        with stage("write labels"):
            write_labels(model.labels_, request, labels_record(record))
    return record


def labels_record(record: ClusterRun) -> dict[str, Any]:
    """What the labels' attributes say about their making, beside the command and the versions."""
    return {
        "digest": record.data.digest,
        "settings": dict(record.settings),
        "inertia": record.scores.inertia,
        "trace_error": record.scores.trace_error,
        "n_iter": record.scores.n_iter,
    }
