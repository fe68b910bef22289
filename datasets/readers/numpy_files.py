"""Reader of NumPy's own files: .npy, also compressed, and members of an .npz, unpacked as they stream.

`numpy.load` would hold a compressed member whole.
"""

from __future__ import annotations

import contextlib
import functools
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.lib import format as npy_format

from datasets.readers import files
from datasets.readers.arrays import (
    ArraySource,
    ColumnArray,
    RowArray,
    Values,
    array_table,
    check_size,
    copied,
)
from datasets.readers.base import ReaderError, ReadOptions, Table

Header = tuple[tuple[int, ...], bool, np.dtype]


def open_npy(address: str, options: ReadOptions) -> Table:
    """The table in an .npy file: one array of features; `label` is the address of another one with labels."""
    if options.label is None:
        return array_table(_single(address), None)
    other = str(options.label)
    with files.named(other, lambda: "not a readable npy file"):
        labels = _single(other)
    return array_table(_single(address), labels)


def open_npz(address: str, options: ReadOptions) -> Table:
    """The table in an .npz file: the arrays named by `features` ("X") and `label`."""
    features = _member(address, options.features or "X")
    labels = None if options.label is None else _member(address, str(options.label))
    return array_table(features, labels)


def _single(address: str) -> ArraySource:
    """The array of an .npy file, its header read."""
    packed = bool(files.compression(address))
    with files.unpacked(address) as (stream, _):
        header = _header(stream)
        offset = 0 if packed else stream.tell()
    if not packed and not header[2].hasobject:
        check_size(address, offset, header[0], header[2])
    fs, _ = files.filesystem(address)
    values = functools.partial(_npy_values, address)
    local = not packed and files.is_local(fs)
    return _source(address, files.name_of(address), header, values, local, jumps=not packed)


def _member(address: str, name: str) -> ArraySource:
    """The array of that name in an .npz file, its header read."""
    with files.opened(address) as file, zipfile.ZipFile(file) as archive:
        members = [m.removesuffix(".npy") for m in archive.namelist() if m.endswith(".npy")]
        if name not in members:
            raise ReaderError(f"no array {name!r}; it holds: {', '.join(members) or 'none'}")
        with archive.open(f"{name}.npy") as stream:
            header = _header(stream)
    return _source(address, name, header, functools.partial(_npz_values, address, name))


def _source(
    address: str,
    name: str,
    header: Header,
    values: Values,
    local: bool = False,
    jumps: bool = False,
) -> ArraySource:
    shape, by_columns, dtype = header
    if dtype.hasobject:
        raise ReaderError(f"array {name!r} holds Python objects; numbers or strings are wanted")
    if not shape:
        raise ReaderError(f"array {name!r} is a single value; rows are wanted")
    if not by_columns or len(shape) == 1:
        return RowArray(address, name, shape, dtype, values, jumps=jumps)
    return ColumnArray(address, name, shape, dtype, values if local else copied(values))


@contextlib.contextmanager
def _npy_values(address: str) -> Iterator[IO[bytes]]:
    with files.unpacked(address) as (stream, _):
        _header(stream)
        yield stream


@contextlib.contextmanager
def _npz_values(address: str, name: str) -> Iterator[IO[bytes]]:
    with (
        files.opened(address) as file,
        zipfile.ZipFile(file) as archive,
        archive.open(f"{name}.npy") as stream,
    ):
        _header(stream)
        yield stream


def _header(stream: IO[bytes]) -> Header:
    """Shape, column order and type; leaves the stream at the first value."""
    version = npy_format.read_magic(stream)
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    header: Header = read(stream)
    return header
