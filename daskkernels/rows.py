"""Layer 3: every task graph of the library. Block functions run over the canonical row grid, one task a block
and pass.

Shares of blocks merge in a fixed tree of block numbers, so that any chunking, scheduler and number of workers
gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import Any

import numpy as np
from dask.task_spec import DataNode, GraphNode, List, Task, TaskRef

from .finite import NonFiniteError
from .grid import Grid
from .rowblocks import Graph, Key, Operand, RowBlocks, of_shape, unique
from .xp import Array, module_of

FAN_IN = 8  # shares merged by one task of the tree


@dataclass(frozen=True)
class Total:
    """A value reduced from all blocks, not yet computed."""

    key: Key
    graph: Graph

    def operand(self) -> Operand:
        """The value for other tasks of the same graph."""
        return Operand(TaskRef(self.key), self.graph)


def map_rows(
    function: Callable[..., Array],
    *arrays: RowBlocks,
    stage: str,
    columns: int | None,
    dtype: Any,
    operands: Sequence[Operand] = (),
    merge: int = 1,
) -> RowBlocks:
    """`function(*blocks, *operands)` for every block: rows in, rows out.

    `merge` neighbouring blocks become one: they are made one after another inside one task, so that only the
    results are in memory together.
    """
    grid = arrays[0].grid
    calls = [_call(function, None, arrays, operands, i) for i in range(grid.n_blocks)]
    name, merged = unique(stage), grid.merged(merge)
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
    """One value: `function(*blocks, *operands)` for every block, then `combine` in a fixed tree of eight.

    With `numbered`, the function also gets `start`, the row number its block begins at.
    """
    grid, name = arrays[0].grid, unique(stage)
    layer: dict[Key, GraphNode] = {}
    for i in range(grid.n_blocks):
        bound = partial(function, start=grid.bounds(i)[0]) if numbered else function
        layer[name, i] = _call(bound, (name, i), arrays, operands, i)
    return merge_tree(list(layer), combine, stage, _merged_graph(arrays, operands) | layer)


def map_reduce_rows(
    make: Callable[..., Array],
    share: Callable[..., Any],
    rows: RowBlocks,
    *others: RowBlocks,
    combine: Callable[[Sequence[Any]], Any],
    stage: str,
    kept: str,
    columns: int | None,
    dtype: Any,
    make_operands: Sequence[Operand],
    share_operands: Sequence[Operand],
    ahead: int = 0,
) -> tuple[RowBlocks, Total]:
    """Blocks `make(block, *make_operands)`, whose keys are named `kept`, and the merged shares
    `share(made, block, *other blocks, *share_operands)`.

    One task does both, while the made block is in the cache; for the first `ahead` blocks it takes two, so
    that they are made while the operands of `share` are not ready yet.
    """
    name, rows_name, share_name = unique(stage), unique(kept), unique(f"{stage}-share")
    makers, sharers = [o.node for o in make_operands], [o.node for o in share_operands]
    layer: dict[Key, GraphNode] = {}
    for i, (start, _) in enumerate(rows.grid):
        block, sides = rows.nodes[i], [other.nodes[i] for other in others]
        if i < ahead:
            made, shared = (rows_name, i), (name, i)
            layer[made] = Task(made, run_block, make, start, block, *makers)
            layer[shared] = Task(shared, run_block, share, start, TaskRef(made), block, *sides, *sharers)
        else:
            both, made, shared = (name, i), (rows_name, i), (share_name, i)
            function = partial(_make_and_share, make, share, len(makers))
            layer[both] = Task(both, run_block, function, start, block, *makers, *sides, *sharers)
            layer[made] = Task(made, getitem, TaskRef(both), 0)
            layer[shared] = Task(shared, getitem, TaskRef(both), 1)
    graph = _merged_graph((rows, *others), (*make_operands, *share_operands)) | layer
    nodes = tuple(TaskRef((rows_name, i)) for i in range(rows.grid.n_blocks))
    shares = [(name if i < ahead else share_name, i) for i in range(rows.grid.n_blocks)]
    made_rows = RowBlocks(rows.grid, columns, np.dtype(dtype), nodes, graph)
    return made_rows, merge_tree(shares, combine, stage, graph)


def _make_and_share(
    make: Callable[..., Array], share: Callable[..., Any], makers: int, block: Array, *operands: Any
) -> tuple[Array, Any]:
    made = make(block, *operands[:makers])
    return made, share(made, block, *operands[makers:])


def merge_tree(
    level: list[Key], combine: Callable[[Sequence[Any]], Any], stage: str, graph: dict[Key, Any]
) -> Total:
    """The tasks that merge shares in a fixed tree, added to the graph."""
    depth, tree = 0, unique(f"{stage}-merge")
    while len(level) > 1 or depth == 0:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [(tree, depth, i) for i in range(len(groups))]
        for key, group in zip(level, groups, strict=True):
            graph[key] = Task(key, combine, List(*map(TaskRef, group)))
        depth += 1
    return Total(level[0], graph)


def each(
    function: Callable[..., Any], items: Sequence[Any], operands: Sequence[Operand], *, stage: str
) -> list[Total]:
    """`function(item, *operands)` for every item: small work that does not go by rows."""
    graph = _merged_graph((), operands)
    name = unique(stage)
    for i, item in enumerate(items):
        graph[name, i] = Task((name, i), function, DataNode(None, item), *(o.node for o in operands))
    return [Total((name, i), graph) for i in range(len(items))]


def take_rows(rows: RowBlocks, indices: np.ndarray, *, stage: str = "take-rows") -> Total:
    """The rows with these numbers, in this order, as one matrix: a task for each block that holds some."""
    blocks = indices // rows.grid.block_rows
    name = unique(stage)
    order = np.argsort(indices, kind="stable")
    layer: dict[Key, GraphNode] = {}
    for block in np.unique(blocks):
        local = indices[order[blocks[order] == block]] - rows.grid.bounds(int(block))[0]
        key = (name, int(block))
        layer[key] = Task(key, _take, rows.nodes[int(block)], local)
    parts = List(*map(TaskRef, list(layer)))
    back = np.empty_like(order)
    back[order] = np.arange(order.size)
    final = (unique(f"{stage}-merge"), 0)
    return Total(final, {**rows.graph, **layer, final: Task(final, _take_stacked, parts, back)})


def taken_rows(rows: RowBlocks, indices: np.ndarray, grid: Grid, *, stage: str) -> RowBlocks:
    """The rows with these numbers as row blocks on a grid; cheap where the numbers ascend."""
    parts = [take_rows(rows, indices[start:stop], stage=stage) for start, stop in grid]
    graph = {key: node for part in parts for key, node in part.graph.items()}
    return RowBlocks(grid, rows.columns, rows.dtype, tuple(TaskRef(part.key) for part in parts), graph)


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
    return Task(key, run_block, function, start, *blocks, *[operand.node for operand in operands])


def _named(task: Task, key: Key) -> Task:
    return Task(key, task.func, *task.args)


def run_block(function: Callable[..., Any], start: int, *args: Any) -> Any:
    """Run a block function; a bad value it finds is reported by its row number in all the data."""
    try:
        return function(*args)
    except NonFiniteError as error:
        raise error.shifted(start) from None


def first_row(node: Any) -> int | None:
    """The number of the first row that a task of these graphs works on, None where it says none."""
    if not isinstance(node, Task):
        return None
    if node.func is run_block:
        return int(node.args[1])
    if isinstance(node.func, partial) and "start" in node.func.keywords:
        return int(node.func.keywords["start"])
    if node.func is of_shape:
        return int(node.args[2])
    return min((row for part in node.args if (row := first_row(part)) is not None), default=None)


def _stack(blocks: list[Array]) -> Array:
    return blocks[0] if len(blocks) == 1 else module_of(blocks[0]).concatenate(blocks)


def _take(block: Array, local: np.ndarray) -> Array:
    return block[local]


def _take_stacked(parts: list[Array], order: np.ndarray) -> Array:
    rows = _stack(parts)
    return module_of(rows).ascontiguousarray(rows[order])


def _merged_graph(arrays: Sequence[RowBlocks], operands: Sequence[Operand]) -> dict[Key, Any]:
    graph: dict[Key, Any] = {}
    for array in arrays:
        graph.update(array.graph)
    for operand in operands:
        graph.update(operand.graph)
    return graph
