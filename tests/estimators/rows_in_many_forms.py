"""Tests: small tables, cut into chunks in many ways, and what must come out the same to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from hypothesis import strategies as st

import daskkernels as dk

N = 3000  # three blocks of the canonical grid, the last one short
Array = np.ndarray


def table(dtype: str = "f8", n: int = N, d: int = 5) -> Array:
    """Four overlapping groups."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + 2.5 * rng.normal(size=(4, d))[rng.integers(0, 4, n)]).astype(dtype)


def row_cuts(n: int = N) -> st.SearchStrategy[tuple[int, ...]]:
    """Any way to cut n rows, chunks without rows included."""
    cuts = st.lists(st.integers(0, n), max_size=8).map(sorted)
    return cuts.map(lambda c: tuple(np.diff([0, *c, n]).tolist()))


def chunked(X: Array, rows: Any = 700, columns: int = -1) -> da.Array:
    return da.from_array(X, chunks=(500, -1)).rechunk((rows, columns))


def stored(X: Array, folder: Path, chunk_rows: int | None = None) -> da.Array:
    return dk.write_dataset(folder / f"{X.dtype}-{chunk_rows}.zarr", X, chunk_rows=chunk_rows).X


def dense(x: Any) -> Array:
    return np.asarray(x.compute() if hasattr(x, "compute") else x)


def answers(X: Any, **options: Any) -> dict[str, Any]:
    """Everything a fit of `KernelKMeans` says, as numpy and numbers."""
    settings: dict[str, Any] = {"n_landmarks": 40, "random_state": 0, "tol": 1e-3, **options}
    model = dk.KernelKMeans(4, **settings).fit(X)
    return {
        "labels": dense(model.labels_),
        "centers": model.cluster_centers_,
        "inertia": model.inertia_,
        "iterations": model.n_iter_,
        "components": model.features_.components_,
        "landmarks": model.features_.landmark_indices_,
        "trace error": model.features_.trace_error_,
        "trace errors": model.features_.trace_errors_,
        "trace errors by rank": model.features_.rank_trace_errors_,
        "distances": dense(model.transform(X)),
        "predicted": dense(model.predict(X)),
    }


def assert_same_bits(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert np.array_equal(found[name], value), f"{name} differs"
        assert np.asarray(found[name]).dtype == np.asarray(value).dtype
