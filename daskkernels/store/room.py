"""Store layer: a disk that is full, told with the place, what is free there, and what to do."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from daskkernels.store.location import Location
from daskkernels.units import show_bytes

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class DiskFullError(OSError):
    """There is no space left where a fit keeps its data."""


@contextlib.contextmanager
def full_disk_told(url: str, what: str, knob: str) -> Iterator[None]:
    """Raise DiskFullError for a write under `url` that found no space; `knob`: what to change."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL or isinstance(error, DiskFullError):
            raise
        raise DiskFullError(f"{what} {url}: no space left{_free(url)}: free some, or {knob}") from error


def _free(url: str) -> str:
    """What this machine sees of the space there."""
    location = Location.of(url)
    if not location.is_local:
        return ""
    folder = next(p for p in (Path(location.url), *Path(location.url).parents) if p.exists())
    usage = shutil.disk_usage(folder)
    return f" ({show_bytes(usage.free)} of {show_bytes(usage.total)} are free)"
