"""Store layer: groups that are written whole or not at all, and opened only when they are whole.

Datasets and models are such groups: the attributes with their digest are written last, and an older group
stays in place until then.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import zarr

from daskkernels.store import unfinished
from daskkernels.store.dataset import DATASET, checked_marks, digest_of, group_marks
from daskkernels.store.errors import ExistsError, StoreError
from daskkernels.store.location import Location
from daskkernels.store.marks import MARK
from daskkernels.store.reader import forget
from daskkernels.store.takeover import exchange, tag_of
from daskkernels.store.unfinished import Progress, Request
from daskkernels.store.writer import refuse_inside


@contextlib.contextmanager
def writing_group(path: str | os.PathLike[str], overwrite: bool, kind: str) -> Iterator[str]:
    """The URL to write a new group's arrays to; `complete_group` makes it count. Raises ExistsError.

    `overwrite` replaces a group of the same kind, and no other.
    """
    place = place_of(Location.of(path).resolved(), overwrite, None, kind)
    with writing(place, None, keep=False):
        yield place.target.url


def complete_group(url: str, attributes: dict[str, Any], names: Sequence[str]) -> None:
    """Write the attributes with the digest over them and its arrays: the step that makes a group count."""
    target = Location(url)
    marks = {"format": unfinished.FORMAT, **attributes, "complete": True}
    marks["digest"] = digest_of(target, marks, list(names))
    group = zarr.open_group(target.zarr_store(read_only=False), mode="r+", use_consolidated=False)
    group.update_attributes({MARK: marks})


def clear_damaged(path: str | os.PathLike[str], names: Sequence[str]) -> None:
    """Remove what is left of a group of these arrays that cannot be read any more, so that it can be written.

    Raises ExistsError for a folder that holds anything else.
    """
    location = Location.of(path).resolved()
    if not location.exists() or location.is_empty_folder():
        return
    try:
        group_marks(location)
    except StoreError as error:
        strangers = sorted(location.names() - {"zarr.json", *names})
        if strangers:
            raise ExistsError(f"{location.url} holds {strangers[0]!r}, which is not ours") from error
        location.remove()


def open_group(path: str | os.PathLike[str], kind: str) -> tuple[str, dict[str, Any]]:
    """URL and attributes of a whole group of this kind. Raises NotADatasetError, DigestError and others."""
    location = Location.of(path)
    return location.url, checked_marks(location, kind)


@dataclass(frozen=True)
class Place:
    """Where a dataset goes, where it is written until it is whole, and how far that has come before."""

    final: Location
    target: Location
    progress: Progress
    goes_on: bool = False

    @property
    def replaces(self) -> bool:
        """Whether a complete dataset gives way in the last step."""
        return self.target != self.final


def place_of(location: Location, overwrite: bool, request: Request | None, kind: str = DATASET) -> Place:
    """At the path itself, or beside it when a group of this kind is to be replaced. Raises ExistsError."""
    before = None if request is None else request.progress_at(location)
    if before is not None:
        return Place(location, location, before, goes_on=True)
    if not _may_write(location, overwrite, kind):
        return Place(location, location, Progress())
    target = location.sibling(f"writing-{tag_of(request)}")
    before = None if request is None else request.progress_at(target)
    return Place(location, target, before or Progress(), goes_on=before is not None)


def _may_write(location: Location, overwrite: bool, kind: str) -> bool:
    """Whether a group of this kind has to be replaced. Raises ExistsError for anything else that is there."""
    refuse_inside(location)
    if not location.exists() or location.is_empty_folder():
        return False
    try:
        marks = group_marks(location)
    except StoreError as error:
        raise ExistsError(
            f"{location.url} exists and is not replaced, as it is not a daskkernels {kind}"
        ) from error
    found = marks.get("kind", DATASET)
    if found != kind and marks.get("complete") is True:  # what was never finished has no kind yet
        raise ExistsError(f"{location.url} exists and is not replaced, as it is not a {kind}, but a {found}")
    if not overwrite:
        other = unfinished.unfinished_at(location)
        what = f"the {kind}" if other is None else f"an unfinished {kind} (of {other.get('text')!r}) at"
        raise ExistsError(f"{what} {location.url} exists: pass overwrite=True to replace it")
    return True


@contextlib.contextmanager
def writing(place: Place, request: Request | None, keep: bool) -> Iterator[None]:
    """A group to write into, new or unfinished; when all is written it takes the place of an older dataset.

    On an error everything is removed unless it is to be kept: to go on with it later, or because tasks may
    still be writing at the path. A late chunk file must not end up in a folder that nobody recognises.
    """
    if not place.goes_on:
        _make_group(place, unfinished.marks() if request is None else request.marks(Progress()))
    done = False
    try:
        yield
        done = True
    finally:
        if not done and not keep:
            place.target.remove()
    if place.replaces:
        exchange(place.final, place.target, tag_of(request))
    forget(place.final.url)


def _make_group(place: Place, marks: dict[str, Any]) -> None:
    """An empty group that says that it is not complete."""
    try:
        place.target.make()
    except FileExistsError as error:
        raise ExistsError(f"{place.final.url} was created by somebody else meanwhile") from error
    zarr.create_group(place.target.zarr_store(read_only=False), zarr_format=3, attributes=marks)
