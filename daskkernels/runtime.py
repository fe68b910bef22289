"""Layer 3: how graphs are run. `LocalRuntime` uses Dask's own schedulers in this process; `session` adds
distributed clients.

One BLAS thread for each task: more runnable threads than cores cost a factor, and the number of BLAS threads
changes rounding.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import cache
from typing import Any, Protocol

import dask
import dask.base
import dask.multiprocessing
import dask.threaded
import numpy as np
import psutil
from dask.callbacks import Callback
from dask.task_spec import Task, TaskRef

from .events import Reporter, Sink, StageProgress
from .grid import Grid
from .plan import Machine
from .rates import product_rate
from .rowblocks import Graph, Key, Operand, RowBlocks, as_blocks, from_memory, literal, unique
from .rows import Total
from .threads import limit_for_good, single_blas_thread
from .xp import Array, module_of


class WorkersLostError(RuntimeError):
    """Workers died, and what they held or did cannot be had again; the message says what to do."""


class WorkersPausedError(MemoryError):
    """Every worker has paused for want of memory and none recovers."""


class Runtime(Protocol):
    """What the solvers ask of a scheduler."""

    @property
    def machine(self) -> Machine:
        """What the work runs on."""

    @property
    def scratch(self) -> str | None:
        """A folder that is known to be reached by every worker; None where the user has to name one."""

    def measured(self) -> Machine:
        """The machine with its rates measured, for predictions."""

    def listeners(self) -> tuple[Sink, ...]:
        """Who hears of one fit besides those in this process."""

    def run(
        self, totals: Sequence[Total], keep: Sequence[RowBlocks] = (), *, reporter: Reporter, stage: str
    ) -> tuple[list[Any], list[RowBlocks]]:
        """Compute totals, and blocks that are to stay where they were computed, in one pass."""

    def place(self, value: Any) -> Operand:
        """Make a small value available to every task, once."""

    def defer(self, stage: str, function: Callable[..., Any], *args: Any) -> Operand:
        """`function(*args)`, a small computation on one core, as a value for every task."""

    def place_rows(self, X: Array, grid: Grid) -> RowBlocks:
        """Cut a matrix of this process into blocks that tasks can use."""

    def collect(self, rows: RowBlocks, *, reporter: Reporter, stage: str) -> np.ndarray:
        """Compute all blocks and put them together in this process."""

    def release(self, rows: RowBlocks) -> None:
        """Give up kept blocks."""


class LocalRuntime:
    """Dask's threaded (default), synchronous or multiprocessing scheduler, as the configuration says."""

    def __init__(self, get: Callable[..., Any] | None = None) -> None:
        self._get = get or dask.threaded.get

    @property
    def machine(self) -> Machine:
        """The cores of this process and the memory that is free now."""
        threads = 1 if self._get is dask.base.get_scheduler(scheduler="sync") else _configured_threads()
        resident = psutil.Process().memory_info().rss
        return Machine(
            workers=1, threads=threads, memory=psutil.virtual_memory().available + resident, base=resident
        )

    @property
    def scratch(self) -> str | None:
        """The folder for temporary files."""
        return temporary_folder()

    def measured(self) -> Machine:
        """The same with its matrix product rate measured, once."""
        machine = self.machine
        return replace(machine, gflops=_local_rate(machine.threads))

    def listeners(self) -> tuple[Sink, ...]:
        """Nobody."""
        return ()

    def run(
        self, totals: Sequence[Total], keep: Sequence[RowBlocks] = (), *, reporter: Reporter, stage: str
    ) -> tuple[list[Any], list[RowBlocks]]:
        """Compute totals and blocks in one graph; kept blocks live in this process."""
        graph, keys = joined(totals, keep, stage)
        values = list(self._compute(graph, keys, reporter, stage))
        kept, at = [], len(totals)
        for rows in keep:
            kept.append(as_blocks(rows, values[at : at + rows.grid.n_blocks]))
            at += rows.grid.n_blocks
        return values[: len(totals)], kept

    def place(self, value: Any) -> Operand:
        """A literal of the graph: nothing is copied in one process."""
        return literal(value)

    def defer(self, stage: str, function: Callable[..., Any], *args: Any) -> Operand:
        """A task of the graph: other tasks run on the other cores meanwhile."""
        key = unique(stage)
        return Operand(TaskRef(key), {key: Task(key, function, *args)})

    def place_rows(self, X: Array, grid: Grid) -> RowBlocks:
        """Views of the array."""
        return from_memory(X, grid)

    def collect(self, rows: RowBlocks, *, reporter: Reporter, stage: str) -> np.ndarray:
        """All blocks as one numpy array."""
        return self._compute(*rows.keyed(stage), reporter, stage, then=_joined_blocks)  # type: ignore[no-any-return]

    def release(self, rows: RowBlocks) -> None:
        """Nothing to do: blocks are freed with their last reference."""

    def _compute(
        self,
        graph: Graph,
        keys: list[Key],
        reporter: Reporter,
        stage: str,
        then: Callable[[Sequence[Any]], Any] = tuple,
    ) -> Any:
        """The values of these keys, and what is made of them, as one stage."""
        total = sum(1 for key in graph if _stage_of(key) == stage)
        with (
            reporter.stage(stage, total),
            _BlockProgress(reporter, stage, total),
            single_blas_thread(),
        ):
            if self._get is dask.multiprocessing.get and dask.config.get("pool", None) is None:
                try:
                    return then(self._get(graph, keys, pool=_processes(_configured_threads())))
                except (
                    BrokenProcessPool
                ):  # a process died, perhaps for want of memory: start new ones next time
                    _processes.cache_clear()
                    raise
            return then(self._get(graph, keys))


def _joined_blocks(blocks: Sequence[Any]) -> Any:
    return module_of(blocks[0]).concatenate(blocks)


def joined(
    totals: Sequence[Total], keep: Sequence[RowBlocks], stage: str
) -> tuple[dict[Key, Any], list[Key]]:
    """One graph for a pass, and the keys of its results: totals first, then the kept blocks."""
    graph: dict[Key, Any] = {}
    keys = [total.key for total in totals]
    for total in totals:
        graph.update(total.graph)
    for rows in keep:
        layer, blocks = rows.keyed(stage)
        graph.update(layer)
        keys += blocks
    return graph, keys


def temporary_folder() -> str:
    """Where Dask is configured to put temporary files, else where the system does."""
    return str(dask.config.get("temporary-directory", None) or tempfile.gettempdir())


Finder = Callable[[], Runtime | None]
_finders: list[Finder] = []


def register(finder: Finder) -> None:
    """Add a function that returns a runtime when it knows a better one than the local schedulers."""
    _finders.append(finder)


def active_runtime() -> Runtime:
    """The runtime of the active Dask scheduler: a client if there is one, else a local scheduler."""
    for finder in _finders:
        found = finder()
        if found is not None:
            return found
    return LocalRuntime(dask.base.get_scheduler())


class _BlockProgress(Callback):
    """Counts the finished block tasks of one stage."""

    def __init__(self, reporter: Reporter, stage: str, total: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._reporter, self._stage, self._total, self._done = reporter, stage, total, 0

    def _posttask(self, key: Key, *_: Any) -> None:
        if _stage_of(key) == self._stage:
            self._done += 1
            self._reporter.emit(StageProgress(self._stage, self._done, self._total))


def _stage_of(key: Key) -> str:
    """The stage of a key, "nystrom-gram" for ("nystrom-gram-0f3a", 4); "" for other people's keys."""
    return key[0].rpartition("-")[0] if isinstance(key, tuple) and isinstance(key[0], str) else ""


def _configured_threads() -> int:
    configured = dask.config.get("num_workers", None)
    return int(configured) if configured else (os.cpu_count() or 1)


@cache
def _local_rate(threads: int) -> float:
    with single_blas_thread():
        return product_rate(threads)


@cache
def _processes(count: int) -> ProcessPoolExecutor:
    """Worker processes that serve every pass: Dask's own are started anew for each, which takes seconds."""
    context = multiprocessing.get_context(dask.config.get("multiprocessing.context", "spawn"))
    return ProcessPoolExecutor(count, mp_context=context, initializer=limit_for_good)
