"""Where raw files come from: a path or any fsspec URL, compressed or not, and what identifies its content.

Every reader opens its files here, so that all of them name a missing file, protocol or package alike.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import importlib
import lzma
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tokenize import TokenError
from types import ModuleType
from typing import IO, Any

import fsspec
from fsspec.core import url_to_fs

from datasets.readers.base import ReaderError

COMPRESSIONS: dict[str, Callable[[Any], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
# What tells that a file is another one than before, by the names that file systems give it.
_MARKS = ("size", "mtime", "ETag", "etag", "Content-MD5", "Digest", "md5Hash", "LastModified")
# What packages raise for bytes that are not what they should be.
_CONTENT = (
    *(ValueError, EOFError, LookupError, RuntimeError, MemoryError, OSError, TokenError),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


def package(name: str, what: str) -> ModuleType:
    """A module that only some formats need, or an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ReaderError(f'{what} needs {name}: pip install "daskkernels[app]" ({error})') from error


def filesystem(address: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of an address and the path on it. Raises ReaderError for an unknown protocol."""
    try:
        fs, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ReaderError(str(error), shown(address)) from error
    return fs, path


def name_of(address: str) -> str:
    """The file's name in small letters, without the query of a URL and without a compression's ending."""
    name = shown(address).rstrip("/").rpartition("/")[2].lower()
    return name.removesuffix(compression(name))


def compression(address: str) -> str:
    """Ending of a compressed file's name, "" for another one."""
    name = shown(address).lower()
    return next((ending for ending in COMPRESSIONS if name.endswith(ending)), "")


def shown(address: str) -> str:
    """The address without what may be secret: user and password, and the query of a signed URL."""
    if "://" not in address:
        return address
    return re.sub(r"://[^/@]*@", "://", address).partition("?")[0]


@contextlib.contextmanager
def opened(address: str) -> Iterator[IO[bytes]]:
    """The bytes of a file as they are stored; any part of it can be read."""
    fs, path = filesystem(address)
    try:
        file = fs.open(path, "rb")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise _missing(address, error) from error
    with file:
        yield file


@contextlib.contextmanager
def unpacked(address: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """The bytes of a file from its beginning, decompressed by its name's ending; and how many were read."""
    with opened(address) as raw:
        opener = COMPRESSIONS.get(compression(address))
        if opener is None:
            yield raw, raw.tell
        else:
            with opener(raw) as stream:
                yield stream, raw.tell


@contextlib.contextmanager
def named(address: str, trouble: Callable[[], str]) -> Iterator[None]:
    """Errors about a file's content become ReaderErrors with its name; those of a disk stay as they are."""
    try:
        yield
    except ReaderError as error:
        if error.has_address:
            raise
        raise ReaderError(str(error), shown(address)) from error
    except _of("aiohttp", "ClientError") as error:
        raise OSError(f"{shown(address)}: {type(error).__name__} {_reason(error)}") from error
    except (*_CONTENT, *_of("pyarrow", "ArrowException")) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):  # the disk or the network
            error.filename = error.filename or shown(address)
            raise
        raise ReaderError(f"{trouble()} ({_reason(error)})", shown(address)) from error


def _of(module: str, name: str) -> tuple[type[BaseException], ...]:
    """An exception of a package, if that has been loaded."""
    found: type[BaseException] | None = getattr(sys.modules.get(module), name, None)
    return () if found is None else (found,)


def n_bytes(address: str) -> int | None:
    """Size of the file as it is stored; None where the server does not say."""
    fs, path = filesystem(address)
    try:
        size: int | None = fs.info(path).get("size")
    except FileNotFoundError as error:
        raise _missing(address, error) from error
    return size


def _missing(address: str, error: OSError) -> ReaderError:
    """There is no such file, or so fsspec says when a server cannot be reached."""
    why = "" if error.__cause__ is None else f" ({_reason(error.__cause__)})"
    return ReaderError(f"no such file{why}", shown(address))


def _reason(error: BaseException) -> str:
    """What a package or a server says, on one line and without the address of a request."""
    return " ".join(str(getattr(error, "message", error)).split())


def is_local(fs: fsspec.AbstractFileSystem) -> bool:
    """Whether paths on a file system are those of this machine."""
    return "file" in (fs.protocol if isinstance(fs.protocol, tuple) else (fs.protocol,))


def below(fs: fsspec.AbstractFileSystem, path: str) -> list[str]:
    """Paths of all files below a folder; on this machine also behind links. Raises ReaderError."""
    if not is_local(fs):
        return list(fs.find(path))
    found: list[str] = []
    for folder, subfolders, names in os.walk(path, followlinks=True):
        here = Path(folder)
        for name in subfolders:
            if here.resolve().is_relative_to((here / name).resolve()):
                raise ReaderError(f"{here / name} is a link to a folder that it is in")
        for name in names:
            file = here / name
            if file.is_symlink() and not file.exists():
                raise ReaderError(f"{file} is a link to nothing")
            found.append(f"{folder}/{name}")
    return found


def identity(address: str) -> str:
    """The address with what changes when the content does: size, time or tag; of all files of a folder."""
    fs, path = filesystem(address)
    place = shown(address) if "://" in address else str(Path(address).absolute())
    with named(address, lambda: "not readable"):
        try:
            found = fs.info(path)
        except FileNotFoundError as error:
            raise _missing(address, error) from error
        if found.get("type") != "directory":
            return f"{place} ({_marks(found)})"
        if is_local(fs):
            files = {name: fs.info(name) for name in below(fs, path)}
        else:
            files = fs.find(path, detail=True)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {_marks(files[name])}\n".encode())
    return f"{place} ({len(files)} files, sha256 {digest.hexdigest()[:16]})"


def _marks(info: dict[str, Any]) -> str:
    return ", ".join(f"{mark} {info[mark]}" for mark in _MARKS if info.get(mark) is not None)
