"""Store layer: one writer at a time, and the last step of a replacement, also where a kill has cut it."""

from __future__ import annotations

import contextlib
import fcntl
import uuid
from collections.abc import Iterator
from pathlib import Path

from daskkernels.store.errors import ExistsError
from daskkernels.store.location import Location
from daskkernels.store.marks import marks_at
from daskkernels.store.unfinished import Request


def tag_of(request: Request | None) -> str:
    """What the hidden neighbours of a dataset are called: a request finds its own again."""
    return uuid.uuid4().hex[:12] if request is None else request.tag


@contextlib.contextmanager
def owned(location: Location, request: Request | None) -> Iterator[Location]:
    """Hold a local place against other processes with a request; the system gives it back after a kill.

    Elsewhere the owner's name in the record of the unfinished group is compared at every step instead.
    Raises ExistsError.
    """
    if request is None or not location.is_local or not Path(location.url).parent.is_dir():
        yield location
        return
    lock = Path(location.sibling("lock").url)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ExistsError(f"{location.url} is being written by another process") from error
        try:
            yield location
        finally:
            with contextlib.suppress(FileNotFoundError):
                lock.unlink()


def exchange(final: Location, new: Location, tag: str) -> None:
    """Put a complete group in the place of an older one, which is then removed."""
    old = final.sibling(f"replaced-{tag}")
    final.move(old)
    new.move(final)
    old.remove()


def finished(location: Location, request: Request, overwrite: bool) -> bool:
    """Whether this request was written to its end before, but for the exchange, which is then done."""
    new, old = (location.sibling(f"{what}-{request.tag}") for what in ("writing", "replaced"))
    whole = marks_at(new).get("complete") is True
    if not location.exists() and not whole:
        return False
    if whole and not location.exists():
        new.move(location)
    elif whole and overwrite:
        old.remove()
        exchange(location, new, request.tag)
    else:
        whole = False
    old.remove()
    return whole
