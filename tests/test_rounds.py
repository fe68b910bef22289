"""Tests: graphs of groups of rounds: what they compute, with how many tasks, holding how much."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels import rounds
from daskkernels import rowblocks as rb
from daskkernels.grid import Grid

N = 3000
GRID = Grid(N, 1024)
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N, dtype="f8")


# a method that is trained in rounds and needs no kernel; a spec is a pair (first row, one past the last)
Spec = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Share:
    """Seen by `weakref`: how many live at a time."""

    total: float
    rows: np.ndarray


def share(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, before: Any, batch: Any, after: Spec, *, start: int
) -> Share:
    """The sum of all present weights, and the rows of the next round that are here."""
    weights = update(weights, before, start=start)
    low, high = (min(max(row - start, 0), len(X)) for row in after)
    return Share(float(weights.sum()), X[low:high] + y[low:high, None])


def merge(shares: Any) -> Share:
    return Share(sum(s.total for s in shares), np.concatenate([s.rows for s in shares]))


def local(batch: np.ndarray, first: int, stop: int, operand: float) -> np.ndarray:
    return operand * batch[first:stop].sum(axis=1)


def solve(share: Share, batch: Any, strips: Any, before: Any, operand: float) -> tuple[np.ndarray, int]:
    """Changes that depend on all the weights before and on every row; and how many rounds were solved."""
    change = np.concatenate(strips) + 1e-3 * share.total
    return change, (before if isinstance(before, int) else before[1]) + 1


def update(weights: np.ndarray, done: Any, *, start: int) -> np.ndarray:
    weights = weights.copy()
    for (low, high), (change, _) in done:
        a, b = max(low, start), min(high, start + len(weights))
        if a < b:
            weights[a - start : b - start] += change[a - low : b - low]
    return weights


WORK = rounds.RoundWork(
    share=share,
    merge=merge,
    batch=lambda share, after: share.rows,
    local=local,
    solve=solve,
    update=update,
    report=lambda solved: [count for _, count in solved],
    picked=lambda share, after: (after, share.rows),
)


def group(
    specs: list[Spec],
    after: Spec,
    *,
    n: int = N,
    grid: Grid = GRID,
    strip_rows: int = 100,
    work: rounds.RoundWork = WORK,
) -> rounds.GroupGraph:
    rows, low, high = np.resize(X, (n, 3)), *specs[0]
    first = rb.literal(rows[low:high] + np.arange(n)[low:high, None])
    return rounds.round_group(
        work,
        rb.from_memory(rows, grid),
        rb.from_memory(np.arange(n, dtype="f8"), grid),
        rb.from_memory(np.ones(n), grid),
        first,
        rb.literal(0),
        specs,
        after,
        sizes=[b - a for a, b in specs],
        strip_rows=strip_rows,
        name="toy",
        operands=[rb.literal(2.0)],
    )


def computed(graph: rounds.GroupGraph) -> tuple[Any, Any, np.ndarray]:
    layer, keys = graph.weights.keyed("toy")
    layer |= dict(graph.report.graph) | dict(graph.picked.graph)
    report, picked, *blocks = dask.get(layer, [graph.report.key, graph.picked.key, *keys])
    return report, picked, np.concatenate(blocks)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=5), st.integers(1, 700), st.integers(1, 4))
def test_rounds_follow_each_other(counts: list[int], strip_rows: int, tiles: int) -> None:
    """The same numbers as one round after another on whole arrays, for any grid, sizes and strips."""
    at = np.minimum(np.cumsum([0, *counts]), N)
    specs = [(int(a), int(b)) for a, b in pairwise(at) if a < b]
    report, picked, weights = computed(group(specs, (5, 7), grid=Grid(N, 512 * tiles), strip_rows=strip_rows))
    expected = np.ones(N)
    for low, high in specs:
        expected[low:high] += 2.0 * (X[low:high].sum(axis=1) + 3 * Y[low:high]) + 1e-3 * expected.sum()
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    assert report == list(range(1, len(specs) + 1))
    assert picked[0] == (5, 7)
    np.testing.assert_allclose(picked[1], X[5:7] + Y[5:7, None])


@pytest.mark.parametrize("blocks", [1, 4, 8, 32])
@pytest.mark.parametrize("rows", [1024, 8192])
def test_few_tasks(blocks: int, rows: int) -> None:
    """A round costs one task a block, a seventh of that to merge, and a few; a group one a block more."""
    grid = Grid(blocks * 1024, 1024)
    tasks = {}
    for count in (1, 5):
        specs = [(i, i + rows) for i in range(count)]
        graph = group(specs, (0, 3), n=grid.n_rows, grid=grid, strip_rows=-(-rows // 4))
        layer = dict(graph.weights.graph) | dict(graph.report.graph) | dict(graph.picked.graph)
        tasks[count] = len(layer)
    a_round = (tasks[5] - tasks[1]) / 4
    assert a_round <= blocks * 8 / 7 + 8
    assert blocks < 32 or a_round <= 1.5 * blocks
    assert tasks[1] - a_round <= blocks + 5


def test_keys_say_the_stage() -> None:
    graph = group([(0, 50), (50, 99)], (0, 3))
    names = {key[0] if isinstance(key, tuple) else key for key in graph.weights.graph}
    stages = {name.rpartition("-")[0] for name in names} - {"operand"}
    wanted = {f"toy-{stage}" for stage in ("predict", "predict-merge", "local", "solve", "rows", "update")}
    assert stages - {"toy-report"} == wanted


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("a block function was called while a graph was built")


def test_building_computes_nothing(no_compute: Any) -> None:
    work = rounds.RoundWork(*[refuse] * 8)
    lazy = rb.from_dask(da.from_array(X, chunks=(700, -1)).map_blocks(refuse, meta=X[:0]), GRID)
    with no_compute:
        group([(0, 10), (10, 20)], (0, 3), work=work)
        rounds.cross_rows(refuse, refuse, refuse, refuse, lazy, lazy, stage="s", columns=1, dtype="f8")
        rounds.inline(refuse, lazy, columns=1, dtype="f8")


class Counted:
    """The largest number of shares that lived at a time."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.alive, self.most = function, 0, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.function(*args, **kwargs)
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(result, self._gone)
        return result

    def _gone(self) -> None:
        self.alive -= 1


@pytest.mark.parametrize(
    "get", [dask.get, partial(dask.threaded.get, num_workers=2)], ids=["sync", "threads"]
)
def test_shares_are_merged_as_they_come(get: Any) -> None:
    """Of 64 blocks and 3 rounds: never more shares at a time than two branches of the tree hold."""
    grid, counted = Grid(64 * 1024, 1024), Counted(share)
    work = rounds.RoundWork(counted, merge, WORK.batch, local, solve, update, WORK.report, WORK.picked)
    graph = group([(0, 9), (9, 17), (17, 30)], (0, 3), n=grid.n_rows, grid=grid, work=work)
    gc.collect()
    get(dict(graph.report.graph), graph.report.key)
    assert counted.most <= 20
