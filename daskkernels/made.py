"""Graph layer: data that is made where it is needed, one task a working block, instead of being read.

The rows are those of a function of their numbers, so they are the same for any block size, worker and order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task, TaskRef
from dask.tokenize import tokenize
from dask.typing import Key

from .grid import Grid

Make = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


def made_rows(
    make: Make, n_rows: int, n_features: int, dtype: Any, label_dtype: Any = np.int32
) -> tuple[da.Array, da.Array]:
    """X (n_rows, n_features) and y (n_rows,) as lazy arrays in the working blocks of the canonical grid.

    `make(start, stop)` returns the rows `start` to `stop` of both; it travels to the workers with every task,
    so it should be small: a function of a module, bound to a few numbers.
    """
    kinds = (np.dtype(dtype), np.dtype(label_dtype))
    lengths = Grid.canonical(n_rows, n_features, kinds[0].itemsize).row_chunks
    name = f"made-{tokenize(make, n_rows, n_features, kinds)}"
    layers: list[dict[Key, Task]] = [{}, {}, {}]  # the blocks, and the two halves of each
    start = 0
    for block, length in enumerate(lengths):
        key: Key = (name, block)
        layers[0][key] = Task(key, _checked, make, start, start + length, n_features, kinds)
        for half, tail in enumerate(((0,), ())):
            part: Key = (f"{name}-{'Xy'[half]}", block, *tail)
            layers[1 + half][part] = Task(part, _half, TaskRef(key), half)
        start += length
    names = [name, f"{name}-X", f"{name}-y"]
    graph = HighLevelGraph(
        dict(zip(names, layers, strict=True)), {names[0]: set(), names[1]: {name}, names[2]: {name}}
    )
    X = da.Array(graph, names[1], (lengths, (n_features,)), meta=np.empty((0, 0), kinds[0]))
    return X, da.Array(graph, names[2], (lengths,), meta=np.empty(0, kinds[1]))


def _checked(make: Make, start: int, stop: int, n_features: int, kinds: tuple[Any, Any]) -> tuple[Any, Any]:
    """One block; a function that breaks its word is told so here, not by whoever reads the rows."""
    X, y = make(start, stop)
    found = (X.shape, X.dtype), (y.shape, y.dtype)
    wanted = ((stop - start, n_features), kinds[0]), ((stop - start,), kinds[1])
    if found != wanted:
        raise ValueError(f"rows {start} to {stop} were made as {found}, wanted {wanted}")
    return X, y


def _half(block: tuple[Any, Any], half: int) -> Any:
    return block[half]
