"""Store layer: `Dataset` and `open_dataset`, which checks what is on disk before it is used.

The metadata is covered by a digest, the chunk files by their checksums and by a fingerprint of their order.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import reprlib
from dataclasses import dataclass, field
from typing import Any

import dask.array as da
import numpy as np

from daskkernels.grid import Grid
from daskkernels.store import checked
from daskkernels.store.attributes import Attributes, Label
from daskkernels.store.checked import checked_array
from daskkernels.store.errors import (
    DigestError,
    FormatError,
    IncompleteWriteError,
    MetadataError,
    NotADatasetError,
)
from daskkernels.store.location import Location
from daskkernels.store.marks import marks_of, read_json
from daskkernels.store.reader import Reader, to_dask
from daskkernels.store.unfinished import FORMAT

DATASET = "dataset"  # the kind of a group that names none
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class Dataset:
    """A stored dataset: `X` (n_rows, n_features) and, if there is one, `y` as lazy dask arrays.

    `open_dataset` and `write_dataset` return it; estimators take it in the place of its `X`.

    Attributes
    ----------
    path : where it is.
    n_rows, n_features, dtype : shape and type of `X`.
    classes : label values in the order of the codes in `y`, None when `y` holds numbers.
    feature_names : names of the columns, or None.
    feature_shape : (height, width) or (height, width, channels) where each row is an image, else None.
    source : what its writer noted about where it comes from.
    digest : sha256 of its metadata, by which a model knows its dataset.
    chunk_rows : rows of a chunk on disk.
    features, targets : readers of X and y without Dask, `features[0:1024]` is numpy; targets may be None.
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
    feature_shape: tuple[int, ...] | None = None

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

    Parameters
    ----------
    path : a folder or fsspec URL.
    verify : whether every chunk is read and checked, too, with the active Dask scheduler.
    allow_missing : whether missing chunks are read as zeros, with a MissingChunkWarning.

    Cost: one look at every file name.

    Raises a StoreError that names the file: NotADatasetError, IncompleteWriteError, DigestError,
    MissingChunkError, MetadataError, FormatError, LengthMismatchError; with `verify` also BlockReadError.
    """
    location = Location.of(path)
    attributes = _group_attributes(location, DATASET)
    names = [name for name in ("X", "y") if location.exists(f"{name}/zarr.json")]
    _check_digest(location, attributes, names)
    if "X" not in names:
        raise MetadataError(f"{location.url} has no array 'X'")
    readers = [checked_array(location, name, allow_missing) for name in names]
    dataset = _assemble(location, attributes, readers)
    if verify:
        checked.verify(location, dataset.features)
        if dataset.targets is not None:
            codes = None if dataset.classes is None else len(dataset.classes)
            checked.verify(location, dataset.targets, codes)
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
        found = reprlib.repr(parsed.get("node_type")).strip("'")
        raise NotADatasetError(f"{location.url} is a Zarr {found}, but not a daskkernels dataset")
    return marks


def digest_of(location: Location, attributes: dict[str, Any], names: list[str]) -> str:
    """sha256 over the attributes in canonical JSON, without the digest, and over every array's zarr.json."""
    rest = {key: value for key, value in attributes.items() if key != "digest"}
    total = hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
    for name in sorted(names):
        total.update(f"\n{name}\n".encode())
        total.update(location.read(f"{name}/zarr.json"))
    return total.hexdigest()


def checked_marks(location: Location, kind: str) -> dict[str, Any]:
    """Attributes of a whole group that lists its arrays. Raises NotADatasetError, DigestError and others."""
    marks = _group_attributes(location, kind)
    names = marks.get("arrays")
    if not isinstance(names, list) or not all(isinstance(n, str) and _NAME.fullmatch(n) for n in names):
        raise MetadataError(
            f"{location.path('zarr.json')}: arrays must be a list of plain names, got {reprlib.repr(names)}"
        )
    missing = [name for name in names if not location.exists(f"{name}/zarr.json")]
    if missing:
        raise MetadataError(f"{location.url} has no array {missing[0]!r}")
    _check_digest(location, marks, names)
    return marks


def _group_attributes(location: Location, kind: str) -> dict[str, Any]:
    marks = group_marks(location)
    document = location.path("zarr.json")
    found = marks.get("kind", DATASET)
    if found != kind:
        shown = reprlib.repr(found).strip("'")
        raise NotADatasetError(f"{location.url} is a {shown}, wanted a {kind}")
    if marks["format"] != FORMAT:
        shown = reprlib.repr(marks["format"])
        raise FormatError(f"{document}: format {shown}, but this version reads format {FORMAT}")
    if marks.get("complete") is not True:
        raise IncompleteWriteError(
            f"the dataset {location.url} was not written to its end ({document} does not say complete): "
            "write it again with overwrite=True, or go on with the resume= it was begun with"
        )
    return marks


def _check_digest(location: Location, attributes: dict[str, Any], names: list[str]) -> None:
    files = ", ".join(location.path(key) for key in ["zarr.json", *(f"{name}/zarr.json" for name in names)])
    try:
        found = digest_of(location, attributes, names)
    except (OSError, RecursionError) as error:
        raise MetadataError(f"the metadata of {location.url} cannot be read ({files}): {error}") from error
    if attributes.get("digest") != found:
        raise DigestError(
            f"the metadata of {location.url} was altered: {files} do not match the stored digest"
        )


def _assemble(location: Location, attributes: dict[str, Any], readers: list[Reader]) -> Dataset:
    said = Attributes.of(location.path("zarr.json"), attributes)
    X, y = readers[0], readers[1] if len(readers) > 1 else None
    said.check(X, y)
    return Dataset(
        path=location.url,
        n_rows=said.n_rows,
        n_features=said.n_features,
        dtype=X.dtype,
        classes=said.classes,
        feature_names=said.feature_names,
        source=said.source,
        digest=said.digest,
        chunk_rows=X.chunk_rows,
        features=X,
        targets=y,
        feature_shape=said.feature_shape,
    )
