"""Bench: fair timings. Ours and the peer take turns, medians are compared, and a busy machine is not judged.

The rate of a float32 matrix product is the yardstick: at the start, and before and after each measurement.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from threadpoolctl import threadpool_limits

from pipelines.bench.records import ALLOWANCE, Samples

SIZE, QUICK_SIZE = 3072, 512  # of the matrices
Job = Callable[[], object]


def seconds(function: Job) -> float:
    """Wall-clock time of one call, garbage collected before."""
    gc.collect()
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


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
    """The calibration of this machine, the checks against it, and timings that are guarded by them."""

    threads: int
    quick: bool = False
    calibration: float = 0.0  # GFLOP/s
    checks: dict[str, float] = field(default_factory=dict)  # what was about to be measured: GFLOP/s

    def __post_init__(self) -> None:
        self.size = QUICK_SIZE if self.quick else SIZE
        self.repeats = 2 if self.quick else 5
        self.pause = 0.01 if self.quick else 0.3  # seconds
        if not self.calibration:  # the best of many: what the machine does when nobody else is there
            self.calibration = max(sgemm(self.threads, 3 if self.quick else 20, self.size))

    def is_quiet(self, label: str) -> bool:
        """Whether the machine is as fast as when it was calibrated (median of five products)."""
        rate = float(np.median(sgemm(self.threads, 5, self.size)))
        self.checks[label] = rate
        return self._as_calibrated(rate)

    def _as_calibrated(self, rate: float) -> bool:
        return abs(rate / self.calibration - 1) <= ALLOWANCE

    @contextmanager
    def watch(self, label: str) -> Iterator[Callable[[], bool]]:
        """Check before and after; call the result afterwards to learn whether the figures may be judged."""
        quiet = [self.is_quiet(f"before {label}")]
        yield lambda: all(quiet) and not self.quick
        quiet.append(self.is_quiet(f"after {label}"))

    def race(self, label: str, ours: Job, peer: Job | None = None, prepare: Job | None = None) -> Race:
        """Seconds of both, in turns, after one warm-up each; `prepare` runs before every call, not timed."""
        sides = [ours] if peer is None else [ours, peer]
        samples: list[list[float]] = [[] for _ in sides]
        with self.watch(label) as may_judge:
            for turn in range(self.repeats + 1):
                for side, times in zip(sides, samples, strict=True):
                    if prepare:
                        prepare()
                    if turn == 0:
                        side()
                    else:
                        times.append(self._rested(side))
        return Race(Samples("s", *map(tuple, samples)), may_judge())

    def _rested(self, function: Job) -> float:
        """Timed after a pause that lets the BLAS threads that the other has left spinning go to sleep."""
        time.sleep(self.pause)
        return seconds(function)

    def notes(self) -> list[str]:
        """The checks in words."""
        lines = [f"sgemm: calibrated at {self.calibration:.0f} GFLOP/s on {self.threads} threads"]
        busy = [f"{label} {rate:.0f}" for label, rate in self.checks.items() if not self._as_calibrated(rate)]
        if self.quick:
            lines.append("--quick: sizes far too small to judge anything by")
        elif busy:
            lines.append(
                f"refused to judge where sgemm was not within {ALLOWANCE:.0%} of its calibration ("
                f"{', '.join(busy)}): stop the other work on this machine and run again"
            )
        return lines


@dataclass(frozen=True)
class Race:
    """Seconds of ours and of the peer, and whether they may be judged."""

    samples: Samples
    judged: bool
