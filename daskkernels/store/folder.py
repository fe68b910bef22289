"""Store layer: a folder of the user's own, looked at before anything is computed that is to be kept there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from daskkernels.store.errors import NotADatasetError
from daskkernels.store.location import Location
from daskkernels.store.writer import refuse_inside


def folder_url(path: str | os.PathLike[str]) -> str:
    """The absolute folder or URL, to put groups into.

    Raises NotADatasetError for an empty path or the root of a file system, ExistsError for a place that is,
    or is in, a Zarr group.
    """
    location, text = Location.of(path), os.fspath(path)
    if location.is_local and "://" not in text:
        real = Path(os.path.realpath(location.url))
        root = real == real.parent
    else:
        root = not text.partition("://")[2].strip("/")
    if root:
        raise NotADatasetError(f"path {text!r} is the root of a file system: give a folder below it")
    refuse_inside(Location(f"{location.url}/group"))
    return location.url


def is_taken(url: str) -> bool:
    """Whether there is anything at this place but an empty folder."""
    location = Location(url)
    return location.exists() and not location.is_empty_folder()


def try_folder(url: str) -> None:
    """Make a local folder, and a file in it that goes again; what is remote is not tried. Raises OSError."""
    if Location(url).is_local:
        Path(url).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=url):
            pass
