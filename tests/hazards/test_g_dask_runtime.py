"""Tests: hazards, section G, the Dask runtime: graphs stay small, clients of every kind, fits inside tasks.

Killed workers, paused workers and streams larger than memory have a suite of their own.
"""

from __future__ import annotations

import asyncio
import pickle
import tracemalloc
import warnings
from pathlib import Path
from typing import Any, ClassVar

import dask
import numpy as np
import pytest
from distributed import Client
from threadpoolctl import threadpool_info

import daskkernels as dk
from tests.hazards.forms import blobs, cluster

MEGABYTE = 2**20


@pytest.mark.parametrize("width", [100, 1500])
def test_large_operands_do_not_ride_in_the_graph(
    width: int, tmp_path: Path, client_processes: Client
) -> None:
    """distributed#8814: "Sending large graph". 700 landmarks of 1500 float64 features are 8 MB."""
    X = np.random.default_rng(0).normal(size=(1500, width))
    data = dk.write_dataset(tmp_path / "d.zarr", X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = dk.NystromFeatures("gaussian", n_landmarks=700, rank=50, random_state=0).fit(data.X)
        lazy = model.transform(data.X)
        size = len(pickle.dumps(dict(lazy.__dask_graph__())))
        features = lazy.compute()
    assert features.shape == (1500, 50)
    assert size < (MEGABYTE if width > 1000 else 4 * MEGABYTE), f"{size / MEGABYTE:.2f} MB in the graph"


class Seen:
    """The BLAS threads that were seen inside blocks."""

    counts: ClassVar[set[int]] = set()


def looking(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    Seen.counts |= {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    return np.asarray(X @ Z.T)


@pytest.mark.parametrize("estimator", ["clusters", "machine"])
def test_blas_is_limited_inside_blocks(estimator: str, client_threads: Client) -> None:
    """distributed#8985: BLAS threads times worker threads. One BLAS thread for each of ours."""
    X, Seen.counts = blobs(1000), set()
    if estimator == "clusters":
        dk.KernelKMeans(4, kernel=looking, n_landmarks=40, random_state=0).fit(X).predict(X)
    else:
        dk.EigenProRegressor(kernel=looking, max_epochs=1, random_state=0).fit(X, X[:, 0]).predict(X)
    assert Seen.counts == {1}


def test_asynchronous_clients_are_refused_by_name() -> None:
    """dask#5580, #7646, #8840: compute under an asynchronous client fails obscurely."""
    X = blobs(60)
    y = (X[:, 0] > 0).astype(int)
    fitted = cluster(X)
    calls: dict[str, Any] = {
        "clusters": lambda: dk.KernelKMeans(3).fit(X),
        "features": lambda: dk.NystromFeatures().fit_transform(X),
        "classifier": lambda: dk.EigenProClassifier(max_epochs=1).fit(X, y),
        "predict": lambda: fitted.predict(X),
        "plan": lambda: dk.KernelKMeans(3).plan(X),
        "score": lambda: fitted.score(X),
    }

    async def inside() -> None:
        async with Client(processes=False, asynchronous=True, dashboard_address=":0"):
            for call in calls.values():
                with pytest.raises(RuntimeError, match=r"use Client\(asynchronous=False\)"):
                    call()

    asyncio.run(inside())


def fit_here(seed: int) -> float:
    X = np.random.default_rng(0).normal(size=(300, 3))
    with dask.config.set(scheduler="sync"):
        return float(dk.KernelKMeans(3, n_landmarks=30, random_state=seed).fit(X).inertia_)


@pytest.mark.timeout(120)
def test_four_fits_inside_tasks_of_two_threads(client_processes: Client) -> None:
    """distributed#5513: tasks that wait for tasks take all threads."""
    futures = client_processes.map(fit_here, range(4), pure=False)
    found = [future.result(timeout=100) for future in futures]
    assert found == [fit_here(seed) for seed in range(4)]


@pytest.mark.timeout(120)
def test_fits_inside_tasks_that_use_the_cluster(client_processes: Client) -> None:
    """The same, where the fit inside takes the worker's own client: all threads wait, and it ends."""
    futures = client_processes.map(fit_there, range(4), pure=False)
    found = [future.result(timeout=100) for future in futures]
    assert found == [fit_here(seed) for seed in range(4)]


def fit_there(seed: int) -> float:
    X = np.random.default_rng(0).normal(size=(300, 3))
    return float(dk.KernelKMeans(3, n_landmarks=30, random_state=seed).fit(X).inertia_)


@pytest.mark.parametrize("columns", [50, 300])
def test_memory_stays_below_the_plan(columns: int) -> None:
    """dask-ml#151: Nyström on data in memory took far more than the data. At most 1.3 times the plan."""
    X = np.random.default_rng(0).normal(size=(20_000, 16)).astype("f4")
    model = dk.NystromFeatures(dk.Gaussian(4.0), n_landmarks=columns, n_components=20, random_state=0)
    plan = model.plan(X)
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = 1.3 * (plan.worker_bytes - plan.machine.base + plan.client_bytes)
    assert peak < allowed, f"{peak / MEGABYTE:.1f} MB, planned {allowed / 1.3 / MEGABYTE:.1f} MB"
