"""Tests: hazards, section H, GPU workers. What needs a device is skipped without one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import daskkernels as dk
from daskkernels import plan_clustering as clustering
from daskkernels.plan import Machine
from daskkernels.plan_rounds import RoundTask, plan_rounds

NO_DEVICE = "no CUDA device with cupy and dask-cuda here: the workers under test are GPU workers"
GIB = 2**30


def _devices() -> int:
    cupy = pytest.importorskip("cupy", reason=NO_DEVICE)
    pytest.importorskip("dask_cuda", reason=NO_DEVICE)
    return int(cupy.cuda.runtime.getDeviceCount())


@pytest.mark.gpu
def test_spilled_blocks_are_arrays_again() -> None:
    """rapidsai/dask-cuda#841: with JIT unspilling blocks are proxies, which are not cupy arrays."""
    if not _devices():
        pytest.skip(NO_DEVICE)
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    X = np.random.default_rng(0).normal(size=(5000, 4)).astype("f4")
    expected = dk.KernelKMeans(3, random_state=0).fit(X).inertia_
    with LocalCUDACluster(jit_unspill=True) as cluster, Client(cluster):
        found = dk.KernelKMeans(3, random_state=0).fit(X).inertia_
    assert abs(found - expected) < 1e-3 * expected


@pytest.mark.gpu
def test_each_worker_has_a_device_of_its_own() -> None:
    """distributed#9098: both workers on one GPU, then a hang."""
    if _devices() < 2:
        pytest.skip("fewer than two CUDA devices: two workers cannot be told apart by theirs")
    with dk.connect("cuda") as client:
        seen = client.run(lambda: __import__("cupy").cuda.Device().pci_bus_id)
    assert len(set(seen.values())) == len(seen)


def test_less_free_memory_makes_smaller_work() -> None:
    """FalkonML/falkon#35, #37, #53: out of memory from optimistic guesses. 60 % of a device are taken."""
    free = Machine(workers=1, threads=1, memory=8 * GIB)
    taken = replace(free, memory=int(0.4 * 8 * GIB))
    task = RoundTask(10**6, 784, 10, 4000, 100, 2000, 1, 4, 1.0)
    assert plan_rounds(task, taken, None).round_size <= plan_rounds(task, free, None).round_size
    columns = clustering.Task(n=10**6, d=784, stored=1, width=4, c=1000, rank=500, s=100, residence="store")
    small, large = (clustering.plan_features(columns, machine) for machine in (taken, free))
    assert small.worker_bytes <= taken.memory
    assert large.worker_bytes <= free.memory
