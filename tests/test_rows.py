"""Tests: graphs over the row grid: any chunking gives the same blocks, few tasks, nothing computed early."""

from __future__ import annotations

import operator
import time
from collections import Counter
from functools import partial, reduce
from typing import Any

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from dask.optimization import cull
from hypothesis import given
from hypothesis import strategies as st

from daskkernels import rowblocks as rb
from daskkernels import rows as r
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid

N = 3000
GRID = Grid(N, 1024)
X = np.random.default_rng(0).normal(size=(N, 4))
v = np.arange(N)


def value(total: r.Total) -> Any:
    return dask.get(dict(total.graph), total.key)


def dense(rows: rb.RowBlocks) -> np.ndarray:
    graph, keys = rows.keyed("test")
    return np.concatenate(dask.get(graph, keys))


def stages(graph: Any) -> Counter[str]:
    """How many tasks of each stage; Dask's own names as they are."""
    return Counter(key[0].rpartition("-")[0] for key in graph if isinstance(key, tuple))


class Ran(Callback):
    """The keys of all tasks that ran."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[Any] = []

    def _posttask(self, key: Any, *_: Any) -> None:
        self.keys.append(key)


def column_sums(block: np.ndarray, *others: Any) -> np.ndarray:
    return block.sum(axis=0)


def added(parts: Any) -> Any:
    return reduce(operator.add, parts)


cuts = st.lists(st.integers(0, N), max_size=7).map(
    lambda c: tuple(np.diff([0, *sorted(c), N]).tolist())  # zero-row chunks included
)


@given(cuts, st.sampled_from([1, 3, 4]))
def test_any_chunks_become_the_grid(chunks: tuple[int, ...], columns: int) -> None:
    rows = rb.from_dask(da.from_array(X, chunks=(1000, -1)).rechunk((chunks, columns)), GRID)
    assert (rows.shape, rows.dtype, rows.nbytes) == (X.shape, X.dtype, X.nbytes)
    np.testing.assert_array_equal(dense(rows), X)
    vector = rb.from_dask(da.from_array(v, chunks=(chunks,)), GRID)
    assert vector.shape == (N,)
    np.testing.assert_array_equal(dense(vector), v)


def test_empty_chunks_alone() -> None:
    lazy = da.concatenate([da.zeros((0, 4)), da.from_array(X), da.zeros((0, 4))])
    np.testing.assert_array_equal(dense(rb.from_dask(lazy, GRID)), X)


def test_one_row() -> None:
    rows = rb.from_dask(da.from_array(X[:1]), Grid(1, 1024))
    total = r.reduce_rows(column_sums, rows, combine=added, stage="s")
    np.testing.assert_array_equal(value(total), X[0])


@pytest.mark.parametrize("merge", [1, 2, 3, 10])
def test_map(merge: int) -> None:
    rows, factor = rb.from_memory(X, GRID), rb.literal(3.0)
    made = r.map_rows(
        np.multiply, rows, operands=[factor], stage="tripled", columns=4, dtype="f8", merge=merge
    )
    assert made.grid == GRID.merged(merge)
    np.testing.assert_array_equal(dense(made), 3 * X)
    lazy = made.to_dask()
    assert lazy.chunks == (made.grid.row_chunks, (4,))
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), 3 * X)
    np.testing.assert_array_equal(lazy[5:2000:7, 1].compute(scheduler="sync"), 3 * X[5:2000:7, 1])


def test_maps_of_maps_and_vectors() -> None:
    rows, vector = rb.from_memory(X, GRID), rb.from_dask(da.from_array(v, chunks=700), GRID)
    scaled = r.map_rows(lambda x, w: x * w[:, None], rows, vector, stage="a", columns=4, dtype="f8")
    first = r.map_rows(lambda x: x[:, 0], scaled, stage="b", columns=None, dtype="f8")
    np.testing.assert_array_equal(first.to_dask().compute(scheduler="sync"), X[:, 0] * v)
    total = r.reduce_rows(lambda x, a: float(x @ a), first, vector, combine=sum, stage="c")
    assert value(total) == pytest.approx(float(X[:, 0] * v @ v))


def test_an_absent_vector_is_none() -> None:
    rows = rb.from_memory(X, GRID)
    total = r.reduce_rows(lambda x, w: [w], rows, rb.absent(GRID), combine=added, stage="s")
    assert value(total) == [None] * GRID.n_blocks


@pytest.mark.parametrize("blocks", [1, 2, 7, 8, 9, 64, 65, 100])
def test_the_tree_is_fixed_and_in_order(blocks: int) -> None:
    grid = Grid(blocks, 1)
    rows = rb.from_memory(np.arange(blocks)[:, None], grid)

    def bracket(parts: list[str]) -> str:
        assert 1 <= len(parts) <= r.FAN_IN
        return f"({' '.join(parts)})"

    total = r.reduce_rows(lambda b: str(int(b[0, 0])), rows, combine=bracket, stage="s")
    text = value(total)
    assert [int(t) for t in text.replace("(", " ").replace(")", " ").split()] == list(range(blocks))
    assert text == value(r.reduce_rows(lambda b: str(int(b[0, 0])), rows, combine=bracket, stage="s"))
    assert stages(total.graph)["s"] == blocks
    level, merges = -(-blocks // r.FAN_IN), 0
    while merges == 0 or level > 0:
        merges += level
        level = -(-level // r.FAN_IN) if level > 1 else 0
    assert stages(total.graph)["s-merge"] == merges


def test_numbered_blocks_know_their_first_row() -> None:
    rows = rb.from_memory(X, GRID)
    total = r.reduce_rows(lambda b, *, start: [start], rows, combine=added, stage="s", numbered=True)
    assert value(total) == [0, 1024, 2048]


def test_errors_name_the_row_of_the_whole_table() -> None:
    def fail(block: np.ndarray, limit: int = 2500) -> np.ndarray:
        if (block > limit).any():
            raise NonFiniteError(int((block > limit).argmax()))
        return block

    vector = rb.from_memory(v, GRID)
    for merge in (1, 3):
        made = r.map_rows(fail, vector, stage="s", columns=None, dtype="i8", merge=merge)
        again = r.map_rows(np.negative, made, stage="t", columns=None, dtype="i8")
        with pytest.raises(NonFiniteError, match="row 2501"):
            dense(again)
    with pytest.raises(NonFiniteError, match="row 2501"):
        value(r.reduce_rows(fail, vector, combine=added, stage="s"))


@given(st.lists(st.integers(0, N - 1), min_size=1, max_size=40), cuts)
def test_take(indices: list[int], chunks: tuple[int, ...]) -> None:
    """Any order, with repetitions."""
    wanted = np.array(indices)
    lazy = rb.from_dask(da.from_array(X).rechunk((chunks, -1)), GRID)
    for rows in (lazy, rb.from_memory(X, GRID)):
        np.testing.assert_array_equal(value(r.take_rows(rows, wanted)), X[wanted])


def huge(chunk: int) -> tuple[rb.RowBlocks, Grid]:
    grid = Grid.canonical(10**6, 4, 8)
    lazy = da.random.default_rng(0).normal(size=(10**6, 4), chunks=(chunk or grid.block_rows, -1))
    return rb.from_dask(lazy, grid), grid


@pytest.mark.parametrize("count", [1, 5, 400])
def test_taking_rows_touches_their_blocks_only(count: int) -> None:
    rows, grid = huge(0)
    indices = np.linspace(0, 10**6 - 1, count).astype(int)
    touched = len(np.unique(indices // grid.block_rows))
    total = r.take_rows(rows, indices)
    assert len(total.graph) <= touched + 1


@pytest.mark.parametrize("count", [1, 5, 400])
def test_taking_rows_of_odd_chunks(count: int) -> None:
    """1000 chunks regrouped to 32 blocks: what runs is the chunks of the touched blocks, one join each."""
    started = time.perf_counter()
    rows, grid = huge(1000)
    indices = np.linspace(0, 10**6 - 1, count).astype(int)
    total = r.take_rows(rows, indices)
    assert time.perf_counter() - started < 10  # it takes 0.1 s
    touched = len(np.unique(indices // grid.block_rows))
    graph, _ = cull(dict(total.graph), [total.key])
    chunks_of_a_block = grid.block_rows // 1000 + 2
    assert len(graph) <= touched * (chunks_of_a_block + 4) + 1
    if count == 1:
        with Ran() as ran:
            value(total)
        assert len(ran.keys) == len(graph)


def test_a_pass_is_one_task_a_block() -> None:
    """Reads without dependencies run inside the task that uses them."""
    rows, grid = huge(0)
    assert not rows.graph
    operand = rb.literal(np.zeros(4))
    columns = r.map_rows(np.add, rows, operands=[operand], stage="nystrom-columns", columns=4, dtype="f8")
    total = r.reduce_rows(column_sums, columns, combine=added, operands=[operand], stage="nystrom-gram")
    counts = stages(total.graph)
    assert set(counts) == {"nystrom-columns", "nystrom-gram", "nystrom-gram-merge"}
    assert counts["nystrom-columns"] == counts["nystrom-gram"] == grid.n_blocks == 32
    assert counts["nystrom-gram-merge"] == 5
    assert len(total.graph) == 32 + 32 + 5 + 1


def test_an_operand_is_in_the_graph_once() -> None:
    class Big:
        copies = 0

        def __reduce__(self) -> Any:
            Big.copies += 1
            return (int, ())

    operand = rb.literal(Big())
    rows = rb.from_memory(X, GRID)
    total = r.reduce_rows(column_sums, rows, operands=[operand], combine=added, stage="s")
    cloudpickle.dumps(dict(total.graph))
    assert Big.copies == 1


def test_names_never_repeat() -> None:
    rows = rb.from_memory(X, GRID)
    make = partial(r.reduce_rows, column_sums, rows, combine=added, stage="s")
    assert not set(make().graph) & set(make().graph)


def test_nothing_computes_while_graphs_are_built(no_compute: Any) -> None:
    lazy = da.from_array(X, chunks=(700, 3))
    with no_compute:
        rows = rb.from_dask(lazy, GRID)
        made = r.map_rows(np.negative, rows, stage="a", columns=4, dtype="f8", merge=2)
        r.reduce_rows(column_sums, made, combine=added, stage="b")
        r.take_rows(made, np.array([5, 2999]))
        again = made.to_dask()
    np.testing.assert_array_equal(again.compute(), -X)


def test_computed_rows_are_their_values() -> None:
    rows = rb.from_memory(X, GRID)
    graph, keys = rows.keyed("s")
    kept = rb.as_blocks(rows, dask.get(graph, keys))
    np.testing.assert_array_equal(dense(kept), X)
    assert kept.grid == rows.grid


def test_memory_is_not_copied() -> None:
    rows = rb.from_memory(X, GRID)
    graph, keys = rows.keyed("s")
    assert all(np.shares_memory(block, X) for block in dask.get(graph, keys))
