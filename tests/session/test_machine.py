"""Tests: what is measured of a cluster's workers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from distributed import Client

from daskkernels.session import peak_memory
from daskkernels.session.machine import _peak


def touch(megabytes: int) -> int:
    """Hold this much for a moment."""
    return int(np.ones(megabytes * 2**17).sum())


def resident() -> int:
    return int(psutil.Process().memory_info().rss)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps the peak of a process by itself")
def test_peaks_outlast_what_was_held(client_processes: Client) -> None:
    first, second = client_processes.scheduler_info()["workers"]
    before = peak_memory(client_processes)
    client_processes.submit(touch, 150, workers=[first], pure=False).result()
    after = peak_memory(client_processes)
    assert after[first] >= client_processes.submit(resident, workers=[first], pure=False).result()
    assert after[first] - before[first] > 50 * 2**20
    assert after[second] - before[second] < 50 * 2**20


def test_a_system_without_peaks(client_threads: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _path: False)
    assert _peak() is None
    assert peak_memory(client_threads) == {}
