"""Fixtures of every test: graphs that must not compute, real data, clusters, and comparison of numbers.

Threads are limited before numpy is loaded, here and in the processes that tests start: two cores are enough.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import HealthCheck, settings
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
NO_DASHBOARD = {"dashboard": False}  # the scheduler's small web server runs in any case: on a free port
PATIENT = {"distributed.scheduler.worker-ttl": None}  # a machine may stand still for minutes
SHARED_DATA = ROOT.parent / "shared" / "data"

settings.register_profile(
    "suite",
    max_examples=15,
    deadline=None,  # a busy machine is not a failure
    derandomize=True,  # the same examples in every run
    database=None,  # nothing is written into the checkout
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Libraries that a pytest plugin loaded before this file was read did not see the variables above."""
    with threadpool_limits(1):
        yield


class NoCompute:
    """A context in which computing any Dask graph raises; `with no_compute:` or `with no_compute():`."""

    def __init__(self) -> None:
        self.entered = False
        self._contexts: list[Any] = []

    def __call__(self) -> NoCompute:
        return self

    def __enter__(self) -> Self:
        self.entered = True
        context = dask.config.set(scheduler=_refuse)
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *error: object) -> None:
        self._contexts.pop().__exit__(*error)


def _refuse(graph: Any, keys: Any, **options: Any) -> Any:
    raise AssertionError(f"something computed while a graph was being built; it asked for {str(keys)[:200]}")


@pytest.fixture
def no_compute() -> Iterator[NoCompute]:
    """The context of one test in which nothing may compute; a test that asks for it must enter it."""
    guard = NoCompute()
    yield guard
    assert guard.entered, "this test asks for no_compute and never enters it: write `with no_compute:`"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], dict[str, NDArray[Any]]]:
    """`shared_data("pendigits")`: the arrays of one real data set (X, y, ...); skips where there are none."""

    def load(name: str) -> dict[str, NDArray[Any]]:
        path = SHARED_DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"needs {name}.npz in ../shared/data beside the checkout")
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}

    return load


@pytest.fixture(scope="session")
def _cluster_threads() -> Iterator[LocalCluster]:
    with (
        dask.config.set(PATIENT),
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            memory_limit=0,
            dashboard_address=":0",
            scheduler_kwargs=NO_DASHBOARD,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def _cluster_processes() -> Iterator[LocalCluster]:
    # Workers are spawned, never forked: a fork after a compressor's threads have started can hang.
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "spawn", **PATIENT}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GiB",
            dashboard_address=":0",
            scheduler_kwargs=NO_DASHBOARD,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def client_threads(_cluster_threads: LocalCluster) -> Iterator[Client]:
    """A client of two threads in this process; the default scheduler during one test."""
    with Client(_cluster_threads) as client:
        yield client


@pytest.fixture
def client_processes(_cluster_processes: LocalCluster) -> Iterator[Client]:
    """A client of two worker processes of one thread each; the default scheduler during one test."""
    with Client(_cluster_processes) as client:
        yield client


def _same_numbers(actual: ArrayLike, expected: ArrayLike, *, rtol: float = 1e-6, atol: float = 0.0) -> None:
    """Integers equal, numbers equal within `rtol`; 0 means bit for bit, dtype included."""
    left, right = (np.asarray(values) for values in dask.compute(actual, expected))
    assert left.shape == right.shape, f"shapes differ: {left.shape} and {right.shape}"
    if rtol == 0 and atol == 0:
        assert left.dtype == right.dtype, f"types differ: {left.dtype} and {right.dtype}"
    if left.dtype.kind in "fc" or right.dtype.kind in "fc":
        np.testing.assert_allclose(left, right, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(left, right)


def _same_partition(actual: ArrayLike, expected: ArrayLike) -> None:
    """The two labellings are equal up to the names of the labels (adjusted Rand index 1)."""
    left, right = (np.asarray(values) for values in dask.compute(actual, expected))
    assert left.shape == right.shape, f"shapes differ: {left.shape} and {right.shape}"
    pairs = np.unique(np.stack([left, right]), axis=1)
    sizes = len(np.unique(left)), len(np.unique(right))
    assert pairs.shape[1] == sizes[0] == sizes[1], f"{sizes} labels are paired in {pairs.shape[1]} ways"


@pytest.fixture(scope="session")
def assert_same() -> Callable[..., None]:
    """`assert_same(actual, expected, rtol=1e-6, atol=0)`; `rtol=0`: bit for bit. Lazy arrays are computed."""
    return _same_numbers


@pytest.fixture(scope="session")
def assert_same_partition() -> Callable[..., None]:
    """`assert_same_partition(labels, labels)`: equal up to the names of the labels."""
    return _same_partition
