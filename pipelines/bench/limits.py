"""Bench: the limits of the machine, each measured when it is first asked for, on all threads of the run.

A limit is the best of its samples: what the machine can do, so that no share of it is flattered.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import psutil
from numcodecs.zstd import Zstd

from pipelines.bench.records import Limit
from pipelines.bench.timing import Yardstick, seconds, sgemm

COPY_BYTES, DISK_BYTES = 2**30, 512 * 2**20
QUICK_BYTES = 8 * 2**20
IO_BYTES = 8 * 2**20  # of one call of the operating system
CRC_BYTES = 4  # at the end of a chunk file


@dataclass(frozen=True)
class Rate:
    """A limit of the machine, in GFLOP/s or GB/s."""

    name: str
    unit: str
    samples: tuple[float, ...]

    @property
    def best(self) -> float:
        """The rate that shares are taken of."""
        return max(self.samples)

    def against(self, amount: float, seconds: float) -> Limit:
        """The share of a job of so many operations or bytes that took so many seconds."""
        return Limit(self.name, self.best, amount / seconds / 1e9, self.unit)


@dataclass(frozen=True)
class Disk:
    """Rates of one file of fresh random bytes; the share of it that came from the page cache, if known."""

    write: Rate
    read: Rate
    cached: float | None


class Limits:
    """The limits of one run; `chunks` lists the files of the store that zstd is measured on."""

    def __init__(
        self, yardstick: Yardstick, folder: Path, chunks: Callable[[], tuple[list[Path], int]]
    ) -> None:
        self._yardstick, self._folder, self._chunks = yardstick, folder, chunks

    @property
    def sgemm(self) -> Rate:
        """The calibration, on all threads."""
        return Rate("sgemm", "GFLOP/s", (self._yardstick.calibration,))

    @cached_property
    def memory(self) -> Rate:
        """STREAM copy of an array far larger than the caches: bytes read and bytes written."""
        size = min(COPY_BYTES, psutil.virtual_memory().available // 16)
        source = np.ones((QUICK_BYTES if self._yardstick.quick else size) // 8)
        target = np.zeros_like(source)
        parts = [np.array_split(a, self._yardstick.threads) for a in (target, source)]
        with ThreadPoolExecutor(self._yardstick.threads) as pool:
            return self._rate("memory", 2 * source.nbytes, lambda: list(pool.map(np.copyto, *parts)))

    @cached_property
    def disk(self) -> Disk:
        """Write with fsync, then read after the page cache was told to let go of the file."""
        size = QUICK_BYTES if self._yardstick.quick else DISK_BYTES
        path, pairs, cached = self._folder / "disk.bin", [], []
        for _ in range(self._yardstick.repeats):
            content = np.random.default_rng().bytes(size)
            pairs.append((seconds(lambda content=content: write(path, content)), 0.0))
            forget(path)
            fetched = fetched_bytes()
            pairs[-1] = (pairs[-1][0], seconds(lambda: read(path)))
            cached.append(None if fetched is None else max(0.0, 1 - (fetched_bytes() - fetched) / size))
        path.unlink()
        rates = [tuple(size / took / 1e9 for took in side) for side in zip(*pairs, strict=True)]
        known = None if None in cached else max(cached)
        return Disk(Rate("disk write", "GB/s", rates[0]), Rate("disk read", "GB/s", rates[1]), known)

    @cached_property
    def zstd(self) -> Rate:
        """Decompression of the store's chunks, in bytes that come out, from memory to memory."""
        paths, chunk_bytes = self._chunks()
        frames = [path.read_bytes()[:-CRC_BYTES] for path in paths]
        groups = [frames[i :: self._yardstick.threads] for i in range(self._yardstick.threads)]

        def decode(group: list[bytes]) -> None:
            codec, out = Zstd(), np.empty(chunk_bytes, "u1")
            for frame in group:
                codec.decode(frame, out)

        with ThreadPoolExecutor(len(groups)) as pool:
            return self._rate("zstd", len(frames) * chunk_bytes, lambda: list(pool.map(decode, groups)))

    def single(self) -> Rate:
        """sgemm on one thread."""
        return Rate(
            "sgemm, 1 thread", "GFLOP/s", tuple(sgemm(1, self._yardstick.repeats, self._yardstick.size))
        )

    def _rate(self, name: str, amount: float, job: Callable[[], object]) -> Rate:
        """Samples of `amount` bytes by the seconds of a job, after a warm-up."""
        job()
        return Rate(name, "GB/s", tuple(amount / seconds(job) / 1e9 for _ in range(self._yardstick.repeats)))


def write(path: Path, content: bytes) -> None:
    """Write a file through to the disk."""
    with path.open("wb", buffering=0) as file:
        view = memoryview(content)
        for start in range(0, len(content), IO_BYTES):
            file.write(view[start : start + IO_BYTES])
        os.fsync(file.fileno())


def read(path: Path) -> None:
    """Read a file and throw it away."""
    buffer = bytearray(IO_BYTES)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def forget(path: Path) -> None:
    """Ask the page cache to drop a file, where there is a way to ask; only what is on disk can be dropped."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def fetched_bytes() -> int | None:
    """Bytes that this process has had fetched from a disk so far; None where the system does not count."""
    count = getattr(psutil.Process(), "io_counters", None)
    return None if count is None else int(count().read_bytes)
