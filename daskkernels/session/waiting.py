"""Top layer: waiting for futures with progress, but not for ever once every worker has run out of memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future, get_worker, rejoin, secede, wait

from ..events import Reporter, StageProgress

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 20.0  # of all workers paused without a finished task: longer than a spill to disk takes


class WorkersPausedError(MemoryError):
    """Every worker has paused for want of memory and none recovers."""


@dataclass
class Watch:
    """The blocks of one stage, as the scheduler counts them."""

    client: Client
    reporter: Reporter
    stage: str
    names: list[str]  # of the stage's groups of tasks
    total: int
    _finished: int = 0
    _moved: float = field(default_factory=time.monotonic)

    def wait(self, futures: Sequence[Future[Any]]) -> None:
        """Return when all futures are done or one has failed. Raises WorkersPausedError.

        Inside a task, the worker's thread is given free meanwhile: else tasks that wait for tasks could fill
        the cluster.
        """
        if not futures:
            return
        inside = _in_a_task()
        if inside:
            secede()
        try:
            self._wait(futures)
        finally:
            if inside:
                rejoin()

    def _wait(self, futures: Sequence[Future[Any]]) -> None:
        while True:
            try:
                wait(futures, timeout=POLL_SECONDS)
                return
            except TimeoutError:
                self._look()
                if any(future.status == "error" for future in futures):
                    return

    def _look(self) -> None:
        finished, running = self.client.run_on_scheduler(_state, names=self.names)
        self.reporter.emit(StageProgress(self.stage, finished, self.total))
        if running or finished > self._finished:
            self._finished, self._moved = finished, time.monotonic()
        elif time.monotonic() - self._moved > PATIENCE_SECONDS:
            raise WorkersPausedError(
                f"{self.stage}: every worker has been paused for {PATIENCE_SECONDS:.0f} s, above 80 % of its "
                f"memory limit, after {finished} of {self.total} blocks: raise memory_limit, "
                "lower n_landmarks, or use fewer threads"
            )


def _in_a_task() -> bool:
    """Whether this thread runs a task of a distributed worker."""
    try:
        get_worker()
    except ValueError:
        return False
    return True


def _state(dask_scheduler: Any = None, names: Sequence[str] = ()) -> tuple[int, int]:
    """Runs on the scheduler: tasks of these groups that are computed, and workers that are not paused."""
    groups = [dask_scheduler.task_groups[name] for name in names if name in dask_scheduler.task_groups]
    finished = sum(g.states["memory"] + g.states["released"] + g.states["forgotten"] for g in groups)
    return finished, len(dask_scheduler.running)
