"""Layer 3: the graph of a group of exact rounds. One task a block and round predicts for the round's rows and
picks the next round's rows out of the block while it is at hand.

The weights enter a group once, by block, and leave it once: in between only the changes of the rounds travel.
What of a round does not depend on the weights is computed while the round before it is still being solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Any

import numpy as np
from dask.task_spec import DataNode, GraphNode, List, Task, TaskRef

from .grid import Grid
from .rowblocks import Key, Operand, RowBlocks, unique
from .rows import Total, merge_tree, run_block


@dataclass(frozen=True)
class RoundWork:
    """The block functions of a method that is trained in rounds; a `spec` says which rows a round takes.

    share(X, y, weights, [(spec, solved), ...], batch, next spec or None, start=) -> share
    merge([share, ...]) -> share
    batch(share, next spec) -> batch: the rows picked for the next round, made ready
    local(batch, first, stop, *operands) -> strip: what rows `first` to `stop` need besides the weights
    solve(share, batch, [strip, ...], state or solved, *operands) -> solved
    update(weights, [(spec, solved), ...], start=) -> weights
    report([solved, ...]) -> what the client learns of the group
    picked(share, next spec) -> what the first batch of the next group is made of
    """

    share: Callable[..., Any]
    merge: Callable[[Sequence[Any]], Any]
    batch: Callable[..., Any]
    local: Callable[..., Any]
    solve: Callable[..., Any]
    update: Callable[..., Any]
    report: Callable[..., Any]
    picked: Callable[..., Any]


@dataclass(frozen=True)
class GroupGraph:
    """A group of rounds, not yet computed: its report, the rows to go on with, and the weights after it."""

    report: Total
    picked: Total
    weights: RowBlocks


def round_group(
    work: RoundWork,
    X: RowBlocks,
    y: RowBlocks,
    weights: RowBlocks,
    first: Operand,
    state: Operand,
    specs: Sequence[Any],
    after: Any,
    *,
    sizes: Sequence[int],
    strip_rows: int,
    name: str,
    operands: Sequence[Operand] = (),
    near: Callable[[int], Sequence[int]] | None = None,
) -> GroupGraph:
    """Rounds of these `specs` and `sizes`, begun with the batch `first`; then rows are picked for `after`.

    With `near`, the share of a block takes a list of the weights of the blocks that `near(block)` names.

    Tasks a round: one a block, a seventh of that to merge, two for the batch and its solution, and one for
    each `strip_rows` rows of the round. Tasks a group: one a block, and two.
    """
    layer: dict[Key, GraphNode] = {}
    if near is not None:  # each block is read by many: once for all of them
        read, keys = weights.keyed(f"{name}-read")
        weights = replace(weights, nodes=tuple(map(TaskRef, keys)), graph=read)
    for graph in (X.graph, y.graph, weights.graph, first.graph, state.graph, *(o.graph for o in operands)):
        layer.update(graph)
    extra = [operand.node for operand in operands]
    batch, previous = first.node, state.node
    solved: list[Key] = []
    for number, following in enumerate([*specs[1:], after]):
        before = _pairs(specs, solved)
        share = _predicted(work, X, y, weights, near, before, batch, following, name, layer)
        strips = _strips(work, batch, sizes[number], strip_rows, extra, name, layer)
        key, ready = unique(f"{name}-solve"), unique(f"{name}-rows")
        layer[key] = Task(key, work.solve, TaskRef(share), batch, strips, previous, *extra)
        make = work.picked if following is after else work.batch
        layer[ready] = Task(ready, make, TaskRef(share), following)
        solved.append(key)
        batch, previous = TaskRef(ready), TaskRef(key)
    report = unique(f"{name}-report")
    layer[report] = Task(report, work.report, List(*map(TaskRef, solved)))
    updated = _updated(work, weights, _pairs(specs, solved), name, layer)
    return GroupGraph(Total(report, layer), Total(ready, layer), updated)


def _pairs(specs: Sequence[Any], solved: Sequence[Key]) -> List:
    """What was done so far: each round's spec with its solution."""
    return List(*(List(DataNode(None, s), TaskRef(key)) for s, key in zip(specs, solved, strict=False)))


def _predicted(
    work: RoundWork,
    X: RowBlocks,
    y: RowBlocks,
    weights: RowBlocks,
    near: Callable[[int], Sequence[int]] | None,
    before: List,
    batch: Any,
    following: Any,
    name: str,
    layer: dict[Key, GraphNode],
) -> Key:
    """The pass of one round over all blocks; the key of the merged shares."""
    pass_name = unique(f"{name}-predict")
    shares: list[Key] = []
    for i, (start, _) in enumerate(X.grid):
        key = (pass_name, i)
        function = partial(work.share, start=start)
        taken = weights.nodes[i] if near is None else List(*(weights.nodes[j] for j in near(i)))
        layer[key] = Task(
            key, run_block, function, start, X.nodes[i], y.nodes[i], taken, before, batch, following
        )
        shares.append(key)
    return merge_tree(shares, work.merge, f"{name}-predict", layer).key


def _strips(
    work: RoundWork,
    batch: Any,
    size: int,
    strip_rows: int,
    extra: list[Any],
    name: str,
    layer: dict[Key, GraphNode],
) -> List:
    """The tasks of one round that need no weights."""
    strip_name = unique(f"{name}-local")
    for i, start in enumerate(range(0, size, strip_rows)):
        key = (strip_name, i)
        layer[key] = Task(key, work.local, batch, start, min(start + strip_rows, size), *extra)
    return List(*(TaskRef((strip_name, i)) for i in range(-(-size // strip_rows))))


def _updated(
    work: RoundWork, weights: RowBlocks, changes: List, name: str, layer: dict[Key, GraphNode]
) -> RowBlocks:
    """The weights of every block after all the rounds of the group."""
    update_name = unique(f"{name}-update")
    for i, (start, _) in enumerate(weights.grid):
        key = (update_name, i)
        layer[key] = Task(key, partial(work.update, start=start), weights.nodes[i], changes)
    nodes = tuple(TaskRef((update_name, i)) for i in range(weights.grid.n_blocks))
    return RowBlocks(weights.grid, weights.columns, weights.dtype, nodes, layer)


def paired(rows: RowBlocks, others: RowBlocks) -> RowBlocks:
    """Blocks that are pairs [block, other block] of two row blocks on one grid."""
    nodes = tuple(List(*pair) for pair in zip(rows.nodes, others.nodes, strict=True))
    return RowBlocks(rows.grid, None, np.dtype(object), nodes, {**rows.graph, **others.graph})


def grouped(rows: RowBlocks, merge: int) -> RowBlocks:
    """Blocks that are lists of `merge` neighbouring blocks: what belongs to a block of `cross_rows`."""
    grid = rows.grid.merged(merge)
    nodes = tuple(List(*rows.nodes[i * merge : (i + 1) * merge]) for i in range(grid.n_blocks))
    return RowBlocks(grid, None, np.dtype(object), nodes, rows.graph)


def split(rows: RowBlocks, grid: Grid) -> RowBlocks:
    """The same rows on a finer grid that divides their own, cut inside the tasks that use them."""
    if rows.grid == grid:
        return rows
    merge, step = rows.grid.block_rows // grid.block_rows, grid.block_rows
    nodes = tuple(
        Task(None, getitem, rows.nodes[i // merge], slice(i % merge * step, (i % merge + 1) * step))
        for i in range(grid.n_blocks)
    )
    return RowBlocks(grid, rows.columns, rows.dtype, nodes, rows.graph)


def near_rows(
    function: Callable[..., Any],
    rows: RowBlocks,
    near: Callable[[int], Sequence[int]],
    operand: Operand,
    *,
    stage: str,
) -> RowBlocks:
    """`function([block, ...], [start, ...], operand)` for every block, of those that `near(block)` names."""
    name = unique(stage)
    layer: dict[Key, GraphNode] = {**rows.graph, **operand.graph}
    for i in range(rows.grid.n_blocks):
        taken = list(near(i))
        starts = [rows.grid.bounds(j)[0] for j in taken]
        layer[name, i] = Task(
            (name, i), function, List(*(rows.nodes[j] for j in taken)), starts, operand.node
        )
    nodes = tuple(TaskRef((name, i)) for i in range(rows.grid.n_blocks))
    return RowBlocks(rows.grid, None, np.dtype(object), nodes, layer)


def cross_rows(
    function: Callable[..., Any],
    finish: Callable[..., Any],
    combine: Callable[[Sequence[Any]], Any],
    ready: Callable[..., Any],
    left: RowBlocks,
    *right: RowBlocks,
    stage: str,
    columns: int | None,
    dtype: Any,
    operands: Sequence[Operand] = (),
    at_least: int = 1,
) -> RowBlocks:
    """Every row of `left` against all of `right`: finish(combine(function(*right, ready(left)), ...)).

    Neighbouring blocks of `left` are taken together until they have `at_least` rows. Both sides stream: what
    is held at a time is a block of each and the share of one. `finish` gets the merged share and operands.
    """
    merge = max(1, -(-at_least // left.grid.block_rows))
    grid = left.grid.merged(merge)
    layer: dict[Key, GraphNode] = dict(left.graph)
    for graph in (*(rows.graph for rows in right), *(operand.graph for operand in operands)):
        layer.update(graph)
    names = unique(f"{stage}-rows"), unique(stage), unique(f"{stage}-finish")
    for i in range(grid.n_blocks):
        parts = List(*left.nodes[i * merge : (i + 1) * merge])
        layer[names[0], i] = Task((names[0], i), run_block, ready, grid.bounds(i)[0], parts)
        shares: list[Key] = []
        for j, (start, _) in enumerate(right[0].grid):
            key = (names[1], i, j)
            blocks = [rows.nodes[j] for rows in right]
            layer[key] = Task(key, run_block, function, start, *blocks, TaskRef((names[0], i)))
            shares.append(key)
        total = merge_tree(shares, combine, stage, layer)
        layer[names[2], i] = Task(
            (names[2], i), finish, TaskRef(total.key), *(operand.node for operand in operands)
        )
    nodes = tuple(TaskRef((names[2], i)) for i in range(grid.n_blocks))
    return RowBlocks(grid, columns, np.dtype(dtype), nodes, layer)


def inline(
    function: Callable[..., Any],
    rows: RowBlocks,
    *,
    columns: int | None,
    dtype: Any,
    operands: Sequence[Operand] = (),
    numbered: bool = False,
) -> RowBlocks:
    """`function(block, *operands)` of every block, inside the tasks that use it: for what is cheap.

    With `numbered`, the function also gets `start`, the row number its block begins at.
    """
    graph = dict(rows.graph)
    for operand in operands:
        graph.update(operand.graph)
    extra = [operand.node for operand in operands]
    nodes = tuple(
        Task(None, partial(function, start=start) if numbered else function, node, *extra)
        for node, (start, _) in zip(rows.nodes, rows.grid, strict=True)
    )
    return RowBlocks(rows.grid, columns, np.dtype(dtype), nodes, graph)
