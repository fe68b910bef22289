"""Bench `plan`: what `estimator.plan(X)` predicts before a fit, against what the fit then takes.

Each fit has a fresh process, as it has in a user's script: nothing is warm, no memory is left from before.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil
from threadpoolctl import threadpool_limits

import daskkernels as dk
from pipelines.bench.memory import MIB, sampled
from pipelines.bench.plan_jobs import JOBS, QUICK_JOBS, FitJob
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup
from pipelines.connection import quiet_client

SECONDS, BYTES = 1.5, 1.3  # at most, between predicted and measured, either way


@dataclass(frozen=True)
class Fit:
    """Predicted and measured: seconds, and bytes that the process which needs most takes beyond its base."""

    predicted_seconds: float
    seconds: float
    predicted_bytes: float
    bytes: float
    base: int
    before: str  # the plan as it is printed
    after: str
    steps: int  # iterations, epochs


def run(setup: Setup) -> Iterator[Row]:
    """Two rows a fit."""
    for job in QUICK_JOBS if setup.quick else JOBS:
        folder = setup.folder / "plan.zarr"
        dk.write_dataset(folder, *job.table(setup), overwrite=True)
        with setup.yardstick.watch(f"plan: {job.name}") as may_judge, fresh_process() as process:
            fit = process.submit(measured, job, folder, setup.yardstick.threads).result()
        yield from rows(job, fit, may_judge())


@contextmanager
def fresh_process() -> Iterator[ProcessPoolExecutor]:
    """A process that has loaded nothing yet; it may start others."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield process


def measured(job: FitJob, folder: Path, threads: int) -> Fit:
    """Plan and fit; runs in the fresh process."""
    with dask.config.set(num_workers=threads), threadpool_limits(threads), session(job, folder) as client:
        data = dk.open_dataset(folder)
        X, y = data.X if job.stored else data.X.compute(), data.y.compute()
        learns = hasattr(job.model, "max_epochs")
        arguments = (X, y) if learns else (X,)
        plan = job.model.plan(*arguments)
        workers = [os.getpid()] if client is None else list(client.run(os.getpid).values())
        before = {pid: psutil.Process(pid).memory_info().rss for pid in workers}
        with sampled() as sampler, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # k-means ends at max_iter
            started = time.perf_counter()
            taken(job.model, arguments)
            seconds = time.perf_counter() - started
        grown = max(sampler.peaks[pid] - before[pid] for pid in workers)
    base = plan.machine.base
    steps = getattr(job.model, "n_iter_", getattr(job.model, "n_epochs_", 0))
    after = str(job.model.plan_)
    return Fit(plan.seconds, seconds, plan.worker_bytes - base, grown, base, str(plan), after, steps)


def taken(model: Any, arguments: tuple[Any, ...]) -> None:
    """All that the plan is for: of features it counts the transform too."""
    if isinstance(model, dk.NystromFeatures):
        features = model.fit_transform(*arguments)
        if not isinstance(features, np.ndarray):
            features.sum(axis=0).compute()  # all blocks, and no place for them
    else:
        model.fit(*arguments)


@contextmanager
def session(job: FitJob, folder: Path) -> Iterator[Any]:
    """The client of two workers of one thread, or None: threads of this process."""
    if not job.processes:
        yield None
        return
    with quiet_client(
        n_workers=2, threads_per_worker=1, scratch=folder.parent, memory_limit=job.memory_limit
    ) as client:
        yield client


def rows(job: FitJob, fit: Fit, judged: bool) -> Iterator[Row]:
    """How far predicted and measured are apart, as a factor."""
    details = {"before": fit.before, "after": fit.after, "base MiB": fit.base / MIB}
    for what, unit, asked, predicted, found in (
        ("seconds", "s", SECONDS, fit.predicted_seconds, fit.seconds),
        ("memory", "MiB", BYTES, fit.predicted_bytes / MIB, fit.bytes / MIB),
    ):
        yield Row(
            "plan",
            f"plan of {job.name}: {what}",
            f"{job.what}; measured, predicted",
            max(predicted / found, found / predicted),
            "times",
            Samples(unit, (found,), (predicted,)),
            asked=asked,
            less_is_better=True,
            judged=judged,
            details=details,
        )
