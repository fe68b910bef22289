"""Tests: a scheduler and workers started by hand, in another folder: they have the library alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client
from threadpoolctl import threadpool_info

import daskkernels as dk
from daskkernels.events import reporter
from daskkernels.inputs import lazy_rows, open_input
from daskkernels.scratch import Scratch
from daskkernels.session import ClusterRuntime
from tests.estimators.rows_in_many_forms import answers, assert_same_bits, chunked, table

LIBRARY = Path(dk.__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def started(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    """A process as somebody else would start it, able to import the library where it is not installed."""
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment |= {"PYTHONPATH": str(LIBRARY), "OPENBLAS_NUM_THREADS": "2"}
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
        )


def written(path: Path, process: subprocess.Popen[bytes], seconds: float = 60.0) -> str:
    """The scheduler's address, once it has written its file."""
    limit = time.monotonic() + seconds
    while not (path.exists() and "tcp://" in path.read_text()):
        assert process.poll() is None, (path.parent / "log").read_text()
        assert time.monotonic() < limit, f"no {path.name} after {seconds} s"
        time.sleep(0.1)
    return str(json.loads(path.read_text())["address"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One worker of two threads that never saw this folder, and a client from `connect`."""
    root, processes = tmp_path_factory.mktemp("by_hand"), []
    host = ("--host", "127.0.0.1")
    try:
        file = root / "scheduler" / "address.json"
        processes.append(
            started(
                file.parent,
                "scheduler",
                *host,
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                str(file),
            )
        )
        address = written(file, processes[0])
        processes.append(
            started(
                root / "worker", "worker", address, *host, "--nthreads", "2", "--no-nanny", "--no-dashboard"
            )
        )
        with dk.connect(address) as session:
            session.wait_for_workers(1, timeout=60)
            yield session
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def test_they_are_somewhere_else(client: Client) -> None:
    (folder,) = client.run(os.getcwd).values()
    assert Path(folder).name == "worker"
    assert os.getpid() not in client.run(os.getpid).values()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_same_bits(client: Client, dtype: str) -> None:
    X = table(dtype)
    with dask.config.set(scheduler="sync"):
        expected = answers(X)
    assert_same_bits(answers(X), expected)
    assert_same_bits(answers(chunked(X)), expected)


def test_relative_paths_are_the_clients(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store and a scratch folder named from here are found by a worker that lives there."""
    monkeypatch.chdir(tmp_path)
    X = table()
    data = dk.write_dataset("data.zarr", X)
    model = dk.KernelKMeans(4, n_landmarks=40, random_state=0, scratch="scratch").fit(data)
    again = dk.KernelKMeans(4, n_landmarks=40, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_.compute(), again.labels_)
    assert not list(tmp_path.glob("scratch/*"))


def test_spooling_to_a_relative_scratch(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    X, runtime = table(), ClusterRuntime(client)
    with Scratch("scratch") as scratch:
        rows = scratch.spool(lazy_rows(open_input(chunked(X)), runtime), runtime, reporter())
        found = runtime.collect(rows, reporter=reporter(), stage="s")
    np.testing.assert_array_equal(found, X)


def test_one_blas_thread(client: Client) -> None:
    """The worker came up with two."""
    dk.Standardize().fit(table())

    def threads() -> set[int]:
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    found: Any = client.submit(threads).result()
    assert found == {1}
