"""The planning job: a dataset, a model that is not fitted, and a described machine; nothing is computed."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import Any

import psutil
from dask.utils import parse_bytes

import daskkernels as dk
from daskkernels.plan import Machine
from daskkernels.rates import product_rate
from daskkernels.threads import single_blas_thread
from pipelines.failures import InputError
from pipelines.model import estimator, learner
from pipelines.requests import LearnRequest, MachineRequest, ModelRequest


def plan(data: str, model: ModelRequest | LearnRequest, machine: MachineRequest) -> str:
    """The plan as a table. Raises PlanError where the job cannot fit, naming the parameter."""
    dataset, described = dk.open_dataset(data), described_machine(machine)
    if isinstance(model, ModelRequest):
        return repr(estimator(model).plan(dataset.X, machine=described))
    if dataset.y is None:
        raise InputError(f"{data} has no y: nothing to learn")
    learned = learner(model, classes=dataset.classes is not None)
    classes: Any = range(len(dataset.classes)) if dataset.classes is not None else None
    return repr(learned.plan(dataset.X, dataset.y if classes is None else list(classes), machine=described))


def described_machine(request: MachineRequest) -> Machine:
    """The machine of a request; this one where nothing is said."""
    cores = os.cpu_count() or 1
    workers = request.workers or max(1, cores // request.threads)
    total = psutil.virtual_memory().total
    asked = None if request.memory in (None, "auto") else int(parse_bytes(str(request.memory)))
    if asked is not None and asked <= 0:
        raise InputError(f"--memory {request.memory}: wanted a size above 0")
    if request.gflops is not None and not (math.isfinite(request.gflops) and request.gflops > 0):
        raise InputError(f"--gflops {request.gflops}: wanted a positive number")
    rate = None
    if request.gflops is None:
        with single_blas_thread():
            rate = product_rate(min(workers * request.threads, cores))
    machine = Machine(
        workers=workers,
        threads=request.threads,
        memory=total // workers if asked is None else asked,
        gflops=rate if rate is not None else float(request.gflops or 0.0) * workers,
        latency=0.003,
        in_process=False,
    )
    given = {"link_rate": request.network, "read_rate": request.disk}
    return replace(machine, **{name: value for name, value in given.items() if value is not None})
