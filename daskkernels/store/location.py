"""Store layer: where data lives, a local folder or an fsspec URL, and the file operations the format needs.

Local files are read without fsspec, because this is the innermost step of every pass over the data.
"""

from __future__ import annotations

import os
import reprlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import fsspec
from fsspec.core import url_to_fs
from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore

from daskkernels.store import plainfile
from daskkernels.store.errors import NotADatasetError

Stamp = tuple[int, int, int]  # inode, time of change in ns, size
MAX_METADATA = 2**28  # bytes of a metadata file; the longest lists of names and classes take a tenth of it
SHOWN = 3  # missing files that a message names


@dataclass(frozen=True)
class Location:
    """A folder: an absolute local path or an fsspec URL. Keys are relative, with `/` between the parts."""

    url: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Location:
        """Normalise what a user gives as a path, so that workers in other folders find the same place."""
        text = os.fspath(path)
        if not isinstance(text, str):
            raise TypeError(f"path must be a str, a Path or an fsspec URL, got {type(path).__name__}")
        if not text:
            raise NotADatasetError("path is empty: give a folder or an fsspec URL")
        try:
            if text.startswith(("file://", "local://")):
                text = str(url_to_fs(text)[1])
            if "://" in text:
                _check_protocols(text)
                return cls(text.rstrip("/"))
            return cls(os.path.normpath(Path(text).expanduser().absolute()))
        except (ValueError, ImportError, RuntimeError) as error:  # expanduser: no such user
            raise NotADatasetError(f"path {reprlib.repr(text)} cannot be used: {error}") from error

    @property
    def is_local(self) -> bool:
        """Whether the files can be reached with plain system calls."""
        return "://" not in self.url

    def path(self, key: str = "") -> str:
        """The full name of a file, for messages and for opening it."""
        return f"{self.url}/{key}" if key else self.url

    def sibling(self, tag: str) -> Location:
        """A hidden neighbour of this folder, on the same file system."""
        parent, _, name = self.url.rpartition("/")
        return Location(f"{parent}/.{name}.{tag}")

    def resolved(self) -> Location:
        """The folder that a local link points to; anything else, also a dead link, is itself."""
        if self.is_local and Path(self.url).is_symlink() and Path(self.url).exists():
            return Location(os.path.realpath(self.url))
        return self

    def parents(self) -> Iterator[Location]:
        """The folders around this one, the nearest first, with local links followed."""
        if self.is_local:
            yield from (Location(str(folder)) for folder in Path(os.path.realpath(self.url)).parents)
            return
        scheme, _, rest = self.url.partition("://")
        while "::" not in rest and (rest := rest.rpartition("/")[0]):  # a folder in an archive: not looked at
            yield Location(f"{scheme}://{rest}")

    def exists(self, key: str = "") -> bool:
        """Whether there is a file or a folder of that name."""
        if self.is_local:
            return os.path.lexists(self.path(key))
        fs, root = _filesystem(self.url)
        fs.invalidate_cache()
        return bool(fs.exists(f"{root}/{key}" if key else root))

    def is_empty_folder(self) -> bool:
        """Whether this is a local folder with nothing in it (object stores have no empty folders)."""
        return self.is_local and Path(self.url).is_dir() and not any(Path(self.url).iterdir())

    def read(self, key: str, most: int = MAX_METADATA) -> bytes:
        """The bytes of one file, `most` at most. Raises FileNotFoundError or another OSError."""
        if self.is_local:
            return plainfile.read(self.url, key, most)
        fs, root = _filesystem(self.url)
        return bytes(fs.cat_file(f"{root}/{key}"))

    def read_many(self, keys: Sequence[str], most: int) -> Iterator[bytes | OSError]:
        """The bytes of several files in order; remote ones are fetched together to hide the latency."""
        if self.is_local:
            for key in keys:
                try:
                    yield self.read(key, most)
                except OSError as error:
                    yield error
            return
        yield from self._fetch(keys, None)

    def tails(self, keys: Sequence[str], size: int) -> Iterator[bytes | OSError]:
        """The last `size` bytes of several files."""
        if not self.is_local:
            yield from self._fetch(keys, -size)
            return
        for key in keys:
            try:
                yield plainfile.tail(self.url, key, size)
            except OSError as error:
                yield error

    def _fetch(self, keys: Sequence[str], start: int | None) -> Iterator[bytes | OSError]:
        fs, root = _filesystem(self.url)
        names = [f"{root}/{key}" for key in keys]
        for found in fs.cat_ranges(names, [start] * len(names), [None] * len(names), on_error="return"):
            if isinstance(found, OSError):
                yield found
            elif isinstance(found, BaseException):
                raise found
            else:
                yield bytes(found)

    def missing(self, keys: Sequence[str], folder: str) -> list[str]:
        """Which of these files, all below one folder, are not there. Raises OSError for a link."""
        return list(self._absent(keys, None if self.is_local else self._found(folder)))

    def gaps(self, keys: Iterable[str], count: int, folder: str) -> tuple[int, list[str]]:
        """How many of `count` files below one folder are not there, and the first of them. Raises OSError.

        No more names are made than there are files: `count` may be what a stranger claims.
        """
        found = None if self.is_local else self._found(folder)
        looked = (plainfile.entries(self.url, folder) if found is None else len(found)) + SHOWN
        absent = list(self._absent(islice(keys, looked), found))
        return len(absent) + max(0, count - looked), absent

    def names(self) -> set[str]:
        """What lies directly in the folder and holds a file."""
        return {key.lstrip("/").partition("/")[0] for key in self._found("")}

    def _found(self, folder: str) -> set[str]:
        fs, root = _filesystem(self.url)
        fs.invalidate_cache()
        return {name.removeprefix(f"{root}/") for name in fs.find(f"{root}/{folder}")}

    def _absent(self, keys: Iterable[str], found: set[str] | None) -> Iterator[str]:
        if found is not None:
            return (key for key in keys if key not in found)
        return (key for key in keys if not plainfile.is_there(self.url, key))

    def stamp(self, key: str) -> Stamp | None:
        """What changes when a local file is replaced; None where asking would cost a request."""
        if not self.is_local:
            return None
        found = Path(self.path(key)).stat()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def make(self) -> None:
        """Create the folder. Raises FileExistsError if somebody else just did."""
        if self.is_local and not self.is_empty_folder():
            Path(self.url).mkdir(parents=True)

    def remove(self, key: str = "") -> None:
        """Delete the folder or one of its subfolders; silent if it is not there."""
        if self.is_local:
            shutil.rmtree(self.path(key), ignore_errors=True)
            return
        fs, root = _filesystem(self.url)
        fs.invalidate_cache()
        name = f"{root}/{key}" if key else root
        if fs.exists(name):
            fs.rm(name, recursive=True)

    def move(self, new: Location) -> None:
        """Rename the folder: one step on a local disk, copy and delete elsewhere."""
        if self.is_local:
            Path(self.url).rename(new.url)
            return
        fs, root = _filesystem(self.url)
        fs.mv(root, _filesystem(new.url)[1], recursive=True)
        fs.invalidate_cache()

    def zarr_store(self, *, read_only: bool) -> Store:
        """The same place as a Zarr store."""
        if self.is_local:
            return LocalStore(Path(self.url), read_only=read_only)
        return FsspecStore.from_url(self.url, read_only=read_only)


@lru_cache(maxsize=64)
def _filesystem(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    fs, root = url_to_fs(url)
    return fs, str(root).rstrip("/")


def _check_protocols(url: str) -> None:
    """Raise ValueError for an unknown protocol, ImportError for one whose package is not there."""
    for link in url.split("::"):  # a chain such as simplecache::s3://bucket/key
        fsspec.get_filesystem_class(link.partition("://")[0])
