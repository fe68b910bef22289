"""Tests: `connect("cuda")`, with a module in the place of dask-cuda: neither it nor a GPU is needed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from distributed import LocalCluster

import daskkernels as dk


class FakeCUDACluster(LocalCluster):
    """Takes what `dask_cuda.LocalCUDACluster` takes; two workers in this process stand for two GPUs."""

    asked: dict[str, Any]

    def __init__(self, n_workers: Any = None, threads_per_worker: int = 1, **options: Any) -> None:
        type(self).asked = {"n_workers": n_workers, "threads_per_worker": threads_per_worker, **options}
        options.pop("host")
        super().__init__(
            n_workers=n_workers or 2, threads_per_worker=threads_per_worker, processes=False, **options
        )


class NVMLError(Exception):
    """Of NVIDIA's library."""


def no_gpu(**options: Any) -> Any:
    raise NVMLError("NVML Shared Library Not Found")


def wrong_script(**options: Any) -> Any:
    raise RuntimeError("Nanny failed to start.") from RuntimeError("Nanny failed to start worker process")


def installed(monkeypatch: pytest.MonkeyPatch, cluster: Any) -> None:
    module: Any = ModuleType("dask_cuda")
    module.LocalCUDACluster = cluster
    monkeypatch.setitem(sys.modules, "dask_cuda", module)


def test_one_worker_for_each_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    installed(monkeypatch, FakeCUDACluster)
    with dk.connect("cuda") as client:
        cluster = client.cluster
        assert isinstance(cluster, FakeCUDACluster)
        assert len(client.scheduler_info(n_workers=-1)["workers"]) == 2
        assert client.submit(sum, [1, 2]).result() == 3
        assert "Dask dashboard: http://" in capsys.readouterr().err
    assert cluster.status.name == "closed"
    # The memory limit is left to dask-cuda, which shares the machine's memory between its workers.
    assert FakeCUDACluster.asked == {
        "n_workers": None,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "security": None,
    }


def test_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, FakeCUDACluster)
    with dk.connect("cuda", n_workers=1, threads_per_worker=2, memory_limit="1GiB", host="127.0.0.2"):
        asked = FakeCUDACluster.asked
    assert (asked["n_workers"], asked["threads_per_worker"]) == (1, 2)
    assert (asked["memory_limit"], asked["host"]) == ("1GiB", "127.0.0.2")


def test_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_cuda", None)
    with pytest.raises(ImportError, match=r'pip install "daskkernels\[gpu\]"'):
        dk.connect("cuda")


def test_it_is_imported_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask_cuda", None)  # an import of it would fail
    with dk.connect("threads") as client:
        assert client.submit(sum, [1, 2]).result() == 3


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, no_gpu)
    with pytest.raises(RuntimeError, match=r"finds no GPU.*NVML Shared Library.*nvidia-smi") as caught:
        dk.connect("cuda")
    assert "\n" not in str(caught.value)


def test_workers_that_do_not_start_are_no_missing_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, wrong_script)
    with pytest.raises(RuntimeError, match=r"connect\('cuda'\) under `if __name__") as caught:
        dk.connect("cuda")
    assert "GPU" not in str(caught.value)
