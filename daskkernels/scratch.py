"""Layer 5: scratch, a folder of one fit for rows that do not fit in memory, or must outlive their tasks."""

from __future__ import annotations

import math
import os
from typing import Any, Self
from uuid import uuid4

import fsspec
import numpy as np

from .events import Reporter
from .grid import Grid
from .rowblocks import RowBlocks, from_dask, literal
from .rows import reduce_rows
from .runtime import Runtime
from .store import ArrayWriter, disown, full_disk_told, own, sweep, sweep_forsaken, to_dask
from .xp import to_host

_FOLDER = "daskkernels-"  # how the folder of a fit begins


class Scratch:
    """A folder of one fit under `url`, which the workers reach; removed at the end. None without a url."""

    def __init__(self, url: str | os.PathLike[str] | None) -> None:
        self._around = None if url is None else os.fspath(url).rstrip("/")
        self.url = None if url is None else f"{self._around}/{_FOLDER}{uuid4().hex[:12]}"
        self._spooled: list[tuple[RowBlocks, str]] = []
        self._lock: Any = None
        self._used = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.url is not None and self._used:
            disown(self.url, self._lock)

    def spool(self, rows: RowBlocks, runtime: Runtime, reporter: Reporter) -> RowBlocks:
        """The same rows, computed once into a store here by the workers, and streamed from there."""
        with self._room_told():
            writer = self._writer(rows.grid, rows.shape, rows.dtype)
            store_rows(rows, writer, runtime, reporter, stage="rows-spool", home=self.url)
            stored = from_dask(to_dask(writer.finish(), rows.grid.row_chunks), rows.grid)
        self._spooled.append((stored, writer.url))
        return stored

    def discard(self, rows: RowBlocks) -> None:
        """Remove rows that were spooled here; others stay."""
        for place, (stored, url) in enumerate(self._spooled):
            if stored is rows:
                files, path = fsspec.url_to_fs(url)
                files.rm(path, recursive=True)
                del self._spooled[place]
                return

    def spool_array(self, X: Any, grid: Grid) -> RowBlocks:
        """An array of this process, written into a store here block by block, and streamed from there."""
        with self._room_told():
            writer = self._writer(grid, X.shape, X.dtype)
            for start, stop in grid:
                writer.write(start, to_host(X[start:stop]))
            return from_dask(to_dask(writer.finish(), grid.row_chunks), grid)

    def _room_told(self) -> Any:
        knob = "give scratch= on another disk, to the estimator or to dk.connect"
        return full_disk_told(str(self._around), "scratch", knob)

    def _writer(self, grid: Grid, shape: tuple[int, ...], dtype: Any) -> ArrayWriter:
        """A new array here, whose chunks divide the blocks of the grid; the first one makes the folder."""
        if not self._used:
            sweep(str(self._around), _FOLDER)
            self._lock, self._used = own(str(self.url)), True
        step = grid.chunk_rows(math.prod(shape[1:]), np.dtype(dtype).itemsize)
        return ArrayWriter.create(f"{self.url}/{uuid4().hex[:12]}.zarr", "rows", shape, dtype, step)


def store_rows(
    rows: RowBlocks,
    writer: ArrayWriter,
    runtime: Runtime,
    reporter: Reporter,
    *,
    stage: str,
    home: str | None = None,
) -> None:
    """Write every block on the worker that computed it, in one pass; `home` is the scratch folder, if any."""
    total = reduce_rows(
        _write_block,
        rows,
        operands=[literal(writer), literal(home)],
        combine=sum,
        stage=stage,
        numbered=True,
    )
    runtime.run([total], reporter=reporter, stage=stage)


def _write_block(block: Any, writer: ArrayWriter, home: str | None, *, start: int) -> int:
    try:
        return writer.write(start, to_host(block))
    finally:
        if home is not None:  # a fit that has failed does not wait for the blocks that are being written
            sweep_forsaken(home)
