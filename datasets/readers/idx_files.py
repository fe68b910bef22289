"""Reader of IDX files, the format of MNIST: images in one file, labels in another, both often compressed.

A header of a few bytes, then the values of one array in row order, the largest byte of a number first.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import IO

import numpy as np

from datasets.readers import files
from datasets.readers.arrays import RowArray, array_table, check_size
from datasets.readers.base import ReaderError, ReadOptions, Table

TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
Header = tuple[tuple[int, ...], np.dtype]


def open_idx(address: str, options: ReadOptions) -> Table:
    """The table in an IDX file; `label` is the address of the IDX file with the labels."""
    if options.label is None:
        return array_table(_array(address), None)
    other = str(options.label)
    with files.named(other, lambda: "not a readable idx file"):
        labels = _array(other)
    return array_table(_array(address), labels)


def _array(address: str) -> RowArray:
    """The array of an IDX file, its header read."""
    with files.unpacked(address) as (stream, _):
        shape, dtype = _header(stream)
    packed = bool(files.compression(address))
    if not packed:
        check_size(address, 4 + 4 * len(shape), shape, dtype)
    values = functools.partial(_values, address)
    return RowArray(address, files.name_of(address), shape, dtype, values, jumps=not packed)


@contextlib.contextmanager
def _values(address: str) -> Iterator[IO[bytes]]:
    with files.unpacked(address) as (stream, _):
        _header(stream)
        yield stream


def _header(stream: IO[bytes]) -> Header:
    """Shape and type; leaves the stream at the first value."""
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES or not magic[3]:
        raise ReaderError(f"it begins with {magic!r}, which is not how an IDX file begins")
    sizes = stream.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise EOFError("the file ends in its header")
    return tuple(np.frombuffer(sizes, ">u4").tolist()), np.dtype(TYPES[magic[2]])
