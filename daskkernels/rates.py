"""Layer 0: how fast this process multiplies matrices; used for predictions, never for results."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np

SIZE = 1024  # 2 GFLOP: a few hundredths of a second on one core
ROUNDS, SECONDS = 3, 0.3  # at least so many rounds, and until so long has passed


def product_rate(threads: int) -> float:
    """GFLOP/s of float32 matrix products, one in each of so many threads at once, the median of some rounds.

    BLAS must be on one thread meanwhile, as it is for tasks. Not the best round: that of a machine which
    shares its processors is twice what it keeps up.
    """
    A = np.ones((SIZE, SIZE), np.float32)
    outs = [np.empty_like(A) for _ in range(threads)]
    rates: list[float] = []
    over = time.perf_counter() + SECONDS
    with ThreadPoolExecutor(threads) as pool:
        while len(rates) < ROUNDS or time.perf_counter() < over:
            started = time.perf_counter()
            list(pool.map(lambda out: np.matmul(A, A, out=out), outs))
            rates.append(threads * 2.0 * SIZE**3 / (time.perf_counter() - started) / 1e9)
    return median(rates)
