"""Store layer: what becomes of `y`: labels turn into codes 0..k-1 and a tuple of classes, floats stay.

Labels are strings, bools and integers, also in object arrays; a missing label is an error with its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daskkernels.store.errors import LabelError, ShapeError

CODE_DTYPE = np.dtype("<i4")
MAX_CLASSES = 100_000  # they live in a JSON file; more of them are numbers to be regressed on
_KINDS = {"U": "strings", "i": "integers", "b": "bools"}


def holds_labels(dtype: np.dtype[Any], columns: int | None) -> bool:
    """Whether such a `y` holds labels: anything but floats; numbers in several columns are targets."""
    if dtype.kind in "biu":
        return columns in (None, 1)
    if dtype.kind in "OUST":
        if columns not in (None, 1):
            raise ShapeError(
                f"y with {columns} columns must be numbers, got {dtype}: give one column of labels"
            )
        return True
    if dtype.kind == "f":
        return False
    raise TypeError(f"y must hold labels (strings, bools, integers) or floats, got {dtype}")


def label_values(block: np.ndarray, first_row: int) -> np.ndarray:
    """Labels (b,) or (b, 1) as an array (b,) of strings, bools or int64. Raises LabelError with the row."""
    flat = np.asarray(block).reshape(-1)
    kind = flat.dtype.kind
    if kind == "S":
        return np.char.decode(flat, "utf-8")
    if kind == "u" and flat.size and int(flat.max()) > np.iinfo(np.int64).max:
        raise LabelError(f"y holds {int(flat.max())}: integer labels must fit in 64 signed bits")
    if kind in "iu":
        return flat.astype(np.int64)
    return flat if kind in "bU" else _object_values(flat, first_row)


def _object_values(flat: np.ndarray, first_row: int) -> np.ndarray:
    values = flat.astype(object)
    for offset, value in enumerate(values):
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
            raise LabelError(
                f"y has no label at row {first_row + offset} (it is {value!r}): drop or fill such rows"
            )
    if all(isinstance(value, str) for value in values):
        _refuse_trailing_nul(values, first_row)
        return values.astype(str) if len(values) else np.empty(0, "U1")
    if all(isinstance(value, bool | np.bool_) for value in values):
        return values.astype(bool)
    if all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values):
        return _int64(values)
    found = sorted({type(value).__name__ for value in values})
    raise LabelError(
        f"y mixes or holds {', '.join(found)}: give strings, bools or integers as labels, floats as floats"
    )


def _int64(values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.int64)
    except OverflowError:
        raise LabelError("y holds integer labels that do not fit in 64 signed bits") from None


def _refuse_trailing_nul(values: np.ndarray, first_row: int) -> None:
    """numpy drops NUL characters at the end of a string, so that two labels would be one class."""
    for offset, value in enumerate(values):
        if value.endswith("\0"):
            raise LabelError(
                f"the label at row {first_row + offset} is {value!r}: strip the NUL characters at its end"
            )


def distinct(block: np.ndarray, first_row: int) -> np.ndarray:
    """The different labels of one block, sorted."""
    return np.unique(label_values(block, first_row))


def merge_distinct(parts: Iterable[np.ndarray]) -> tuple[str | int | bool, ...]:
    """The different labels of all blocks, sorted. Raises LabelError for mixed types or too many."""
    filled = [part for part in parts if part.size]
    kinds = sorted({_KINDS[part.dtype.kind] for part in filled})
    if len(kinds) > 1:
        raise LabelError(f"y mixes {' and '.join(kinds)}: labels must be of one type")
    classes = tuple(np.unique(np.concatenate(filled)).tolist())
    return check_count(classes)


def check_count(classes: tuple[str | int | bool, ...]) -> tuple[str | int | bool, ...]:
    """Refuse a `y` that is plainly not a set of class labels."""
    if len(classes) > MAX_CLASSES:
        raise LabelError(
            f"y has {len(classes)} different values, at most {MAX_CLASSES} classes are stored: "
            "give regression targets as floats"
        )
    return classes


def given_classes(classes: Sequence[Any]) -> tuple[str | int | bool, ...]:
    """The user's `classes` as plain strings, integers or bools. Raises LabelError."""
    values = label_values(np.asarray([*classes], dtype=object), 0)
    if values.size == 0 or len(np.unique(values)) != len(values):
        raise LabelError(f"classes must be different labels, at least one, got {list(classes)[:10]}")
    return check_count(tuple(values.tolist()))


@dataclass(frozen=True)
class Coder:
    """Turns blocks of `y` into what is stored: codes of `classes`, or numbers when `classes` is None."""

    dtype: np.dtype[Any]
    classes: tuple[str | int | bool, ...] | None = None

    def __call__(self, block: np.ndarray, first_row: int) -> np.ndarray:
        """Codes (b,), or the targets as they are after a look for values that are not finite."""
        if self.classes is None:
            return _finite(block, first_row).astype(self.dtype, copy=False)
        return encode(label_values(block, first_row), self.classes, first_row)


def encode(values: np.ndarray, classes: tuple[str | int | bool, ...], first_row: int) -> np.ndarray:
    """Positions of `values` in `classes`. Integers where the classes are strings are codes already."""
    known = np.asarray(classes)
    if values.dtype.kind == "i" and known.dtype.kind == "U":
        bad = (values < 0) | (values >= len(known))
        codes = values
    elif values.size and values.dtype.kind != known.dtype.kind:
        raise LabelError(f"y holds {_KINDS[values.dtype.kind]}, but classes are {_KINDS[known.dtype.kind]}")
    else:
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)
        codes = order[place]
        bad = known[codes] != values
    if bad.any():
        row = int(np.argmax(bad))
        raise LabelError(
            f"y is {values[row].item()!r} at row {first_row + row}, which is not among the classes"
        )
    return codes.astype(CODE_DTYPE)


def _finite(block: np.ndarray, first_row: int) -> np.ndarray:
    if block.dtype.kind == "f":
        bad = ~np.isfinite(block)
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            raise LabelError(f"y is not finite at row {first_row + row}: drop or fill such rows")
    return block
