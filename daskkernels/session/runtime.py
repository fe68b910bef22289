"""Top layer: the runtime of a distributed client. Blocks stay on the workers, only totals come back.

Values up to 4 MB ride in the graph once. Larger ones are placed once: as tasks that the scheduler can run
again when the worker that holds them dies, or, very large ones, scattered to the workers.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import dask.base
import numpy as np
import psutil
from dask.sizeof import sizeof
from dask.task_spec import DataNode, TaskRef
from distributed import Client, Future, LocalCluster, WorkerPlugin, get_client

from ..events import Reporter, Sink, StageProgress
from ..grid import Grid
from ..plan import Machine
from ..rowblocks import Operand, RowBlocks, literal, unique
from ..rows import Total
from ..runtime import joined, temporary_folder
from ..threads import limit_for_good, single_blas_thread
from ..xp import Array
from .forward import Forwarder
from .loss import losses_told, refuse_if_closed
from .machine import measure_machine
from .waiting import PATIENCE_WITHOUT, Watch

LINK_RATE = 3e8  # bytes a second between two processes of one machine: 16 and 64 MB took 0.25 to 0.4 GB/s
LITERAL_BYTES = 4 * 2**20  # larger values would travel with every graph that names them
LASTING_BYTES = 64 * 2**20  # of a value that the scheduler keeps too; larger ones would fill its memory


class ClusterRuntime:
    """Runs graphs on the workers of a distributed client."""

    def __init__(self, client: Client) -> None:
        refuse_if_closed(client)
        self.client = client
        with losses_told("workers", {}, client):
            prepare_workers(client)

    @property
    def machine(self) -> Machine:
        """The workers as the scheduler sees them now."""
        with losses_told("workers", {}, self.client):
            workers = _workers(self.client)
            resident = self.client.run(_resident, on_error="ignore")  # some may be about to die
        limit = min(w["memory_limit"] or 2**62 for w in workers)
        return Machine(
            workers=len(workers),
            threads=max(w["nthreads"] for w in workers),
            memory=limit,
            base=max(resident.values(), default=max(w["metrics"]["memory"] for w in workers)),
            latency=0.003,
            link_rate=LINK_RATE,
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
        machine = self.machine
        with losses_told("workers", {}, self.client):
            return replace(machine, gflops=measure_machine(self.client))

    def listeners(self) -> tuple[Sink, ...]:
        """The scheduler, whose page shows the fit."""
        return (Forwarder(self.client),)

    def run(
        self, totals: Sequence[Total], keep: Sequence[RowBlocks] = (), *, reporter: Reporter, stage: str
    ) -> tuple[list[Any], list[RowBlocks]]:
        """Compute totals and blocks in one graph; kept blocks stay on the workers."""
        graph, keys = joined(totals, keep, stage)
        futures, values = self._computed(graph, keys, len(totals), reporter, stage)
        kept, at = [], len(totals)
        for rows in keep:
            held = futures[at : at + rows.grid.n_blocks]
            at += rows.grid.n_blocks
            nodes = tuple(TaskRef(future.key) for future in held)
            kept.append(RowBlocks(rows.grid, rows.columns, rows.dtype, nodes, {f.key: f for f in held}))
        return values, kept

    def place(self, value: Any) -> Operand:
        """A literal of the graph up to 4 MB, else a copy on every worker."""
        if sizeof(value) <= LITERAL_BYTES:
            return literal(value)
        if sizeof(value) <= LASTING_BYTES and self.scratch is not None:  # with scratch, fits leave no history
            (future,) = self._lasting([value])
            with losses_told("operand", {}, self.client):
                Watch(self.client, None, "operand", [], 1).wait([future])
            # Else tasks crowd on the worker that holds it. Workers that die meanwhile are another's concern.
            with suppress(OSError, TimeoutError, ValueError, CancelledError):
                self.client.replicate([future], callback_timeout=PATIENCE_WITHOUT)
        else:
            with losses_told("operand", {}, self.client):
                _workers(self.client)
                (future,) = self.client.scatter([value], broadcast=True, hash=False)  # one, not one an item
        return Operand(TaskRef(future.key), {future.key: future})

    def defer(self, stage: str, function: Callable[..., Any], *args: Any) -> Operand:
        """Computed here, on one core like the workers do, and placed: a worker may not have the memory."""
        with single_blas_thread():
            return self.place(function(*args))

    def place_rows(self, X: Array, grid: Grid) -> RowBlocks:
        """Send the blocks of a matrix to the workers."""
        blocks = [X[start:stop] for start, stop in grid]
        if X.nbytes <= LASTING_BYTES:
            futures = self._lasting(blocks)
        else:
            with losses_told("rows", {}, self.client):
                _workers(self.client)
                futures = self.client.scatter(blocks, hash=False)
        columns = None if X.ndim == 1 else int(X.shape[1])
        return RowBlocks(
            grid, columns, X.dtype, tuple(TaskRef(f.key) for f in futures), {f.key: f for f in futures}
        )

    def _lasting(self, values: Sequence[Any]) -> list[Future[Any]]:
        """Values as tasks of their own: what was scattered is lost with its worker, these are run again."""
        name = unique("placed")
        graph = {(name, i): DataNode((name, i), value) for i, value in enumerate(values)}
        threshold = {"distributed.admin.large-graph-warning-threshold": 2 * LASTING_BYTES}
        with losses_told("placed", {}, self.client), dask.config.set(threshold):
            futures: list[Future[Any]] = self.client.get(graph, list(graph), sync=False)
        return futures

    def collect(self, rows: RowBlocks, *, reporter: Reporter, stage: str) -> np.ndarray:
        """All blocks as one numpy array in the client."""
        graph, keys = rows.keyed(stage)
        return np.concatenate(self._computed(graph, keys, len(keys), reporter, stage)[1])

    def release(self, rows: RowBlocks) -> None:
        """Free kept blocks on the workers now, not when the garbage collector comes round."""
        for future in rows.graph.values():
            if isinstance(future, Future):
                future.release()

    def _computed(
        self, graph: Any, keys: Sequence[Any], wanted: int, reporter: Reporter, stage: str
    ) -> tuple[list[Future[Any]], list[Any]]:
        """All futures of a graph once they are done, and the values of the first ones.

        Whatever stops the wait also stops the work, once the scheduler was asked about it.
        """
        futures: list[Future[Any]] = []
        try:
            with losses_told(stage, graph, self.client), self._watched(graph, reporter, stage) as watch:
                futures = self.client.get(graph, keys, sync=False)
                return futures, self._finished(futures, futures[:wanted], watch)
        except BaseException:
            # Not `cancel`: over unwanted dependents the scheduler may fail an assertion, and drop us
            for future in futures:
                future.release()
            raise

    def _finished(self, futures: list[Future[Any]], wanted: list[Future[Any]], watch: Watch) -> list[Any]:
        """The values of some futures once all are done. Raises the error of the first that failed."""
        watch.wait(wanted)
        values = self.client.gather(wanted)
        watch.wait(futures)
        for future in futures:
            if future.status == "error":
                future.result()
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
    try:
        get = dask.base.get_scheduler()
    except RuntimeError:  # Dask's own words name neither the fit nor the way out
        _refuse_if_asynchronous(_active_client())
        raise
    client = getattr(get, "__self__", None)
    if not isinstance(client, Client):
        return None
    _refuse_if_asynchronous(client)
    return ClusterRuntime(client)


def _active_client() -> Client | None:
    try:
        return get_client()
    except ValueError:
        return None


def _refuse_if_asynchronous(client: Client | None) -> None:
    if client is not None and client.asynchronous:
        raise RuntimeError(
            "the active client is asynchronous: use Client(asynchronous=False), or keep the event loop free "
            "with `await asyncio.to_thread(model.fit, X)`"
        ) from None


def _workers(client: Client) -> list[dict[str, Any]]:
    """The workers as the scheduler describes them; waits for one where there is none. Raises TimeoutError."""
    while not (workers := list(client.scheduler_info(n_workers=-1)["workers"].values())):
        client.wait_for_workers(1, timeout=PATIENCE_WITHOUT)
    return workers


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


def prepare_workers(client: Client) -> None:
    """Register the plugin once for each client; workers that join later get it too."""
    if client not in _prepared:
        client.register_plugin(_OneBlasThread(socket.gethostname(), os.getpid()))
        _prepared.add(client)
