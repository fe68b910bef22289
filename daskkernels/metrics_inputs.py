"""Layer 5: the door of the measures: tables without an estimator around them, and a label for each row."""

from __future__ import annotations

import math
from typing import Any

import dask
import dask.array as da
import numpy as np

from .grid import Grid
from .inputs import Input, InputError, is_lazy, open_input
from .rowblocks import RowBlocks, from_dask
from .runtime import Runtime


def open_rows(X: Any) -> Input:
    """A table, opened; lists, data frames and the like become arrays."""
    a_table = is_lazy(X) or isinstance(getattr(X, "dtype", None), np.dtype)
    return open_input(X if a_table else np.asarray(X))


def label_vector(name: str, labels: Any) -> Any:
    """Labels (n,) as a numpy or dask vector. Raises InputError."""
    if hasattr(labels, "to_dask_array"):
        labels = labels.to_dask_array(lengths=True)
    if isinstance(labels, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array: drop the masked rows of both")
    if not dask.is_dask_collection(labels):
        labels = np.asarray(labels)
    if labels.ndim != 1 or labels.shape[0] == 0:
        raise InputError(f"{name} has shape {labels.shape}: wanted a vector of at least one label")
    return labels


def label_rows(labels: Any, grid: Grid, runtime: Runtime) -> RowBlocks:
    """Cluster numbers on the grid of their rows. Raises InputError."""
    labels = label_vector("labels", labels)
    if isinstance(labels, da.Array) and math.isnan(labels.shape[0]):
        labels = labels.copy().compute_chunk_sizes()
    if labels.dtype.kind not in "iub":
        raise InputError(f"labels have dtype {labels.dtype}: wanted cluster numbers 0, 1, ...")
    if labels.shape[0] != grid.n_rows:
        raise InputError(f"{labels.shape[0]} labels for {grid.n_rows} rows of X: wanted one for each row")
    return from_dask(labels, grid) if isinstance(labels, da.Array) else runtime.place_rows(labels, grid)
