"""Bench `learning`: an epoch of EigenPro as a share of sgemm, from a store, in processes, with kept values.

An epoch is the second of a fit: in the first one most rows have no weight yet, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np

import daskkernels as dk
from daskkernels.estimators import training
from pipelines.bench.limits import Rate
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup
from pipelines.bench.timing import sgemm
from pipelines.connection import quiet_client

SIGMA = 5.0  # of rows in [0, 1], as published for MNIST
ROWS, QUICK = 60_000, 2048
STREAMED, PROCESSES = 1.15, 1.2  # of an epoch in memory, in one process
SHARE, KEPT = 65.0, 4.0


def run(setup: Setup) -> Iterator[Row]:
    """All rows of the table."""
    n = QUICK if setup.quick else min(ROWS, len(setup.data.y))
    yield share_of_sgemm(setup, n)
    with setup.yardstick.watch("learning") as may_judge:
        rows = setup.data.X[:n] / np.float32(255)
        memory = epochs(rows, setup.data.y[:n])
        stored = dk.write_dataset(setup.folder / "learning.zarr", rows, setup.data.y[:n])
        with mock.patch.object(training, "X_SHARE", 0.0):
            streamed = epochs(stored.X, stored.y)
        with quiet_client(n_workers=setup.yardstick.threads, threads_per_worker=1):
            processes = epochs(stored.X, stored.y)
        kept = epochs(rows, setup.data.y[:n], keep_kernel=True, count=3)
    judged = may_judge()
    what = f"n={n}, an epoch; peer: in memory, threads of one process"
    yield _compared("EigenPro from Zarr", f"{what}; read in every round", streamed, memory, STREAMED, judged)
    yield _compared("EigenPro, processes", f"{what}; a worker a core", processes, memory, PROCESSES, judged)
    yield Row(
        "learning",
        "EigenPro, kept values",
        f"n={n}, later epochs with kernel values that are kept; peer: computed anew",
        float(np.median(memory) / np.median(kept)),
        "times",
        Samples("s", tuple(kept), tuple(memory)),
        asked=KEPT,
        judged=judged,
    )


def epochs(X: Any, y: Any, *, keep_kernel: bool = False, count: int = 1) -> list[float]:
    """Seconds of the epochs after the first."""
    model = dk.EigenProClassifier(
        dk.Gaussian(SIGMA), max_epochs=1 + count, random_state=0, keep_kernel=keep_kernel
    )
    return [entry["seconds"] for entry in model.fit(X, y).history_[1:]]


def share_of_sgemm(setup: Setup, n: int) -> Row:
    """2 n^2 (d + l) operations an epoch, whatever else it does, against the same in matrix products."""
    data, yardstick = setup.data, setup.yardstick
    rows, y = data.X[:n] / np.float32(255), data.y[:n]
    with yardstick.watch("learning, share of sgemm") as may_judge:
        before = sgemm(yardstick.threads, 3, yardstick.size)
        seconds = epochs(rows, y)
        rates = [*before, *sgemm(yardstick.threads, 3, yardstick.size)]
    flops = 2.0 * n * n * (rows.shape[1] + len(np.unique(y)))
    limit = Rate("sgemm", "GFLOP/s", (float(np.median(rates)),)).against(flops, float(np.median(seconds)))
    return Row(
        "learning",
        "EigenPro epoch",
        f"n={n} d={rows.shape[1]}, kernel computed, in memory; 2 n^2 (d + l) operations",
        100 * limit.share,
        "%",
        Samples("s", tuple(seconds), tuple(flops / rate / 1e9 for rate in rates)),
        asked=SHARE,
        judged=may_judge(),
        limits=(limit,),
    )


def _compared(
    name: str, what: str, ours: list[float], memory: list[float], asked: float, judged: bool
) -> Row:
    """How many times as long as an epoch in memory in one process."""
    return Row(
        "learning",
        name,
        what,
        float(np.median(ours) / np.median(memory)),
        "times",
        Samples("s", tuple(ours), tuple(memory)),
        asked=asked,
        less_is_better=True,
        judged=judged,
    )
