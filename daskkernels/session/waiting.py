"""Top layer: waiting for futures with progress, but not for ever once every worker has run out of memory."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future, rejoin, secede, wait

from ..events import Reporter, StageProgress
from ..runtime import WorkersPausedError

POLL_SECONDS = 0.5
PATIENCE_WITHOUT = 60.0  # seconds without any worker: longer than a nanny takes on a busy machine
LONGEST_LOOK = 2.0  # seconds that may count between two looks: after more the machine was asleep, workers too
PATIENCE_SECONDS = 20.0  # of all workers paused without a finished task: longer than a spill to disk takes


@dataclass
class NoWorkersError(Exception):
    """No worker has been there for long, nor has one come."""

    finished: int
    total: int
    suspect: Any  # the task that was at work on most of those that died, None where none was
    deaths: int


@dataclass
class Watch:
    """The blocks of one stage, as the scheduler counts them."""

    client: Client
    reporter: Reporter | None  # None: nobody is told
    stage: str
    names: list[str]  # of the stage's groups of tasks
    total: int
    _finished: int = 0
    _looked: float = field(default_factory=time.monotonic)
    _still: float = 0.0  # seconds since a block was finished or a worker was there to do it

    def wait(self, futures: Sequence[Future[Any]]) -> None:
        """Return when all futures are done or one has failed. Raises WorkersPausedError.

        Inside a task, the worker's thread is given free meanwhile: else tasks that wait for tasks could fill
        the cluster.
        """
        if not futures:
            return
        left = _left_the_pool()
        try:
            self._wait(futures)
        finally:
            if left:
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
        finished, running, workers = self.client.run_on_scheduler(_state, names=self.names)
        if self.reporter is not None:
            self.reporter.emit(StageProgress(self.stage, finished, self.total))
        now = time.monotonic()
        since, self._looked = min(now - self._looked, LONGEST_LOOK), now
        self._still += since
        if running or finished > self._finished:
            self._finished, self._still = finished, 0.0
        elif not workers:
            if self._still > PATIENCE_WITHOUT:
                suspect, deaths = self.client.run_on_scheduler(_suspect)
                raise NoWorkersError(finished, self.total, suspect, deaths)
        elif self._still > PATIENCE_SECONDS:
            raise WorkersPausedError(
                f"{self.stage}: every worker has been paused for {PATIENCE_SECONDS:.0f} s, above 80 % of its "
                f"memory limit, after {finished} of {self.total} blocks: raise memory_limit, "
                "use fewer threads, or lower n_landmarks, n_centers or n_subsamples, as the estimator has"
            )


def _left_the_pool() -> bool:
    """Whether this thread ran a task of a distributed worker and has just left the worker's threads."""
    try:
        secede()
    except ValueError:  # no task
        return False
    except KeyError:  # a task that had left before, as all that runs inside `worker_client` does
        return False
    except AttributeError as error:  # it has no place to give, and the task's own would be kept: a deadlock
        raise RuntimeError(
            "a fit in a thread that a task has started could wait for ever for that task's worker: fit in "
            "the task itself, and let it be an ordinary function, not an `async` one"
        ) from error
    return True


def _state(dask_scheduler: Any = None, names: Sequence[str] = ()) -> tuple[int, int, int]:
    """Runs on the scheduler: tasks of these groups that are computed, workers not paused, all workers."""
    groups = [dask_scheduler.task_groups[name] for name in names if name in dask_scheduler.task_groups]
    finished = sum(g.states["memory"] + g.states["released"] + g.states["forgotten"] for g in groups)
    return finished, len(dask_scheduler.running), len(dask_scheduler.workers)


def _suspect(dask_scheduler: Any = None) -> tuple[Any, int]:
    """Runs on the scheduler: the task at which most workers died, and how many."""
    worst = max(dask_scheduler.tasks.values(), key=lambda task: task.suspicious, default=None)
    return (None, 0) if worst is None or not worst.suspicious else (worst.key, worst.suspicious)
