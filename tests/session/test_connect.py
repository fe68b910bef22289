"""Tests: `connect`: workers, threads and limits as asked for, by default within the machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

import daskkernels as dk
from daskkernels.runtime import active_runtime
from daskkernels.session import ClusterRuntime, find_cluster

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def workers(client: Client) -> list[dict[str, Any]]:
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    with dk.connect("threads", threads_per_worker=2, memory_limit="1GiB") as client:
        (worker,) = workers(client)
        assert worker["nthreads"] == 2
        assert worker["memory_limit"] == 2**30
        assert client.run(os.getpid) == {next(iter(client.run(os.getpid))): os.getpid()}
        assert isinstance(find_cluster(), ClusterRuntime)
        shown = capsys.readouterr()
        assert "Dask dashboard: http://" in shown.err
        assert shown.out == ""
    assert find_cluster() is None


def test_threads_by_default_use_every_core_once() -> None:
    with dk.connect("threads") as client:
        assert sum(w["nthreads"] for w in workers(client)) == CORES


def test_processes() -> None:
    with dk.connect("local", n_workers=1, memory_limit="700MiB") as client:
        (worker,) = workers(client)
        assert worker["nthreads"] <= CORES
        assert worker["memory_limit"] == 700 * 2**20
        assert os.getpid() not in client.run(os.getpid).values()
        machine = ClusterRuntime(client).machine
        assert (machine.workers, machine.memory) == (1, 700 * 2**20)
        assert not machine.in_process


def test_an_address_is_joined_and_left_running(client_processes: Client) -> None:
    address = client_processes.scheduler.address
    with dk.connect(address) as client:
        assert client.scheduler.address == address
        assert find_cluster().client is client  # type: ignore[union-attr]
    assert client_processes.submit(sum, [1, 2]).result() == 3


def test_scratch_is_the_default_of_every_fit(tmp_path: Path) -> None:
    with dk.connect("threads", scratch=tmp_path):
        assert active_runtime().scratch == str(tmp_path)
        model = dk.KernelKMeans(2, n_landmarks=10, random_state=0)
        model.fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert active_runtime().scratch != str(tmp_path), "it belongs to the client"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("bad", ["cuda:0", "", "localhost:8786", "processes"])
def test_unknown_addresses(bad: str) -> None:
    with pytest.raises(ValueError, match=r"wanted 'local', 'threads'"):
        dk.connect(bad)


@pytest.mark.parametrize("option", ["n_workers", "threads_per_worker", "memory_limit"])
def test_foreign_workers_cannot_be_configured(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option}.*tcp://127.0.0.1:1.*not by connect"):
        dk.connect("tcp://127.0.0.1:1", **{option: 1})


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait of ten seconds is cut short here."""
    module = sys.modules[dk.connect.__module__]
    monkeypatch.setattr(module, "Client", lambda address, timeout: Client(address, timeout="300ms"))
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        dk.connect("tcp://127.0.0.1:1")
