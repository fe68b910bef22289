"""Store layer: what an unfinished dataset remembers, so that the same write can go on where it stopped.

The group's attributes hold a text that says what is written and how many rows are whole; they are replaced in
one step after every buffer, so a kill at any moment leaves the record of the buffer before.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from typing import Any

import zarr

from daskkernels.store.errors import ExistsError
from daskkernels.store.location import Location
from daskkernels.store.marks import MARK, marks_at

FORMAT = 1  # of datasets; told here so that an unfinished group can be recognised


@dataclass(frozen=True)
class Progress:
    """Rows that are whole on disk, and the labels in the order of their codes (None: no labels searched)."""

    rows: int = 0
    seen: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Request:
    """What is written, in the caller's words, with what decides the form of the arrays."""

    text: str
    chunk_rows: int | None
    classes: tuple[Any, ...] | None

    @classmethod
    def of(cls, text: Any, chunk_rows: int | None, classes: tuple[Any, ...] | None) -> Request:
        """Raises TypeError unless `text` is one."""
        if not isinstance(text, str):
            raise TypeError(f"resume must be a text that says what is written, got {text!r}")
        return cls(text, chunk_rows, classes)

    @property
    def tag(self) -> str:
        """Short name of this request, the same in every process."""
        return hashlib.sha256(json.dumps(self._record()).encode()).hexdigest()[:12]

    def progress_at(self, location: Location) -> Progress | None:
        """How far this very request came there; None where there is nothing of it."""
        found = unfinished_at(location)
        if found is None or {key: found.get(key) for key in self._record()} != self._record():
            return None
        rows, seen = found.get("rows"), found.get("seen")
        if not isinstance(rows, int) or rows < 0 or not isinstance(seen, list | None):
            return None
        return Progress(rows, None if seen is None else tuple(seen))

    def marks(self, progress: Progress, owner: str | None = None) -> dict[str, Any]:
        """The attributes of an unfinished group."""
        seen = None if progress.seen is None else list(progress.seen)
        return marks(unfinished={**self._record(), "rows": progress.rows, "seen": seen, "owner": owner})

    def _record(self) -> dict[str, Any]:
        classes = None if self.classes is None else list(self.classes)
        return {"text": self.text, "chunk_rows": self.chunk_rows, "classes": classes}


@dataclass
class Journal:
    """Where a write notes how far it is; without a request it notes nothing."""

    target: Location
    request: Request | None
    owner: str | None = None  # the name of this write, once it has noted something

    def check(self) -> None:
        """Raise ExistsError when another process has taken over."""
        if self.owner is None:
            return
        found = unfinished_at(self.target)
        if found is None or found.get("owner") != self.owner:
            raise ExistsError(f"{self.target.url} is being written by another process")

    def note(self, progress: Progress) -> None:
        """Replace the record. Raises ExistsError when another process has taken over."""
        if self.request is None:
            return
        self.check()
        self.owner = self.owner or uuid.uuid4().hex
        group = zarr.open_group(self.target.zarr_store(read_only=False), mode="r+", use_consolidated=False)
        group.update_attributes(self.request.marks(progress, self.owner))


def marks(**more: Any) -> dict[str, Any]:
    """The attributes of a group that is not complete."""
    return {MARK: {"format": FORMAT, "complete": False, **more}}


def unfinished_at(location: Location) -> dict[str, Any] | None:
    """The record of an unfinished dataset that can be continued; None for anything else."""
    found = marks_at(location)
    record = found.get("unfinished")
    return record if found.get("complete") is False and isinstance(record, dict) else None
