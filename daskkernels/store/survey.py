"""Store layer: what has to be known of dask arrays before they are written, found in one pass over them.

That is the lengths of blocks whose size dask does not know, and the different labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef
from dask.typing import Key

from daskkernels.store.labels import distinct
from daskkernels.store.sources import Rows, on_host, refuse_sparse

Found = tuple[int, np.ndarray | None]  # rows of a block and its different labels


def run_blocks(name: str, tasks: Mapping[Key, Task], sources: Sequence[Any]) -> da.Array:
    """The results of these tasks, one object each, as a lazy array."""
    graph = HighLevelGraph.from_collections(name, dict(tasks), dependencies=sources)
    return da.Array(graph, name, ((1,) * len(tasks),), meta=np.empty(0, object))


def boxed(value: Any) -> np.ndarray:
    """One object as an array of one element, so that numpy does not look inside."""
    box = np.empty(1, object)
    box[0] = value
    return box


def known_lengths(X: Rows, y: Rows | None, *, classes: bool) -> tuple[Rows, Rows | None, list[np.ndarray]]:
    """X and y with known row blocks, and the different labels of the blocks of a dask `y` if `classes`."""
    jobs = [
        _survey(rows, labels, what) if isinstance(rows, da.Array) and (labels or _unknown(rows)) else None
        for rows, labels, what in ((X, False, "X"), (y, classes, "y"))
    ]
    done = iter(compute(*(job for job in jobs if job is not None)))
    found: list[list[Found] | None] = [None if job is None else list(next(done)) for job in jobs]
    X = X if found[0] is None else _with_lengths(X, found[0])
    if y is None or found[1] is None:
        return X, y, []
    labels = [label for _, label in found[1] if label is not None]
    return X, _with_lengths(y, found[1]), labels


def _unknown(rows: da.Array) -> bool:
    return bool(np.isnan(rows.shape[0]))


def _survey(rows: da.Array, labels: bool, what: str) -> da.Array:
    name = f"store-survey-{what}-{'labels' if labels else 'lengths'}-{rows.name}"
    starts = np.cumsum([0, *rows.chunks[0]])
    tasks: dict[Key, Task] = {}
    for index in range(rows.numblocks[0]):
        blocks = [(rows.name, index, *rest) for rest in np.ndindex(*rows.numblocks[1:])]
        first = 0 if np.isnan(starts[index]) else int(starts[index])
        tasks[name, index] = Task((name, index), _look, TaskRef(blocks[0]), first, labels, what)
    return run_blocks(name, tasks, [rows])


def _look(block: Any, first_row: int, labels: bool, what: str) -> np.ndarray:
    refuse_sparse(block, what)
    return boxed((len(block), distinct(on_host(block), first_row) if labels else None))


def _with_lengths(rows: Rows, found: list[Found]) -> da.Array:
    assert isinstance(rows, da.Array)
    lengths = tuple(int(length) for length, _ in found)
    chunks = (lengths, *rows.chunks[1:])
    return da.Array(rows.dask, rows.name, chunks, meta=rows)
