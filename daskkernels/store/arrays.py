"""Store layer: numpy and dask arrays written as the arrays of a dataset, each by whoever holds the rows.

Dask input is written by one task for each group of whole chunks, so that no two tasks share a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute
from dask.task_spec import Task, TaskRef
from dask.tokenize import tokenize
from dask.typing import Key

from daskkernels import grid
from daskkernels.store import labels, sources
from daskkernels.store.errors import LabelError, LengthMismatchError, ShapeError
from daskkernels.store.labels import CODE_DTYPE, Coder
from daskkernels.store.location import Location
from daskkernels.store.sources import Rows, on_host, refuse_sparse
from daskkernels.store.survey import boxed, known_lengths, run_blocks
from daskkernels.store.unfinished import Journal, Progress
from daskkernels.store.writer import ArrayWriter

MAX_CHUNK_BYTES = 2**31 - 1  # a chunk is written in full, however few rows there are


class ArrayPlan:
    """X and y as arrays of known length: what can be refused is refused here, before anything is written."""

    def __init__(self, X: Any, y: Any, classes: Any, names: Any, chunk_rows: int | None) -> None:
        self._X, found = sources.feature_rows(X)
        self._y = None if y is None else sources.target_rows(y)
        self._names = feature_names(names, found, self._X.shape[1])
        self._coder = self._survey(classes)
        self._classes = classes if self._coder is None else self._coder.classes
        n_rows = self._X.shape[0]
        if n_rows == 0:
            raise ShapeError("X must have at least one row, got none")
        if self._y is not None and self._y.shape[0] != n_rows:
            raise LengthMismatchError(f"X has {n_rows} rows, but y has {self._y.shape[0]}")
        size, width = self._X.dtype.itemsize, self._X.shape[1]
        self._chunk = rows_per_chunk(chunk_rows, n_rows, width, size)
        self._group = self._chunk * max(1, grid.block_rows(n_rows, width, size) // self._chunk)

    @property
    def width(self) -> int:
        """Number of features."""
        return int(self._X.shape[1])

    @property
    def in_client(self) -> bool:
        """Whether no task of a scheduler writes."""
        return not (isinstance(self._X, da.Array) or isinstance(self._y, da.Array))

    def write(self, target: Location, journal: Journal) -> dict[str, Any]:
        """Write the arrays, or what an earlier attempt has left to do; the attributes of the dataset."""
        X, again = self._X, journal.request is not None
        journal.note(Progress())
        writers = [_writer(again, target, "X", X.shape, X.dtype, self._chunk)]
        jobs = [_job(writers[0], X, None, self._group)]
        if self._y is not None and self._coder is not None:
            shape = self._y.shape[:1] if self._coder.classes is not None else self._y.shape
            writers.append(_writer(again, target, "y", shape, self._coder.dtype, self._group))
            jobs.append(_job(writers[1], self._y, self._coder, self._group))
        compute(*(job for job in jobs if job is not None))
        for writer in writers:
            writer.finish()
        return dataset_attributes(X.shape[0], X.shape[1], self._classes, self._names)

    def _survey(self, classes: Any) -> Coder | None:
        """How y is stored. Resolves unknown lengths of X and y and the classes of dask labels in one pass."""
        y = self._y
        wants_labels = y is not None and labels.holds_labels(y.dtype, y.shape[1] if y.ndim == 2 else None)
        if classes is not None and not wants_labels:
            found = "there is no y" if y is None else f"y holds {y.dtype} targets"
            raise LabelError(f"classes are given, but {found}: they belong to integer, string or bool labels")
        search = wants_labels and classes is None
        self._X, self._y, parts = known_lengths(self._X, y, classes=search)
        if y is None:
            return None
        if not wants_labels:
            return Coder(y.dtype.newbyteorder("<"))
        if search and isinstance(y, np.ndarray) and len(y):
            parts = [labels.distinct(y, 0)]
        if search and not any(len(part) for part in parts):
            raise ShapeError("y must have at least one row, got none")
        return Coder(CODE_DTYPE, labels.merge_distinct(parts) if search else classes)


def write_array(url: str, name: str, rows: Rows) -> None:
    """Write an array (n, ...) of known length into a group: a dask array by the active scheduler."""
    n_rows, width, size = rows.shape[0], math.prod(rows.shape[1:]), rows.dtype.itemsize
    chunk = rows_per_chunk(None, n_rows, width, size)
    writer = ArrayWriter.create(url, name, rows.shape, rows.dtype, chunk)
    compute(_job(writer, rows, None, chunk * max(1, grid.block_rows(n_rows, width, size) // chunk)))
    writer.finish()


def _job(writer: ArrayWriter, rows: Rows, coder: Coder | None, group: int) -> da.Array | None:
    """Write what is not there of an array of the client at once; of a dask array, the tasks that will."""
    todo = writer.unwritten(group)
    if isinstance(rows, da.Array):
        return _write_tasks(writer, rows, coder, group, todo) if todo else None
    for start in todo:
        block = rows[start : start + group]
        write_rows(writer, start, len(block), coder, block)
    return None


def _writer(
    again: bool, target: Location, name: str, shape: tuple[int, ...], dtype: Any, chunk_rows: int
) -> ArrayWriter:
    """The writer of an array; `again`: of the one that an earlier attempt has begun, if it has this form."""
    writer = ArrayWriter.unfinished(target.url, name) if again else None
    if writer is not None and (writer.shape, writer.dtype, writer.chunk_rows) == (shape, dtype, chunk_rows):
        return writer
    return ArrayWriter.create(target.url, name, shape, dtype, chunk_rows, overwrite=again)


def write_rows(writer: ArrayWriter, start: int, rows: int, coder: Coder | None, block: Any) -> np.ndarray:
    """Write one group of whole chunks; the work of one task."""
    host = on_host(block)
    if len(host) != rows:
        raise LengthMismatchError(
            f"array {writer.name!r}: {rows} rows are wanted from row {start}, but the block has {len(host)}"
        )
    return boxed(writer.write(start, host if coder is None else coder(host, start)))


def _write_tasks(
    writer: ArrayWriter, rows: da.Array, coder: Coder | None, group: int, starts: list[int]
) -> da.Array:
    """A task for each of these groups of whole chunks, on blocks that are regrouped to exactly these rows."""
    n_rows = rows.shape[0]
    lengths = tuple(min(group, n_rows - start) for start in range(0, n_rows, group))
    rows = da.map_blocks(_dense, rows, what=writer.name, dtype=rows.dtype, meta=rows)  # rechunk drops masks
    rows = rows.rechunk((lengths, *((size,) for size in rows.shape[1:])))
    name = f"store-write-{writer.name}-{tokenize(writer, rows.name, starts)}"
    tasks: dict[Key, Task] = {}
    for place, start in enumerate(starts):
        index = start // group
        block = TaskRef((rows.name, index) + (0,) * (rows.ndim - 1))
        tasks[name, place] = Task((name, place), write_rows, writer, start, lengths[index], coder, block)
    return run_blocks(name, tasks, [rows])


def _dense(block: Any, what: str) -> Any:
    """The block as it is, once it is seen to be neither sparse nor masked: dask may not know."""
    refuse_sparse(block, what)
    return block


def rows_per_chunk(given: int | None, n_rows: int | None, width: int, itemsize: int) -> int:
    """Rows of one chunk of X: those given, or those of the grid. Raises ValueError for a chunk too large."""
    if given is None:
        return grid.chunk_rows(n_rows, width, itemsize)
    most = max(1, MAX_CHUNK_BYTES // (width * itemsize))
    if given > most:
        raise ValueError(
            f"chunk_rows must be at most {most} for {width} features of {itemsize} bytes, got {given}"
        )
    return int(given)


def dataset_attributes(n_rows: int, width: int, classes: Any, names: list[str] | None) -> dict[str, Any]:
    """What the group says about the dataset, apart from its source and its digest."""
    stored = None if classes is None else list(classes)
    return {"n_rows": n_rows, "n_features": width, "classes": stored, "feature_names": names}


def feature_names(given: Sequence[str] | None, found: tuple[str, ...] | None, width: int) -> list[str] | None:
    """The names to store: those given, or those the data carries. Raises ShapeError."""
    names = found if given is None else tuple(given)
    if names is None:
        return None
    if len(names) != width or not all(isinstance(name, str) for name in names):
        raise ShapeError(
            f"feature_names must be {width} strings, one for each feature, got {len(names)}: {names[:3]}"
        )
    return [str(name) for name in names]
