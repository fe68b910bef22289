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
from daskkernels.store.errors import LabelError, LengthMismatchError, ShapeError
from daskkernels.store.labels import CODE_DTYPE, Coder, check_count, encode, holds_labels, label_values
from daskkernels.store.location import Location
from daskkernels.store.sources import check_features
from daskkernels.store.writer import ArrayWriter

BUFFER_BYTES = 8 * 2**20


class GrowingArray:
    """Regroups blocks (b, ...) to whole chunks and writes them; the array grows by a buffer at a time."""

    def __init__(
        self, location: Location, name: str, columns: tuple[int, ...], dtype: Any, chunk_rows: int
    ) -> None:
        row_bytes = max(1, int(np.prod(columns)) * np.dtype(dtype).itemsize)
        self._rows = chunk_rows * max(1, BUFFER_BYTES // (row_bytes * chunk_rows))
        self._buffer = np.empty((self._rows, *columns), dtype)
        self._filled = 0
        self._written = 0
        self.writer = ArrayWriter.create(location.url, name, (0, *columns), dtype, chunk_rows)

    @property
    def n_rows(self) -> int:
        """Rows received so far."""
        return self._written + self._filled

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
        """Write what is left."""
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

    def __init__(self, location: Location, first: np.ndarray, chunk_rows: int, classes: Any) -> None:
        columns = first.shape[1] if first.ndim == 2 else None
        labels = holds_labels(first.dtype, columns)
        if classes is not None and not labels:
            raise LabelError(f"classes are given, but y holds {first.dtype} targets")
        self._given = classes
        self._seen: dict[Any, int] | None = {} if labels and classes is None else None
        self._coder = Coder(CODE_DTYPE if labels else first.dtype.newbyteorder("<"), classes)
        self._labels, self._shape = labels, first.shape[1:]
        self.array = GrowingArray(
            location, "y", () if labels else first.shape[1:], self._coder.dtype, chunk_rows
        )

    def push(self, block: np.ndarray) -> None:
        """Take the labels or targets of the next rows. Raises LabelError, ShapeError, TypeError."""
        if block.shape[1:] != self._shape:
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

    def close(self) -> tuple[ArrayWriter, tuple[Any, ...] | None]:
        """Finish the codes; the writer and the classes."""
        writer = self.array.close()
        if self._seen is None:
            return writer, self._given
        seen = list(self._seen)
        classes = check_count(tuple(sorted(seen)))
        if seen != list(classes):
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


def checked_blocks(blocks: Iterator[tuple[np.ndarray, Any]]) -> Iterator[tuple[np.ndarray, Any]]:
    """The pairs that have rows, once their lengths, their width and their type are seen to agree."""
    dtype: np.dtype[Any] | None = None
    width = 0
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
    """An iterator of blocks, written by the client as they come."""

    in_client = True

    def __init__(self, blocks: Iterator[Any], classes: Any, names: Any, chunk_rows: int | None) -> None:
        first = next(blocks, None)
        if first is None:
            raise ShapeError("X must have at least one row, got an iterator without rows")
        self._width, self._dtype = first[0].shape[1], first[0].dtype.newbyteorder("<")
        check_features(np.empty((1, self._width), self._dtype))
        if classes is not None and first[1] is None:
            raise LabelError("classes are given, but there is no y: they belong to labels")
        self._classes = classes
        self._names = feature_names(names, None, self._width)
        self._chunk = rows_per_chunk(chunk_rows, None, self._width, self._dtype.itemsize)
        self._blocks = chain([first], blocks)

    def write(self, target: Location) -> dict[str, Any]:
        """Write all blocks; the attributes of the dataset."""
        features = GrowingArray(target, "X", (self._width,), self._dtype, self._chunk)
        targets: TargetStream | None = None
        for X, y in self._blocks:
            if features.n_rows == 0 and y is not None:
                rows = self._chunk * max(1, 16 * grid.TILE_ROWS // self._chunk)
                targets = TargetStream(target, y, rows, self._classes)
            if (y is None) is not (targets is None):
                raise LengthMismatchError(f"only some blocks have a y: at row {features.n_rows} that changes")
            features.push(X)
            if targets is not None:
                targets.push(y)
        features.close().finish()
        classes = None
        if targets is not None:
            writer, classes = targets.close()
            writer.finish()
        return dataset_attributes(features.n_rows, self._width, classes, self._names)
