"""Store layer: arrays written from blocks of any sizes whose total is not known before the last one came.

One buffer of whole chunks is all that is held; labels get provisional codes, which are sorted at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from daskkernels import grid
from daskkernels.store.arrays import dataset_attributes, feature_names
from daskkernels.store.errors import LabelError, LengthMismatchError, ShapeError
from daskkernels.store.labels import CODE_DTYPE, Coder, check_count, encode, holds_labels, label_values
from daskkernels.store.location import Location
from daskkernels.store.sources import check_features
from daskkernels.store.writer import ArrayWriter

BUFFER_BYTES = 8 * 2**20


class GrowingArray:
    """Regroups blocks (b, ...) to whole chunks and writes them; the array grows by doubling."""

    def __init__(
        self, location: Location, name: str, columns: tuple[int, ...], dtype: Any, chunk_rows: int
    ) -> None:
        row_bytes = max(1, int(np.prod(columns)) * np.dtype(dtype).itemsize)
        self._rows = chunk_rows * max(1, BUFFER_BYTES // (row_bytes * chunk_rows))
        self._buffer = np.empty((self._rows, *columns), dtype)
        self._filled = 0
        self._written = 0
        self.writer = ArrayWriter.create(location.url, name, (self._rows, *columns), dtype, chunk_rows)

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
        """Write what is left and cut the array to the rows received."""
        self.writer = self.writer.resized(self.n_rows)
        if self._filled:
            self.writer.write(self._written, self._buffer[: self._filled])
        return self.writer

    def rewrite(self, codes: np.ndarray) -> None:
        """Replace every stored value by its entry in `codes`."""
        self.writer.rewrite(lambda block: codes[block], self._rows)

    def _flush(self) -> None:
        if self._written + self._rows > self.writer.shape[0]:
            self.writer = self.writer.resized(2 * self.writer.shape[0])
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
    """Pairs whose features have one width and one type, and whose lengths agree, with the block's number."""
    dtype: np.dtype[Any] | None = None
    width = 0
    for number, (X, y) in enumerate(blocks):
        if y is not None and len(y) != len(X):
            raise LengthMismatchError(f"block {number}: X has {len(X)} rows, but y has {len(y)}")
        if X.ndim != 2:
            raise ShapeError(
                f"block {number} of X must be two-dimensional (rows, features), got shape {X.shape}"
            )
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

    def __init__(self, blocks: Any, classes: Any, names: Any, chunk_rows: int | None) -> None:
        self._classes, self._names = classes, names
        first = next(blocks, None)
        if first is None:
            raise ShapeError("X is an iterator without a single block")
        self._first, self._rest = first, blocks
        if first[0].shape[1] == 0:
            raise ShapeError(f"X must have at least one feature, got a first block of shape {first[0].shape}")
        check_features(np.empty((1, first[0].shape[1]), first[0].dtype))
        self._names = feature_names(names, None, first[0].shape[1])
        width, size = first[0].shape[1], first[0].dtype.itemsize
        self._chunk = chunk_rows or grid.chunk_rows(None, width, size)

    def write(self, target: Location) -> dict[str, Any]:
        """Write all blocks; the attributes of the dataset."""
        X, y = self._first
        features = GrowingArray(target, "X", X.shape[1:], X.dtype.newbyteorder("<"), self._chunk)
        y_rows = self._chunk * max(1, grid.TILE_ROWS * 16 // self._chunk)
        targets = None if y is None else TargetStream(target, y, y_rows, self._classes)
        pair: Any = self._first
        while pair is not None:
            self._push(features, targets, *pair)
            pair = next(self._rest, None)
        if features.n_rows == 0:
            raise ShapeError("X must have at least one row, got an iterator of empty blocks")
        features.close().finish()
        classes = self._classes
        if targets is not None:
            writer, classes = targets.close()
            writer.finish()
        return dataset_attributes(features.n_rows, X.shape[1], classes, self._names)

    @staticmethod
    def _push(features: GrowingArray, targets: TargetStream | None, X: np.ndarray, y: Any) -> None:
        if (y is None) is not (targets is None):
            raise LengthMismatchError(f"y comes with some blocks only: at row {features.n_rows} that changes")
        features.push(X)
        if targets is not None:
            targets.push(y)
