"""Blows at a chosen moment: a plugin of the scheduler, which runs in this process, sees every task."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster
from distributed.core import Status
from distributed.diagnostics.plugin import SchedulerPlugin

N_WORKERS = 2


class Strike(SchedulerPlugin):
    """Strikes when a task of `stage` comes into `state` ("processing" or "memory") for the `nth` time.

    `blow(worker address)` runs on the scheduler's loop. What was struck is in `struck`.
    """

    name = "strike"

    def __init__(
        self, cluster: LocalCluster, stage: str, state: str, blow: Callable[[str], None], nth: int = 1
    ) -> None:
        self.scheduler = cluster.scheduler
        self.stage, self.state, self.blow, self.left = stage, state, blow, nth
        self.struck: list[str] = []

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Called for every change of every task."""
        if finish != self.state or self.struck or stage_of(key) != self.stage:
            return
        self.left -= 1
        task = self.scheduler.tasks.get(key)
        if self.left > 0 or task is None:
            return
        at = task.processing_on.address if task.processing_on else kwargs.get("worker")
        if at is None:
            return
        self.struck.append(at)
        self.scheduler.loop.call_later(0.003, self.blow, at)  # the task has begun


def stage_of(key: Any) -> str:
    """The stage of a key: eigenpro-solve, of `"eigenpro-solve-0f3a"` or `("eigenpro-solve-0f3a", 4)`."""
    name = key[0] if isinstance(key, tuple) else key
    return name.rpartition("-")[0] if isinstance(name, str) else ""


def pids(cluster: LocalCluster) -> dict[str, int]:
    """The process of each worker by its address."""
    return {nanny.worker_address: nanny.pid for nanny in cluster.workers.values()}


def signalled(pid: int | None, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone."""
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def kill(cluster: LocalCluster) -> Callable[[str], None]:
    """A blow: kill -9 of the worker."""
    return lambda worker: signalled(pids(cluster).get(worker), signal.SIGKILL)


def kill_all(cluster: LocalCluster) -> Callable[[str], None]:
    """A blow: kill -9 of every worker."""
    return lambda _: [signalled(pid, signal.SIGKILL) for pid in pids(cluster).values()] and None


def stop(cluster: LocalCluster, seconds: float | None) -> Callable[[str], None]:
    """A blow: the worker stands still, for some seconds or until it is given up."""

    def blow(worker: str) -> None:
        pid = pids(cluster).get(worker)
        signalled(pid, signal.SIGSTOP)
        if seconds is not None:
            cluster.scheduler.loop.call_later(seconds, signalled, pid, signal.SIGCONT)

    return blow


@contextmanager
def striking(
    cluster: LocalCluster, stage: str, state: str, blow: Callable[[str], None], nth: int = 1
) -> Iterator[Strike]:
    """The blow falls inside this block, or the test has proved nothing."""
    strike = Strike(cluster, stage, state, blow, nth)
    on_loop(cluster, lambda: cluster.scheduler.add_plugin(strike, name=strike.name))
    try:
        yield strike
    finally:
        on_loop(cluster, lambda: cluster.scheduler.remove_plugin(name=strike.name))
    assert strike.struck, f"no task of {stage} came into {state}"


def on_loop(cluster: LocalCluster, function: Callable[[], Any]) -> None:
    """Run this where the scheduler runs."""

    async def call() -> None:
        function()

    cluster.sync(call)


def eventually(condition: Callable[[], Any], what: Callable[[], str] | str, seconds: float = 20.0) -> None:
    """Wait until it is so."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, what if isinstance(what, str) else what()
        time.sleep(0.05)


def all_up(client: Client) -> bool:
    """Whether every worker is there and runs; starts those whose nannies gave them up.

    A nanny does not start a worker again that dies while it starts, and its cluster lets it go.
    """
    states = [w["status"] for w in client.scheduler_info(n_workers=-1)["workers"].values()]
    if isinstance(client.cluster, LocalCluster) and len(client.cluster.workers) < N_WORKERS:
        client.cluster.scale(N_WORKERS)
    return states == ["running"] * N_WORKERS and _watched(client.cluster)


def _watched(cluster: Any) -> bool:
    """Whether every nanny knows its worker: it does a little after the scheduler."""
    if not isinstance(cluster, LocalCluster):
        return True
    processes = [nanny.process for nanny in cluster.workers.values()]
    return all(process is not None and process.status == Status.running for process in processes)


def seen(client: Client) -> dict[str, str]:
    """The states of the workers, and of their nannies where the cluster is of this process."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    nannies = getattr(client.cluster, "workers", {})
    return {a: w["status"] for a, w in workers.items()} | {str(n): str(w) for n, w in nannies.items()}


def nothing_left(client: Client, scratch: Path) -> None:
    """No task on the scheduler, no future here, no file in scratch, no worker that is paused or gone."""
    gc.collect()
    eventually(lambda: not client.futures, lambda: f"futures are left: {list(client.futures)[:5]}")
    eventually(lambda: not tasks(client), lambda: f"tasks are left: {tasks(client)[:5]}")
    eventually(lambda: all_up(client), lambda: f"a worker is paused or gone: {seen(client)}", 30.0)
    eventually(lambda: not list(scratch.iterdir()), lambda: f"left in scratch: {list(scratch.iterdir())}")


def tasks(client: Client) -> list[Any]:
    """Every task that the scheduler knows, once what nobody refers to here is gone."""
    gc.collect()
    return list(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))
