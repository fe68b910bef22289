"""The demonstration: shipped real data from its raw files to clusters, a trained model and a report, on this
machine alone.

The same jobs as `cluster` and `train`, with the data sets built first and the workers started once.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from datasets import registry
from datasets.build import build
from pipelines.cluster import clustered
from pipelines.connection import connected
from pipelines.learning.records import DemoRun
from pipelines.learning.train import prepared, trained
from pipelines.model import estimator
from pipelines.outputs import check_folder
from pipelines.progress import StageClock, listening, stage
from pipelines.report import write_report
from pipelines.requests import ClusterRequest, LearnRequest, ModelRequest, SessionRequest, TrainRequest

DATA = "pendigits"
LEARN = LearnRequest(validation_fraction=0.1, epochs=6)  # more change little here


def demo(folder: Path, session: SessionRequest, seed: int, command: str) -> DemoRun:
    """Build the data sets in `folder`, cluster and learn, and put model and report beside them."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "report.html"
    cluster_request, train_request = _requests(folder, session, seed, command)
    clocks = around, first, second = StageClock(), StageClock(), StageClock()
    with ExitStack() as stack:
        with listening(around):
            with stage("raw files to Zarr"):
                for path, part in ((cluster_request.data, "train"), (train_request.test, "test")):
                    build(registry.spec(DATA), str(path), part=part, overwrite=True)
            report.unlink(missing_ok=True)
            with stage("open datasets"):
                lesson = prepared(train_request)
            client = stack.enter_context(connected(session))
        with listening(first):
            clusters = clustered(cluster_request, lesson.data, estimator(cluster_request.model), client)
        with listening(second):
            machine = trained(train_request, lesson, client)
    clusters, machine = (
        replace(half, timings=clock.timings)
        for half, clock in zip((clusters, machine), clocks[1:], strict=True)
    )
    run = DemoRun(f"Two looks at {DATA}", clusters, machine, around.timings, command)
    with listening(around), stage("draw report"):
        write_report(run, report)
    return replace(run, timings=around.timings)


def _requests(
    folder: Path, session: SessionRequest, seed: int, command: str
) -> tuple[ClusterRequest, TrainRequest]:
    """What the two halves are asked for."""
    data, test, model = (str(folder / name) for name in (f"{DATA}.zarr", f"{DATA}-test.zarr", "model.zarr"))
    report, clusters = folder / "report.html", registry.spec(DATA).n_classes
    learn = replace(LEARN, seed=seed)
    return (
        ClusterRequest(data, ModelRequest(clusters, seed=seed), session, command, report=report),
        TrainRequest(data, learn, session, command, model, test=test, overwrite=True, report=report),
    )
