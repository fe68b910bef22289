"""Store layer: `Dataset` and `open_dataset`, which checks what is on disk before it is used.

The metadata is covered by a digest, the chunk files by their checksums and by a fingerprint of their order.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute
from dask.task_spec import Task
from dask.tokenize import tokenize
from dask.typing import Key

from daskkernels.grid import Grid
from daskkernels.store import chunks
from daskkernels.store.errors import (
    DigestError,
    FormatError,
    IncompleteWriteError,
    LengthMismatchError,
    MetadataError,
    MissingChunkWarning,
    NotADatasetError,
)
from daskkernels.store.location import Location
from daskkernels.store.reader import Reader, to_dask
from daskkernels.store.survey import boxed, run_blocks
from daskkernels.store.writer import content_of, marks_of, open_array, raise_missing, read_json

FORMAT = 1
Label = str | int | bool


@dataclass(frozen=True)
class Dataset:
    """A stored dataset: `X` (n_rows, n_features) and, if there is one, `y` as lazy dask arrays.

    `classes` are the label values in the order of the codes in `y`, or None when `y` holds numbers.
    """

    path: str
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]
    classes: tuple[Label, ...] | None
    feature_names: tuple[str, ...] | None
    source: Any
    digest: str
    chunk_rows: int
    features: Reader = field(repr=False)
    targets: Reader | None = field(repr=False)

    @property
    def X(self) -> da.Array:  # noqa: N802 - the name in the mathematics
        """The features (n_rows, n_features), in the working blocks of the canonical grid."""
        return to_dask(self.features, self._row_chunks)

    @property
    def y(self) -> da.Array | None:
        """Class codes 0..k-1 or targets, (n_rows,) or (n_rows, l), in the row blocks of `X`; None without."""
        return None if self.targets is None else to_dask(self.targets, self._row_chunks)

    @property
    def _row_chunks(self) -> tuple[int, ...]:
        return Grid.canonical(self.n_rows, self.n_features, self.dtype.itemsize).row_chunks


def open_dataset(
    path: str | os.PathLike[str], *, verify: bool = False, allow_missing: bool = False
) -> Dataset:
    """Open a dataset after checking its metadata, digest, lengths and list of chunk files.

    `verify=True` also reads and checks every chunk, with the active Dask scheduler. `allow_missing=True`
    reads missing chunks as zeros, with a warning. Cost: one look at every file name. Raises a StoreError that
    names the file: NotADatasetError, IncompleteWriteError, DigestError, MissingChunkError, MetadataError,
    FormatError, LengthMismatchError; with `verify` also BlockReadError.
    """
    location = Location.of(path)
    attributes = _group_attributes(location)
    names = [name for name in ("X", "y") if location.exists(f"{name}/zarr.json")]
    _check_digest(location, attributes, names)
    readers = [_checked_array(location, name, allow_missing) for name in names]
    dataset = _assemble(location, attributes, readers)
    if verify:
        for reader in readers:
            _verify(location, reader)
    return dataset


def group_marks(location: Location) -> dict[str, Any]:
    """Our attributes of the group. Raises NotADatasetError, MetadataError."""
    if not location.exists():
        raise NotADatasetError(f"no dataset at {location.url}: no such file or directory")
    if not location.exists("zarr.json"):
        raise NotADatasetError(f"{location.url} is not a daskkernels dataset: it has no zarr.json")
    parsed = read_json(location, "zarr.json")
    marks = marks_of(parsed)
    if parsed.get("node_type") != "group" or marks is None or "format" not in marks:
        raise NotADatasetError(
            f"{location.url} is a Zarr {parsed.get('node_type')}, but not a daskkernels dataset"
        )
    return marks


def digest_of(location: Location, attributes: dict[str, Any], names: list[str]) -> str:
    """sha256 over the attributes in canonical JSON, without the digest, and over every array's zarr.json."""
    rest = {key: value for key, value in attributes.items() if key != "digest"}
    total = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(names):
        total.update(f"\n{name}\n".encode())
        total.update(location.read(f"{name}/zarr.json"))
    return total.hexdigest()


def _group_attributes(location: Location) -> dict[str, Any]:
    marks = group_marks(location)
    document = location.path("zarr.json")
    if marks["format"] != FORMAT:
        raise FormatError(f"{document}: format {marks['format']!r}, but this version reads format {FORMAT}")
    if marks.get("complete") is not True:
        raise IncompleteWriteError(
            f"the dataset {location.url} was not written to its end ({document} does not say complete): "
            "write it again with overwrite=True"
        )
    return marks


def _check_digest(location: Location, attributes: dict[str, Any], names: list[str]) -> None:
    if attributes.get("digest") != digest_of(location, attributes, names):
        files = ", ".join(
            location.path(key) for key in ["zarr.json", *(f"{name}/zarr.json" for name in names)]
        )
        raise DigestError(
            f"the metadata of {location.url} was altered: {files} do not match the stored digest"
        )
    if "X" not in names:
        raise MetadataError(f"{location.url} has no array 'X'")


def _checked_array(location: Location, name: str, allow_missing: bool) -> Reader:
    reader = open_array(location.url, name)
    keys = chunks.chunk_keys(name, reader.shape, reader.chunk_rows)
    missing = location.missing(keys, name)
    if not allow_missing:
        raise_missing(location, name, missing)
        return reader
    if missing:
        warnings.warn(
            f"array {name!r} of {location.url}: {len(missing)} of {len(keys)} chunks missing, read as zeros "
            f"(the first is {location.path(missing[0])})",
            MissingChunkWarning,
            stacklevel=4,
        )
    return dataclasses.replace(reader, allow_missing=True)


def _assemble(location: Location, attributes: dict[str, Any], readers: list[Reader]) -> Dataset:
    document = location.path("zarr.json")
    X, y = readers[0], readers[1] if len(readers) > 1 else None
    try:
        n_rows, n_features = int(attributes["n_rows"]), int(attributes["n_features"])
        classes, names = attributes["classes"], attributes["feature_names"]
        source, digest = attributes["source"], str(attributes["digest"])
    except (KeyError, TypeError, ValueError) as error:
        raise MetadataError(f"{document}: attribute missing or of the wrong type: {error}") from error
    if X.shape != (n_rows, n_features):
        raise LengthMismatchError(f"{document} says {n_rows} x {n_features}, but array 'X' is {X.shape}")
    if y is not None and (y.shape[0] != n_rows or y.ndim > 2):
        raise LengthMismatchError(f"{document}: array 'X' has {n_rows} rows, but array 'y' is {y.shape}")
    if names is not None and len(names) != n_features:
        raise LengthMismatchError(f"{document}: {len(names)} feature names for {n_features} features")
    return Dataset(
        path=location.url,
        n_rows=n_rows,
        n_features=n_features,
        dtype=X.dtype,
        classes=None if classes is None else tuple(classes),
        feature_names=None if names is None else tuple(names),
        source=source,
        digest=digest,
        chunk_rows=X.chunk_rows,
        features=X,
        targets=y,
    )


def _verify(location: Location, reader: Reader) -> None:
    """Read every row, and compare the order of the chunk files with the one that was written."""
    _read_all(reader)
    if reader.allow_missing:
        return
    keys = chunks.chunk_keys(reader.name, reader.shape, reader.chunk_rows)
    document = f"{reader.name}/zarr.json"
    marks = marks_of(read_json(location, document)) or {}
    if content_of(location, reader.name, keys) != marks.get("content"):
        raise DigestError(
            f"array {reader.name!r} of {location.url}: every chunk file is sound, but they are not those "
            f"that were written ({location.path(document)}): chunk files were exchanged"
        )


def _read_all(reader: Reader) -> None:
    rows = reader.chunk_rows * max(
        1, 2**22 // max(1, reader.nbytes // max(1, len(reader)) * reader.chunk_rows)
    )
    starts = range(0, len(reader), rows)
    name = f"store-verify-{tokenize(reader, rows)}"
    tasks: dict[Key, Task] = {
        (name, index): Task((name, index), _read_and_drop, reader, start, start + rows)
        for index, start in enumerate(starts)
    }
    compute(run_blocks(name, tasks, []))


def _read_and_drop(reader: Reader, start: int, stop: int) -> np.ndarray:
    return boxed(len(reader[start:stop]))
