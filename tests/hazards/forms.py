"""Tests: one set of rows, and the many forms in which a user may hand it over.

The hazard tests are small; what varies is the kind of input, and these are the kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import xarray as xr
import zarr
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import daskkernels as dk

Array = np.ndarray


def blobs(n: int = 2000, d: int = 8, k: int = 4, dtype: str = "f8") -> Array:
    return make_blobs(n, d, centers=k, random_state=0)[0].astype(dtype)


def chunked(X: Array, rows: int | tuple[int, ...]) -> da.Array:
    """Row chunks of `rows`, columns in one piece; a 1-d array is chunked too."""
    return da.from_array(X, chunks=(rows, -1) if X.ndim == 2 else (rows,))


def split_columns(X: Array) -> da.Array:
    return da.from_array(X, chunks=(300, max(1, X.shape[1] // 2)))


def unknown_rows(X: Array) -> da.Array:
    """All of X, but behind a boolean mask: the chunk lengths are nan."""
    doubled = da.from_array(np.concatenate([X, X]), chunks=(300, -1))
    keep = np.r_[np.ones(len(X), bool), np.zeros(len(X), bool)]
    return doubled[da.from_array(keep, chunks=300)]


def pandas_frame(X: Array) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


def dask_frame(X: Array) -> Any:
    return dd.from_pandas(pandas_frame(X), npartitions=5)


def zarr_array(X: Array) -> zarr.Array:
    return zarr.create_array(zarr.storage.MemoryStore(), data=X, chunks=(256, X.shape[1]))


def xarray_over_numpy(X: Array) -> xr.DataArray:
    return xr.DataArray(X, dims=("row", "column"))


def xarray_over_dask(X: Array) -> xr.DataArray:
    return xr.DataArray(chunked(X, 300), dims=("row", "column"))


FORMS: dict[str, Callable[[Array], Any]] = {
    "numpy": lambda X: X,
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "pandas": pandas_frame,
    "dask": lambda X: chunked(X, 300),
    "dask, split columns": split_columns,
    "dask, unknown chunks": unknown_rows,
    "dask frame": dask_frame,
    "zarr": zarr_array,
    "xarray": xarray_over_numpy,
    "xarray over dask": xarray_over_dask,
}


def dense(x: Any) -> Array:
    """The values of a result, lazy or not."""
    return np.asarray(x.compute() if hasattr(x, "compute") else x)


def cluster(X: Any, k: int = 4, **options: Any) -> dk.KernelKMeans:
    settings: dict[str, Any] = {"n_landmarks": 60, "random_state": 0, **options}
    return dk.KernelKMeans(k, **settings).fit(X)


def assert_same_labels(a: Any, b: Any) -> None:
    """The same partition: adjusted Rand index exactly 1."""
    a, b = dense(a), dense(b)
    assert a.shape == b.shape
    assert adjusted_rand_score(a, b) == 1.0
