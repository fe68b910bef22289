"""Tests: the runtime of a client: blocks stay on workers, operands travel once, errors cancel."""

from __future__ import annotations

import gc
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, Future
from threadpoolctl import threadpool_limits

import daskkernels as dk
from daskkernels import events
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid
from daskkernels.rowblocks import from_dask
from daskkernels.rows import map_rows, reduce_rows, take_rows
from daskkernels.runtime import LocalRuntime, active_runtime
from daskkernels.session import ClusterRuntime, find_cluster
from daskkernels.session.runtime import LITERAL_BYTES

GRID = Grid(5000, 1024)
X = np.random.default_rng(0).normal(size=(5000, 3))
SILENT = events.reporter()


@pytest.fixture
def threads(client_threads: Client) -> ClusterRuntime:
    return ClusterRuntime(client_threads)


@pytest.fixture
def processes(client_processes: Client) -> ClusterRuntime:
    return ClusterRuntime(client_processes)


def blas_threads(block: np.ndarray) -> np.ndarray:
    from threadpoolctl import threadpool_info

    found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return np.full(len(block), max(found))


def collected(runtime: Any, function: Any, stage: str = "s", dtype: str = "i8") -> np.ndarray:
    rows = map_rows(function, runtime.place_rows(X, GRID), stage=stage, columns=None, dtype=dtype)
    return runtime.collect(rows, reporter=SILENT, stage=stage)


def raise_limit() -> None:
    from threadpoolctl import threadpool_limits as limits

    limits(2, user_api="blas")


def test_blas_threads_of_workers_in_this_process(threads: ClusterRuntime) -> None:
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads(X)) == {2}
        assert set(collected(threads, blas_threads)) == {1}
        assert set(blas_threads(X)) == {2}


def test_blas_threads_of_worker_processes(client_processes: Client) -> None:
    """The plugin limits workers that came up with more, before the first block runs."""
    if _has_plugin(client_processes):
        client_processes.unregister_worker_plugin("daskkernels-one-blas-thread")
    client_processes.run(raise_limit)
    assert set(client_processes.submit(blas_threads, X[:1]).result()) == {2}
    assert set(collected(ClusterRuntime(client_processes), blas_threads)) == {1}


def _has_plugin(client: Client) -> bool:
    name = "daskkernels-one-blas-thread"
    return client.run_on_scheduler(lambda dask_scheduler: name in dask_scheduler.worker_plugins)


def test_the_runtime_is_found(client_threads: Client) -> None:
    assert isinstance(active_runtime(), ClusterRuntime)
    assert active_runtime().client is client_threads
    with dask.config.set(scheduler="threads"):
        assert find_cluster() is None
        assert isinstance(active_runtime(), LocalRuntime)


def test_kept_blocks_stay_on_the_workers(threads: ClusterRuntime) -> None:
    rows = threads.place_rows(X, GRID)
    made = map_rows(np.negative, rows, stage="negated", columns=3, dtype="f8")
    total = reduce_rows(_sums, made, combine=sum, stage="sums")
    (value,), (kept,) = threads.run([total], [made], reporter=SILENT, stage="sums")
    np.testing.assert_allclose(value, -X.sum(axis=0))
    assert all(isinstance(f, Future) for f in kept.graph.values())
    np.testing.assert_array_equal(threads.collect(kept, reporter=SILENT, stage="s"), -X)
    np.testing.assert_array_equal(kept.to_dask().compute(), -X)
    names = {f.key for f in kept.graph.values()}
    threads.release(kept)
    _eventually(lambda: not _held(threads, names))


def _held(runtime: ClusterRuntime, names: set[Any]) -> bool:
    return any(names & set(keys) for keys in runtime.client.has_what().values())


def _eventually(condition: Any, seconds: float = 10.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.02)


def _sums(block: np.ndarray) -> np.ndarray:
    return block.sum(axis=0)


@pytest.mark.parametrize("size", [1000, LITERAL_BYTES // 8 + 1000], ids=["small", "large"])
def test_operands(processes: ClusterRuntime, size: int) -> None:
    """No warning about a large graph, in either size."""
    operand = processes.place(np.full(size, 2.0))
    rows = processes.place_rows(X, GRID)
    made = map_rows(_times_first, rows, operands=[operand], stage="s", columns=3, dtype="f8")
    np.testing.assert_array_equal(processes.collect(made, reporter=SILENT, stage="s"), 2 * X)
    scattered = [v for v in operand.graph.values() if isinstance(v, Future)]
    assert len(scattered) == (size > 10_000)
    for future in scattered:
        assert len(processes.client.who_has([future])[future.key]) == 2  # on both workers, once


@pytest.mark.parametrize(
    "value", [(np.ones(3), np.ones(LITERAL_BYTES // 8)), [np.ones(LITERAL_BYTES // 8 + 1)]]
)
def test_a_large_sequence_is_one_operand(processes: ClusterRuntime, value: Any) -> None:
    """Centers of several restarts are a tuple: many clusters by many features pass 4 MB."""
    operand = processes.place(value)
    total = reduce_rows(
        _sums_of_lengths, processes.place_rows(X, GRID), operands=[operand], combine=sum, stage="s"
    )
    (found,), _ = processes.run([total], reporter=SILENT, stage="s")
    assert found == GRID.n_blocks * sum(map(len, value))


def _sums_of_lengths(_block: np.ndarray, values: Any) -> int:
    return sum(map(len, values))


def _times_first(block: np.ndarray, operand: np.ndarray) -> np.ndarray:
    return block * operand[0]


def test_only_what_is_needed_runs(threads: ClusterRuntime) -> None:
    ran: list[int] = []

    def noted(block: np.ndarray) -> np.ndarray:
        ran.append(1)
        return block

    lazy = da.from_array(X, chunks=(100, -1)).map_blocks(noted, meta=np.empty((0, 0)))
    total = take_rows(from_dask(lazy, GRID), np.array([3, 20]))
    (found,), _ = threads.run([total], reporter=SILENT, stage="take-rows")
    np.testing.assert_array_equal(found, X[[3, 20]])
    assert len(ran) <= 11


def test_errors_name_the_row_and_stop_the_rest(threads: ClusterRuntime) -> None:
    """Again and again on one client, which must survive: cancelling blocks with dependents cuts it off."""
    rows = threads.place_rows(X, GRID)
    for _ in range(5):
        last = map_rows(_or_fail, rows, stage="s", columns=3, dtype="f8")
        total = reduce_rows(_sums, last, combine=sum, stage="s")
        with pytest.raises(NonFiniteError, match="row 4103"):
            threads.run([total], [last], reporter=SILENT, stage="s")
        with pytest.raises(NonFiniteError, match="row 4103"):
            threads.collect(last, reporter=SILENT, stage="s")
    assert threads.client.status == "running"
    assert threads.client.submit(sum, [1, 2]).result() == 3
    _eventually(lambda: not any(threads.client.processing().values()))
    _eventually(lambda: len(_wanted(threads.client)) == rows.grid.n_blocks)


def _or_fail(block: np.ndarray) -> np.ndarray:
    if len(block) < 1024:  # the last block, which begins at row 4096
        raise NonFiniteError(7)
    return block


def test_nothing_is_left_on_the_workers(threads: ClusterRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daskkernels.inputs.CLIENT_BYTES", 0)  # small labels are fetched
    model = dk.KernelKMeans(4, n_landmarks=30, random_state=0).fit(da.from_array(X, chunks=700))
    _eventually(lambda: len(_wanted(threads.client)) == 1)  # the labels
    assert model.labels_.compute().shape == (5000,)
    del model
    _eventually(lambda: not _wanted(threads.client))


def _wanted(client: Client) -> list[Any]:
    """Keys that the scheduler holds for this client, once Python has collected its garbage."""
    gc.collect()
    me = client.id

    def keys(dask_scheduler: Any) -> list[Any]:
        state = dask_scheduler.clients[me]
        return [task.key for task in state.wants_what]

    return list(client.run_on_scheduler(keys))


def test_stages_read_like_the_algorithm(threads: ClusterRuntime) -> None:
    """In the dashboard, whose groups of tasks are these."""
    assert _groups(threads) >= {"bandwidth", "nystrom-gram", "kmeans-seed", "kmeans-assign", "kmeans-labels"}


def test_features_are_named_in_the_dashboard(threads: ClusterRuntime) -> None:
    assert "nystrom-project" in _groups(threads)


def _groups(runtime: ClusterRuntime) -> set[str]:
    dk.KernelKMeans(4, n_landmarks=30, random_state=0).fit(X)
    return set(runtime.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes)))


def test_progress(threads: ClusterRuntime) -> None:
    heard: list[events.Event] = []
    rows = threads.place_rows(X, GRID)
    total = reduce_rows(_sums, rows, combine=sum, stage="sums")
    threads.run([total], reporter=events.reporter([heard.append]), stage="sums")
    assert heard[0] == events.StageStarted("sums", 5)
    assert events.StageProgress("sums", 5, 5) in heard
    assert isinstance(heard[-1], events.StageEnded)


def test_workers_that_join_late_are_prepared_too(threads: ClusterRuntime) -> None:
    assert _has_plugin(threads.client)
