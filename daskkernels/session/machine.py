"""Top layer: measuring a cluster for predictions; results never depend on what is measured here."""

from __future__ import annotations

from typing import Any

from distributed import Client

from ..rates import product_rate

_SIZE = 1024  # 2 GFLOP: a few hundredths of a second on one core

_known: dict[frozenset[Any], float] = {}  # by the set of workers


def measure_machine(client: Client) -> float:
    """GFLOP/s of float32 products on all workers: a core of each is timed, counted for each thread."""
    threads = {w: info["nthreads"] for w, info in client.scheduler_info(n_workers=-1)["workers"].items()}
    workers = frozenset(threads.items())
    if workers not in _known:
        _known[workers] = sum(rate * threads[w] for w, rate in client.run(product_rate, _SIZE).items())
    return _known[workers]
