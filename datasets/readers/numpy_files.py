"""Reader of NumPy's own files: .npy is mapped into memory, members of an .npz are unpacked as they stream.

A compressed member is never held whole (`numpy.load` would), unless its values are stored column by column.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from datasets.readers.base import ArraySource, ReaderError


@dataclass(frozen=True)
class MappedArray:
    """An .npy file, mapped into memory: only the rows asked for are read."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def name(self) -> str:
        """The file itself: it holds one array."""
        return self.path.name

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Row blocks as ordinary arrays in memory."""
        array = np.load(self.path, mmap_mode="r", allow_pickle=False)
        for start in range(0, self.shape[0], rows):
            yield np.array(array[start : start + rows], order="C")


@dataclass(frozen=True)
class ZippedArray:
    """A member of an .npz file, decompressed block by block."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Row blocks; the member's checksum is compared after the last one."""
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{self.name}.npy") as stream:
                _read_header(stream)
                if self.by_columns:  # the first row ends near the end of the stream
                    whole = _read_values(stream, self.shape[::-1], self.dtype).T
                    for start in range(0, self.shape[0], rows):
                        yield np.ascontiguousarray(whole[start : start + rows])
                else:
                    for start in range(0, self.shape[0], rows):
                        n = min(rows, self.shape[0] - start)
                        yield _read_values(stream, (n, *self.shape[1:]), self.dtype)
                if stream.read(1):
                    raise ReaderError(f"{self.path}: array {self.name!r} is longer than its header says")
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ReaderError(f"{self.path}: array {self.name!r} is damaged ({error})") from error


@dataclass(frozen=True)
class ArrayTable:
    """Features and labels held as two arrays of equal length."""

    features: ArraySource
    labels: ArraySource | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.features.shape[0]

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.features.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """Type of the features."""
        return self.features.dtype

    def blocks(self, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Pairs of features and labels, or features and None."""
        if self.labels is None:
            yield from ((block, None) for block in self.features.blocks(rows))
        else:
            yield from zip(self.features.blocks(rows), self.labels.blocks(rows), strict=True)


def open_npy(path: Path, _X: str, _y: str | None) -> ArrayTable:
    """The table in an .npy file: one array (n, d), no labels; the names are not needed."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ReaderError(f"{path}: not a readable .npy file ({error})") from error
    return _table(path, MappedArray(path, array.shape, array.dtype), None)


def open_npz(path: Path, X: str, y: str | None) -> ArrayTable:
    """The table in an .npz file: the arrays named `X` (n, d) and `y` (n,)."""
    features = _member(path, X)
    return _table(path, features, None if y is None else _member(path, y))


def _member(path: Path, name: str) -> ZippedArray:
    """The header of one member, read and checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m.removesuffix(".npy") for m in archive.namelist() if m.endswith(".npy")]
            if name not in members:
                raise ReaderError(f"{path}: no array {name!r}; it holds: {', '.join(members) or 'none'}")
            with archive.open(f"{name}.npy") as stream:
                shape, by_columns, dtype = _read_header(stream)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ReaderError(f"{path}: not a readable .npz file ({error})") from error
    if dtype.hasobject:
        raise ReaderError(f"{path}: array {name!r} holds Python objects; numbers or strings are wanted")
    return ZippedArray(path, name, shape, dtype, by_columns and len(shape) > 1)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, column order and type; leaves the stream at the first value."""
    try:
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        return read(stream)
    except ValueError as error:
        raise ReaderError(f"{getattr(stream, 'name', 'stream')}: not an .npy array ({error})") from error


def _read_values(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The next values of a stream; EOFError when it ends before."""
    values = np.empty(shape, dtype)
    wanted = memoryview(values.reshape(-1).view(np.uint8))
    while wanted:
        count = stream.readinto(wanted)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the file ends too early")
        wanted = wanted[count:]
    return values


def _table(path: Path, features: ArraySource, labels: ArraySource | None) -> ArrayTable:
    """Features and labels that fit together, or an error that says how they do not."""
    if len(features.shape) != 2:
        raise ReaderError(f"{path}: array {features.name!r} has shape {features.shape}, wanted (n, d)")
    if labels is not None and labels.shape[:1] != features.shape[:1]:
        rows = f"{features.name!r} has {features.shape[0]} rows, {labels.name!r} has shape {labels.shape}"
        raise ReaderError(f"{path}: {rows}")
    return ArrayTable(features, labels)
