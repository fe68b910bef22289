"""Store layer: temporary folders with an owner, and what a process that was killed has left of them.

The owner holds a lock on a file in its folder, which the system gives up with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from pathlib import Path
from typing import IO

from daskkernels.store.location import Location

_LOCK = ".owner"


def own(url: str) -> IO[bytes] | None:
    """Make a local folder and lock it for as long as the file that is returned stays open; None elsewhere."""
    location = Location.of(url)
    if not location.is_local:
        return None
    folder = Path(location.url)
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / f"{_LOCK}.new").open("wb")
    with contextlib.suppress(OSError):  # file systems without locks: never swept there
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    Path(file.name).rename(folder / _LOCK)  # only now do sweepers see it
    return file


def disown(url: str, file: IO[bytes] | None) -> None:
    """Remove the folder of `own`, and give up its lock.

    Who still writes into it makes a folder without an owner, and removes that: `sweep_forsaken`.
    """
    location = Location.of(url)
    if file is None:
        location.remove()
        return
    with file, contextlib.suppress(FileNotFoundError):  # somebody has removed it
        gone = Path(location.url).rename(f"{location.url}.gone")
        for child in gone.iterdir():
            if child.name != _LOCK:  # the last to go: a kill leaves what can be swept
                shutil.rmtree(child)
        shutil.rmtree(gone)


def sweep_forsaken(url: str) -> None:
    """Remove what was written into a local folder after its owner had removed it."""
    location = Location.of(url)
    if location.is_local and not Path(location.url, _LOCK).exists():
        shutil.rmtree(location.url, ignore_errors=True)


def sweep(url: str, prefix: str) -> None:
    """Remove the folders under a local `url` with this prefix whose owners are dead."""
    location = Location.of(url)
    if not location.is_local:
        return
    for lock in Path(location.url).glob(f"{prefix}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def sweep_unfinished(url: str) -> None:
    """Remove the hidden folders of replacements in a local folder that a kill has cut."""
    location = Location.of(url)
    if location.is_local:
        for what in ("writing", "replaced"):
            for folder in Path(location.url).glob(f".*.{what}-*"):
                shutil.rmtree(folder, ignore_errors=True)
