"""Tests: all rows of one side against all rows of the other, streamed; and functions inside other tasks."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback
from hypothesis import given, settings
from hypothesis import strategies as st

from daskkernels import rounds
from daskkernels import rowblocks as rb
from daskkernels.finite import NonFiniteError
from daskkernels.grid import Grid

N = 3000
GRID = Grid(N, 1024)
X = np.random.default_rng(0).normal(size=(N, 3))
Y = np.arange(N, dtype="f8")


def cuts(n: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, n), max_size=6).map(
        lambda c: tuple(np.diff([0, *sorted(c), n]).tolist())  # zero-row chunks included
    )


def against(left: np.ndarray, weights: np.ndarray, ready: np.ndarray) -> np.ndarray:
    return np.cosh(0.3 * ready @ left.T) @ weights


def stacked(parts: list[np.ndarray], *, unit: float = 1.0) -> np.ndarray:
    return np.concatenate(parts) * unit


def crossed(left: Any, right: Any, W: Any, at_least: int = 1) -> rb.RowBlocks:
    return rounds.cross_rows(
        against,
        lambda total, factor: total * factor,
        lambda parts: np.sum(parts, axis=0),
        stacked,
        left,
        right,
        W,
        stage="cross",
        columns=2,
        dtype="f8",
        operands=[rb.literal(3.0)],
        at_least=at_least,
    )


NEW, WEIGHTS = X[:1500] + 0.1, np.c_[Y, 1 - Y] / N
EXPECTED = 3 * np.cosh(0.3 * NEW @ X.T) @ WEIGHTS


@settings(max_examples=10)
@given(cuts(1500), cuts(N), st.sampled_from([1, 512, 513, 1100, 4000]))
def test_rows_against_rows(left: tuple[int, ...], right: tuple[int, ...], at_least: int) -> None:
    """The whole product, whatever the chunks of both sides and however many blocks are taken together."""
    rows = rb.from_dask(da.from_array(NEW).rechunk((left, 3)), Grid(1500, 512))
    centers = rb.from_dask(da.from_array(X).rechunk((right, 3)), GRID)
    weights = rb.from_dask(da.from_array(WEIGHTS).rechunk((right, 2)), GRID)
    made = crossed(rows, centers, weights, at_least)
    assert made.shape == (1500, 2)
    assert made.grid.block_rows >= min(at_least, 1500)
    graph, keys = made.keyed("cross")
    found = np.concatenate(dask.get(graph, keys))
    np.testing.assert_allclose(found, EXPECTED, rtol=1e-12)
    if at_least == 1:  # and by parts, as a dask array
        np.testing.assert_array_equal(made.to_dask()[700:710].compute(scheduler="sync"), found[700:710])


class Running(Callback):
    """The largest number of results of one stage that a scheduler held at a time."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self.stage, self.most = stage, 0

    def _posttask(self, key: Any, value: Any, graph: Any, state: Any, worker: Any) -> None:
        held = [k for k in state["cache"] if isinstance(k, tuple) and k[0].rpartition("-")[0] == self.stage]
        self.most = max(self.most, len(held))


def test_nothing_of_all_pairs_is_held() -> None:
    """32 blocks against 32: a branch of shares and of readied rows at a time, not 1024, not 32 of a row."""
    grid = Grid(32 * 64, 64)
    rows = rb.from_memory(np.resize(X, (grid.n_rows, 3)), grid)
    W = rb.from_memory(np.ones((grid.n_rows, 2)), grid)
    graph, keys = crossed(rows, rows, W).keyed("cross")
    for stage, most in (("cross", 20), ("cross-rows", 4), ("cross-merge", 10)):
        with Running(stage) as running:
            dask.threaded.get(graph, keys, num_workers=2)
        assert 0 < running.most <= most, (stage, running.most)


def test_bad_rows_of_either_side_are_named() -> None:
    """By their number in all the data."""

    def check(part: np.ndarray, *_: Any) -> Any:
        raise NonFiniteError(3)

    rows = rb.from_memory(X, GRID)
    for functions in ((check, stacked), (against, lambda parts: check(parts[0]))):
        made = rounds.cross_rows(
            functions[0], np.copy, sum, functions[1], rows, rows, rows, stage="s", columns=2, dtype="f8"
        )
        graph, keys = made.keyed("s")
        with pytest.raises(NonFiniteError, match="row 2051"):
            dask.get(graph, keys[2] if functions[0] is not check else graph_key(graph, "s", 2))


def graph_key(graph: Any, stage: str, block: int) -> Any:
    """A task of one stage and block of the right side."""
    return next(
        key
        for key in graph
        if isinstance(key, tuple)
        and len(key) == 3
        and key[0].startswith(f"{stage}-")
        and key[2] == block
        and "merge" not in key[0]
    )


def test_inlined_functions_add_no_tasks() -> None:
    rows, factor = rb.from_memory(X, GRID), rb.literal(2.0)
    made = rounds.inline(np.multiply, rows, columns=3, dtype="f8", operands=[factor])
    assert set(made.graph) == set(factor.graph)
    numbered = rounds.inline(
        lambda block, *, start: np.arange(start, start + len(block)),
        made,
        columns=None,
        dtype="i8",
        numbered=True,
    )
    assert numbered.shape == (N,)
    for rows_made, expected in ((made, 2 * X), (numbered, np.arange(N))):
        graph, keys = rows_made.keyed("t")
        np.testing.assert_array_equal(np.concatenate(dask.get(graph, keys)), expected)
