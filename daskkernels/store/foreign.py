"""Store layer: arrays made by other programs, in Zarr v2 or v3, read as they are.

There a chunk that is not stored means the fill value: it is read as such, with a warning at the opening.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr
from zarr.errors import BaseZarrError
from zarr.storage import FsspecStore, LocalStore

from daskkernels.store.errors import BlockReadError, MissingChunkWarning
from daskkernels.store.location import Location

from ..callers import warn

_MAX_OPEN = 32


@dataclass(frozen=True)
class Description:
    """What a Reader needs to know about an array made elsewhere."""

    url: str
    name: str
    dtype: np.dtype[Any]
    chunk_rows: int
    token: str
    store: Any


def is_zarr_array(x: object) -> bool:
    """Whether `x` is an open `zarr.Array`."""
    return isinstance(x, zarr.Array)


def describe(array: Any) -> Description:
    """Where the array is and how it is cut; warns when chunks are not stored."""
    if array.ndim < 1:
        raise TypeError(
            f"a Zarr array with at least one axis is wanted, got the scalar array {array.store_path}"
        )
    url, store = _origin(array)
    name = str(array.path)
    _warn_missing(array)
    token = _token(array, url, name)
    _remember((url, name, token), array)
    rows = (array.shards or array.chunks)[0]
    return Description(url, name, np.dtype(array.dtype), int(rows), token, store)


def read(url: str, name: str, token: str, store: Any, start: int, stop: int) -> np.ndarray:
    """Rows of an array made elsewhere, one chunk at a time. Raises BlockReadError with array and rows."""
    key = (url, name, token)
    array = _cache.opened.get(key)
    try:
        if array is None:
            source = store if store is not None else Location(url).zarr_store(read_only=True)
            array = zarr.open_array(source, path=name, mode="r")
            _remember(key, array)
        with one_chunk_at_a_time(local=not isinstance(array.store, FsspecStore)):
            return np.ascontiguousarray(array[start:stop])
    except (OSError, ValueError, RuntimeError, TypeError, KeyError, BaseZarrError) as error:
        where = f"array {name or '/'!r} of {url}: rows {start} to {stop} (chunks of {_chunks(array)} rows)"
        raise BlockReadError(f"{where} cannot be read: {error}") from error


def _chunks(array: Any) -> int | str:
    return "?" if array is None else int((array.shards or array.chunks)[0])


def _origin(array: Any) -> tuple[str, Any]:
    """A URL from which a worker can open the store; the store object itself when it has none."""
    store = array.store
    if isinstance(store, LocalStore):
        return Location.of(store.root).url, None
    if isinstance(store, FsspecStore) and not getattr(store.fs, "storage_options", None):
        return str(store.fs.unstrip_protocol(store.path)), None
    return str(store), store


def _token(array: Any, url: str, name: str) -> str:
    """Fingerprint of the metadata and, on a local disk, of when its files were last replaced."""
    total = hashlib.sha256(json.dumps(array.metadata.to_dict(), sort_keys=True, default=str).encode())
    location = Location(url)
    if isinstance(array.store, LocalStore):
        prefix = f"{name}/" if name else ""
        for key in ("zarr.json", ".zarray", "c", ""):
            if location.exists(prefix + key):
                total.update(f"{key}:{location.stamp((prefix + key).rstrip('/'))}".encode())
    return total.hexdigest()[:32]


def _warn_missing(array: Any) -> None:
    stored, wanted = array.nchunks_initialized, array.nchunks
    if array.shards and stored == math.prod(
        -(-n // m) for n, m in zip(array.shape, array.shards, strict=True)
    ):
        return  # Zarr before 3.1.4 counts whole shards here
    if stored < wanted:
        warn(
            f"{array.store_path}: {wanted - stored} of {wanted} chunks not stored, read as the fill value "
            f"{array.fill_value}",
            MissingChunkWarning,
        )


class _Cache:
    """The arrays that this process holds open."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start afresh, also in a forked child, where the lock may have been copied while it was held."""
        self.opened: dict[tuple[str, str, str], Any] = {}
        self.lock = threading.Lock()


class _Held:
    """One of Zarr's settings, which belong to the whole process, held while any of our calls is under way.

    It is set when the first call enters and put back when the last one leaves: each thread setting and
    restoring it for itself would leave it changed for good.
    """

    def __init__(self, name: str, value: object) -> None:
        self._setting = {name: value}
        self.reset()

    def reset(self) -> None:
        """Start afresh, also in a forked child."""
        self._lock = threading.Lock()
        self._users = 0
        self._set = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._set.enter_context(zarr.config.set(self._setting))
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._set.close()


_cache = _Cache()
_one_chunk = _Held("async.concurrency", 1)
_all_chunks = _Held("array.write_empty_chunks", True)
if hasattr(os, "register_at_fork"):
    for _state in (_cache, _one_chunk, _all_chunks):
        os.register_at_fork(after_in_child=_state.reset)


def _remember(key: tuple[str, str, str], array: Any) -> None:
    with _cache.lock:
        while len(_cache.opened) >= _MAX_OPEN:
            _cache.opened.pop(next(iter(_cache.opened)))
        _cache.opened[key] = array


def one_chunk_at_a_time(*, local: bool = True) -> contextlib.AbstractContextManager[None]:
    """Let Zarr work on one chunk for each calling thread, so that its pool adds no runnable threads to ours.

    Remote stores keep the user's setting, because there it hides latency.
    """
    return _one_chunk if local else contextlib.nullcontext()


def every_chunk_written() -> contextlib.AbstractContextManager[None]:
    """Arrays opened within write every chunk, also those of zeros: Zarr does not store that setting."""
    return _all_chunks
