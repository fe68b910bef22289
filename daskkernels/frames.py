"""Layer 0: data frames and labelled arrays as plain ones: their names, one type for all columns, and the
lengths of their partitions.

pandas, dask.dataframe and xarray are known by what their objects can do, so that none of them is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np

NUMERIC = "biuf"  # kinds of numpy types


@dataclass(frozen=True)
class Lazy:
    """A dask array, and the lengths of its row chunks as a lazy vector where they are not known."""

    array: da.Array
    lengths: Any = None


def package_of(x: object) -> str:
    """First part of the name of the module that defines the type of `x`."""
    return type(x).__module__.partition(".")[0]


def is_frame(x: Any) -> bool:
    """Whether `x` is a table of named columns, in memory or lazy."""
    return hasattr(x, "columns") and hasattr(x, "dtypes") and getattr(x, "ndim", 2) == 2


def unwrapped(x: Any) -> Any:
    """The array inside an xarray DataArray; others as they are. Raises TypeError for an xarray Dataset."""
    if package_of(x) != "xarray":
        return x
    if hasattr(x, "data_vars") or not hasattr(x, "dims") or not hasattr(x, "data"):
        raise TypeError(f"an xarray DataArray is wanted, got {type(x).__name__}: take one of its variables")
    return x.data


def feature_names(x: Any) -> tuple[Any, ...] | None:
    """The columns of a frame, or the coordinates of the second dimension of a DataArray; None without.

    Raises TypeError for an xarray Dataset.
    """
    if is_frame(x):
        return tuple(x.columns)
    if unwrapped(x) is x:  # no DataArray
        return None
    named = len(x.dims) == 2 and x.dims[1] in getattr(x, "coords", ())
    return tuple(x.coords[x.dims[1]].values.tolist()) if named else None


def common_dtype(frame: Any) -> np.dtype[Any]:
    """The numpy type that holds every column. Raises TypeError with the first column that is not numeric."""
    kinds = [_numeric(name, dtype) for name, dtype in zip(frame.columns, frame.dtypes, strict=True)]
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def _numeric(name: Any, dtype: Any) -> np.dtype[Any]:
    """The numpy type of one column; float64 for nullable ones, as in scikit-learn."""
    if "Sparse" in type(dtype).__name__:
        raise TypeError(f"column {name!r} of X is sparse: convert it with .sparse.to_dense()")
    inner = dtype.categories.dtype if hasattr(dtype, "categories") else dtype
    if getattr(inner, "kind", "O") not in NUMERIC:
        raise TypeError(f"column {name!r} of X is {dtype}: encode it as numbers, or drop it")
    return dtype if isinstance(dtype, np.dtype) else np.dtype(np.float64)


def refuse_columns(frame: Any) -> None:
    """Raise TypeError with the first column of a frame in memory that can hold no numbers, by its type.

    Columns of text or objects may hold numbers: scikit-learn converts them, or says what it can not.
    """
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        text = str(dtype).partition("[")[0] in ("object", "str", "string")
        if not text and getattr(dtype, "kind", "O") != "c":
            _numeric(name, dtype)


def lazy_array(x: Any, what: str = "X") -> Lazy:
    """A dask DataFrame, Series or array, or a DataArray over one, as a dask array. Nothing is computed.

    The columns of X become numbers of one type; y may hold objects. Raises TypeError.
    """
    x = unwrapped(x)
    if hasattr(x, "to_dask_array"):
        return Lazy(_numbers(x) if what == "X" and is_frame(x) else lazy_values(x), x.map_partitions(len))
    if not hasattr(x, "chunks") or not hasattr(x, "dtype"):
        raise TypeError(f"{what} is a lazy {type(x).__name__}: wanted a dask array or DataFrame")
    known = not any(np.isnan(size) for sizes in x.chunks[:1] for size in sizes)
    return Lazy(x, None if known else _row_counts(x))


def _numbers(frame: Any) -> da.Array:
    dtype = common_dtype(frame)
    same = all(own == dtype for own in frame.dtypes)
    rows: da.Array = (frame if same else frame.astype(dtype)).to_dask_array()
    return rows


def lazy_values(series: Any) -> da.Array:
    """A dask Series or DataFrame as a dask array: numbers as they are, all other columns as objects."""
    dtypes = list(series.dtypes) if series.ndim == 2 else [series.dtype]
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biufcmM" for dtype in dtypes):
        rows: da.Array = series.to_dask_array()
        return rows
    floats = all(getattr(dtype, "kind", "O") == "f" for dtype in dtypes)
    converted: da.Array = series.astype("float64" if floats else object).to_dask_array()
    return converted


def resolved(*tables: Lazy) -> list[da.Array]:
    """The arrays with the lengths of all their row chunks, found in one computation for all of them.

    What the tables share, such as the file that X and y are read from, is computed once.
    """
    found = dask.compute(*[table.lengths for table in tables])
    return [
        table.array if lengths is None else _with_lengths(table.array, lengths)
        for table, lengths in zip(tables, found, strict=True)
    ]


def _with_lengths(x: da.Array, lengths: Any) -> da.Array:
    chunks = (tuple(int(length) for length in np.asarray(lengths)), *x.chunks[1:])
    return da.Array(x.dask, x.name, chunks, meta=x)


def _row_counts(x: da.Array) -> da.Array:
    """The rows of each chunk, as a lazy vector."""
    chunks = tuple((1,) * blocks for blocks in x.numblocks)
    meta = np.empty((0,) * x.ndim, np.int64)
    counts: da.Array = da.map_blocks(_row_count, x, chunks=chunks, dtype=meta.dtype, meta=meta)
    vector: da.Array = counts[(slice(None),) + (0,) * (x.ndim - 1)]
    return vector


def _row_count(block: Any) -> np.ndarray:
    return np.full((1,) * block.ndim, len(block), np.int64)
