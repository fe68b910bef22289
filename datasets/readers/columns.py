"""Which columns of a table hold the features and which one the label, by name, by number or by a slice.

Shared by the formats whose columns are separate: text and Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence

from datasets.readers.base import ReaderError


def position(column: str | int, names: Sequence[str] | None, n_columns: int) -> int:
    """Number of a column, from 0; negative numbers count from the end. Raises ReaderError."""
    if names is not None and column in names:
        if list(names).count(str(column)) > 1:
            raise ReaderError(f"two columns are named {column!r}: give the number of the one that is meant")
        return list(names).index(str(column))
    number = integer(column)
    if number is None:
        known = "the columns have no names" if names is None else f"its columns: {_some(names)}"
        raise ReaderError(f"no column {column!r}; {known}")
    if not -n_columns <= number < n_columns:
        raise ReaderError(f"no column {number}: there are {n_columns}, counted from 0")
    return number % n_columns


def chosen(
    features: str | None, label: int | None, names: Sequence[str] | None, n_columns: int
) -> tuple[int, ...]:
    """Numbers of the feature columns: `features` lists names, numbers and slices such as 1:29; None: all."""
    found: list[int] = []
    for part in (":" if features is None else features).split(","):
        column = part.strip()
        first, colon, last = column.partition(":")
        if colon and (names is None or column not in names):
            found += range(n_columns)[_bound(first) : _bound(last)]
        else:
            found.append(position(column, names, n_columns))
    features_only = tuple(column for column in found if column != label)
    if not features_only:
        raise ReaderError("no column is left for the features")
    return features_only


def _bound(text: str) -> int | None:
    if text and integer(text) is None:
        raise ReaderError(f"a slice of columns is written as numbers, such as 1:29, got {text!r} in it")
    return integer(text)


def integer(text: str | int) -> int | None:
    """The whole number that a text is, None if it is none."""
    try:
        return int(text)
    except ValueError:
        return None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
