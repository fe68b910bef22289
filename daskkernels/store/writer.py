"""Store layer: `ArrayWriter`, aligned writes of one array by any number of workers, and back to a `Reader`.

An array counts as written only after `finish`, which finds every chunk file and stores a fingerprint of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, ZstdCodec

from daskkernels.frames import NUMERIC
from daskkernels.store import chunks, layout, reader
from daskkernels.store.errors import (
    AlignmentError,
    BlockReadError,
    ExistsError,
    IncompleteWriteError,
    MetadataError,
    MissingChunkError,
    NotADatasetError,
    ShapeError,
)
from daskkernels.store.foreign import every_chunk_written, one_chunk_at_a_time
from daskkernels.store.location import SHOWN, Location
from daskkernels.store.marks import MARK, marks_of, read_json
from daskkernels.store.reader import Reader

MAX_CHUNK_ROWS = 2**31 - 1


@dataclass(frozen=True)
class ArrayWriter:
    """Writes one array in whole chunks. Picklable; safe from many workers, as no two share a chunk."""

    url: str
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunk_rows: int

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        name: str,
        shape: tuple[int, ...],
        dtype: Any,
        chunk_rows: int,
        attributes: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> ArrayWriter:
        """Make the array `name` in the group at `url` (made if need be), empty and marked as unfinished.

        Raises ExistsError if there is an array of that name (with `overwrite`: if it is not ours), or if the
        group would lie inside another array or group; ShapeError, TypeError for a dtype that is not a number.
        """
        location = Location.of(url)
        kind = _stored_dtype(dtype)
        _check_request(name, shape, chunk_rows)
        _make_room(location, name, overwrite)
        zarr.create_array(
            location.zarr_store(read_only=False),
            name=name,
            shape=shape,
            dtype=kind,
            chunks=(chunk_rows, *(max(1, size) for size in shape[1:])),
            filters=None,
            serializer=BytesCodec(endian="little"),
            compressors=[ZstdCodec(), Crc32cCodec()],
            fill_value=kind.type(0),
            zarr_format=3,
            attributes={**(attributes or {}), MARK: {"complete": False}},
            config={"write_empty_chunks": True},
        )
        return cls(location.url, name, tuple(int(size) for size in shape), kind, int(chunk_rows))

    @classmethod
    def unfinished(cls, url: str, name: str) -> ArrayWriter | None:
        """The writer of an array of ours that was begun, to go on with it; None where there is none."""
        location = Location.of(url)
        if not location.exists(f"{name}/zarr.json"):
            return None
        found = _reader(location, name, read_json(location, f"{name}/zarr.json"))
        return cls(location.url, name, found.shape, found.dtype, found.chunk_rows)

    def unwritten(self, group: int) -> list[int]:
        """First rows of the groups of `group` rows (whole chunks) of which a chunk file is not there."""
        missing = set(Location(self.url).missing(self._keys(), self.name))
        absent = (index * self.chunk_rows for index, key in enumerate(self._keys()) if key in missing)
        return sorted({start - start % group for start in absent})

    def write(self, start: int, block: np.ndarray) -> int:
        """Store rows `start` to `start + len(block)` and return their number.

        Raises AlignmentError unless both ends fall on a chunk boundary or on the last row; ShapeError,
        TypeError.
        """
        if isinstance(block, np.ma.MaskedArray):
            raise TypeError(f"array {self.name!r} of {self.url}: a block is masked, fill it: filled(value)")
        block = np.asarray(block)
        self._check_block(start, block)
        if len(block):
            with one_chunk_at_a_time(local=Location(self.url).is_local):
                array = self._open()
                array[start : start + len(block)] = np.ascontiguousarray(block, dtype=self.dtype)
        return len(block)

    def finish(self) -> Reader:
        """Check that every chunk is there, mark the array as complete, open it. Raises MissingChunkError."""
        location = Location(self.url)
        raise_missing(location, self.name, location.missing(self._keys(), self.name))
        content = content_of(location, self.name, self._keys())
        self._open().update_attributes({MARK: {"complete": True, "content": content}})
        reader.forget(self.url)
        return open_array(self.url, self.name)

    def grown(self, rows: int) -> ArrayWriter:
        """The same array with more rows. The last chunk must not have been written in part."""
        self._open().resize((rows, *self.shape[1:]))
        return dataclasses.replace(self, shape=(rows, *self.shape[1:]))

    def stored(self, start: int, stop: int) -> np.ndarray:
        """Rows as they are on disk, before the array is finished."""
        return np.asarray(self._open()[start:stop])

    def rewrite(self, function: Callable[[np.ndarray], np.ndarray], rows: int) -> None:
        """Replace the stored values by `function` of them, `rows` rows (whole chunks) at a time."""
        array = self._open()
        for start in range(0, self.shape[0], rows):
            self.write(start, function(np.asarray(array[start : start + rows])))

    def _keys(self) -> list[str]:
        return chunks.chunk_keys(self.name, self.shape, self.chunk_rows)

    def _open(self) -> Any:
        store = Location(self.url).zarr_store(read_only=False)
        with every_chunk_written():  # open_array drops a config that it is given
            return zarr.open_array(store, path=self.name, mode="r+")

    def _check_block(self, start: int, block: np.ndarray) -> None:
        stop = start + len(block) if block.ndim else start
        if block.ndim != len(self.shape) or block.shape[1:] != self.shape[1:]:
            wanted = ", ".join(["rows", *map(str, self.shape[1:])])
            raise ShapeError(f"array {self.name!r} of {self.url}: blocks are ({wanted}), got {block.shape}")
        if not np.can_cast(block.dtype, self.dtype, "safe"):
            raise TypeError(
                f"array {self.name!r} of {self.url} holds {self.dtype}, got a block of {block.dtype}"
            )
        if start < 0 or stop > self.shape[0]:
            raise AlignmentError(
                f"array {self.name!r} of {self.url} has {self.shape[0]} rows, got rows {start} to {stop}"
            )
        if start % self.chunk_rows or (stop % self.chunk_rows and stop != self.shape[0]):
            raise AlignmentError(
                f"array {self.name!r} of {self.url} is written in chunks of {self.chunk_rows} rows, got "
                f"rows {start} to {stop}: start at a multiple and end at a multiple or at row {self.shape[0]}"
            )


def _stored_dtype(dtype: Any) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in NUMERIC or kind.itemsize > 8:
        raise TypeError(f"stored arrays hold bool, integers or floats of at most 8 bytes, got {kind}")
    stored: np.dtype[Any] = kind.newbyteorder("<")
    return stored


def _check_request(name: str, shape: tuple[int, ...], chunk_rows: int) -> None:
    if not name or name != name.strip("/") or any(part in ("", ".", "..") for part in name.split("/")):
        raise ValueError(f"name must be a plain array name such as 'X', got {name!r}")
    if not shape or shape[0] < 0 or any(size < 1 for size in shape[1:]):
        raise ShapeError(f"array {name!r}: shape must be (rows, ...) with columns, got {shape}")
    if not 1 <= chunk_rows <= MAX_CHUNK_ROWS:
        raise ValueError(f"array {name!r}: chunk_rows must be 1 to {MAX_CHUNK_ROWS}, got {chunk_rows}")


def _make_room(location: Location, name: str, overwrite: bool) -> None:
    """Make the group, and delete an array of ours that may be overwritten."""
    refuse_inside(location)
    _refuse_in_array(location, name)
    if not location.exists("zarr.json"):
        if location.exists() and not location.is_empty_folder():
            raise ExistsError(f"{location.url} exists and is not a Zarr v3 group: choose another path")
        zarr.create_group(location.zarr_store(read_only=False), zarr_format=3)
    if not location.exists(name):
        return
    if not overwrite:
        raise ExistsError(f"array {name!r} of {location.url} exists: pass overwrite=True to replace it")
    if marks_of(read_json(location, f"{name}/zarr.json")) is None:
        raise ExistsError(
            f"array {name!r} of {location.url} was not written by daskkernels: it is not replaced"
        )
    location.remove(name)
    reader.forget(location.url)


def refuse_inside(location: Location) -> None:
    """Raise ExistsError for a folder inside a Zarr array or group: it would damage what is there."""
    for parent in location.parents():
        with contextlib.suppress(PermissionError):  # object stores may be closed above the user's own folder
            if parent.exists("zarr.json"):
                raise ExistsError(
                    f"{location.url} lies inside the Zarr array or group {parent.url}: choose another path"
                )


def _refuse_in_array(location: Location, name: str) -> None:
    """The same for an array inside an array: the group itself, or a part of the name, is one."""
    parts = name.split("/")
    for folder in ("", *("/".join(parts[:count]) + "/" for count in range(1, len(parts)))):
        document = f"{folder}zarr.json"
        if location.exists(document) and read_json(location, document).get("node_type") != "group":
            inner = location.path(folder.rstrip("/"))
            raise ExistsError(
                f"{location.path(name)} lies inside the Zarr array {inner}: choose another name"
            )


def open_array(url: str | os.PathLike[str], name: str) -> Reader:
    """The Reader of a finished array.

    Raises IncompleteWriteError, NotADatasetError, MetadataError, FormatError.
    """
    location = Location.of(url)
    document = f"{name}/zarr.json"
    if not location.exists(document):
        raise NotADatasetError(f"no array {name!r} in {location.url}: {location.path(document)} is not there")
    parsed = read_json(location, document)
    marks = marks_of(parsed)
    if marks is None:
        raise NotADatasetError(
            f"array {name!r} of {location.url} was not written by daskkernels: open it with zarr.open_array"
        )
    if marks.get("complete") is not True:
        raise IncompleteWriteError(
            f"array {name!r} of {location.url} was not finished ({location.path(document)}): write it again"
        )
    return _reader(location, name, parsed)


def _reader(location: Location, name: str, parsed: dict[str, Any]) -> Reader:
    document = f"{name}/zarr.json"
    shape, dtype, rows = layout.parse(location.path(document), parsed)
    try:
        token = reader.fingerprint(location.read(document))
    except OSError as error:
        raise MetadataError(f"{location.path(document)} cannot be read: {error}") from error
    return Reader(location.url, name, shape, dtype.newbyteorder("<"), rows, token)


def raise_missing(location: Location, name: str, missing: list[str], count: int | None = None) -> None:
    """Raise MissingChunkError naming the first chunk files that are not there, of `count` in all."""
    if missing:
        shown = ", ".join(location.path(key) for key in missing[:SHOWN])
        count = len(missing) if count is None else count
        more = f" and {count - SHOWN} more" if count > SHOWN else ""
        raise MissingChunkError(f"array {name!r} of {location.url}: missing chunk file {shown}{more}")


def content_of(location: Location, name: str, keys: list[str]) -> str:
    """The fingerprint of an array's chunk files. Cost: four bytes of every file."""

    def checksums() -> Any:
        for key, tail in zip(keys, location.tails(keys, chunks.CRC_BYTES), strict=True):
            if isinstance(tail, OSError):
                raise BlockReadError(
                    f"array {name!r} of {location.url}: chunk file {location.path(key)}: {tail}"
                )
            yield tail

    return chunks.content_hash(checksums())
