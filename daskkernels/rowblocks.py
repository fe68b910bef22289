"""Layer 3: `RowBlocks`, the form in which rows travel between layers, and how arrays become row blocks."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import getitem
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, GraphNode, Task, TaskRef

from .grid import Grid
from .xp import Array

Key = Any
Node = GraphNode | TaskRef
Graph = Mapping[Key, Any]


@dataclass(frozen=True)
class RowBlocks:
    """A matrix (n, d) or vector (n,) in row blocks on a grid: a graph node a block, and their graph.

    A node without dependencies, such as a read from a store, runs inside the task that uses it.
    """

    grid: Grid
    columns: int | None  # None: a vector
    dtype: np.dtype[Any]
    nodes: tuple[Node, ...]
    graph: Graph = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, d) or (n,)."""
        return (self.grid.n_rows,) if self.columns is None else (self.grid.n_rows, self.columns)

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks together."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def keyed(self, stage: str) -> tuple[dict[Key, Any], list[Key]]:
        """A graph in which every block has a key, and those keys in order."""
        graph, keys, name = dict(self.graph), [], unique(stage)
        for i, node in enumerate(self.nodes):
            if not isinstance(node, TaskRef):
                graph[name, i] = Task((name, i), _same, node)
            keys.append(node.key if isinstance(node, TaskRef) else (name, i))
        return graph, keys

    def to_dask(self) -> da.Array:
        """The same rows as a lazy dask array with known chunks."""
        name = unique("rows")
        tail = () if self.columns is None else (0,)
        layer = {(name, i, *tail): Task((name, i, *tail), _same, node) for i, node in enumerate(self.nodes)}
        chunks: tuple[tuple[int, ...], ...] = (self.grid.row_chunks,)
        if self.columns is not None:
            chunks += ((self.columns,),)
        meta = np.empty((0,) * len(chunks), self.dtype)
        return da.Array(
            HighLevelGraph({name: dict(self.graph) | layer}, {name: set()}), name, chunks, meta=meta
        )


@dataclass(frozen=True)
class Operand:
    """A small value that many tasks use: in the graph once, or held by the workers."""

    node: Node
    graph: Graph


def from_dask(x: da.Array, grid: Grid) -> RowBlocks:
    """A lazy dask array (n, d) or (n,) regrouped to a grid; nothing is computed."""
    chunks: tuple[Any, ...] = (grid.row_chunks,)
    if x.ndim == 2:
        chunks += ((x.shape[1],),)
    if x.chunks != chunks:
        x = x.rechunk(chunks)
    (x,) = dask.optimize(x)
    graph, names = _renamed(dict(x.__dask_graph__()))
    keys = [(x.name, i) if x.ndim == 1 else (x.name, i, 0) for i in range(grid.n_blocks)]
    keys = [names.get(key, key) for key in keys]
    tail = () if x.ndim == 1 else (int(x.shape[1]),)
    inline = all(isinstance(graph[key], Task) and not graph[key].dependencies for key in keys)
    nodes = tuple(
        Task(None, of_shape, graph[key] if inline else TaskRef(key), (stop - start, *tail), start)
        for key, (start, stop) in zip(keys, grid, strict=True)
    )
    return RowBlocks(grid, _columns(x), x.dtype, nodes, {} if inline else graph)


def of_shape(block: Array, shape: tuple[int, ...], start: int) -> Array:
    """The block itself, if it is what its dask array said it would be. Raises ValueError."""
    if block.shape != shape:
        raise ValueError(
            f"X: the rows from {start} on were declared as a block {shape}, and came as {block.shape}"
        )
    if isinstance(block, np.ma.MaskedArray):
        raise TypeError(f"X: the rows from {start} on are a masked array: fill the masked values")
    return block


def _renamed(graph: dict[Key, Any]) -> tuple[dict[Key, Any], dict[Key, Key]]:
    """The same tasks under keys of their own, and the new keys by old ones; data and futures keep theirs.

    Optimised tasks differ from those that the scheduler may know under the same key, which confuses it.
    """
    prefix = unique("rows")
    tasks = [
        key for key, node in graph.items() if isinstance(node, GraphNode) and not isinstance(node, DataNode)
    ]
    names = {key: (prefix, i) for i, key in enumerate(tasks)}
    renamed = {
        names.get(key, key): node.substitute(names, key=names[key]) if key in names else node
        for key, node in graph.items()
    }
    return renamed, names


def _columns(x: Any) -> int | None:
    return None if x.ndim == 1 else int(x.shape[1])


def from_memory(x: Array, grid: Grid) -> RowBlocks:
    """Views of an array in this process, for schedulers that run in it."""
    nodes = tuple(DataNode(None, x[start:stop]) for start, stop in grid)
    return RowBlocks(grid, _columns(x), x.dtype, nodes)


def absent(grid: Grid) -> RowBlocks:
    """Blocks of None, for an optional vector (such as weights) that is not given."""
    return RowBlocks(grid, None, np.dtype(object), (DataNode(None, None),) * grid.n_blocks)


def cut(rows: RowBlocks, grid: Grid) -> RowBlocks:
    """The same rows on a finer grid, each of whose blocks lies in one block of theirs."""
    nodes = []
    for start, stop in grid:
        block = start // rows.grid.block_rows
        first = rows.grid.bounds(block)[0]
        nodes.append(Task(None, getitem, rows.nodes[block], slice(start - first, stop - first)))
    return RowBlocks(grid, rows.columns, rows.dtype, tuple(nodes), rows.graph)


def as_blocks(rows: RowBlocks, values: Sequence[Any]) -> RowBlocks:
    """The same rows, computed."""
    return RowBlocks(rows.grid, rows.columns, rows.dtype, tuple(DataNode(None, value) for value in values))


def zeros(grid: Grid, columns: int, dtype: Any) -> RowBlocks:
    """Blocks of zeros (b, columns), made inside the tasks that use them."""
    nodes = tuple(Task(None, np.zeros, (stop - start, columns), np.dtype(dtype)) for start, stop in grid)
    return RowBlocks(grid, columns, np.dtype(dtype), nodes)


def made(
    function: Callable[..., Array], grid: Grid, *others: RowBlocks, columns: int | None, dtype: Any
) -> RowBlocks:
    """Blocks `function(*other blocks, start=, stop=)`, made of row numbers inside the tasks that use them."""
    nodes = tuple(
        Task(None, partial(function, start=start, stop=stop), *(other.nodes[i] for other in others))
        for i, (start, stop) in enumerate(grid)
    )
    graph = {key: node for other in others for key, node in other.graph.items()}
    return RowBlocks(grid, columns, np.dtype(dtype), nodes, graph)


def literal(value: Any) -> Operand:
    """A value that rides in the graph once and is referred to by key."""
    key = unique("operand")
    return Operand(TaskRef(key), {key: DataNode(key, value)})


def _same(block: Array) -> Array:
    return block


def unique(stage: str) -> str:
    """A key prefix that reads like the algorithm in the dashboard and never repeats."""
    return f"{stage}-{uuid.uuid4().hex[:16]}"
