"""Rows of a table multiplied by a number, or brought to mean 0 and variance 1, block by block.

Scaled values are rounded to float32; nothing but two numbers for each column is held.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from datasets.readers import Block, Table

STANDARD = "standard"
STORED = np.dtype(np.float32)


def scaled(table: Table, scale: str | float | None, rows: int) -> Table:
    """The table with scaled rows; for "standard" it is read through once before, `rows` rows at a time.

    scale: a number or a text such as "1/255" to multiply by, or "standard". Raises ValueError.
    """
    if scale is None:
        return table
    change = _standard(table, rows) if scale == STANDARD else _times(scale)

    def read(count: int, start: int) -> Iterator[Block]:
        for X, y in table.read(count, start):
            with np.errstate(all="ignore"):  # what is not finite then is found where rows are stored
                yield change(X.astype(np.float64)).astype(STORED), y

    return dataclasses.replace(table, dtype=STORED, read=read)


def _times(scale: str | float) -> Callable[[np.ndarray], np.ndarray]:
    """Multiplication by a number; by a fraction in two exact steps, so that 255 * 1/255 is 1."""
    try:
        factor = Fraction(scale)
        top, bottom = float(factor.numerator), float(factor.denominator)
    except (ValueError, ZeroDivisionError, OverflowError, TypeError) as error:
        raise ValueError(
            f"scale must be a number, a fraction such as 1/255, or {STANDARD!r}, got {scale!r}"
        ) from error
    if not top:
        raise ValueError(f"scale must not be 0, got {scale!r}")
    return lambda X: X * top / bottom


def _standard(table: Table, rows: int) -> Callable[[np.ndarray], np.ndarray]:
    """Mean 0 and variance 1 in each column; a column of one value becomes 0."""
    from sklearn.preprocessing import StandardScaler  # only here: it takes a second

    scaler = StandardScaler()
    lowest, highest = np.full((2, table.n_features), [[np.inf], [-np.inf]])
    with np.errstate(all="ignore"):
        for X, _ in table.blocks(rows):
            scaler.partial_fit(X.astype(np.float64))
            lowest, highest = np.minimum(lowest, X.min(axis=0)), np.maximum(highest, X.max(axis=0))
    if hasattr(scaler, "mean_"):  # the mean of equal values is rounded
        scaler.mean_ = np.where(lowest == highest, lowest, scaler.mean_)
    transform: Callable[[np.ndarray], np.ndarray] = scaler.transform
    return transform
