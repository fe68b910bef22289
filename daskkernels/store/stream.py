"""Store layer: arrays written from blocks of any sizes whose total is not known before the last one came.

One buffer of whole chunks is all that is held; labels get provisional codes, which are sorted at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from daskkernels import grid
from daskkernels.store.arrays import dataset_attributes, feature_names, rows_per_chunk
from daskkernels.store.errors import IncompleteWriteError, LabelError, LengthMismatchError, ShapeError
from daskkernels.store.labels import CODE_DTYPE, Coder, check_count, encode, holds_labels, label_values
from daskkernels.store.location import Location
from daskkernels.store.sources import check_features
from daskkernels.store.unfinished import Journal, Progress
from daskkernels.store.writer import ArrayWriter

BUFFER_BYTES = 8 * 2**20


class GrowingArray:
    """Regroups blocks (b, ...) to whole chunks and writes them; the array grows by a buffer at a time."""

    def __init__(self, writer: ArrayWriter) -> None:
        columns, chunk_rows = writer.shape[1:], writer.chunk_rows
        row_bytes = max(1, int(np.prod(columns)) * writer.dtype.itemsize)
        self._rows = chunk_rows * max(1, BUFFER_BYTES // (row_bytes * chunk_rows))
        self._buffer = np.empty((self._rows, *columns), writer.dtype)
        self._filled = 0
        self._written = 0
        self.writer = writer

    @classmethod
    def create(
        cls, location: Location, name: str, columns: tuple[int, ...], dtype: Any, chunk_rows: int
    ) -> GrowingArray:
        """An array without rows; one of that name that was begun and of which no row counts is replaced."""
        writer = ArrayWriter.create(location.url, name, (0, *columns), dtype, chunk_rows, overwrite=True)
        return cls(writer)

    @classmethod
    def reopened(cls, location: Location, name: str, rows: int) -> GrowingArray:
        """An array that was begun, cut back to its first `rows` rows."""
        writer = ArrayWriter.unfinished(location.url, name)
        if writer is None or writer.shape[0] < rows:
            raise IncompleteWriteError(
                f"{location.url}: array {name!r} does not hold the {rows} rows that were noted: "
                "write the dataset again with overwrite=True"
            )
        array = cls(writer)
        array._written = rows // writer.chunk_rows * writer.chunk_rows
        array._filled = rows - array._written
        array._buffer[: array._filled] = writer.stored(array._written, rows)
        array.writer = writer.grown(rows)
        return array

    @property
    def n_rows(self) -> int:
        """Rows received so far."""
        return self._written + self._filled

    @property
    def n_whole(self) -> int:
        """Rows on disk, in whole chunks."""
        return self._written

    def push(self, block: np.ndarray) -> None:
        """Take the next rows."""
        start = 0
        while start < len(block):
            take = min(len(block) - start, self._rows - self._filled)
            self._buffer[self._filled : self._filled + take] = block[start : start + take]
            self._filled += take
            start += take
            if self._filled == self._rows:
                self._flush()

    def close(self) -> ArrayWriter:
        """Write what is left, a last chunk in part; more rows may come and will write that chunk again."""
        self.writer = self.writer.grown(self.n_rows)
        if self._filled:
            self.writer.write(self._written, self._buffer[: self._filled])
        return self.writer

    def rewrite(self, codes: np.ndarray) -> None:
        """Replace every stored value by its entry in `codes`."""
        self.writer.rewrite(lambda block: codes[block], self._rows)

    def _flush(self) -> None:
        self.writer = self.writer.grown(self._written + self._rows)
        self.writer.write(self._written, self._buffer)
        self._written += self._rows
        self._filled = 0


class TargetStream:
    """The `y` of an iterator: float targets as they come, or labels with codes in the order they appear."""

    def __init__(self, array: GrowingArray, labels: bool, classes: Any, seen: Any) -> None:
        self.array = array
        self._labels, self._given = labels, classes
        self._seen: dict[Any, int] | None = None
        if labels and classes is None:
            self._seen = {label: code for code, label in enumerate(seen or ())}
        self._coder = Coder(array.writer.dtype, classes if labels else None)
        self._shape: tuple[int, ...] | None = None  # of one row; (1,) is allowed for labels

    @classmethod
    def create(cls, location: Location, first: np.ndarray, chunk_rows: int, classes: Any) -> TargetStream:
        """For a `y` that begins with this block. Raises LabelError."""
        labels = holds_labels(first.dtype, first.shape[1] if first.ndim == 2 else None)
        if classes is not None and not labels:
            raise LabelError(f"classes are given, but y holds {first.dtype} targets")
        dtype = CODE_DTYPE if labels else first.dtype.newbyteorder("<")
        columns = () if labels else first.shape[1:]
        return cls(GrowingArray.create(location, "y", columns, dtype, chunk_rows), labels, classes, None)

    @classmethod
    def reopened(cls, location: Location, progress: Progress, classes: Any) -> TargetStream | None:
        """The `y` that was begun, if there was one."""
        if not location.exists("y/zarr.json"):
            return None
        array = GrowingArray.reopened(location, "y", progress.rows)
        labels = progress.seen is not None or classes is not None
        return cls(array, labels, classes, progress.seen)

    @property
    def seen(self) -> tuple[Any, ...] | None:
        """Labels in the order of their provisional codes, where classes are searched for."""
        return None if self._seen is None else tuple(self._seen)

    def push(self, block: np.ndarray) -> None:
        """Take the labels or targets of the next rows. Raises LabelError, ShapeError, TypeError."""
        if self._shape is None:
            self._shape = block.shape[1:]
        if block.shape[1:] != self._shape or not (self._labels or self._shape == self.array.writer.shape[1:]):
            raise ShapeError(f"y: a block is {block.shape} after blocks of (rows, {self._shape})")
        row = self.array.n_rows
        if self._seen is not None:
            self.array.push(self._provisional(label_values(block, row)))
            return
        if not self._labels and not np.can_cast(block.dtype, self._coder.dtype, "safe"):
            raise TypeError(
                f"y: a block of {block.dtype} at row {row} after blocks of {self._coder.dtype}: convert them"
            )
        self.array.push(self._coder(block, row))

    def close(self, journal: Journal) -> tuple[ArrayWriter, tuple[Any, ...] | None]:
        """Finish the codes; the writer and the classes."""
        writer = self.array.close()
        if self._seen is None:
            return writer, self._given
        seen = list(self._seen)
        classes = check_count(tuple(sorted(seen)))
        if seen != list(classes):
            journal.note(Progress())  # codes that are half rewritten can not be gone on with
            self.array.rewrite(encode(np.asarray(seen), classes, 0))
        return writer, classes

    def _provisional(self, values: np.ndarray) -> np.ndarray:
        assert self._seen is not None
        found, places = np.unique(values, return_inverse=True)
        new = found.tolist()
        if self._seen and new and type(new[0]) is not type(next(iter(self._seen))):
            raise LabelError(
                f"y mixes labels such as {next(iter(self._seen))!r} and {new[0]!r}: give one type"
            )
        codes = [self._seen.setdefault(label, len(self._seen)) for label in new]
        check_count(tuple(self._seen))
        return np.asarray(codes, CODE_DTYPE)[places]


def checked_blocks(
    blocks: Iterator[tuple[np.ndarray, Any]], form: tuple[np.dtype[Any], int] | None = None
) -> Iterator[tuple[np.ndarray, Any]]:
    """The pairs that have rows, once their lengths, width and type agree, with `form` where that is known."""
    dtype, width = form or (None, 0)
    for number, (X, y) in enumerate(blocks):
        if y is not None and len(y) != len(X):
            raise LengthMismatchError(f"block {number}: X has {len(X)} rows, but y has {len(y)}")
        if X.ndim != 2:
            raise ShapeError(
                f"block {number} of X must be two-dimensional (rows, features), got shape {X.shape}"
            )
        if len(X) == 0:
            continue
        if dtype is None:
            dtype, width = X.dtype, X.shape[1]
        if X.shape[1] != width:
            raise ShapeError(
                f"block {number} of X has {X.shape[1]} features, the blocks before it have {width}"
            )
        if not np.can_cast(X.dtype, dtype, "safe"):
            raise TypeError(
                f"block {number} of X is {X.dtype}, the blocks before it are {dtype}: convert the blocks"
            )
        yield X, y


class StreamPlan:
    """Blocks written by the client as they come, after the rows that are whole already."""

    in_client = True

    def __init__(
        self,
        blocks: Iterator[tuple[np.ndarray, Any]],
        classes: Any,
        names: Any,
        chunk_rows: int | None,
        progress: Progress,
        target: Location,
    ) -> None:
        self._progress, self._classes = progress, classes
        before = GrowingArray.reopened(target, "X", progress.rows) if progress.rows else None
        form = None if before is None else (before.writer.dtype, before.writer.shape[1])
        blocks = checked_blocks(blocks, form)
        first = next(blocks, None)
        if form is None:
            if first is None:
                raise ShapeError("X must have at least one row, got an iterator without rows")
            form = first[0].dtype.newbyteorder("<"), int(first[0].shape[1])
        self._dtype, self.width = form
        check_features(np.empty((1, self.width), self._dtype))
        if classes is not None and first is not None and first[1] is None:
            raise LabelError("classes are given, but there is no y: they belong to labels")
        self._names = feature_names(names, None, self.width)
        self._chunk = rows_per_chunk(chunk_rows, None, self.width, self._dtype.itemsize)
        self._before = before
        self._blocks = blocks if first is None else chain([first], blocks)

    def write(self, target: Location, journal: Journal) -> dict[str, Any]:
        """Write all blocks; the attributes of the dataset."""
        features = self._before or GrowingArray.create(target, "X", (self.width,), self._dtype, self._chunk)
        targets = TargetStream.reopened(target, self._progress, self._classes) if self._before else None
        noted = features.n_whole
        journal.note(self._progress)  # from now on this write owns the group
        for X, y in self._blocks:
            journal.check()
            if features.n_rows == 0 and y is not None:
                rows = self._chunk * max(1, 16 * grid.TILE_ROWS // self._chunk)
                targets = TargetStream.create(target, y, rows, self._classes)
            if (y is None) is not (targets is None):
                raise LengthMismatchError(f"only some blocks have a y: at row {features.n_rows} that changes")
            features.push(X)
            if targets is not None:
                targets.push(y)
            if journal.request is not None and features.n_whole > noted:
                noted = features.n_whole
                _note(journal, noted, targets)
        features.close().finish()
        classes = None
        if targets is not None:
            writer, classes = targets.close(journal)
            writer.finish()
        return dataset_attributes(features.n_rows, self.width, classes, self._names)


def _note(journal: Journal, rows: int, targets: TargetStream | None) -> None:
    """These rows of X are on disk: make sure that their labels are, and say so."""
    if targets is not None:
        targets.array.close()
    journal.note(Progress(rows, None if targets is None else targets.seen))
