"""Top layer: the clusters that `connect` starts on this machine: processes, threads, or one worker a GPU.

Never more threads than cores by default, and nothing that can be reached from another machine unless asked.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from multiprocessing.spawn import get_preparation_data
from typing import Any, Protocol

import dask
from dask.system import cpu_count
from distributed import LocalCluster, Worker
from distributed.security import Security

from ..callers import warn

LOOPBACK = "127.0.0.1"


class OversubscribedWarning(UserWarning):
    """More threads were asked for than there are cores."""


@dataclass(frozen=True)
class LocalOptions:
    """What `connect` was asked for; None where the cluster decides."""

    n_workers: int | None
    threads_per_worker: int | None
    memory_limit: str | int | None
    host: str | None
    dashboard_address: str
    security: Security | None

    def sizes(self, n_workers: int, threads: int) -> dict[str, Any]:
        """The options of the workers; without a memory limit of theirs, Dask shares out the machine's."""
        if n_workers * threads > cpu_count():
            warn(
                f"n_workers={n_workers} of threads_per_worker={threads} on {cpu_count()} cores: "
                f"slower than at most {cpu_count()} threads in all",
                OversubscribedWarning,
            )
        limit = {} if self.memory_limit is None else {"memory_limit": self.memory_limit}
        return {"n_workers": n_workers, "threads_per_worker": threads, **limit}

    def places(self) -> dict[str, Any]:
        """Where scheduler, workers and dashboard listen, and their certificates."""
        host = self.host or LOOPBACK
        return {"host": host, "dashboard_address": self._dashboard(host), "security": self.security}

    def _dashboard(self, host: str) -> str:
        return (
            f"{host}{self.dashboard_address}" if self.dashboard_address[:1] == ":" else self.dashboard_address
        )


def processes(options: LocalOptions) -> LocalCluster:
    """Worker processes, by default one of one thread for each core.

    Raises RuntimeError when they do not start.
    """
    _leave_if_imported_by_a_worker()
    n_workers, threads = options.n_workers, options.threads_per_worker
    if n_workers is None:
        n_workers = max(1, cpu_count() // (threads or 1))
    if threads is None:
        threads = max(1, cpu_count() // n_workers)
    return _started(
        LocalCluster, "local", processes=True, **options.sizes(n_workers, threads), **options.places()
    )


def threads(options: LocalOptions) -> LocalCluster:
    """Workers in this process, by default one of all cores. Raises ValueError for what only ports need."""
    for name in ("host", "security"):
        if getattr(options, name) is not None:
            raise ValueError(f'{name}: connect("threads") opens no port, use connect("local")')
    n_workers = options.n_workers or 1
    each = options.threads_per_worker or max(1, cpu_count() // n_workers)
    places = {**options.places(), "host": None}
    sizes = options.sizes(n_workers, each)
    # No worker here can be lost: one that was silent for 5 minutes was asleep, and the computer with it.
    with dask.config.set({"distributed.scheduler.worker-ttl": None}):
        return _ThreadCluster(processes=False, worker_class=_ThreadWorker, **sizes, **places)  # type: ignore[no-untyped-call]


def cuda_workers(options: LocalOptions) -> LocalCluster:
    """One worker process for each GPU, by dask-cuda; by default all GPUs and one thread for each.

    Raises ImportError without dask-cuda, RuntimeError without a GPU or when workers do not start.
    """
    _leave_if_imported_by_a_worker()
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise ImportError(
            f'connect("cuda") needs dask-cuda: pip install "daskkernels[gpu]", on Linux ({error})'
        ) from error
    sizes = options.sizes(options.n_workers or 1, options.threads_per_worker or 1)
    sizes["n_workers"] = options.n_workers  # None: as many as there are GPUs
    try:
        return _started(LocalCUDACluster, "cuda", **sizes, **options.places())
    except RuntimeError:
        raise
    except Exception as error:  # of NVIDIA's library, whose classes are not imported here
        raise RuntimeError(
            f'connect("cuda") finds no GPU, or fewer than n_workers ({type(error).__name__}: {error}): '
            'see nvidia-smi and CUDA_VISIBLE_DEVICES, or use connect("local")'
        ) from error


class _Kind(Protocol):
    def __call__(self, **options: Any) -> LocalCluster: ...


def _started(kind: _Kind, name: str, **options: Any) -> LocalCluster:
    """A cluster of processes, or one line about why there is none."""
    try:
        return kind(**options)
    except RuntimeError as error:
        # Without the chain: it is long, and all that it says about a worker that ended is in its last link.
        raise RuntimeError(
            f"the workers did not start ({_root(error)}); a script must call connect({name!r}) under "
            '`if __name__ == "__main__":`, or use connect("threads")'
        ) from None


def _root(error: BaseException) -> BaseException:
    while (earlier := error.__cause__ or error.__context__) is not None:
        error = earlier
    return error


def _leave_if_imported_by_a_worker() -> None:
    """End a worker process that runs a script without a main guard, quietly: who started it says why."""
    try:
        get_preparation_data("")  # raises where a process cannot start others because it imports its script
    except RuntimeError:
        sys.exit(1)


class _ThreadWorker(Worker):
    """A worker in this process; without an address its small web server would listen on every interface."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options["dashboard_address"] = f"{LOOPBACK}:0"
        super().__init__(*args, **options)


class _ThreadCluster(LocalCluster):
    """A cluster in this process, whose dashboard link names the loopback interface it listens on."""

    @property
    def dashboard_link(self) -> str:
        """The address of the dashboard."""
        port = self.scheduler_info["services"].get("dashboard")
        return f"http://{LOOPBACK}:{port}/status" if port else ""
