"""Layer 0: the canonical row grid, plain arithmetic on integers.

Every sum in the library runs over the blocks of one grid that depends on the shape and the type of the data
alone,
so that the answer does not depend on how the input was chunked or on how many workers there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TILE_ROWS = 1024  # rows of one tile: the unit of arithmetic, every block starts at a multiple of it
BLOCK_BYTES = (
    16 * 2**20
)  # a working block as stored: large enough for the scheduler, small enough for a worker
CHUNK_BYTES = 2**20  # a Zarr chunk: small, so that picking single rows reads little
MOST_CHUNK_BYTES = 8 * 2**20
TARGET_BLOCKS = 32  # enough blocks for every core of a small machine


def block_rows(n_rows: int, n_columns: int, itemsize: int) -> int:
    """Rows of one working block: about n/32, a multiple of 1024, at most about 16 MB as stored."""
    tiles = -(-max(n_rows, 1) // (TARGET_BLOCKS * TILE_ROWS))
    row_bytes = max(1, n_columns * itemsize)
    tiles = min(tiles, max(1, BLOCK_BYTES // (row_bytes * TILE_ROWS)))
    per_chunk = _chunk_tiles(row_bytes)
    if tiles > per_chunk:
        tiles -= tiles % per_chunk
    return tiles * TILE_ROWS


def chunk_rows(n_rows: int | None, n_columns: int, itemsize: int) -> int:
    """Rows of one Zarr chunk, about 1 MB; divides `block_rows` when the number of rows is known.

    A tile, or for wide rows the part of one that takes at most 8 MB: a chunk is held while it is filled.
    """
    row_bytes = max(1, n_columns * itemsize)
    if row_bytes * TILE_ROWS > MOST_CHUNK_BYTES:
        return 1 << max(0, (MOST_CHUNK_BYTES // row_bytes).bit_length() - 1)
    tiles = _chunk_tiles(row_bytes)
    if n_rows is not None:
        block_tiles = block_rows(n_rows, n_columns, itemsize) // TILE_ROWS
        while block_tiles % tiles:
            tiles //= 2
    return tiles * TILE_ROWS


def _chunk_tiles(row_bytes: int) -> int:
    """The largest power of two of tiles that fits in one Zarr chunk, at least one."""
    return 1 << max(0, (CHUNK_BYTES // (row_bytes * TILE_ROWS)).bit_length() - 1)


@dataclass(frozen=True)
class Grid:
    """`n_rows` rows cut into blocks of `block_rows`; the last block may be shorter."""

    n_rows: int
    block_rows: int

    @classmethod
    def canonical(cls, n_rows: int, n_columns: int, itemsize: int) -> Grid:
        """The grid that data of this shape and type is always worked on."""
        return cls(n_rows, block_rows(n_rows, n_columns, itemsize))

    @property
    def n_blocks(self) -> int:
        """Number of blocks, at least one."""
        return max(1, -(-self.n_rows // self.block_rows))

    def bounds(self, block: int) -> tuple[int, int]:
        """First row and one past the last row of a block."""
        start = block * self.block_rows
        return start, min(start + self.block_rows, self.n_rows)

    @property
    def row_chunks(self) -> tuple[int, ...]:
        """Block lengths, as in `dask.array.Array.chunks[0]`."""
        return tuple(stop - start for start, stop in self)

    def chunk_rows(self, n_columns: int, itemsize: int) -> int:
        """Rows of a Zarr chunk of an array on this grid, whatever its own shape: divides a block."""
        step = min(chunk_rows(None, n_columns, itemsize), self.block_rows)
        while self.block_rows % step:
            step -= TILE_ROWS
        return step

    def largest_share(self, total: float, workers: int) -> int:
        """What the worker with most blocks has of a total: of three blocks on two workers two thirds."""
        return int(total * -(-self.n_blocks // workers) / self.n_blocks)

    def merged(self, factor: int) -> Grid:
        """The grid of `factor` neighbouring blocks taken as one."""
        return Grid(self.n_rows, self.block_rows * factor)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return (self.bounds(i) for i in range(self.n_blocks))
