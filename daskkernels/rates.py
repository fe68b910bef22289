"""Layer 0: how fast this process multiplies matrices; used for predictions, never for results."""

from __future__ import annotations

import time

import numpy as np


def product_rate(size: int = 2048) -> float:
    """GFLOP/s of a float32 matrix product of this size, the better of two; 2048 takes 0.2 s on two cores."""
    A = np.ones((size, size), np.float32)
    out = np.empty_like(A)
    best = 0.0
    for _ in range(2):
        started = time.perf_counter()
        np.matmul(A, A, out=out)
        best = max(best, 2.0 * size**3 / (time.perf_counter() - started) / 1e9)
    return best
