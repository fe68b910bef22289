"""Reader of HDF5 files: row slices of two datasets, named by their paths inside the file.

The file is opened for each reading and never held whole.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from datasets.readers import exact, files
from datasets.readers.arrays import ArraySource, array_table
from datasets.readers.base import ReaderError, ReadOptions, Table


@dataclass(frozen=True)
class HdfArray(ArraySource):
    """One dataset of an HDF5 file."""

    def read(self, rows: int, start: int) -> Iterator[np.ndarray]:
        """Row blocks; strings of any length come as numpy strings."""
        with _opened(self.address) as file:
            dataset = file[self.name]
            text = self.dtype.kind == "U"
            source = dataset.asstr() if text else dataset
            for first in range(start, self.shape[0], rows):
                values = np.asarray(source[first : first + rows])
                yield exact.as_text(values, first) if text else values.astype(self.dtype)


def open_hdf5(address: str, options: ReadOptions) -> Table:
    """The table in an HDF5 file: the datasets named by `features` ("X") and `label`."""
    with _opened(address) as file:
        features = _array(address, file, options.features or "X")
        labels = None if options.label is None else _array(address, file, str(options.label))
    return array_table(features, labels)


@contextlib.contextmanager
def _opened(address: str) -> Iterator[Any]:
    h5py = files.package("h5py", "reading HDF5")
    fs, path = files.filesystem(address)
    # HDF5 opens a local file itself: with one opened by Python, a link to another file ends the interpreter.
    with files.opened(address) as raw, h5py.File(path if files.is_local(fs) else raw, "r") as file:
        yield file


def _array(address: str, file: Any, name: str) -> HdfArray:
    """Shape and type of one dataset."""
    h5py = files.package("h5py", "reading HDF5")
    _refuse_links(file, name)
    found = file.get(name)
    if not isinstance(found, h5py.Dataset):
        raise ReaderError(f"no dataset {name!r}; it holds: {', '.join(_names(file)) or 'none'}")
    if found.is_virtual or found.external:
        raise ReaderError(
            f"the values of dataset {name!r} are in other files, which are not read: copy them here"
        )
    if h5py.check_string_dtype(found.dtype) is not None and len(found.shape or ()) == 1:
        return HdfArray(address, name, found.shape, np.dtype(np.str_))
    if found.dtype.kind not in "biuf":
        raise ReaderError(f"dataset {name!r} holds {found.dtype}; numbers or strings are wanted")
    return HdfArray(address, name, found.shape or (), found.dtype.newbyteorder("="))


def _refuse_links(file: Any, name: str) -> None:
    """Raise ReaderError where a path leads to another file, which may be missing or change unseen."""
    h5py = files.package("h5py", "reading HDF5")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for depth in range(len(parts)):
        here = "/".join(parts[: depth + 1])
        link = file.get(here, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            raise ReaderError(f"{here!r} is a link to another file, {link.filename!r}: name that file")
        if isinstance(link, h5py.SoftLink):
            above = "" if link.path.startswith("/") else "/".join(parts[:depth])
            _refuse_links(file, "/".join([above, link.path, *parts[depth + 1 :]]))


def _names(file: Any) -> list[str]:
    """Paths of all datasets, groups left out."""
    names: list[str] = []
    file.visititems(lambda name, item: names.append(str(name)) if hasattr(item, "dtype") else None)
    return names
