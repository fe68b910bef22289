"""The cluster of a job: opened by the library, closed when the job ends, with a way out if it cannot start.

Only local worker processes have a substitute, threads in this process; a scheduler given by address has none.
"""

from __future__ import annotations

import io
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr
from multiprocessing import resource_tracker
from typing import Any

import dask

import daskkernels as dk
from daskkernels.session import find_cluster
from pipelines.progress import say, stage
from pipelines.requests import SessionRequest

# A block that fails is logged by its worker and raised in the job, which says it once. Memory warnings stay.
_SILENT = {"distributed.worker": "critical", "distributed.scheduler": "critical"}
_WORKER_LOGGING = {"distributed": "warning", **_SILENT, "distributed.worker.memory": "warning"}


@contextmanager
def connected(request: SessionRequest) -> Iterator[Any]:
    """The client of a job's cluster; the library says on stderr where its dashboard is."""
    client: Any = None
    cluster: Any = None
    try:
        with (
            stage("connect"),
            interrupts_held(),
            nullcontext() if request.verbose else _few_logs(),
            redirect_stderr(io.StringIO()) as said,
        ):
            client = _open(request)
            cluster = (
                client.cluster
            )  # None where only an address was given: that cluster is not ours to close
            find_cluster()  # now, not in the first pass: the workers load the library
        if not request.quiet:
            say(said.getvalue().rstrip())
        yield client
    finally:
        if client is not None:
            client.close()
        if cluster is not None:
            cluster.close()


@contextmanager
def quiet_client(address: str = "local", **options: Any) -> Iterator[Any]:
    """A client of `dk.connect` without a word about it, whose workers no interrupt reaches."""
    with interrupts_held(), redirect_stderr(io.StringIO()):
        client = dk.connect(address, **options)
    with client:
        yield client


def _open(request: SessionRequest) -> Any:
    """A client; local workers that cannot start are replaced by threads, and said so."""
    sizes = {"n_workers": request.workers, "memory_limit": request.memory_limit}
    given = {name: value for name, value in sizes.items() if value is not None}
    try:
        return dk.connect(request.scheduler, **given)
    except (OSError, RuntimeError) as error:
        if request.scheduler != "local":
            raise
        print(f"no local workers ({error}): using threads in this process instead", file=sys.stderr)
        given.pop("n_workers", None)
        return dk.connect("threads", **given)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C waiting while workers start, and away from them for good.

    A terminal interrupts every process of a job. Workers inherit what is held here, so that this process
    alone hears it, shortly afterwards, and ends them in order. The handler holds what reaches another thread:
    raised in the middle of a start, an interrupt may be lost in a callback.
    """
    held, arrived = {signal.SIGINT}, list[int]()
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # the thread that starts it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    handler = signal.signal(signal.SIGINT, lambda number, _frame: arrived.append(number))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGINT, handler)
    if arrived:
        raise KeyboardInterrupt


@contextmanager
def _few_logs() -> Iterator[None]:
    """Start workers that log little; this process logs little from now on."""
    for name in _SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    environment = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    environment = {**environment, "DASK_LOGGING": repr(_WORKER_LOGGING)}
    with dask.config.set({"distributed.nanny.pre-spawn-environ": environment}):
        yield
