"""Bench 4: clustering ten times the workers' memory; the peak of every process against plan and limit."""

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
from tests.bench.records import Row

COLUMNS = 784
WORKERS = 2
INTERVAL = 0.02  # seconds between two samples


class Sampler(threading.Thread):
    """Resident memory of this process and of every child, sampled until stopped; peaks by process id."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.finished = threading.Event()

    def run(self) -> None:
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
        return max(self.sampler.peaks[pid] for pid in self.workers)

    @property
    def client_growth(self) -> int:
        return self.sampler.peaks[os.getpid()] - self.client_before


def cluster(folder: Path, limit: int, n: int) -> Clustered:
    """Write, connect, fit, and read every label back, the last two under the sampler."""
    data = dk.write_dataset(folder / "data.zarr", rows(n))
    before = psutil.Process().memory_info().rss
    options: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": limit}
    with sampled() as sampler, dk.connect("local", scratch=str(folder), **options) as client:
        try:
            workers = list(client.run(os.getpid).values())
            model = dk.KernelKMeans(10, n_landmarks=100, max_iter=10, scratch=str(folder), random_state=0)
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # ten iterations are enough to see the memory
                model.fit(data.X)
            count = counted(model.labels_)
            took = time.perf_counter() - started
        finally:
            client.cluster.close()
    return Clustered(model.plan_, sampler, workers, count, took, before)


def counted(labels: Any) -> int:
    """Rows of a label vector, read a block at a time where it is lazy."""
    if not hasattr(labels, "blocks"):
        return len(labels)
    return sum(len(labels.blocks[i].compute()) for i in range(labels.numblocks[0]))


def run(quick: bool) -> list[Row]:
    """Ten times the memory of both workers together, in the temporary folder; quick: once that of one."""
    limit = 600 * 2**20
    size = limit if quick else 10 * WORKERS * limit
    n = size // COLUMNS
    with tempfile.TemporaryDirectory() as name:
        found = cluster(Path(name), limit, n)
    if found.rows != n:
        raise AssertionError(f"{found.rows} labels for {n} rows")
    data = f"{size / 2**30:.1f} GiB over {WORKERS} workers of {limit / 2**20:.0f} MiB"

    def row(what: str, asked: float, measured: float) -> Row:
        mega = 2**20
        return Row(
            "memory", what, asked / mega, measured / mega, "MiB", True, not quick, details(found, size)
        )

    return [
        row(f"peak of a worker, plan x 1.3, {data}", 1.3 * found.plan.worker_bytes, found.worker_peak),
        row("peak of a worker, its limit", limit, found.worker_peak),
        row(
            "growth of the client, plan x 1.3 + 100 MiB",
            1.3 * found.plan.client_bytes + 100 * 2**20,
            found.client_growth,
        ),
    ]


def details(found: Clustered, size: int) -> dict[str, Any]:
    """Everything sampled, for the record."""
    peaks, names = found.sampler.peaks, found.sampler.names
    return {
        "bytes of data": float(size),
        "seconds": found.seconds,
        "plan": str(found.plan),
        "peaks MiB": [round(peak / 2**20, 1) for peak in peaks.values()],
        "processes": ", ".join("worker" if pid in found.workers else names[pid] for pid in peaks),
    }
