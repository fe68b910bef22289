"""Tests: Dask's own schedulers as a runtime: one answer, one BLAS thread, honest progress."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import dask
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import daskkernels as dk
from daskkernels import events, runtime
from daskkernels.grid import Grid
from daskkernels.rowblocks import from_memory
from daskkernels.rows import map_rows, reduce_rows
from daskkernels.runtime import LocalRuntime, active_runtime
from daskkernels.threads import BlasThreadsWarning, single_blas_thread

GRID = Grid(5000, 1024)
X = np.random.default_rng(0).normal(size=(5000, 3))
SILENT = events.reporter()


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def threads_in_block(block: np.ndarray) -> np.ndarray:
    return np.full(len(block), blas_threads())


def sums(block: np.ndarray) -> np.ndarray:
    return block.sum(axis=0)


def total_of(rows: Any, function: Any = sums) -> Any:
    return reduce_rows(function, rows, combine=sum, stage="sums")


def collected(function: Any, dtype: str = "i8") -> np.ndarray:
    here = active_runtime()
    rows = map_rows(function, here.place_rows(X, GRID), stage="s", columns=None, dtype=dtype)
    return here.collect(rows, reporter=SILENT, stage="s")


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_totals_and_kept_blocks_of_one_pass(scheduler: str) -> None:
    with dask.config.set(scheduler=scheduler):
        here = active_runtime()
        rows = here.place_rows(X, GRID)
        made = map_rows(np.negative, rows, stage="s", columns=3, dtype="f8")
        calls: list[int] = []
        watched = map_rows(lambda b: calls.append(1) or b, made, stage="s", columns=3, dtype="f8")
        (total, again), (kept,) = here.run(
            [total_of(watched), total_of(made)], [watched], reporter=SILENT, stage="s"
        )
        np.testing.assert_array_equal(total, again)
        np.testing.assert_array_equal(here.collect(kept, reporter=SILENT, stage="s"), -X)
        assert len(calls) == GRID.n_blocks  # kept: not computed a second time
        here.release(kept)


def test_the_configured_scheduler_is_used() -> None:
    names: set[str] = set()

    def note(block: np.ndarray) -> np.ndarray:
        names.add(threading.current_thread().name)
        return block[:, 0]

    with dask.config.set(scheduler="sync"):
        collected(note, "f8")
        assert names == {threading.current_thread().name}
        assert active_runtime().machine.cores == 1
    with dask.config.set(scheduler="threads", num_workers=3):
        names.clear()
        collected(note, "f8")
        assert threading.current_thread().name not in names
        assert active_runtime().machine.cores == 3


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_one_blas_thread_in_a_block(scheduler: str) -> None:
    with threadpool_limits(2, user_api="blas"), dask.config.set(scheduler=scheduler):
        assert blas_threads() == 2
        assert set(collected(threads_in_block)) == {1}
        assert blas_threads() == 2  # put back


def test_one_blas_thread_in_worker_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    # Another count than any other test's: processes are kept, and these must be new to see the variables.
    with dask.config.set(scheduler="processes", num_workers=1):
        assert set(collected(threads_in_block)) == {1}
        model = dk.NystromFeatures(dk.Gaussian(2.0), n_landmarks=20, random_state=0)
        there = model.fit_transform(X)
    np.testing.assert_array_equal(there, model.fit_transform(X))


def test_the_guard_is_shared() -> None:
    """Two fits at once: the first to end must not give the threads back under the second one."""
    first, second = single_blas_thread(), single_blas_thread()
    with threadpool_limits(2, user_api="blas"):
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == 1
        second.__exit__(None, None, None)
        assert blas_threads() == 2


def in_a_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_the_guard_works_in_any_thread() -> None:
    with threadpool_limits(2, user_api="blas"):
        pass  # as scikit-learn does in the main thread
    assert set(in_a_thread(lambda: collected(threads_in_block))) == {1}


def test_the_guard_says_when_it_cannot_work() -> None:
    """threadpoolctl lets the thread that set the limit first, while it holds it, set it alone."""

    def collect() -> np.ndarray:
        with pytest.warns(BlasThreadsWarning, match="OPENBLAS_NUM_THREADS"):
            return collected(threads_in_block)

    with threadpool_limits(2, user_api="blas"):
        assert set(in_a_thread(collect)) == {2}


LAST_OF_TWO = """
import threading
import numpy
from threadpoolctl import threadpool_info, threadpool_limits
from daskkernels.threads import single_blas_thread

def count():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

def in_a_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

in_a_thread(lambda: threadpool_limits(2, user_api="blas"))
first, second = single_blas_thread(), single_blas_thread()
in_a_thread(first.__enter__)
second.__enter__()
second.__exit__(None, None, None)
assert count() == 1
in_a_thread(lambda: first.__exit__(None, None, None))
assert count() == 2
"""


def test_the_last_fit_puts_the_threads_back_from_any_thread() -> None:
    """In a process of its own: in this one the suite holds the number."""
    subprocess.run([sys.executable, "-W", "error", "-c", LAST_OF_TWO], check=True, timeout=60)


def test_the_guard_survives_errors() -> None:
    def fail(block: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("in a block")

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError, match="in a block"):
            collected(fail)
        assert blas_threads() == 2


def test_progress_counts_blocks() -> None:
    heard: list[events.Event] = []
    here = LocalRuntime()
    rows = from_memory(X, GRID)
    here.run([total_of(rows)], reporter=events.reporter([heard.append]), stage="sums")
    assert heard[0] == events.StageStarted("sums", 5)
    assert heard[1:-1] == [events.StageProgress("sums", i + 1, 5) for i in range(5)]
    assert isinstance(heard[-1], events.StageEnded)


def test_machine_is_this_process() -> None:
    machine = LocalRuntime().machine
    assert machine.workers == 1
    assert machine.in_process
    assert 0 < machine.base < machine.memory
    assert LocalRuntime().measured().gflops > 0.1


def test_registered_runtimes_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = LocalRuntime()
    monkeypatch.setattr(runtime, "_finders", [lambda: None, lambda: mine])
    assert active_runtime() is mine
    monkeypatch.setattr(runtime, "_finders", [])
    assert isinstance(active_runtime(), LocalRuntime)


def test_small_values_are_placed_by_reference() -> None:
    big = np.zeros(10**6)
    operand = LocalRuntime().place(big)
    (node,) = operand.graph.values()
    assert node.value is big


def test_processes_that_die_are_replaced() -> None:
    """A worker that ran out of memory must not spoil every later fit of the session."""

    def die(block: np.ndarray) -> np.ndarray:
        assert multiprocessing.parent_process() is not None
        os._exit(3)

    with dask.config.set(scheduler="processes", num_workers=1):
        with pytest.raises(BrokenProcessPool):
            collected(die, "f8")
        np.testing.assert_array_equal(collected(_first_column, "f8"), X[:, 0])


def _first_column(block: np.ndarray) -> np.ndarray:
    return block[:, 0]
