"""Top layer: measuring a cluster, for predictions and to compare with them; results never depend on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from distributed import Client

from ..plan import Machine
from ..rates import product_rate
from ..threads import single_blas_thread

_known: dict[frozenset[Any], float] = {}  # by the set of workers


def measure_machine(client: Client) -> float:
    """GFLOP/s of float32 products on all workers, each of which is timed with as many threads as it has."""
    threads = {w: info["nthreads"] for w, info in client.scheduler_info(n_workers=-1)["workers"].items()}
    workers = frozenset(threads.items())
    if workers not in _known:
        rates = client.run(_rate, on_error="ignore")  # a worker may die over it
        found = float(sum(rates.values()))
        if not rates or set(rates) != set(threads):
            return found or Machine.gflops
        _known[workers] = found
    return _known[workers]


def _rate(dask_worker: Any) -> float:
    """Runs on a worker, which may be the client's own process."""
    with single_blas_thread():
        return product_rate(dask_worker.state.nthreads)


def peak_memory(client: Client) -> dict[str, int]:
    """Bytes that each worker's process had in memory at most since it started, by the worker's address.

    Workers on systems that do not keep this figure (other than Linux) are left out.
    """
    peaks = client.run(_peak)
    return {worker: peak for worker, peak in peaks.items() if peak is not None}


def _peak() -> int | None:
    """Runs on a worker. Not `ru_maxrss`, which a new process begins with its parent's figure."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024 if "VmHWM" in fields else None
