"""Bench `machine`: the limits of the machine as rows of their own, and the facts a run is filed under."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

from pipelines.bench.limits import Rate
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup

CPU_INFO = Path("/proc/cpuinfo")


def run(setup: Setup) -> Iterator[Row]:
    """One row a limit; nothing is asked of them."""
    limits, threads = setup.limits, setup.yardstick.threads
    product = f"float32 product of size {setup.yardstick.size}"

    def row(rate: Rate, what: str, **details: Any) -> Row:
        samples = Samples(rate.unit, rate.samples)
        return Row(
            "machine", rate.name, what, rate.best, rate.unit, samples, judged=not setup.quick, details=details
        )

    yield row(limits.single(), f"{product}, 1 thread")
    yield row(limits.sgemm, f"{product}, {threads} threads, the best at the start")
    yield row(limits.memory, f"copy, {threads} threads: bytes read plus bytes written")
    disk = limits.disk
    yield row(disk.write, f"random bytes with fsync, {filesystem(setup.folder)}")
    yield row(disk.read, f"the same file, {cached(disk.cached)}", cached=disk.cached)
    yield row(limits.zstd, f"chunks in memory, {threads} threads: bytes that come out")


def cached(share: float | None) -> str:
    """What is known of the page cache."""
    if share is None:
        return "cached or not: this system does not say"
    if share > 0.05:
        return f"{share:.0%} of it from the page cache"
    return "not from the page cache"


def filesystem(folder: Path) -> str:
    """The kind of the file system that holds a folder; a tmpfs is memory."""
    path = str(folder.resolve())
    mounts = {m.mountpoint: m.fstype for m in psutil.disk_partitions(all=True)}
    holding = [m for m in mounts if path == m or path.startswith(m.rstrip(os.sep) + os.sep)]
    return f"file system {mounts[max(holding, key=len)]}" if holding else "unknown file system"


def facts(threads: int) -> dict[str, Any]:
    """What must be equal for seconds of two runs to be comparable."""
    blas = sorted(
        {f"{p['internal_api']} {p['version']} {p.get('architecture', '')}".strip() for p in threadpool_info()
         if p["user_api"] == "blas"}
    )  # fmt: skip
    return {
        "cpu": cpu_model(),
        "cores": usable_cores(),
        "memory GiB": round(psutil.virtual_memory().total / 2**30, 1),
        "BLAS": ", ".join(blas),
        "threads": threads,
    }


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(psutil.Process, "cpu_affinity"):
        return len(psutil.Process().cpu_affinity())
    return os.cpu_count() or 1


def cpu_model() -> str:
    """The processor's name."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
