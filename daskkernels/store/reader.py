"""Store layer: `Reader`, a small description of a stored array that reads blocks of rows in any process.

It holds no open file: arrays of ours are read file by file, arrays made elsewhere through Zarr, opened once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from dask.task_spec import Task
from dask.tokenize import tokenize
from dask.typing import Key

from daskkernels.store import chunks, foreign
from daskkernels.store.errors import BlockReadError, MissingChunkError, StaleReaderError
from daskkernels.store.location import Location, Stamp

_MAX_CHECKED = 1024
_checked: dict[tuple[str, str, str], Stamp | None] = {}  # arrays whose metadata this process has compared


@dataclass(frozen=True)
class Reader:
    """A stored array of `shape` and `dtype`: `reader[a:b]` reads rows a to b (not included) as a new array.

    Cost: the chunks that overlap the rows, decompressed in the calling thread. Pickles to less than 1 kB.
    Raises BlockReadError (MissingChunkError, StaleReaderError) with the array and the chunk file.
    """

    url: str
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunk_rows: int
    token: str  # fingerprint of the array's metadata file
    ours: bool = True
    allow_missing: bool = False
    store: Any = field(default=None, repr=False, compare=False)  # only for a Zarr store that has no URL

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __dask_tokenize__(self) -> Hashable:
        flags = (self.ours, self.allow_missing)
        return "daskkernels.Reader", self.url, self.name, self.shape, self.dtype.str, self.token, flags

    def __getitem__(self, rows: slice) -> np.ndarray:
        if not isinstance(rows, slice):
            raise TypeError(f"a Reader takes a slice of rows such as reader[0:1024], got {rows!r}")
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise TypeError(f"a Reader reads neighbouring rows, got the step {step}")
        stop = max(start, stop)
        if start == stop:
            return np.empty((0, *self.shape[1:]), self.dtype)
        return _read_ours(self, start, stop) if self.ours else _read_foreign(self, start, stop)


def read_rows(reader: Reader, start: int, stop: int) -> np.ndarray:
    """Rows `start` to `stop` of a stored array, (stop - start, ...)."""
    return reader[start:stop]


def to_dask(reader: Reader, row_chunks: tuple[int, ...]) -> da.Array:
    """A lazy array with these row blocks, one task a block. Raises ValueError if they do not add up."""
    if sum(row_chunks) != reader.shape[0]:
        raise ValueError(
            f"row_chunks add up to {sum(row_chunks)}, but {reader.name!r} has {reader.shape[0]} rows"
        )
    name = f"read-{reader.name.replace('/', '-')}-{tokenize(reader, row_chunks)}"
    layer: dict[Key, Task] = {}
    start = 0
    for index, rows in enumerate(row_chunks):
        key: Key = (name, index, *(0,) * (reader.ndim - 1))
        layer[key] = Task(key, read_rows, reader, start, start + rows)
        start += rows
    blocks = (tuple(row_chunks), *((size,) for size in reader.shape[1:]))
    meta = np.empty((0,) * reader.ndim, reader.dtype)
    return da.Array(HighLevelGraph.from_collections(name, layer), name, blocks, meta=meta)


def reader_of(x: object) -> Reader | None:
    """The Reader behind a `zarr.Array`, or behind a dask array made by `to_dask`; None for anything else.

    A dask array that was sliced, rechunked, mapped or persisted is no longer the stored array: None.
    """
    if isinstance(x, Reader):
        return x
    if foreign.is_zarr_array(x):
        return _foreign_reader(x)
    if not isinstance(x, da.Array):
        return None
    layer = x.dask.layers.get(x.name) if isinstance(x.dask, HighLevelGraph) else None
    task = layer.get((x.name,) + (0,) * x.ndim) if layer is not None else None
    if not isinstance(task, Task) or task.func is not read_rows:
        return None
    reader = task.args[0]
    straight = isinstance(reader, Reader) and x.shape == reader.shape and x.dtype == reader.dtype
    return reader if straight else None


def _foreign_reader(array: Any) -> Reader:
    found = foreign.describe(array)
    return Reader(
        url=found.url,
        name=found.name,
        shape=tuple(array.shape),
        dtype=found.dtype,
        chunk_rows=found.chunk_rows,
        token=found.token,
        ours=False,
        store=found.store,
    )


def _read_foreign(reader: Reader, start: int, stop: int) -> np.ndarray:
    return foreign.read(reader.url, reader.name, reader.token, reader.store, start, stop)


def _read_ours(reader: Reader, start: int, stop: int) -> np.ndarray:
    location = Location(reader.url)
    _check_unchanged(location, reader)
    rows = reader.chunk_rows
    row_bytes = reader.nbytes // len(reader)
    indices = range(start // rows, -(-stop // rows))
    keys = [chunks.chunk_key(reader.name, index, reader.ndim) for index in indices]
    out: np.ndarray | None = None  # memory is taken when the first chunk file has kept what the shape says
    for index, key, raw in zip(
        indices, keys, location.read_many(keys, chunks.most_bytes(rows * row_bytes)), strict=True
    ):
        low, high = max(start, index * rows), min(stop, (index + 1) * rows)
        found = _checked_chunk(reader, location, key, raw, rows * row_bytes)
        out = np.empty((stop - start, *reader.shape[1:]), reader.dtype) if out is None else out
        part = out[low - start : high - start]
        if found is None:
            part[...] = 0
            continue
        try:
            chunks.decode(found, part, (low - index * rows) * row_bytes, rows * row_bytes)
        except ValueError as error:
            raise BlockReadError(f"{_where(reader, location, key)} is damaged: {error}") from error
    assert out is not None
    return out


def _checked_chunk(
    reader: Reader, location: Location, key: str, raw: bytes | OSError, chunk_bytes: int
) -> bytes | None:
    """The bytes of a chunk file whose checksum and size are right; None for one that may be missing."""
    if isinstance(raw, FileNotFoundError):
        if reader.allow_missing:
            return None
        where = _where(reader, location, key)
        raise MissingChunkError(f"{where} is missing; restore it or write the data again")
    if isinstance(raw, OSError):
        raise BlockReadError(f"{_where(reader, location, key)} cannot be read: {raw}") from raw
    try:
        chunks.check(raw, chunk_bytes)
    except ValueError as error:
        raise BlockReadError(f"{_where(reader, location, key)} is damaged: {error}") from error
    return raw


def _where(reader: Reader, location: Location, key: str) -> str:
    return f"array {reader.name!r} of {reader.url}: chunk file {location.path(key)}"


def fingerprint(metadata: bytes) -> str:
    """The token of an array: a hash of its metadata file, which holds a fingerprint of the content."""
    return hashlib.sha256(metadata).hexdigest()[:32]


def forget(url: str) -> None:
    """Compare again, at the next read, the metadata of what lies under this URL."""
    for key in [key for key in _checked if key[0] == url]:
        _checked.pop(key, None)


def _check_unchanged(location: Location, reader: Reader) -> None:
    """Refuse to read one array under the description of another: a stat a block, a hash once a process."""
    key = (reader.url, reader.name, reader.token)
    document = f"{reader.name}/zarr.json"
    try:
        stamp = location.stamp(document)
        if key in _checked and _checked[key] == stamp:
            return
        current = fingerprint(location.read(document))
    except OSError as error:
        raise BlockReadError(f"array {reader.name!r} of {reader.url} cannot be read: {error}") from error
    if current != reader.token:
        raise StaleReaderError(
            f"array {reader.name!r} of {reader.url} was replaced after it was opened "
            f"({location.path(document)} changed): open it again"
        )
    if len(_checked) >= _MAX_CHECKED:
        _checked.clear()
    _checked[key] = stamp


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_checked.clear)
