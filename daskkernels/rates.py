"""Layer 0: how fast this process multiplies matrices; used for predictions, never for results."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SIZE = 1024  # 2 GFLOP: a few hundredths of a second on one core


def product_rate(threads: int) -> float:
    """GFLOP/s of float32 matrix products, one in each of so many threads at once, the better of two rounds.

    BLAS must be on one thread meanwhile, as it is for tasks.
    """
    A = np.ones((SIZE, SIZE), np.float32)
    outs = [np.empty_like(A) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(2):
            started = time.perf_counter()
            list(pool.map(lambda out: np.matmul(A, A, out=out), outs))
            best = max(best, threads * 2.0 * SIZE**3 / (time.perf_counter() - started) / 1e9)
    return best
