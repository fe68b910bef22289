"""Tests: what a fit says without workers, with a closed client, with rows of another: at once, or in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, wait

import daskkernels as dk
from daskkernels import events
from daskkernels.grid import Grid
from daskkernels.rows import map_rows
from daskkernels.runtime import WorkersLostError, WorkersPausedError
from daskkernels.session import ClusterRuntime, waiting
from daskkernels.session.runtime import LITERAL_BYTES

GRID = Grid(5000, 1024)
X = np.random.default_rng(0).normal(size=(5000, 3))
SILENT = events.reporter()


def collected(runtime: ClusterRuntime, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    rows = map_rows(function, runtime.place_rows(X, GRID), stage="s", columns=3, dtype="f8")
    return runtime.collect(rows, reporter=SILENT, stage="s")


@pytest.fixture
def small() -> Iterator[Client]:
    """A cluster of its own, for tests that hurt it."""
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        memory_limit=0,
        dashboard_address=":0",
        scheduler_kwargs={"dashboard": False},
    ) as cluster:
        client = Client(cluster)  # closed inside its own `with`, it would stay Dask's default
        yield client
        client.close()


def test_placing_without_workers_does_not_wait_for_ever(
    small: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_WITHOUT", 0.2)
    runtime, value = ClusterRuntime(small), np.zeros(LITERAL_BYTES // 8 + 1)
    assert runtime.scratch is not None, "else it is scattered"
    small.cluster.scale(0)
    _until_alone(small)
    with pytest.raises(WorkersLostError, match=r"^operand: no worker has been there.*start workers"):
        runtime.place(value)


def _until_alone(client: Client, seconds: float = 10.0) -> None:
    limit = time.monotonic() + seconds
    while client.scheduler_info()["workers"]:
        assert time.monotonic() < limit, "the worker stays"
        time.sleep(0.02)


CLOSED = "the client is closed: connect again, and fit again"


def test_a_closed_client(small: Client) -> None:
    """Prepared before or not: a fit says so at its door."""
    other = Client(small.cluster, set_as_default=False)
    ClusterRuntime(other)
    unknown = Client(small.cluster, set_as_default=False)
    for client in (other, unknown):
        client.close()
        with client.as_current(), pytest.raises(WorkersLostError, match=f"^{CLOSED}"):
            dk.Standardize().fit(X)


LARGE = np.zeros(LITERAL_BYTES // 8 + 1)
ASKED: dict[str, Callable[[ClusterRuntime, Any], Any]] = {
    "machine": lambda runtime, _rows: runtime.machine,
    "measured": lambda runtime, _rows: runtime.measured(),
    "place": lambda runtime, _rows: runtime.place(LARGE),
    "scatter": lambda runtime, _rows: runtime.place([LARGE] * 17),
    "rows": lambda runtime, _rows: runtime.place_rows(X, GRID),
    "collect": lambda runtime, rows: runtime.collect(rows, reporter=SILENT, stage="s"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_client_that_is_closed_between_two_steps(small: Client, asked: str) -> None:
    runtime = ClusterRuntime(small)
    rows = runtime.place_rows(X, GRID)
    small.close()
    with pytest.raises(WorkersLostError, match=CLOSED):
        ASKED[asked](runtime, rows)


def test_a_client_that_is_closed_during_a_stage(small: Client) -> None:
    runtime, timer = ClusterRuntime(small), threading.Timer(0.4, small.close)
    timer.start()
    with pytest.raises(WorkersLostError, match=CLOSED):
        collected(runtime, _slow)
    timer.join(20)


def _slow(block: np.ndarray) -> np.ndarray:
    time.sleep(0.4)
    return block


def test_errors_of_blocks_are_told_as_they_are(client_threads: Client) -> None:
    with pytest.raises(KeyError, match="workers"):
        collected(ClusterRuntime(client_threads), _unknown)


def _unknown(_block: np.ndarray) -> np.ndarray:
    raise KeyError("workers")


def test_rows_that_another_client_persisted(small: Client) -> None:
    """They go with that client, or are on its own workers; the scheduler tells it from no lost worker."""
    with Client(small.cluster, set_as_default=False) as other:
        lazy = other.persist(da.from_array(X, chunks=1000))
        wait(lazy)
    with pytest.raises(WorkersLostError, match=r"exist nowhere else, .* another client.*persist with this"):
        dk.Standardize().fit(lazy)


def test_paused_workers_are_told_in_words_for_every_estimator(
    client_threads: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(waiting, "_state", lambda names, dask_scheduler: (0, 0, 1))
    with pytest.raises(WorkersPausedError, match="n_landmarks, n_centers or n_subsamples"):
        waiting.Watch(client_threads, None, "s", [], 1)._look()


def test_a_computer_that_was_asleep(client_threads: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time in which nobody looked is no time without workers: they were asleep as well."""
    clock = iter([0.5, 5000.0, 5000.5, 5100.0])
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(waiting, "PATIENCE_WITHOUT", 4.0)
    monkeypatch.setattr(waiting, "_state", lambda names, dask_scheduler: (0, 0, 0))
    watch = waiting.Watch(client_threads, None, "s", [], 1, _looked=0.0)
    for _ in range(3):
        watch._look()
    with pytest.raises(waiting.NoWorkersError):
        watch._look()
