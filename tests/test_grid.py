"""Tests: the canonical row grid: boundaries follow from shape and type alone; Zarr chunks divide blocks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskkernels.grid import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    MOST_CHUNK_BYTES,
    TILE_ROWS,
    Grid,
    block_rows,
    chunk_rows,
)

shapes = st.tuples(st.integers(1, 10**9), st.integers(1, 5000), st.sampled_from([1, 2, 4, 8]))


@given(shapes)
def test_blocks_are_whole_tiles_of_bounded_size(shape: tuple[int, int, int]) -> None:
    n, d, itemsize = shape
    rows = block_rows(n, d, itemsize)
    assert rows >= TILE_ROWS
    assert rows % TILE_ROWS == 0
    assert rows == TILE_ROWS or rows * d * itemsize <= BLOCK_BYTES
    if n >= 32 * TILE_ROWS:
        assert -(-n // rows) > 16, "too few blocks for the cores of a small machine"


@given(shapes)
def test_chunks_divide_blocks(shape: tuple[int, int, int]) -> None:
    n, d, itemsize = shape
    chunk = chunk_rows(n, d, itemsize)
    assert chunk % TILE_ROWS == 0 or TILE_ROWS % chunk == 0
    assert block_rows(n, d, itemsize) % chunk == 0
    assert chunk <= TILE_ROWS or chunk * d * itemsize <= CHUNK_BYTES
    assert chunk == 1 or chunk * d * itemsize <= MOST_CHUNK_BYTES
    assert chunk_rows(None, d, itemsize) % chunk == 0


@given(shapes)
def test_blocks_cover_every_row_once(shape: tuple[int, int, int]) -> None:
    grid = Grid.canonical(*shape)
    if grid.n_blocks > 10_000:
        grid = Grid.canonical(shape[0] % 10**6 + 1, *shape[1:])
    bounds = list(grid)
    assert len(bounds) == grid.n_blocks
    assert bounds[0][0] == 0
    assert bounds[-1][1] == grid.n_rows
    assert all(a[1] == b[0] for a, b in pairwise(bounds))
    assert all(start % TILE_ROWS == 0 and start < stop for start, stop in bounds)
    assert sum(grid.row_chunks) == grid.n_rows


@pytest.mark.parametrize(
    ("n", "d", "itemsize", "rows"),
    [(1, 1, 1, 1024), (32 * 1024, 8, 8, 1024), (32 * 1024 + 1, 8, 8, 2048), (10**8, 784, 4, 5120)],
)
def test_known_grids(n: int, d: int, itemsize: int, rows: int) -> None:
    """Written down: the grid is part of the answer, so it must not drift from release to release."""
    assert block_rows(n, d, itemsize) == rows


def test_more_work_makes_larger_blocks_up_to_the_limit() -> None:
    sizes = [block_rows(n, 16, 8) for n in (1, 10**4, 10**5, 10**6, 10**7, 10**9)]
    assert sizes == sorted(sizes)
    assert sizes[-1] * 16 * 8 == BLOCK_BYTES


@pytest.mark.parametrize("factor", [1, 2, 3, 100])
def test_merged_blocks_keep_their_boundaries(factor: int) -> None:
    grid = Grid(10_000, 1024)
    merged = grid.merged(factor)
    assert merged.n_rows == grid.n_rows
    assert {start for start, _ in merged} <= {start for start, _ in grid}
    assert merged.n_blocks == -(-grid.n_blocks // factor)


def test_no_rows_are_one_empty_block() -> None:
    assert list(Grid(0, 1024)) == [(0, 0)]
