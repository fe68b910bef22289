"""Reader of MATLAB files of version 5 to 7, as SVHN comes in: images (h, w, 3, n), one after the other.

MATLAB stores the first axis fastest, so images can be unpacked as they stream; `scipy.io.loadmat` would hold
the whole array.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from datasets.readers import files
from datasets.readers.arrays import ArraySource, ColumnArray, RowArray, array_table, copied
from datasets.readers.base import ReaderError, ReadOptions, Table

HEADER_BYTES = 128
MATRIX, COMPRESSED = 14, 15  # kinds of an element of the file
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMERIC_CLASSES = range(6, 16)  # double to uint64; others are text, cells, structures, sparse
COMPLEX = 0x0800


@dataclass(frozen=True)
class Variable:
    """One variable of the file: where its element begins, and what is in it."""

    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype | None  # None: not an array of real numbers


def open_matlab(address: str, options: ReadOptions) -> Table:
    """The table of two variables: images (h, w, n), (h, w, c, n) or a matrix (n, d), and n labels."""
    found = {variable.name: variable for variable in _variables(address)}
    features = _source(address, found, options.features or "X")
    labels = None if options.label is None else _source(address, found, str(options.label), flat=True)
    return array_table(features, labels)


def _source(address: str, found: dict[str, Variable], name: str, flat: bool = False) -> ArraySource:
    """The array of that name, its rows along the first axis; `flat`: one value for each row."""
    if name not in found:
        raise ReaderError(f"no variable {name!r}; it holds: {', '.join(found) or 'none'}")
    variable = found[name]
    if variable.dtype is None:
        raise ReaderError(f"variable {name!r} is not an array of real numbers")
    values = functools.partial(_values, address, variable.offset)
    shape, dtype = variable.shape, variable.dtype
    if flat and math.prod(shape) == max(shape):
        return RowArray(address, name, (math.prod(shape),), dtype, values)
    if len(shape) == 2:
        return ColumnArray(address, name, shape, dtype, copied(values))
    return RowArray(address, name, (shape[-1], *shape[:-1]), dtype, values, reverse=True)


def _variables(address: str) -> Iterator[Variable]:
    """Every variable, its values left out."""
    n_bytes = files.n_bytes(address)
    with files.opened(address) as file:
        order, offset = _byte_order(file), HEADER_BYTES
        while file.read(1):
            file.seek(offset)
            kind, size = _numbers(_exactly(file, 8), order)
            if kind not in (MATRIX, COMPRESSED):
                raise ReaderError(f"the element at byte {offset} is of the unknown kind {kind}")
            file.seek(offset)
            yield _variable(_element(file, order), order, offset)
            offset += 8 + size
            if n_bytes is not None and offset > n_bytes:
                raise EOFError("the file ends too early")
            file.seek(offset)


def _variable(stream: IO[bytes], order: str, offset: int) -> Variable:
    """The head of one element; leaves the stream at the tag of its values."""
    flags = _numbers(_part(stream, order), order)[0]
    shape = tuple(np.frombuffer(_part(stream, order), f"{order}i4").tolist())
    name = _part(stream, order).decode("latin-1")
    if flags & 0xFF not in NUMERIC_CLASSES or flags & COMPLEX:
        return Variable(name, offset, shape, None)
    kind = _numbers(stream.peek(4)[:4], order)[0] & 0xFFFF  # type: ignore[attr-defined]
    return Variable(name, offset, shape, np.dtype(f"{order}{TYPES[kind]}") if kind in TYPES else None)


@contextlib.contextmanager
def _values(address: str, offset: int) -> Iterator[IO[bytes]]:
    """The values of the variable at that byte; afterwards the checksum of all of it is compared."""
    with files.opened(address) as file:
        order = _byte_order(file)
        file.seek(offset)
        element = _element(file, order)
        _variable(element, order, offset)
        yield _part_stream(element, order)
        while element.read(io.DEFAULT_BUFFER_SIZE):
            pass


def _element(file: IO[bytes], order: str) -> IO[bytes]:
    """The content of the next element, unpacked; it begins behind the tag that says it is a matrix."""
    kind, size = _numbers(_exactly(file, 8), order)
    stream = io.BufferedReader(_Stretch(file, size, packed=kind == COMPRESSED))
    if kind == COMPRESSED:
        _exactly(stream, 8)
    return stream


def _part_stream(stream: IO[bytes], order: str) -> IO[bytes]:
    """One part of an element: a few bytes in its tag itself, or as many as the tag says."""
    tag = _exactly(stream, 8)
    kind, size = _numbers(tag, order)
    if kind >> 16:
        return io.BytesIO(tag[4 : 4 + (kind >> 16)])
    return io.BufferedReader(_Stretch(stream, size, packed=False))


def _part(stream: IO[bytes], order: str) -> bytes:
    """The bytes of one small part; leaves the stream at the next one."""
    part = _part_stream(stream, order)
    data = part.read()
    if isinstance(part, io.BufferedReader):
        _exactly(stream, -len(data) % 8)
    return data


def _byte_order(file: IO[bytes]) -> str:
    header = file.read(HEADER_BYTES)
    if header.startswith(b"MATLAB 7.3"):
        raise ReaderError("a MATLAB file of version 7.3 is an HDF5 file: name the format hdf5")
    if len(header) < HEADER_BYTES or header[126:] not in (b"IM", b"MI"):
        raise ReaderError("it does not begin as a MATLAB file of version 5 to 7")
    return "<" if header[126:] == b"IM" else ">"


def _numbers(data: bytes, order: str) -> list[int]:
    numbers: list[int] = np.frombuffer(data, f"{order}u4").tolist()
    return numbers


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the file ends too early")
    return data


class _Stretch(io.RawIOBase):
    """The next `size` bytes of a stream, decompressed if they are packed."""

    def __init__(self, stream: IO[bytes], size: int, packed: bool) -> None:
        self._stream, self._left = stream, size
        self._inflate = zlib.decompressobj() if packed else None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        if self._inflate is None:
            return self._packed(size)
        data = b""
        while not data and not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._packed(io.DEFAULT_BUFFER_SIZE)
            data = self._inflate.decompress(packed, size)
            if not data and not packed and not self._inflate.eof:
                raise EOFError("the compressed data ends too early")
        return data

    def _packed(self, size: int) -> bytes:
        data = self._stream.read(min(size, self._left))
        if not data and size and self._left:
            raise EOFError("the file ends too early")
        self._left -= len(data)
        return data
