"""The demonstration: shipped real data from its raw file to clusters and a report, on this machine alone.

The same job as `cluster`, with the data set built first.
"""

from __future__ import annotations

from pathlib import Path

from datasets import registry
from datasets.build import build
from pipelines.cluster import cluster
from pipelines.outputs import check_folder
from pipelines.progress import StageClock, stage
from pipelines.requests import ClusterRequest, ModelRequest, SessionRequest
from pipelines.results import ClusterRun

DATA = "pendigits"


def demo(folder: Path, session: SessionRequest, seed: int, command: str, clock: StageClock) -> ClusterRun:
    """Build the data set in `folder`, cluster it into its number of classes, and put the report beside it."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    spec = registry.spec(DATA)
    path, report = folder / f"{DATA}.zarr", folder / "report.html"
    with stage("raw file to Zarr"):
        build(spec, path, overwrite=True)
    report.unlink(missing_ok=True)
    model = ModelRequest(clusters=spec.n_classes, seed=seed)
    request = ClusterRequest(str(path), model, session, command, report=report)
    return cluster(request, clock)
