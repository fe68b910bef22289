"""Another type for the values of a table, without changing them: what does not fit is an error with its row.

Decimal texts are the exception: the nearest number of a float type is what reading them means.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

import numpy as np

from datasets.readers.base import Block, ReaderError, Table

LONGEST_LABEL = 250  # characters: an array of strings takes as much for each of them
CERTAIN = 2.0**53  # from here on a float may stand for several whole numbers
LABEL_TYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "string": np.dtype(np.str_)}


def number_type(name: str) -> np.dtype:
    """The type of that name. Raises ReaderError unless it is bool, integer or float of at most 8 bytes."""
    try:
        dtype = np.dtype(name)
    except TypeError:
        dtype = np.dtype(np.void)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ReaderError(f"dtype must name a type of numbers such as float32 or uint8, got {name!r}")
    return dtype.newbyteorder("=")


def retyped(table: Table, dtype: np.dtype | None, label_type: str | None, *, rounds: bool) -> Table:
    """The table with its features as `dtype` and its labels as `label_type`; None: as they are."""
    if label_type is not None and label_type not in LABEL_TYPES:
        raise ReaderError(f"label_type must be one of {', '.join(LABEL_TYPES)}, got {label_type!r}")
    if dtype is None and label_type is None:
        return table

    def read(rows: int, start: int) -> Iterator[Block]:
        row = start
        for X, y in table.read(rows, start):
            yield (
                X if dtype is None else as_type(X, dtype, row, rounds=rounds, what="dtype"),
                y if label_type is None or y is None else as_labels(y, label_type, row, rounds=rounds),
            )
            row += len(X)

    return dataclasses.replace(table, dtype=table.dtype if dtype is None else dtype, read=read)


def as_type(
    values: np.ndarray, dtype: np.dtype, row: int, *, rounds: bool = False, what: str = "dtype"
) -> np.ndarray:
    """The values as `dtype`; with `rounds`, floats may become the nearest float. `row`: that of the first."""
    if values.dtype == dtype:
        return values
    with np.errstate(all="ignore"):  # what overflows is found below
        cast = values.astype(dtype)
        differs = _differs(values, cast)
        if rounds and values.dtype.kind == cast.dtype.kind == "f":
            differs = np.isfinite(values) & ~np.isfinite(cast)
    if differs.any():
        place = np.argwhere(differs)[0]
        column = f", column {place[1]}" if values.ndim == 2 else ""
        raise ReaderError(
            f"row {row + place[0]}{column}: {values[tuple(place)]} is not exactly a {dtype}; "
            f"choose another {what}, or none to keep {values.dtype}"
        )
    return cast


def as_labels(y: np.ndarray, label_type: str, row: int, *, rounds: bool = False) -> np.ndarray:
    """Labels as whole numbers, floats or strings; `row` is the number of the first.

    `rounds`: floats among them come from decimal texts, so that large ones are no certain whole numbers.
    """
    if label_type == "string":
        return np.char.decode(y, "utf-8") if y.dtype.kind == "S" else y.astype(np.str_)
    if y.dtype.kind in "SU":
        for offset, text in enumerate(y.reshape(-1)):
            if not is_number(text):
                raise ReaderError(
                    f"row {row + offset}: label {str(text)!r} is not a number: label_type 'string'"
                )
        y, rounds = y.astype(np.float64), True
    if label_type == "int" and rounds and y.dtype.kind == "f" and (np.abs(y) >= CERTAIN).any():
        place = int(np.argmax(np.abs(y).reshape(len(y), -1).max(axis=1) >= CERTAIN))
        raise ReaderError(
            f"row {row + place}: label {y[place]} is rounded, as it is 2^53 or more: label_type 'string'"
        )
    return as_type(y, LABEL_TYPES[label_type], row, what="label_type")


def is_number(text: str | bytes) -> bool:
    """Whether a text is a number, in any notation that Python knows except 1_000."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in str(text)


def number(text: str, dtype: np.dtype) -> float | int | None:
    """The number that a text means, as a float or as an integer of that type; None where it means none."""
    if not is_number(text) or not math.isfinite(float(text)):
        return None
    if dtype.kind == "f":
        return float(text)
    try:
        exactly = Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return None
    if not np.iinfo(dtype).min <= exactly <= np.iinfo(dtype).max or exactly != exactly.to_integral_value():
        return None
    return int(exactly) if exactly else 0


def as_text(values: np.ndarray | Sequence[str], row: int | None = None) -> np.ndarray:
    """Texts as a numpy array. Raises ReaderError for one that is too long or holds a NUL."""
    for offset, text in enumerate(values):
        if len(text) > LONGEST_LABEL or "\0" in text:
            what = (
                "holds a NUL"
                if "\0" in text
                else f"has {len(text)} characters, at most {LONGEST_LABEL} are read"
            )
            where = "" if row is None else f"row {row + offset}: "
            raise ReaderError(f"{where}label {text[:20]!r}... {what}")
    return np.asarray(values, np.str_)


def _differs(values: np.ndarray, cast: np.ndarray) -> np.ndarray:
    """Where a cast has changed a value; numpy compares an int64 with a float64 only after rounding it."""
    kinds = values.dtype.kind + cast.dtype.kind
    differs = cast != values
    if "f" in kinds and kinds[1] in "iu":
        limits = np.iinfo(cast.dtype)
        wide = values.astype(np.float64)
        differs = ~((wide >= limits.min) & (wide < float(limits.max) + 1) & (wide == np.floor(wide)))
    elif "f" in kinds:
        differs = (cast.astype(values.dtype) != values) & (values == values)  # a NaN stays one
        if kinds[0] in "iu":  # beyond the largest integer, the way back is undefined
            differs |= cast.astype(np.float64) >= float(np.iinfo(values.dtype).max) + 1
    return np.asarray(differs)
