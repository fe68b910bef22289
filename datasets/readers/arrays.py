"""Arrays of a file, read row block by row block, and the table that two of them make.

Values in row order are streamed; values in column order are picked up where they are, in a temporary copy
unless the file is local and not compressed.
"""

from __future__ import annotations

import contextlib
import errno
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

import numpy as np

from datasets.readers import exact, files
from datasets.readers.base import Block, ReaderError, Table

COPY_BYTES = 2**17
HELD_BYTES = 2**24  # of an array by columns: stretches of a column should be long, as each is looked up
Values = Callable[[], AbstractContextManager[IO[bytes]]]  # opens a stream that begins with the first value


@dataclass(frozen=True)
class ArraySource:
    """One array of a file, the rows along its first axis."""

    address: str
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    def read(self, rows: int, start: int) -> Iterator[np.ndarray]:
        """Rows `start` and after, `rows` at a time."""
        raise NotImplementedError


@dataclass(frozen=True)
class RowArray(ArraySource):
    """An array whose file holds one row after the other; within a row the axes may be in another order."""

    values: Values
    reverse: bool = False  # the values of a row are stored with the last axis first
    jumps: bool = False  # no checksum is computed on the way, so that rows may be left out

    def read(self, rows: int, start: int) -> Iterator[np.ndarray]:
        """Row blocks; the stream is read to its end, so that a checksum there is compared."""
        columns = self.shape[:0:-1] if self.reverse else self.shape[1:]
        native = self.dtype.newbyteorder("=")
        first = start
        with (
            files.named(self.address, lambda: f"array {self.name!r} is damaged at or after row {first}"),
            self.values() as stream,
        ):
            _skip(stream, start * math.prod(columns) * self.dtype.itemsize, self.jumps)
            for first in range(start, self.shape[0], rows):
                n = min(rows, self.shape[0] - first)
                block = np.empty((n, *columns), self.dtype)
                _fill(stream, block)
                block = block.astype(native, copy=False)
                yield block.transpose(0, *range(block.ndim - 1, 0, -1)) if self.reverse else block
            if stream.read(1):
                raise ReaderError(f"array {self.name!r} is longer than its header says")


@dataclass(frozen=True)
class ColumnArray(ArraySource):
    """An array whose file holds one column after the other, so that a row is in pieces all over it."""

    values: Values  # of a local file, since it is read here and there

    def read(self, rows: int, start: int) -> Iterator[np.ndarray]:
        """Row blocks, each put together out of a stretch of every column."""
        n_rows, *columns = self.shape
        native = self.dtype.newbyteorder("=")
        held = rows * max(1, HELD_BYTES // (rows * math.prod(columns) * self.dtype.itemsize))
        with files.named(self.address, lambda: f"array {self.name!r} is damaged"), self.values() as file:
            offset = file.tell()
            file.seek(offset + math.prod(self.shape) * self.dtype.itemsize)
            if file.read(1):
                raise ReaderError(f"array {self.name!r} is longer than its header says")
            for first in range(start, n_rows, held):
                stretches = np.empty((math.prod(columns), min(held, n_rows - first)), self.dtype)
                for column, stretch in enumerate(stretches):
                    file.seek(offset + (column * n_rows + first) * self.dtype.itemsize)
                    _fill(file, stretch)
                block = stretches.reshape(*columns[::-1], -1).T
                for at in range(0, len(block), rows):
                    yield np.array(block[at : at + rows], native, order="C")


def copied(values: Values) -> Values:
    """Values that are packed or far away, in a temporary file."""

    @contextlib.contextmanager
    def local() -> Iterator[IO[bytes]]:
        with tempfile.TemporaryFile() as copy:
            with values() as stream:
                try:
                    shutil.copyfileobj(stream, copy, COPY_BYTES)
                except OSError as error:
                    if error.errno == errno.ENOSPC:
                        error.filename = tempfile.gettempdir()
                    raise
            copy.seek(0)
            yield copy

    return local


def check_size(address: str, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise ReaderError unless the values are all of the file from `offset` on, where its size is known."""
    found, wanted = files.n_bytes(address), offset + math.prod(shape) * dtype.itemsize
    if found is not None and found != wanted:
        raise ReaderError(f"it has {found} bytes, but {dtype} values of shape {shape} make it {wanted}")


def array_table(features: ArraySource, labels: ArraySource | None) -> Table:
    """Features (n, d) or images (n, h, w[, c]), and labels (n,) or (n, l), that fit together."""
    shape = features.shape
    if len(shape) not in (2, 3, 4) or math.prod(shape[1:]) == 0:
        raise ReaderError(
            f"array {features.name!r} has shape {shape}, wanted (n, d), or (n, h, w) or (n, h, w, c)"
        )
    if not _is_number(features.dtype):
        raise ReaderError(
            f"array {features.name!r} holds {features.dtype}, wanted numbers of at most 8 bytes"
        )
    if labels is not None and not (_is_number(labels.dtype) or _is_text(labels.dtype)):
        raise ReaderError(
            f"array {labels.name!r} holds {labels.dtype}, wanted numbers of at most 8 bytes, or "
            f"strings of at most {exact.LONGEST_LABEL} characters"
        )
    if labels is not None and (labels.shape[:1] != shape[:1] or len(labels.shape) > 2):
        rows = f"{features.name!r} has {shape[0]} rows, {labels.name!r} has shape {labels.shape}"
        raise ReaderError(rows)

    def read(rows: int, start: int) -> Iterator[Block]:
        flat = (X.reshape(len(X), -1) for X in features.read(rows, start))
        if labels is None:
            return ((X, None) for X in flat)
        return zip(flat, labels.read(rows, start), strict=True)

    return Table(
        n_rows=shape[0],
        n_features=math.prod(shape[1:]),
        dtype=features.dtype.newbyteorder("="),
        read=read,
        feature_shape=shape[1:] if len(shape) > 2 else None,
        files=tuple(dict.fromkeys(array.address for array in (features, labels) if array is not None)),
    )


def _is_number(dtype: np.dtype) -> bool:
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def _is_text(dtype: np.dtype) -> bool:
    characters = dtype.itemsize // np.dtype(f"{dtype.kind}1").itemsize if dtype.kind in "SU" else 0
    return dtype.kind in "SU" and characters <= exact.LONGEST_LABEL


def _fill(stream: IO[bytes], values: np.ndarray) -> None:
    """Read an array full; EOFError when the stream ends before."""
    wanted = memoryview(values.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    while wanted:
        count = stream.readinto(wanted)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the file ends too early")
        wanted = wanted[count:]


def _skip(stream: IO[bytes], size: int, jump: bool) -> None:
    """Leave out bytes: by reading over them where a checksum counts them or the server cannot jump."""
    if jump:
        with contextlib.suppress(ValueError):
            stream.seek(size, 1)
            return
    while size:
        count = len(stream.read(min(size, COPY_BYTES)))
        if not count:
            raise EOFError("the file ends too early")
        size -= count
