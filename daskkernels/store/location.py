"""Store layer: where data lives, a local folder or an fsspec URL, and the file operations the format needs.

Local files are read without fsspec, because this is the innermost step of every pass over the data.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import fsspec
from fsspec.core import url_to_fs
from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore

from daskkernels.store.errors import NotADatasetError

Stamp = tuple[int, int, int]  # inode, time of change in ns, size


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
        if text.startswith(("file://", "local://")):
            text = str(url_to_fs(text)[1])
        if "://" in text:
            return cls(text.rstrip("/"))
        return cls(os.path.normpath(Path(text).expanduser().absolute()))

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

    def read(self, key: str) -> bytes:
        """The bytes of one file. Raises FileNotFoundError or another OSError."""
        if self.is_local:
            with io.FileIO(self.path(key)) as file:  # a Path costs as much as reading a small chunk
                return file.readall()
        fs, root = _filesystem(self.url)
        return bytes(fs.cat_file(f"{root}/{key}"))

    def read_many(self, keys: Sequence[str]) -> Iterator[bytes | OSError]:
        """The bytes of several files in order; remote ones are fetched together to hide the latency."""
        if self.is_local:
            for key in keys:
                try:
                    yield self.read(key)
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
                with io.FileIO(self.path(key)) as file:
                    file.seek(max(0, file.seek(0, os.SEEK_END) - size))
                    yield file.readall()
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
        """Which of these files, all below one folder, are not there."""
        if self.is_local:
            top = Path(self.url)
            return [key for key in keys if not (top / key).is_file()]
        fs, root = _filesystem(self.url)
        fs.invalidate_cache()
        found = set(fs.find(f"{root}/{folder}"))
        return [key for key in keys if f"{root}/{key}" not in found]

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
