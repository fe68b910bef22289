"""What a compared method is: whose it is, what it needs, and the rows as it takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import dask.array as da
import numpy as np

import daskkernels as dk


@dataclass(frozen=True)
class Method:
    """A method by its function; `reads` is "store" (streams the data set), "dask" or "memory" (holds it).

    `pair_bytes` are what it holds for each pair of rows, 0 for most.
    """

    run: Callable[..., Any]
    reads: str = "memory"
    module: str = "sklearn"
    distribution: str = "scikit-learn"
    pair_bytes: int = 0

    def refusal(self, rows: int, memory: int) -> str:
        """Why it need not be started, or nothing."""
        if find_spec(self.module.partition(".")[0]) is None:
            return f"{self.distribution} is not installed"
        if rows**2 * self.pair_bytes > memory:
            return f"more than {gib(memory)}: holds n x n values"
        return ""


def ours(run: Callable[..., Any]) -> Method:
    """One of this library: it reads from the store whatever it needs, when it needs it."""
    return Method(run, "store", "daskkernels", "daskkernels")


def gib(size: int) -> str:
    """A limit in words."""
    return f"{size / 2**30:g} GiB"


def rows_for(method: Method, data: dk.Dataset) -> Any:
    """The rows: a stored array, a Dask array held in memory, or one array of float32, filled in place."""
    if method.reads == "store":
        return data.X
    if method.reads == "dask":
        return data.X.astype(np.float32).persist()
    return loaded(data)


def loaded(data: dk.Dataset) -> np.ndarray:
    """All rows as float32, without a second copy of them on the way."""
    rows = np.empty((data.n_rows, data.n_features), np.float32)
    da.store(data.X, rows, lock=False)
    return rows


def mean_distance(rows: Any) -> float:
    """The root of the mean squared distance of all pairs of rows (eq. 5), numpy or Dask."""
    return float(np.sqrt(2 * rows.var(axis=0, dtype=np.float64).sum()))
