"""The same bytes whoever runs the tasks, readers that travel, and memory that stays bounded."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.tokenize import tokenize
from distributed import Client

from daskkernels import store

A = np.random.default_rng(0).integers(0, 99, (2000, 3)).astype(np.float32)
LABELS = np.array(["q", "a", "m", "q"] * 500)


def lazy_input() -> tuple[da.Array, da.Array]:
    return da.from_array(A, chunks=(100, 2)), da.from_array(LABELS, chunks=333)


@pytest.fixture(scope="module")
def digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    return store.write_dataset(tmp_path_factory.mktemp("a") / "d.zarr", A, LABELS, chunk_rows=350).digest


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_unaligned_input_is_never_torn(tmp_path: Path, digest: str, scheduler: str) -> None:
    for _ in range(5):
        with dask.config.set(scheduler=scheduler, num_workers=8):
            data = store.write_dataset(tmp_path / "d.zarr", *lazy_input(), chunk_rows=350, overwrite=True)
        assert data.digest == digest


@pytest.mark.slow
def test_processes(tmp_path: Path, digest: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(2, mp_context=spawn) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        for _ in range(20):
            data = store.write_dataset(tmp_path / "d.zarr", *lazy_input(), chunk_rows=350, overwrite=True)
            assert data.digest == digest
        np.testing.assert_array_equal(data.X.compute(), A)


def test_cluster_of_threads(tmp_path: Path, digest: str, client_threads: Client) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", *lazy_input(), chunk_rows=350)
    assert data.digest == digest
    assert client_threads.submit(lambda reader: reader[1990:], data.features).result().shape == (10, 3)


@pytest.mark.slow
def test_cluster_of_processes(tmp_path: Path, digest: str, client_processes: Client) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", *lazy_input(), chunk_rows=350)
    assert data.digest == digest
    np.testing.assert_array_equal(data.X.compute(), A)
    (tmp_path / "d.zarr/X/c/1/0").write_bytes(b"damaged")
    with pytest.raises(store.BlockReadError, match="X/c/1/0"):  # the error survives the way back
        data.X.compute()
    with pytest.raises(store.LabelError, match="row 1500"):
        store.write_dataset(
            tmp_path / "e.zarr", A, da.from_array(A[:, 0], chunks=99) / (np.arange(2000) != 1500)
        )
    assert client_processes.status == "running"


def test_failing_tasks_leave_an_incomplete_dataset(tmp_path: Path) -> None:
    def fail(block: np.ndarray) -> np.ndarray:
        raise RuntimeError("no more tape")

    lazy = da.from_array(A, chunks=(500, 3))
    broken = da.concatenate([lazy, lazy.map_blocks(fail, meta=np.empty((0, 0), A.dtype))])
    with dask.config.set(scheduler="threads"), pytest.raises(RuntimeError, match="no more tape"):
        store.write_dataset(tmp_path / "d.zarr", broken)
    with pytest.raises(store.IncompleteWriteError):
        store.open_dataset(tmp_path / "d.zarr")
    assert store.write_dataset(tmp_path / "d.zarr", lazy, overwrite=True).n_rows == 2000


def test_reader_travels(tmp_path: Path) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", A, LABELS, chunk_rows=350)
    reader = store.open_dataset(tmp_path / "d.zarr").features
    assert len(pickle.dumps(reader)) < 1000
    assert tokenize(reader) == tokenize(data.features) == tokenize(pickle.loads(pickle.dumps(reader)))
    assert data.X.name == store.open_dataset(tmp_path / "d.zarr").X.name
    assert pickle.loads(pickle.dumps(data)) == data
    assert len(pickle.dumps(data.X)) < 5000


def test_lazy_arrays_do_not_compute(tmp_path: Path, no_compute: Any) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", A, LABELS)
    with no_compute:
        assert data.X.shape == (2000, 3)
        assert data.y is not None
        assert data.y.shape == (2000,)
        assert (data.X + 1).dtype == np.float32
    with pytest.raises(ValueError, match="2000 rows"):
        store.to_dask(data.features, (1000,))
    with pytest.raises(TypeError, match="step 2"):
        data.features[::2]
    with pytest.raises(TypeError, match="slice"):
        data.features[3]  # type: ignore[index]


def read_in_child(reader: store.Reader, queue: Any) -> None:
    queue.put(float(reader[:].sum()))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_reading(tmp_path: Path) -> None:
    reader = store.write_dataset(tmp_path / "d.zarr", A, chunk_rows=100).features
    total = float(reader[:].sum())
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=read_in_child, args=(reader, queue))
    child.start()
    assert queue.get(timeout=60) == total
    child.join(60)
    assert child.exitcode == 0


STREAM = """
import resource, sys
import dask, dask.array as da, numpy as np
from daskkernels import store

def block(i):
    return np.random.default_rng(i).integers(0, 255, (20_000, 100), dtype=np.uint8)

peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
store.write_dataset(sys.argv[1] + "/warm.zarr", block(0))
before = peak()
if sys.argv[2] == "iterator":
    data = store.write_dataset(sys.argv[1] + "/d.zarr", (block(i) for i in range(100)))
else:
    parts = [da.from_delayed(dask.delayed(block)(i), (20_000, 100), np.uint8) for i in range(100)]
    rows = da.concatenate(parts)
    with dask.config.set(scheduler="threads", num_workers=2):
        data = store.write_dataset(sys.argv[1] + "/d.zarr", rows)
assert data.n_rows == 2_000_000
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["iterator", "dask"])
def test_memory_stays_bounded(tmp_path: Path, kind: str) -> None:
    command, home = [sys.executable, "-c", STREAM, str(tmp_path), kind], Path(store.__file__).parents[2]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=home)
    assert float(done.stdout) < 120  # MiB, for 190 MiB of data in blocks of 2 MiB and groups of 16 MiB


def test_reading_is_not_far_from_the_codec(tmp_path: Path) -> None:
    """A guard against overhead for each chunk, not a measurement: 200 chunks of 4 kB in under 0.4 s."""
    reader = store.write_dataset(
        tmp_path / "d.zarr", np.zeros((20_000, 10), np.float32), chunk_rows=100
    ).features
    reader[:]
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        reader[:]
        best = min(best, time.thread_time() - start)
    assert best < 0.4
