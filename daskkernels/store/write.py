"""Store layer: `write_dataset`, from whatever the user holds to a complete dataset, or to none at all.

The group is marked as complete in the last step; an older dataset stays in place until then.
"""

from __future__ import annotations

import contextlib
import json
import os
import reprlib
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import zarr

from daskkernels.store import labels, sources
from daskkernels.store.arrays import ArrayPlan
from daskkernels.store.dataset import FORMAT, Dataset, digest_of, group_marks, open_dataset
from daskkernels.store.errors import ExistsError, StoreError
from daskkernels.store.location import Location
from daskkernels.store.reader import forget
from daskkernels.store.stream import StreamPlan, checked_blocks
from daskkernels.store.writer import MARK, refuse_inside


def write_dataset(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    source: Any = None,
    chunk_rows: int | None = None,
    overwrite: bool = False,
) -> Dataset:
    """Write X (n, d) and y (n,) or (n, l) as a dataset, a few chunks in memory at a time, and open it.

    X: numpy, dask, pandas, dask DataFrame, Zarr, xarray, or an iterator of blocks X_b or pairs (X_b, y_b).
    y: strings, bools and integers are class labels (codes and `classes` are stored), floats are targets.
    `chunk_rows` rows make one Zarr chunk (default: about 1 MB). `source`: any JSON value, kept with the data.
    Cost: one pass; one more over dask input with unknown lengths, and one more over dask labels.
    Raises ExistsError, LengthMismatchError, ShapeError, LabelError, TypeError before anything is written, or
    as soon as it can be known; a failed write leaves no dataset that opens, and an older one untouched.
    """
    link = Location.of(path)
    location = link.resolved()
    source = _as_stored(source)
    _check_chunk_rows(chunk_rows)
    given = None if classes is None else labels.given_classes(classes)
    replace = _may_write(location, overwrite)
    if sources.is_stream(X):
        blocks = checked_blocks(sources.stream_blocks(X, y))
        plan: StreamPlan | ArrayPlan = StreamPlan(blocks, given, feature_names, chunk_rows)
    else:
        plan = ArrayPlan(X, y, given, feature_names, chunk_rows)
    with _new_group(location, replace, plan.in_client) as target:
        attributes = plan.write(target)
        _complete(target, {**attributes, "source": source})
    forget(link.url)
    return open_dataset(link.url)


def _as_stored(source: Any) -> Any:
    """`source` as it will be read again: keys are strings, tuples are lists. Raises TypeError."""
    try:
        return json.loads(json.dumps(source, allow_nan=False), object_pairs_hook=_different_keys)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"source must be text or another JSON value, got {reprlib.repr(source)}: {error}"
        ) from error


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("two of its keys are the same text")
    return found


def _check_chunk_rows(chunk_rows: int | None) -> None:
    if chunk_rows is not None and (
        isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int | np.integer)
    ):
        raise TypeError(f"chunk_rows must be an integer or None, got {chunk_rows!r}")
    if chunk_rows is not None and chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, got {chunk_rows}")


def _may_write(location: Location, overwrite: bool) -> bool:
    """Whether a dataset of ours has to be replaced. Raises ExistsError for anything else that is there."""
    refuse_inside(location)
    if not location.exists() or location.is_empty_folder():
        return False
    try:
        group_marks(location)
    except StoreError as error:
        raise ExistsError(
            f"{location.url} exists and is not replaced, as it is not a daskkernels dataset"
        ) from error
    if not overwrite:
        raise ExistsError(f"the dataset {location.url} exists: pass overwrite=True to replace it")
    return True


@contextlib.contextmanager
def _new_group(location: Location, replace: bool, in_client: bool) -> Iterator[Location]:
    """A group to write into: at the path itself, or next to it when a dataset is to be replaced by a switch.

    On an error everything is removed, except when tasks may still be writing at the path: then the group
    stays, marked as incomplete, since a late chunk file must not end up in a folder that nobody recognises.
    """
    tag = uuid.uuid4().hex[:12]
    target = location.sibling(f"writing-{tag}") if replace else location
    try:
        target.make()
    except FileExistsError as error:
        raise ExistsError(f"{location.url} was created by somebody else meanwhile") from error
    marks = {MARK: {"format": FORMAT, "complete": False}}
    zarr.create_group(target.zarr_store(read_only=False), zarr_format=3, attributes=marks)
    done = False
    try:
        yield target
        done = True
    finally:
        if not done and (in_client or replace):
            target.remove()
    if replace:
        old = location.sibling(f"replaced-{tag}")
        location.move(old)
        target.move(location)
        old.remove()
    forget(location.url)


def _complete(target: Location, attributes: dict[str, Any]) -> None:
    """Write the attributes with their digest: the step that makes the group a dataset."""
    marks = {"format": FORMAT, **attributes, "complete": True}
    names = ["X", "y"] if target.exists("y/zarr.json") else ["X"]
    marks["digest"] = digest_of(target, marks, names)
    group = zarr.open_group(target.zarr_store(read_only=False), mode="r+", use_consolidated=False)
    group.update_attributes({MARK: marks})
