"""Store layer: what users hold as `X` and `y`, brought to three forms: numpy, dask, or an iterator of blocks.

Types of other packages are recognised by their module and attributes, so that none of them is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array

from daskkernels.frames import (
    NUMERIC,
    common_dtype,
    feature_names,
    is_frame,
    lazy_values,
    package_of,
    unwrapped,
)
from daskkernels.store.errors import ShapeError
from daskkernels.store.reader import reader_of, to_dask

Rows = np.ndarray | da.Array


def is_stream(x: object) -> bool:
    """Whether `x` is an iterator or iterable of blocks rather than an array."""
    if hasattr(x, "__next__"):
        return True
    plain = isinstance(x, str | bytes | dict | list | tuple | np.ndarray | da.Array)
    return isinstance(x, Iterable) and not plain and not hasattr(x, "__array__") and not hasattr(x, "dtype")


def is_function(x: object) -> bool:
    """Whether `x` is a function from a row number to the blocks from there on."""
    return callable(x) and not hasattr(x, "__array__") and not hasattr(x, "dtype")


def stream_from(X: Any, y: Any, start: int, restart: bool) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """The blocks from row `start` on, of a function or of an iterator. Raises TypeError."""
    if not is_function(X):
        if restart:
            raise TypeError(
                f"resume needs X as a function start_row -> blocks, or as an array, got {type(X).__name__}, "
                "which can not be begun again"
            )
        return stream_blocks(X, y)
    if y is not None:
        raise TypeError("X is a function that returns blocks: give y in pairs (X_block, y_block)")
    return stream_blocks(X(start), None)


def refuse_sparse(x: object, what: str) -> None:
    """Raise TypeError for sparse matrices of any make, also inside dask arrays, and for masked arrays."""
    inner = meta_from_array(x) if isinstance(x, da.Array) else x
    if hasattr(inner, "tocsr") or hasattr(inner, "todense") or package_of(inner) == "sparse":
        raise TypeError(
            f"{what} is sparse ({type(inner).__name__}): dense rows are stored, convert blocks with toarray()"
        )
    if isinstance(inner, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array: fill it first, with {what}.filled(value)")


def on_host(block: Any) -> np.ndarray:
    """A block as a numpy array, fetched from the GPU if it lives there."""
    if hasattr(block, "__cuda_array_interface__") and hasattr(block, "get"):
        block = block.get()
    return np.asarray(block)


def feature_rows(X: Any) -> tuple[Rows, tuple[str, ...] | None]:
    """`X` as numpy or dask, with the feature names it carries. Raises TypeError, ShapeError."""
    refuse_sparse(X, "X")
    names = feature_names(X)
    rows = _from_frame(X) if is_frame(X) else _array(unwrapped(X), "X")
    check_features(rows)
    return rows, names if names is None or all(isinstance(name, str) for name in names) else None


def check_features(rows: Any) -> None:
    """Refuse what cannot be stored as features: not (n, d) with d > 0, or not bool, integers, floats."""
    if rows.ndim != 2:
        hint = ": reshape one feature with X[:, None]" if rows.ndim == 1 else ""
        raise ShapeError(f"X must be two-dimensional (rows, features), got shape {rows.shape}{hint}")
    if rows.shape[1] == 0 or rows.shape[0] == 0:
        raise ShapeError(f"X must have at least one row and one feature, got shape {rows.shape}")
    if np.isnan(rows.shape[1]):
        raise ShapeError(
            "X must have a known number of features, got an unknown one: call compute_chunk_sizes()"
        )
    if rows.dtype.kind not in NUMERIC or rows.dtype.itemsize > 8:
        raise TypeError(
            f"X must hold bool, integers or floats of at most 8 bytes, got dtype {rows.dtype}: convert it"
        )


def target_rows(y: Any) -> Rows:
    """`y` as numpy or dask, (n,) or (n, l). Raises TypeError, ShapeError."""
    refuse_sparse(y, "y")
    y = unwrapped(y)
    if hasattr(y, "to_dask_array"):
        y = lazy_values(y)
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif isinstance(y, list | tuple):
        y = _labels_of_list(y)
    rows = _array(y, "y")
    if rows.ndim not in (1, 2) or rows.shape[1:] == (0,):
        raise ShapeError(f"y must be (rows,) or (rows, outputs), got shape {rows.shape}")
    return rows


def stream_blocks(X: Any, y: Any) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
    """The blocks of an iterator as pairs of numpy arrays; with a `y` in memory, its rows go along."""
    targets = None if y is None else target_rows(y)
    if isinstance(targets, da.Array):
        raise TypeError(
            "X is an iterator of blocks: give y as pairs (X_block, y_block) or as an array in memory"
        )
    start = 0
    for block in X:
        features, labels = block if isinstance(block, tuple) and len(block) == 2 else (block, None)
        rows = np.asarray(feature_block(features))
        if targets is not None:
            if labels is not None:
                raise TypeError("y is given twice: in the pairs of the iterator and as an argument")
            labels = targets[start : start + len(rows)]
        start += len(rows)
        yield rows, None if labels is None else np.asarray(target_rows(labels))
    if targets is not None and len(targets) > start:
        yield np.empty((0, 0)), targets[start:]


def feature_block(block: Any) -> np.ndarray:
    """One block of an iterator, which may have no rows."""
    refuse_sparse(block, "a block of X")
    if is_frame(block):
        block = block.to_numpy(dtype=common_dtype(block))
    rows = on_host(block)
    if rows.ndim == 0:
        raise TypeError(
            f"X is an iterator of {type(block).__name__}: each block must be an array (rows, features)"
        )
    return rows


def _array(x: Any, what: str) -> Rows:
    reader = None if isinstance(x, da.Array) else reader_of(x)
    if reader is not None:
        rows = (
            max(1, 2**23 // max(1, reader.nbytes // max(1, len(reader)) * reader.chunk_rows))
            * reader.chunk_rows
        )
        starts = range(0, len(reader), rows)
        return to_dask(reader, tuple(min(rows, len(reader) - start) for start in starts) or (0,))
    if isinstance(x, da.Array):
        return x
    if isinstance(x, str | bytes | dict) or x is None:
        raise TypeError(
            f"{what} must be an array, a DataFrame, or an iterator of blocks, got {type(x).__name__}"
        )
    return on_host(x)


def _from_frame(frame: Any) -> Rows:
    if len(frame.columns) == 0:
        raise ShapeError("X must have at least one feature, got a frame without columns")
    dtype = common_dtype(frame)
    rows: Rows = (
        frame.astype(dtype).to_dask_array()
        if hasattr(frame, "to_dask_array")
        else frame.to_numpy(dtype=dtype)
    )
    return rows


def _labels_of_list(values: Any) -> np.ndarray:
    """A list as an array; numpy would turn the number in ["a", 1] into a string without a word."""
    array = np.asarray(values)
    return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array
