"""Decoders of original files: from the paths of a part to a table of its rows.

What the readers know is one line here; the rest are formats of one archive alone.
"""

from __future__ import annotations

import dataclasses
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from datasets.readers import ReaderError, ReadOptions, Table, open_table
from datasets.readers.base import Block

SIDE, CHANNELS = 32, 3
RECORD = 1 + SIDE * SIDE * CHANNELS  # bytes of a CIFAR-10 image: its label, then three planes
Attributes = Sequence[tuple[str, str]]  # name of a column, and the letters that become columns of 0 and 1


def idx(images: Path, labels: Path) -> Table:
    """Images and labels in two IDX files."""
    return open_table(images, ReadOptions(format="idx", label=str(labels)))


def mat(path: Path) -> Table:
    """Images X (height, width, channels, n) and labels y in a MATLAB file."""
    return open_table(path, ReadOptions(format="mat", features="X", label="y"))


def libsvm(n_features: int, dtype: str) -> Callable[[Path], Table]:
    """A decoder of a file of sparse rows, `label column:value ...`, columns counted from 1."""
    options = ReadOptions(format="libsvm", n_features=n_features, zero_based=False, dtype=dtype)
    return lambda path: open_table(path, options)


def csv(
    *,
    label: int,
    delimiter: str = ",",
    start: int = 0,
    stop: int | None = None,
    classes: Sequence[str] | None = None,
) -> Callable[[Path], Table]:
    """A decoder of a text file without a header: rows `start` ... `stop`, labels in column `label`.

    `classes`: the labels are these texts, and become their codes 0, 1, ...
    """

    def decode(path: Path) -> Table:
        options = ReadOptions(format="csv", label=label, delimiter=delimiter, header=False)
        table = row_range(open_table(path, options), start, stop)
        return table if classes is None else coded(table, classes)

    return decode


def row_range(table: Table, start: int, stop: int | None) -> Table:
    """Rows `start` ... `stop` of a table as a table."""

    def read(rows: int, first: int) -> Iterator[Block]:
        at = start + first
        for X, y in table.read(rows, at):
            keep = len(X) if stop is None else min(len(X), stop - at)
            if keep <= 0:
                return
            yield X[:keep], None if y is None else y[:keep]
            at += keep

    end = table.n_rows if stop is None else stop
    return dataclasses.replace(table, n_rows=None if end is None else end - start, read=read)


def coded(table: Table, classes: Sequence[str]) -> Table:
    """The table with texts as labels replaced by their codes, -1 for another text."""
    codes = {name: code for code, name in enumerate(classes)}

    def read(rows: int, start: int) -> Iterator[Block]:
        for X, y in table.read(rows, start):
            yield X, None if y is None else np.array([codes.get(str(name), -1) for name in y])

    return dataclasses.replace(table, read=read)


def cifar10(*members: str, grey: bool = False) -> Callable[[Path], Table]:
    """A decoder of these members of the archive of the binary version, read one after the other.

    Colour rows are (32, 32, 3) in C order. Grey is ITU-R BT.601 luminance as Pillow's mode "L" has it:
    (19595 R + 38470 G + 7471 B + 32768) // 65536.
    """

    def decode(path: Path) -> Table:
        shape = (SIDE, SIDE) if grey else (SIDE, SIDE, CHANNELS)
        size = int(np.prod(shape))
        read = partial(_cifar10_blocks, path, members, grey)
        return Table(None, size, np.dtype(np.uint8), read, feature_shape=shape, files=(str(path),))

    return decode


def _cifar10_blocks(path: Path, members: Sequence[str], grey: bool, rows: int, start: int) -> Iterator[Block]:
    """Blocks of images and labels; a block ends where a member does."""
    skip = start
    for member, file, size in _members(path, members):
        first = min(skip, size // RECORD)
        skip -= first
        file.seek(first * RECORD)
        while data := file.read(rows * RECORD):
            if len(data) % RECORD:
                raise ReaderError(f"{path}: {member} does not end with a whole image of {RECORD} bytes")
            records = np.frombuffer(data, np.uint8).reshape(-1, RECORD)
            planes = records[:, 1:].reshape(-1, CHANNELS, SIDE * SIDE)
            X = luminance(planes) if grey else planes.transpose(0, 2, 1).reshape(len(records), -1)
            yield X, records[:, 0]


def _members(path: Path, names: Sequence[str]) -> Iterator[tuple[str, IO[bytes], int]]:
    """Names, open files and sizes of these members of an archive, in this order."""
    name = ""
    try:
        with tarfile.open(path) as archive:
            for name in names:
                file = archive.extractfile(name)
                if file is None:
                    raise KeyError(name)
                yield name, file, archive.getmember(name).size
    except KeyError as error:
        raise ReaderError(f"{path}: no file {name!r} in this archive") from error
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise ReaderError(f"{path}: not a readable archive ({error})") from error


def luminance(planes: np.ndarray) -> np.ndarray:
    """Grey values (b, pixels) of 8-bit planes R, G, B (b, 3, pixels)."""
    red, green, blue = (planes[:, channel].astype(np.uint32) for channel in range(CHANNELS))
    return ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16).astype(np.uint8)


def letters(label: str, attributes: Attributes) -> Callable[[Path], Table]:
    """A decoder of comma-separated letters, the label's first: its place in `label`, then a column a letter.

    The file is held in memory; an attribute with no letters is left out.
    """

    def decode(path: Path) -> Table:
        try:
            text = np.loadtxt(path, "U1", delimiter=",", ndmin=2)
        except ValueError as error:
            raise ReaderError(f"{path}: not a table of letters ({error})") from error
        if text.shape[1] != 1 + len(attributes):
            raise ReaderError(f"{path}: {text.shape[1]} columns, wanted {1 + len(attributes)}")

        def read(rows: int, start: int) -> Iterator[Block]:
            for first in range(start, len(text), rows):
                columns = text[first : first + rows].T
                y = np.array([label.find(letter) for letter in columns[0]])
                pairs = zip(columns[1:], attributes, strict=True)
                hot = [column == letter for column, (_, known) in pairs for letter in known]
                yield np.stack(hot, axis=1).astype(np.uint8), y

        width = sum(len(known) for _, known in attributes)
        return Table(len(text), width, np.dtype(np.uint8), read, files=(str(path),))

    return decode
