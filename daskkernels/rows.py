"""Layer 3: every task graph of the library. Block functions run over the canonical row grid, one task a block
and pass.

Shares of blocks merge in a fixed tree of block numbers, so that any chunking, scheduler and number of workers
gives the same bits.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import DataNode, GraphNode, List, Task, TaskRef

from .finite import NonFiniteError
from .grid import Grid
from .xp import Array, module_of

Key = Any
Node = GraphNode | TaskRef
Graph = Mapping[Key, Any]

FAN_IN = 8  # shares merged by one task of the tree


@dataclass(frozen=True)
class RowBlocks:
    """A matrix (n, d) or vector (n,) in row blocks on a grid: one graph node a block, and the graph they
    refer to.

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
        graph, keys, name = dict(self.graph), [], _unique(stage)
        for i, node in enumerate(self.nodes):
            if not isinstance(node, TaskRef):
                graph[name, i] = Task((name, i), _same, node)
            keys.append(node.key if isinstance(node, TaskRef) else (name, i))
        return graph, keys

    def to_dask(self) -> da.Array:
        """The same rows as a lazy dask array with known chunks."""
        name = _unique("rows")
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


@dataclass(frozen=True)
class Total:
    """A value reduced from all blocks, not yet computed."""

    key: Key
    graph: Graph


def map_rows(
    function: Callable[..., Array],
    *arrays: RowBlocks,
    stage: str,
    columns: int | None,
    dtype: Any,
    operands: Sequence[Operand] = (),
    merge: int = 1,
) -> RowBlocks:
    """`function(*blocks, *operands)` for every block: rows in, rows out. `merge` neighbouring blocks become
    one.

    Merged blocks are made one after another inside one task, so that only the results are in memory together.
    """
    grid = arrays[0].grid
    calls = [_call(function, None, arrays, operands, i) for i in range(grid.n_blocks)]
    name, merged = _unique(stage), grid.merged(merge)
    layer: dict[Key, GraphNode] = {}
    for i in range(merged.n_blocks):
        group = calls[i * merge : (i + 1) * merge]
        layer[name, i] = Task((name, i), _stack, List(*group)) if merge > 1 else _named(group[0], (name, i))
    return RowBlocks(
        merged,
        columns,
        np.dtype(dtype),
        tuple(TaskRef(key) for key in layer),
        _merged_graph(arrays, operands) | layer,
    )


def reduce_rows(
    function: Callable[..., Any],
    *arrays: RowBlocks,
    combine: Callable[[Sequence[Any]], Any],
    stage: str,
    operands: Sequence[Operand] = (),
    numbered: bool = False,
) -> Total:
    """`function(*blocks, *operands)` for every block, then `combine` in a fixed tree of eight. Returns one
    value.

    With `numbered`, the function also gets `start`, the row number its block begins at.
    """
    grid, name = arrays[0].grid, _unique(stage)
    layer: dict[Key, GraphNode] = {}
    level: list[Key] = []
    for i in range(grid.n_blocks):
        numbering = {"start": grid.bounds(i)[0]} if numbered else {}
        bound = partial(function, **numbering) if numbering else function
        layer[name, i] = _call(bound, (name, i), arrays, operands, i)
        level.append((name, i))
    depth, tree = 0, _unique(f"{stage}-merge")
    while len(level) > 1 or depth == 0:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [(tree, depth, i) for i in range(len(groups))]
        for key, group in zip(level, groups, strict=True):
            layer[key] = Task(key, combine, List(*map(TaskRef, group)))
        depth += 1
    return Total(level[0], _merged_graph(arrays, operands) | layer)


def take_rows(rows: RowBlocks, indices: np.ndarray, *, stage: str = "take-rows") -> Total:
    """The rows with these numbers, in this order, as one matrix: one task for each block that holds any of
    them.
    """
    blocks = indices // rows.grid.block_rows
    name = _unique(stage)
    order = np.argsort(indices, kind="stable")
    layer: dict[Key, GraphNode] = {}
    for block in np.unique(blocks):
        local = indices[order[blocks[order] == block]] - rows.grid.bounds(int(block))[0]
        key = (name, int(block))
        layer[key] = Task(key, _take, rows.nodes[int(block)], local)
    parts = List(*map(TaskRef, list(layer)))
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    final = (_unique(f"{stage}-merge"), 0)
    return Total(final, {**rows.graph, **layer, final: Task(final, _take_stacked, parts, back)})


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
    nodes = [graph[key] for key in keys]
    if all(isinstance(node, Task) and not node.dependencies for node in nodes):
        return RowBlocks(grid, _columns(x), x.dtype, tuple(nodes))
    return RowBlocks(grid, _columns(x), x.dtype, tuple(map(TaskRef, keys)), graph)


def _renamed(graph: dict[Key, Any]) -> tuple[dict[Key, Any], dict[Key, Key]]:
    """The same tasks under keys of their own, and the new keys by old ones; data and futures keep theirs.

    Optimised tasks differ from those that the scheduler may know under the same key, which confuses it.
    """
    prefix = _unique("rows")
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


def as_blocks(rows: RowBlocks, values: Sequence[Any]) -> RowBlocks:
    """The same rows, computed."""
    return RowBlocks(rows.grid, rows.columns, rows.dtype, tuple(DataNode(None, value) for value in values))


def literal(value: Any) -> Operand:
    """A value that rides in the graph once and is referred to by key."""
    key = _unique("operand")
    return Operand(TaskRef(key), {key: DataNode(key, value)})


def _call(
    function: Callable[..., Any],
    key: Key,
    arrays: Sequence[RowBlocks],
    operands: Sequence[Operand],
    block: int,
) -> Task:
    """The task that runs a block function on block number `block` of every array."""
    start = arrays[0].grid.bounds(block)[0]
    blocks = [array.nodes[block] for array in arrays]
    return Task(key, _run_block, function, start, *blocks, *[operand.node for operand in operands])


def _named(task: Task, key: Key) -> Task:
    return Task(key, task.func, *task.args)


def _run_block(function: Callable[..., Any], start: int, *args: Any) -> Any:
    """Run a block function; a bad value it finds is reported by its row number in all the data."""
    try:
        return function(*args)
    except NonFiniteError as error:
        raise error.shifted(start) from None


def _stack(blocks: list[Array]) -> Array:
    return blocks[0] if len(blocks) == 1 else module_of(blocks[0]).concatenate(blocks)


def _take(block: Array, local: np.ndarray) -> Array:
    return block[local]


def _take_stacked(parts: list[Array], order: np.ndarray) -> Array:
    rows = _stack(parts)
    return module_of(rows).ascontiguousarray(rows[order])


def _same(block: Array) -> Array:
    return block


def _merged_graph(arrays: Sequence[RowBlocks], operands: Sequence[Operand]) -> dict[Key, Any]:
    graph: dict[Key, Any] = {}
    for array in arrays:
        graph.update(array.graph)
    for operand in operands:
        graph.update(operand.graph)
    return graph


def _unique(stage: str) -> str:
    """A key prefix that reads like the algorithm in the dashboard and never repeats."""
    return f"{stage}-{uuid.uuid4().hex[:16]}"
