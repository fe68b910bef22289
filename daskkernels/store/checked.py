"""Store layer: arrays of ours opened only when every chunk file is there, and compared with what was written.

Each chunk file has a checksum of its own; their order is kept as a fingerprint in the array's attributes.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from dask.base import compute
from dask.task_spec import Task
from dask.tokenize import tokenize
from dask.typing import Key

from daskkernels.store import chunks
from daskkernels.store.errors import BlockReadError, DigestError, MissingChunkError, MissingChunkWarning
from daskkernels.store.location import Location
from daskkernels.store.marks import marks_of, read_json
from daskkernels.store.reader import Reader
from daskkernels.store.survey import boxed, run_blocks
from daskkernels.store.writer import content_of, open_array, raise_missing

from ..callers import warn

MOST_MISSING = 1000  # chunks for each one that is there: more is a shape that was never written


def checked_array(location: Location, name: str, allow_missing: bool = False) -> Reader:
    """The Reader of a finished array with all its chunk files. Raises MissingChunkError and others."""
    reader = open_array(location.url, name)
    keys = chunks.each_key(name, reader.shape, reader.chunk_rows)
    count = chunks.chunk_count(reader.shape, reader.chunk_rows)
    try:
        missing, first = location.gaps(keys, count, f"{name}/c")
    except OSError as error:
        raise BlockReadError(f"array {name!r} of {location.url}: {error}") from error
    if not allow_missing:
        raise_missing(location, name, first, missing)
        return reader
    if missing > MOST_MISSING * (1 + count - missing):
        raise MissingChunkError(
            f"array {name!r} of {location.url}: {missing} of {count} chunks missing, too many to be zeros"
        )
    if missing:
        warn(
            f"array {name!r} of {location.url}: {missing} of {count} chunks missing, read as zeros "
            f"(the first is {location.path(first[0])})",
            MissingChunkWarning,
        )
    return dataclasses.replace(reader, allow_missing=True)


def whole_array(url: str, name: str) -> Reader:
    """The Reader of a finished array whose chunk files are those that were written, in their order.

    Cost: four bytes of every file. Raises MissingChunkError, DigestError and others.
    """
    location = Location(url)
    reader = checked_array(location, name)
    check_content(location, reader)
    return reader


def verify(location: Location, reader: Reader, codes: int | None = None) -> None:
    """Read every row, and compare the order of the chunk files with the one that was written.

    `codes`: the rows must be whole numbers below that.
    """
    _read_all(reader, codes)
    if not reader.allow_missing:
        check_content(location, reader)


def check_content(location: Location, reader: Reader) -> None:
    """Raise DigestError unless the chunk files are those that were written."""
    keys = chunks.chunk_keys(reader.name, reader.shape, reader.chunk_rows)
    document = f"{reader.name}/zarr.json"
    marks = marks_of(read_json(location, document)) or {}
    if content_of(location, reader.name, keys) != marks.get("content"):
        raise DigestError(
            f"array {reader.name!r} of {location.url}: every chunk file is sound, but they are not those "
            f"that were written ({location.path(document)}): chunk files were exchanged"
        )


def _read_all(reader: Reader, codes: int | None) -> None:
    rows = reader.chunk_rows * max(
        1, 2**22 // max(1, reader.nbytes // max(1, len(reader)) * reader.chunk_rows)
    )
    starts = range(0, len(reader), rows)
    name = f"store-verify-{tokenize(reader, rows)}"
    tasks: dict[Key, Task] = {
        (name, index): Task((name, index), _read_and_drop, reader, start, start + rows, codes)
        for index, start in enumerate(starts)
    }
    compute(run_blocks(name, tasks, []))


def _read_and_drop(reader: Reader, start: int, stop: int, codes: int | None) -> np.ndarray:
    block = reader[start:stop]
    if codes is not None and len(block) and not 0 <= int(block.min()) <= int(block.max()) < codes:
        bad = int(np.argmax((block < 0) | (block >= codes)))
        raise BlockReadError(
            f"array {reader.name!r} of {reader.url}: row {start + bad} is {block[bad]}, wanted the code of "
            f"one of {codes} classes"
        )
    return boxed(len(block))
