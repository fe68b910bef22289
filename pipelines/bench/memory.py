"""Bench `memory`: clustering ten times the workers' memory; peaks of every process against plan and limit."""

from __future__ import annotations

import os
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import daskkernels as dk
from pipelines.bench.records import Limit, Row, Samples
from pipelines.bench.setup import Setup
from pipelines.connection import quiet_client

COLUMNS = 784
WORKERS = 2
WORKER_BYTES = 600 * 2**20
QUICK_BYTES = 32 * 2**20
INTERVAL = 0.02  # seconds between two samples
MIB = 2**20

ABOUT = {
    "worker memory, plan": "peak of a worker, at most 1.3 times the plan",
    "worker memory, limit": "peak of a worker, at most its limit",
    "client memory, plan": "growth of this process, at most 1.3 times the plan and 100 MiB",
}


def run(setup: Setup) -> Iterator[Row]:
    """Ten times the memory of both workers together, on the disk; a quick run only shows that it works."""
    size = QUICK_BYTES if setup.quick else 10 * WORKERS * WORKER_BYTES
    n = size // COLUMNS
    with tempfile.TemporaryDirectory(dir=setup.folder) as name:
        found = cluster(Path(name), WORKER_BYTES, n)
    if found.rows != n:
        raise AssertionError(f"{found.rows} labels for {n} rows")
    plan, data = found.plan, f"{size / 2**30:.2g} GiB over {WORKERS} workers of {WORKER_BYTES // MIB} MiB"
    client = 1.3 * plan.client_bytes + 100 * MIB
    for what, allowed, peak in (
        ("worker memory, plan", 1.3 * plan.worker_bytes, found.worker_peak),
        ("worker memory, limit", WORKER_BYTES, found.worker_peak),
        ("client memory, plan", client, found.client_growth),
    ):
        yield Row(
            "memory",
            what,
            f"{ABOUT[what]}; {data}",
            peak / MIB,
            "MiB",
            Samples("MiB", (peak / MIB,)),
            asked=allowed / MIB,
            less_is_better=True,
            judged=not setup.quick,
            limits=(Limit("allowed", allowed / MIB, peak / MIB, "MiB"),),
            details=details(found, size),
        )


class Sampler(threading.Thread):
    """Resident memory of this process and of every child, sampled until stopped; peaks by process id."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.finished = threading.Event()

    def run(self) -> None:
        """Sample; the thread's own loop."""
        me = psutil.Process()
        while not self.finished.wait(INTERVAL):
            for process in [me, *me.children(recursive=True)]:
                try:
                    used = process.memory_info().rss
                    if process.pid not in self.names:
                        self.names[process.pid] = "client" if process.pid == me.pid else process.name()
                except psutil.Error:  # it has just ended
                    continue
                self.peaks[process.pid] = max(self.peaks.get(process.pid, 0), used)


@contextmanager
def sampled() -> Iterator[Sampler]:
    """Sample while the body runs."""
    sampler = Sampler()
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.finished.set()
        sampler.join()


def rows(n: int, block: int = 8192) -> Iterator[np.ndarray]:
    """n rows of bytes around ten centers, a block at a time; nothing of them stays."""
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 200, (10, COLUMNS), dtype="u1")
    noise = rng.integers(0, 50, (block + 997, COLUMNS), dtype="u1")
    for start in range(0, n, block):
        size, shift = min(block, n - start), (start // block * 131) % 997
        yield centers[rng.integers(0, 10, size)] + noise[shift : shift + size]


@dataclass(frozen=True)
class Clustered:
    """What one fit did: its plan, the peaks of all processes, who was a worker, labels read back."""

    plan: Any
    sampler: Sampler
    workers: list[int]
    rows: int
    seconds: float
    client_before: int

    @property
    def worker_peak(self) -> int:
        """Of the largest worker, in bytes."""
        return max(self.sampler.peaks[pid] for pid in self.workers)

    @property
    def client_growth(self) -> int:
        """Of this process, in bytes."""
        return self.sampler.peaks[os.getpid()] - self.client_before


def cluster(folder: Path, limit: int, n: int) -> Clustered:
    """Write, connect, fit, and read every label back, the last two under the sampler."""
    data = dk.write_dataset(folder / "data.zarr", rows(n))
    before = psutil.Process().memory_info().rss
    options: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": limit}
    with sampled() as sampler, quiet_client(scratch=str(folder), **options) as client:
        workers = list(client.run(os.getpid).values())
        model = dk.KernelKMeans(10, n_landmarks=100, max_iter=10, scratch=str(folder), random_state=0)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # ten iterations are enough to see the memory
            model.fit(data.X)
        count = counted(model.labels_)
        took = time.perf_counter() - started
    return Clustered(model.plan_, sampler, workers, count, took, before)


def counted(labels: Any) -> int:
    """Rows of a label vector, read a block at a time where it is lazy."""
    if not hasattr(labels, "blocks"):
        return len(labels)
    return sum(len(labels.blocks[i].compute()) for i in range(labels.numblocks[0]))


def details(found: Clustered, size: int) -> dict[str, Any]:
    """Everything sampled, for the record."""
    peaks, names = found.sampler.peaks, found.sampler.names
    return {
        "bytes of data": size,
        "seconds": found.seconds,
        "plan": str(found.plan),
        "peaks MiB": [round(peak / MIB, 1) for peak in peaks.values()],
        "processes": ", ".join("worker" if pid in found.workers else names[pid] for pid in peaks),
    }
