"""The fixtures of conftest.py do what the other tests trust them to do."""

from __future__ import annotations

import os

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client
from threadpoolctl import threadpool_info


def test_no_compute_refuses(no_compute) -> None:
    lazy = da.ones((4, 2), chunks=2)
    with no_compute:
        graph = lazy + 1
        with pytest.raises(AssertionError, match="something computed"):
            graph.compute()
        with pytest.raises(AssertionError, match="something computed"):
            dask.persist(graph)
    assert graph.compute().sum() == 16


def test_no_compute_refuses_under_a_client(no_compute, client_threads: Client) -> None:
    lazy = da.ones((4, 2), chunks=2)
    with no_compute(), pytest.raises(AssertionError, match="something computed"):
        lazy.compute()
    assert lazy.sum().compute() == 8


def test_threads_of_linear_algebra_are_limited() -> None:
    assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")


def test_client_of_processes_runs_functions_of_tests(client_processes: Client) -> None:
    pids = set(client_processes.run(_process_id).values())
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert client_processes.gather(client_processes.map(_double, [1, 2, 3])) == [2, 4, 6]


def test_clients_are_not_left_behind() -> None:
    with pytest.raises(ValueError, match="No clients found"):
        Client.current()


def test_assert_same(assert_same) -> None:
    assert_same(da.ones(3), np.ones(3), rtol=0)
    assert_same([1.0], [1.0 + 1e-9])
    for actual, expected in [([1.0], [1.001]), ([1, 2], [1, 3]), ([1.0], [[1.0]])]:
        with pytest.raises(AssertionError):
            assert_same(actual, expected)
    with pytest.raises(AssertionError, match="types differ"):
        assert_same(np.ones(3, "f4"), np.ones(3, "f8"), rtol=0)


def test_assert_same_partition(assert_same_partition) -> None:
    assert_same_partition([0, 0, 1, 2], [5, 5, 3, 4])
    for other in ([0, 1, 1, 2], [0, 0, 1, 1], [0, 1, 2, 3]):
        with pytest.raises(AssertionError):
            assert_same_partition([0, 0, 1, 2], other)


def _process_id() -> int:
    return os.getpid()


def _double(value: int) -> int:
    return 2 * value
