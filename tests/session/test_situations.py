"""Tests: the situations a fit is started in: scripts, event loops, tasks, threads. Each works, or says in one
line what to do. Several clients are in tests/hazards/test_f_contract.py.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, wait, worker_client

import daskkernels as dk

LIBRARY = Path(dk.__file__).parents[1]
SCRIPT = """
import numpy as np
import daskkernels as dk

X = np.random.default_rng(0).normal(size=(2000, 3))
with dk.connect({address!r}, n_workers=1) as client:
    print(dk.Standardize().fit(X).mean_.shape)
"""


def table(seed: int = 0) -> np.ndarray:
    """Three groups of rows, in five blocks."""
    X = np.random.default_rng(seed).normal(size=(5000, 4))
    return np.asarray(X + 6 * (np.arange(5000) % 3)[:, None])


def fitted(seed: int, lazy: bool = False) -> tuple[np.ndarray, np.ndarray]:
    X = table(seed)
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(
        da.from_array(X, chunks=700) if lazy else X
    )
    return model.cluster_centers_, np.asarray(model.labels_)


def fitted_lazily(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return fitted(seed, lazy=True)


def fitted_by_a_worker_client(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """As Dask's documentation has it for tasks that start tasks."""
    with worker_client():
        return fitted(seed, lazy=True)


def learned(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = table(seed)
    model = dk.EigenProRegressor(dk.Gaussian(3.0), max_epochs=1, n_subsamples=200, random_state=0)
    return model.fit(X, X[:, 0]).dual_coef_, model.predict(X[:10])


def alone(work: Callable[[int], Any], seed: int = 0) -> Any:
    with dask.config.set(scheduler="sync"):
        return work(seed)


def assert_same_answers(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def ran(tmp_path: Path, source: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(source)
    return subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(LIBRARY)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    """By its own process alone, once: workers that import it say nothing."""
    done = ran(tmp_path, SCRIPT.format(address="local"))
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: ")
    assert """connect('local') under `if __name__ == "__main__":`, or use connect("threads")""" in last
    assert done.stderr.count("Traceback") == 1
    assert len(done.stderr.splitlines()) < 20


def test_a_script_of_threads_needs_no_main_guard(tmp_path: Path) -> None:
    done = ran(tmp_path, SCRIPT.format(address="threads"))
    assert (done.returncode, done.stdout) == (0, "(3,)\n"), done.stderr


def beside_an_asynchronous_client(work: Callable[[], Any]) -> Any:
    """In the event loop of that client, which is the active one."""

    async def main() -> Any:
        async with Client(processes=False, asynchronous=True, dashboard_address=":0"):
            result = work()
            return await result if asyncio.iscoroutine(result) else result

    return asyncio.run(main())


@pytest.mark.parametrize("work", [fitted, fitted_lazily, learned])
def test_an_asynchronous_client(work: Callable[[int], Any]) -> None:
    with pytest.raises(RuntimeError, match=r"asynchronous.*asyncio\.to_thread\(model\.fit, X\)") as caught:
        beside_an_asynchronous_client(lambda: work(0))
    assert "\n" not in str(caught.value)


def test_the_way_out_of_an_asynchronous_client() -> None:
    found = beside_an_asynchronous_client(lambda: asyncio.to_thread(fitted, 0))
    assert_same_answers(found, alone(fitted))


def in_a_running_loop(work: Callable[[], Any]) -> Any:
    """As a cell of a notebook is run."""

    async def main() -> Any:
        return work()

    return asyncio.run(main())


def test_a_running_loop_without_a_client() -> None:
    assert_same_answers(in_a_running_loop(lambda: fitted(0)), alone(fitted))


@pytest.mark.parametrize("clients", ["client_threads", "client_processes"])
def test_a_running_loop_with_a_client_made_before(clients: str, request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue(clients)
    assert_same_answers(in_a_running_loop(lambda: fitted(0)), alone(fitted))
    assert client.status == "running"


def test_connected_in_a_running_loop() -> None:
    def work() -> Any:
        with dk.connect("threads"):
            return fitted(0)

    assert_same_answers(in_a_running_loop(work), alone(fitted))


@pytest.mark.parametrize("work", [fitted, fitted_lazily, fitted_by_a_worker_client, learned])
def test_fits_inside_tasks(client_processes: Client, work: Callable[[int], Any]) -> None:
    """distributed#5513: more tasks that wait for tasks than there are threads."""
    futures = [client_processes.submit(work, seed, pure=False) for seed in range(4)]
    wait(futures, timeout=120)
    for seed, future in enumerate(futures):
        other = fitted_lazily if work is fitted_by_a_worker_client else work
        assert_same_answers(future.result(), alone(other, seed))


async def in_the_loop_of_a_worker(seed: int) -> Any:
    return fitted(seed)


async def in_a_thread_of_a_worker(seed: int) -> Any:
    return await asyncio.to_thread(fitted, seed)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (in_the_loop_of_a_worker, "the active client is asynchronous"),
        (in_a_thread_of_a_worker, "not an `async`"),
    ],
)
def test_asynchronous_tasks_are_refused(client_processes: Client, work: Any, said: str) -> None:
    """They keep their place while they wait, so that enough of them would wait for ever."""
    futures = [client_processes.submit(work, seed, pure=False) for seed in range(4)]
    wait(futures, timeout=120)
    for future in futures:
        with pytest.raises(RuntimeError, match=said):
            future.result()


@pytest.mark.parametrize("clients", ["client_threads", "client_processes"])
@pytest.mark.parametrize("work", [fitted, fitted_lazily, learned])
def test_two_fits_at_once(clients: str, work: Callable[[int], Any], request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(clients)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, [0, 1]))
    for seed in (0, 1):
        assert_same_answers(found[seed], alone(work, seed))
