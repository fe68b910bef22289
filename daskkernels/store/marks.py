"""Store layer: our own attributes in the metadata files of arrays and groups, read without zarr."""

from __future__ import annotations

import json
from typing import Any

from daskkernels.store.errors import MetadataError
from daskkernels.store.location import Location

MARK = "daskkernels"  # the key of our attributes, in groups and in arrays


def read_json(location: Location, key: str) -> dict[str, Any]:
    """A metadata file as a dictionary. Raises MetadataError with its name."""
    try:
        parsed = json.loads(location.read(key))
    except (OSError, ValueError, RecursionError) as error:
        raise MetadataError(f"{location.path(key)} is not readable as JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise MetadataError(f"{location.path(key)} must hold a JSON object, got {type(parsed).__name__}")
    return parsed


def marks_at(location: Location) -> dict[str, Any]:
    """Our attributes of a group, empty where there is none that can be read."""
    try:
        return marks_of(read_json(location, "zarr.json")) or {}
    except MetadataError:
        return {}


def marks_of(parsed: dict[str, Any]) -> dict[str, Any] | None:
    """Our attributes in a metadata file, None if it has none."""
    attributes = parsed.get("attributes")
    marks = attributes.get(MARK) if isinstance(attributes, dict) else None
    return marks if isinstance(marks, dict) else None
