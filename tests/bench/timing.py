"""Bench: fair timings. Ours and the peer take turns, medians are compared, and a busy machine is not judged.

The rate of a float32 matrix product is the yardstick: at the start, and before and after each bench.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

TOLERANCE = 0.10  # of the calibration
SIZE = 3072
PAUSE = 0.3  # seconds


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock time of one call, garbage collected before."""
    gc.collect()
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def alternate(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int = 5
) -> tuple[list[float], list[float]]:
    """Timings of both, one after the other, after one warm-up each: what disturbs one disturbs the other.

    A pause before each lets the BLAS threads that the other has left spinning go to sleep.
    """
    ours(), peer()
    pairs = [(_rested(ours), _rested(peer)) for _ in range(repeats)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def _rested(function: Callable[[], object]) -> float:
    time.sleep(PAUSE)
    return seconds(function)


def sgemm(threads: int, repeats: int = 5, size: int = SIZE) -> list[float]:
    """GFLOP/s of float32 matrix products with `threads` BLAS threads."""
    rng = np.random.default_rng(0)
    A, B = rng.random((size, size), "f4"), rng.random((size, size), "f4")
    out, rates = np.empty_like(A), []
    with threadpool_limits(threads, "blas"):
        np.matmul(A, B, out=out)
        for _ in range(repeats):
            started = time.perf_counter()
            np.matmul(A, B, out=out)
            rates.append(2 * size**3 / (time.perf_counter() - started) / 1e9)
    return rates


@dataclass
class Yardstick:
    """The calibration of this machine and the checks against it."""

    threads: int
    size: int = SIZE
    calibration: float = 0.0
    checks: list[tuple[str, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.calibration:  # the best of many: what the machine does when nobody else is there
            self.calibration = max(sgemm(self.threads, 20 if self.size == SIZE else 3, self.size))

    def check(self, label: str) -> bool:
        """Whether the machine is as fast as when it was calibrated (median of five products)."""
        rate = float(np.median(sgemm(self.threads, 5, self.size)))
        self.checks.append((label, rate))
        return abs(rate / self.calibration - 1) <= TOLERANCE

    @contextmanager
    def watch(self, label: str) -> Iterator[Callable[[], bool]]:
        """Check before and after a bench; call the result afterwards to learn whether it may be judged."""
        verdict = [self.check(f"before {label}")]
        yield lambda: all(verdict)
        verdict.append(self.check(f"after {label}"))

    def notes(self) -> list[str]:
        """The checks in words."""
        rates = ", ".join(f"{label} {rate:.0f}" for label, rate in self.checks)
        lines = [f"sgemm: calibrated at {self.calibration:.0f} GFLOP/s on {self.threads} threads; {rates}"]
        if any(abs(rate / self.calibration - 1) > TOLERANCE for _, rate in self.checks):
            lines.append(
                f"refused to judge where sgemm was not within {TOLERANCE:.0%} of its calibration: "
                "stop the other work on this machine and run again"
            )
        return lines
