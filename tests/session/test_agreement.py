"""Tests: workers of other versions are named when a client joins them, with the package and both versions."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import dask
import distributed
import numpy as np
import pytest
import zarr
from distributed import Client

import daskkernels as dk
from daskkernels.session import agreement


def pretend(package: str, version: str) -> str:
    """Runs on a worker: another version from now on; the true one is returned."""
    module: Any = importlib.import_module(package)
    true, module.__version__ = module.__version__, version
    return str(true)


def hide(package: str) -> None:
    """Runs on a worker: as if the package were not installed."""
    sys.modules["hidden"] = sys.modules[package]
    sys.modules[package] = None  # type: ignore[assignment]


def show(package: str) -> None:
    sys.modules[package] = sys.modules.pop("hidden")


@pytest.mark.parametrize("package", [dk, dask, distributed, np, zarr], ids=lambda module: module.__name__)
def test_one_worker_differs(client_processes: Client, package: Any) -> None:
    name, true = package.__name__, package.__version__
    first, second = client_processes.scheduler_info(n_workers=-1)["workers"]
    client_processes.run(pretend, name, "0.0.7", workers=[second])
    try:
        with pytest.raises(dk.errors.VersionMismatchError) as caught:
            dk.connect(client_processes.scheduler.address)
    finally:
        client_processes.run(pretend, name, true, workers=[second])
    message = str(caught.value)
    assert f"{name} 0.0.7 (here {true}) on {second}" in message
    assert first not in message
    assert "\n" not in message
    with dk.connect(client_processes.scheduler.address) as client:
        assert client.submit(sum, [1, 2]).result() == 3


def test_a_worker_without_the_library(client_processes: Client) -> None:
    """Found without running anything of ours there."""
    first, second = client_processes.scheduler_info(n_workers=-1)["workers"]
    client_processes.run(importlib.import_module, "daskkernels", workers=[first], on_error="return")
    client_processes.run(hide, "daskkernels", workers=[first])
    try:
        with pytest.raises(dk.errors.VersionMismatchError, match=f"daskkernels missing .* on {first}:"):
            dk.connect(client_processes.scheduler.address)
    finally:
        client_processes.run(show, "daskkernels", workers=[first])
    with dk.connect(client_processes.scheduler.address):
        assert second


@pytest.mark.parametrize("package", agreement.PACKAGES)
def test_the_scheduler_is_asked_for_what_it_runs(
    client_processes: Client, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = agreement._version
    monkeypatch.setattr(agreement, "_version", lambda name: "9.9" if name == package else true(name))
    with pytest.raises(
        dk.errors.VersionMismatchError, match=rf"^other .*: {package} .* \(here 9.9\)"
    ) as caught:
        dk.connect(client_processes.scheduler.address)
    assert ("the scheduler" in str(caught.value)) == (package in agreement.OF_THE_SCHEDULER)
    for worker in client_processes.scheduler_info(n_workers=-1)["workers"]:
        assert worker in str(caught.value)
