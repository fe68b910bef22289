"""Top layer: the runtime of a distributed client. Blocks stay on the workers, only totals come back.

Values above 4 MB are scattered to every worker once; smaller ones ride in the graph once.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import dask.base
import numpy as np
import psutil
from dask.sizeof import sizeof
from dask.task_spec import TaskRef
from distributed import Client, Future, LocalCluster, WorkerPlugin

from ..events import Reporter, StageProgress
from ..grid import Grid
from ..plan import Machine
from ..rowblocks import Operand, RowBlocks, literal
from ..rows import Total
from ..runtime import joined, temporary_folder
from ..threads import limit_for_good, single_blas_thread
from ..xp import Array
from .machine import measure_machine
from .waiting import Watch

LITERAL_BYTES = 4 * 2**20  # larger values would travel with every task that names them


class ClusterRuntime:
    """Runs graphs on the workers of a distributed client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        _prepare_workers(client)

    @property
    def machine(self) -> Machine:
        """The workers as the scheduler sees them now."""
        workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        if not workers:
            self.client.wait_for_workers(1, timeout=30)
            workers = list(self.client.scheduler_info(n_workers=-1)["workers"].values())
        limit = min(w["memory_limit"] or 2**62 for w in workers)
        return Machine(
            workers=len(workers),
            threads=max(w["nthreads"] for w in workers),
            memory=limit,
            base=max(self.client.run(_resident).values()),
            latency=0.003,
            in_process=False,
        )

    @property
    def scratch(self) -> str | None:
        """What `connect` was given, else the folder for temporary files where all runs on this machine."""
        if self.client in scratch_of:
            return scratch_of[self.client]
        return temporary_folder() if isinstance(self.client.cluster, LocalCluster) else None

    def measured(self) -> Machine:
        """The workers with their arithmetic rate measured, once for each set of workers."""
        return replace(self.machine, gflops=measure_machine(self.client))

    def run(
        self, totals: Sequence[Total], keep: Sequence[RowBlocks] = (), *, reporter: Reporter, stage: str
    ) -> tuple[list[Any], list[RowBlocks]]:
        """Compute totals and blocks in one graph; kept blocks stay on the workers."""
        graph, keys = joined(totals, keep, stage)
        with self._watched(graph, reporter, stage) as watch:
            futures = self.client.get(graph, keys, sync=False)
            values = self._finished(futures, futures[: len(totals)], watch)
        kept, at = [], len(totals)
        for rows in keep:
            held = futures[at : at + rows.grid.n_blocks]
            at += rows.grid.n_blocks
            nodes = tuple(TaskRef(future.key) for future in held)
            kept.append(RowBlocks(rows.grid, rows.columns, rows.dtype, nodes, {f.key: f for f in held}))
        return values, kept

    def place(self, value: Any) -> Operand:
        """A literal of the graph up to 4 MB, else a copy on every worker."""
        if _size(value) <= LITERAL_BYTES:
            return literal(value)
        future = self.client.scatter(value, broadcast=True, hash=False)
        return Operand(TaskRef(future.key), {future.key: future})

    def defer(self, stage: str, function: Callable[..., Any], *args: Any) -> Operand:
        """Computed here, on one core like the workers do, and placed: a worker may not have the memory."""
        with single_blas_thread():
            return self.place(function(*args))

    def place_rows(self, X: Array, grid: Grid) -> RowBlocks:
        """Send the blocks of a matrix to the workers."""
        futures = self.client.scatter([X[start:stop] for start, stop in grid], hash=False)
        columns = None if X.ndim == 1 else int(X.shape[1])
        return RowBlocks(
            grid, columns, X.dtype, tuple(TaskRef(f.key) for f in futures), {f.key: f for f in futures}
        )

    def collect(self, rows: RowBlocks, *, reporter: Reporter, stage: str) -> np.ndarray:
        """All blocks as one numpy array in the client."""
        graph, keys = rows.keyed(stage)
        with self._watched(graph, reporter, stage) as watch:
            futures = self.client.get(graph, keys, sync=False)
            return np.concatenate(self._finished(futures, futures, watch))

    def release(self, rows: RowBlocks) -> None:
        """Free kept blocks on the workers now, not when the garbage collector comes round."""
        for future in rows.graph.values():
            if isinstance(future, Future):
                future.release()

    def _finished(self, futures: list[Future[Any]], wanted: list[Future[Any]], watch: Watch) -> list[Any]:
        """The values of some futures once all are done; whatever stops the wait also stops the work."""
        try:
            watch.wait(wanted)
            values = self.client.gather(wanted)
            watch.wait(futures)
            for future in futures:
                if future.status == "error":
                    future.result()
        except BaseException as error:
            # Not `cancel`: the scheduler may fail an assertion on unwanted dependents and drop the client.
            for future in futures:
                future.release()
            if isinstance(error, CancelledError):
                raise RuntimeError(  # noqa: TRY004
                    "workers are gone that held blocks which exist nowhere else: fit from a store "
                    "(dk.write_dataset), whose blocks can be read again"
                ) from error
            raise
        return list(values)

    @contextmanager
    def _watched(self, graph: Any, reporter: Reporter, stage: str) -> Iterator[Watch]:
        """The surroundings of one stage, and the watch over its blocks."""
        names = {key[0] for key in graph if isinstance(key, tuple) and _is_stage(key, stage)}
        total = sum(1 for key in graph if isinstance(key, tuple) and key[0] in names)
        with reporter.stage(stage, total), single_blas_thread():  # the workers may be threads of this process
            yield Watch(self.client, reporter, stage, list(names), total)
            reporter.emit(StageProgress(stage, total, total))


def find_cluster() -> ClusterRuntime | None:
    """The runtime of the active client, None where Dask's configuration names another scheduler."""
    get = dask.base.get_scheduler()
    client = getattr(get, "__self__", None)
    if not isinstance(client, Client):
        return None
    if client.asynchronous:
        raise RuntimeError(
            "the active client is asynchronous: use Client(asynchronous=False), or fit in a thread"
        )
    return ClusterRuntime(client)


def _size(value: Any) -> int:
    """Bytes of a value, records of arrays included, which Dask takes for a few bytes."""
    if is_dataclass(value):
        return sum(_size(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return int(sizeof(value))


def _is_stage(key: tuple[Any, ...], stage: str) -> bool:
    return isinstance(key[0], str) and key[0].rpartition("-")[0] == stage


def _resident() -> int:
    """Runs on a worker: bytes of its process now. Heartbeats may be from before it loaded this library."""
    return int(psutil.Process().memory_info().rss)


_prepared: WeakSet[Client] = WeakSet()
scratch_of: WeakKeyDictionary[Client, str] = WeakKeyDictionary()


class _OneBlasThread(WorkerPlugin):
    """One BLAS thread in each worker process: its Dask threads are the parallelism."""

    name = "daskkernels-one-blas-thread"

    def __init__(self, host: str, pid: int) -> None:
        self._client = (host, pid)

    def setup(self, worker: Any) -> None:
        """Limit the process unless it is the client's own, whose limits are put around each computation."""
        if (socket.gethostname(), os.getpid()) != self._client:
            limit_for_good()


def _prepare_workers(client: Client) -> None:
    """Register the plugin once for each client; workers that join later get it too."""
    if client not in _prepared:
        client.register_plugin(_OneBlasThread(socket.gethostname(), os.getpid()))
        _prepared.add(client)
