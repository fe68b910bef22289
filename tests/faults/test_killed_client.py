"""Tests: the client is killed with -9 in the middle of a fit; another process goes on, or begins again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import daskkernels as dk
from tests.faults.fits import FITS
from tests.faults.strikes import eventually, tasks
from tests.session.test_by_hand import LIBRARY, started, written

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and a worker of their own, which outlive every client."""
    root, processes = tmp_path_factory.mktemp("survivors"), []
    host, file = ("--host", "127.0.0.1"), root / "scheduler" / "address.json"
    try:
        asked = ("--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        processes.append(started(file.parent, "scheduler", *host, *asked))
        address = written(file, processes[0])
        asked = ("--nthreads", "2", "--no-nanny", "--no-dashboard")
        processes.append(started(root / "worker", "worker", address, *host, *asked))
        yield address
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait(10)


def killed(folder: Path, until: list[str], *arguments: str) -> None:
    """A client that is killed as soon as it has said all of this, one after another."""
    environment = os.environ | {"PYTHONPATH": str(LIBRARY)}
    command = [sys.executable, "-m", "tests.faults.victim", *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=LIBRARY, stdout=subprocess.PIPE, stderr=log)
    assert process.stdout is not None
    with process, process.stdout as lines:
        for line in lines:
            if until and until[0] in line.decode():
                until = until[1:]
            if not until:
                process.kill()
                break
        process.wait(30)
    assert process.returncode == -9, (folder / "log").read_text()


IN_THE_SECOND = ["Iteration(stage='eigenpro-epoch'", "StageStarted(stage='eigenpro-predict'"]


@pytest.mark.parametrize("name", ["classifier", pytest.param("keeping", marks=pytest.mark.slow)])
def test_a_fit_goes_on_with_the_workers_that_stayed(
    by_hand: str, data: Any, same: Any, tmp_path: Path, scratch: Path, name: str
) -> None:
    checkpoint = str(tmp_path / "c")
    killed(tmp_path, IN_THE_SECOND, name, by_hand, data.path, str(scratch), checkpoint)
    with dk.connect(by_hand, scratch=scratch) as client:
        eventually(lambda: not tasks(client), lambda: f"tasks are left: {tasks(client)[:5]}")
        model = FITS[name][0]().fit(data.X, data.y, checkpoint=checkpoint, resume=True)
        eventually(lambda: not tasks(client), lambda: f"tasks are left: {tasks(client)[:5]}")
    same(name, model)
    assert not list(scratch.iterdir()), "what the killed client left in scratch is swept by the next fit"


def test_a_fit_goes_on_after_its_cluster_went_too(
    client: Client, data: Any, same: Any, tmp_path: Path, scratch: Path
) -> None:
    checkpoint = str(tmp_path / "c")
    killed(tmp_path, IN_THE_SECOND, "classifier", "local", data.path, str(scratch), checkpoint)
    same("classifier", FITS["classifier"][0]().fit(data.X, data.y, checkpoint=checkpoint, resume=True))


def test_a_checkpoint_is_being_written(
    by_hand: str, data: Any, same: Any, tmp_path: Path, scratch: Path
) -> None:
    """The third, in the place of the first: the second counts, and nothing half-written stays."""
    checkpoint, writing = tmp_path / "c", "StageStarted(stage='eigenpro-checkpoint'"
    asked = (data.path, str(scratch), str(checkpoint))
    killed(tmp_path, [writing] * 3, "long", by_hand, *asked)
    with dk.connect(by_hand, scratch=scratch) as client:
        model = FITS["long"][0]().fit(data.X, data.y, checkpoint=checkpoint, resume=True)
        eventually(lambda: not tasks(client), lambda: f"tasks are left: {tasks(client)[:5]}")
    same("long", model)
    assert sorted(path.name for path in checkpoint.iterdir()) == ["0", "1"]


def test_a_clustering_begins_again(by_hand: str, data: Any, same: Any, tmp_path: Path, scratch: Path) -> None:
    killed(tmp_path, ["StageStarted(stage='kmeans-seed'"], "clusters", by_hand, data.path, str(scratch), "")
    with dk.connect(by_hand, scratch=scratch) as client:
        eventually(lambda: not tasks(client), lambda: f"tasks are left: {tasks(client)[:5]}")
        model = FITS["clusters"][0]().fit(data.X)
        same("clusters", model)
    assert not list(scratch.iterdir())
