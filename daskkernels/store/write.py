"""Store layer: `write_dataset`, from whatever the user holds to a complete dataset, or to none at all.

The group is marked as complete in the last step; an older dataset stays in place until then.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskkernels.store import labels, sources
from daskkernels.store.arrays import ArrayPlan
from daskkernels.store.dataset import Dataset, open_dataset
from daskkernels.store.errors import ShapeError
from daskkernels.store.group import complete_group, place_of, writing
from daskkernels.store.location import Location
from daskkernels.store.reader import forget
from daskkernels.store.stream import StreamPlan
from daskkernels.store.takeover import finished, owned
from daskkernels.store.unfinished import Journal, Request


def write_dataset(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    feature_shape: Sequence[int] | None = None,
    source: Any = None,
    chunk_rows: int | None = None,
    overwrite: bool = False,
    resume: str | None = None,
) -> Dataset:
    """Write X (n, d) and y (n,) or (n, l) as a dataset, a few chunks in memory at a time, and open it.

    Parameters
    ----------
    path : a folder or fsspec URL.
    X : numpy, dask, pandas, dask DataFrame, Zarr, xarray, an iterator of blocks X_b or pairs (X_b, y_b), or a
        function that returns such an iterator from a given row on.
    y : strings, bools and integers are class labels (codes and `classes` are stored), floats are targets.
    classes : the labels in the order of their codes; default those that occur, sorted.
    feature_names : a name for each column; default those of a frame, else none.
    feature_shape : (height, width) or (height, width, 3) where each row is an image.
    source : any JSON value, kept with the data.
    chunk_rows : rows of one Zarr chunk; default about 1 MB of them.
    overwrite : whether a dataset at `path` is replaced, once this one is whole.
    resume : a text that says what is written. What an error or a kill leaves is then kept, and a call with
        the same text goes on after the rows that are whole: X must be a function, or arrays of the same
        values.

    Cost: one pass; one more over dask input with unknown lengths, and one more over dask labels.

    Raises ExistsError, LengthMismatchError, ShapeError, LabelError, TypeError before anything is written, or
    as soon as it can be known; a failed write leaves no dataset that opens, and an older one untouched.
    """
    link = Location.of(path)
    source = _as_stored(source)
    chunk_rows = _checked_chunk_rows(chunk_rows)
    given = None if classes is None else labels.given_classes(classes)
    request = None if resume is None else Request.of(resume, chunk_rows, given)
    with owned(link.resolved(), request) as location:
        if request is None or not finished(location, request, overwrite):
            _write(
                location, request, X, y, given, feature_names, feature_shape, source, chunk_rows, overwrite
            )
    forget(link.url)
    return open_dataset(link.url)


def _write(
    location: Location,
    request: Request | None,
    X: Any,
    y: Any,
    given: tuple[Any, ...] | None,
    feature_names: Sequence[str] | None,
    feature_shape: Sequence[int] | None,
    source: Any,
    chunk_rows: int | None,
    overwrite: bool,
) -> None:
    """Write the dataset at its place; the arguments are those of `write_dataset`, checked."""
    place = place_of(location, overwrite, request)
    plan: StreamPlan | ArrayPlan
    if sources.is_stream(X) or sources.is_function(X):
        blocks = sources.stream_from(X, y, place.progress.rows, restart=request is not None)
        plan = StreamPlan(blocks, given, feature_names, chunk_rows, place.progress, place.target)
    else:
        plan = ArrayPlan(X, y, given, feature_names, chunk_rows)
    shape = _feature_shape(feature_shape, plan.width)
    keep = request is not None or not (plan.in_client or place.replaces)
    with writing(place, request, keep):
        attributes = plan.write(place.target, Journal(place.target, request))
        names = ["X", "y"] if place.target.exists("y/zarr.json") else ["X"]
        complete_group(place.target.url, {**attributes, **shape, "source": source}, names)


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


def _checked_chunk_rows(chunk_rows: int | None) -> int | None:
    if chunk_rows is not None and (
        isinstance(chunk_rows, bool) or not isinstance(chunk_rows, int | np.integer)
    ):
        raise TypeError(f"chunk_rows must be an integer or None, got {chunk_rows!r}")
    if chunk_rows is not None and chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, got {chunk_rows}")
    return None if chunk_rows is None else int(chunk_rows)


def _feature_shape(given: Sequence[int] | None, width: int) -> dict[str, Any]:
    """The attribute that says how a row is an image. Raises ShapeError."""
    if given is None:
        return {}
    plain = all(isinstance(size, int | np.integer) and not isinstance(size, bool) for size in given)
    shape = [int(size) for size in given] if plain else []
    if len(shape) not in (2, 3) or min(shape) < 1 or math.prod(shape) != width:
        raise ShapeError(
            f"feature_shape must be (height, width) or (height, width, channels) of {width} features, "
            f"got {tuple(given)}"
        )
    return {"feature_shape": shape}
