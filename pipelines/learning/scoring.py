"""How right predictions are: the error and the table of classes, or the squared error of numbers.

Both sides are lazy; only counts and sums come back.
"""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

import daskkernels as dk
from pipelines.learning.records import Scores
from pipelines.results import DataFacts


def scores(facts: DataFacts, predicted: da.Array, y: da.Array, names: list[Any] | None) -> Scores:
    """Of predictions (n,) or (n, l), class codes where `names` of the model's classes are given."""
    if names is None:
        return Scores(facts, **_of_numbers(predicted, y))
    known = tuple(map(str, names))
    table = _table(predicted, y, len(known), len(facts.classes or ()))
    columns = {name: code for code, name in enumerate(known)}
    right = sum(
        int(table[code, columns[name]]) for code, name in enumerate(facts.classes or ()) if name in columns
    )
    return Scores(facts, error=1.0 - right / int(table.sum()), confusion=table)


def _table(predicted: da.Array, y: da.Array, n_known: int, n_true: int) -> np.ndarray:
    """Counts (true classes, known classes), with those that do not occur in their places."""
    table = np.zeros((n_true, n_known), np.int64)
    present = dask.compute(da.unique(y), da.unique(predicted))
    table[np.ix_(*present)] = dk.metrics.contingency(y, predicted)
    return table


def _of_numbers(predicted: da.Array, y: da.Array) -> dict[str, float | None]:
    """The mean squared error, and R2, over the columns of y; None where y does not vary."""
    y = y.astype(np.float64).reshape(y.shape[0], -1)
    residual = predicted.astype(np.float64).reshape(y.shape) - y
    squares, variance = dask.compute((residual**2).mean(axis=0), y.var(axis=0))
    varies = variance > 0
    r2 = float((1 - squares[varies] / variance[varies]).mean()) if varies.any() else None
    return {"mse": float(squares.mean()), "r2": r2}
