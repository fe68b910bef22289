"""Layer 2: blocks of `y`: labels and their codes, targets to learn, and predictions in the shape of `y`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..finite import check_rows
from ..xp import Array, like, module_of, to_host
from .sized import Sized


@dataclass(frozen=True)
class OneHot(Sized):
    """Class codes (b,) as targets (b, l) of zeros and ones; a class may count less than others."""

    n_outputs: int
    class_weights: Array | None = None  # (l,) at most 1

    def __call__(self, y: Array) -> Array:
        return (module_of(y).arange(self.n_outputs) == y[:, None]).astype(np.float64)

    def weights(self, y: Array) -> Array | None:
        """What each row's residual counts (b, 1)."""
        return None if self.class_weights is None else like(self.class_weights, y)[y][:, None]


@dataclass(frozen=True)
class Centered(Sized):
    """Targets (b,) or (b, l) less their mean over all rows, as (b, l)."""

    mean: Array  # (l,)

    @property
    def n_outputs(self) -> int:
        """l."""
        return int(self.mean.shape[0])

    def __call__(self, y: Array) -> Array:
        return y.reshape(len(y), -1).astype(np.float64) - like(self.mean, y)

    def weights(self, y: Array) -> Array | None:
        """All rows count alike."""
        return None


Encode = OneHot | Centered

_NO_VALUE = ("NoneType", "NAType", "NaTType")
_MISSING = (*_NO_VALUE, "float", "float16", "float32", "float64")  # types that may mean "missing"
_LABELS: tuple[tuple[tuple[type, ...], type], ...] = (
    ((str,), object),
    ((bool, np.bool_), bool),
    ((int, np.integer), np.int64),
    ((int, float, np.integer, np.floating), np.float64),
)
_KINDS = dict.fromkeys("iuf", "numbers") | dict.fromkeys("OU", "strings") | {"b": "bools"}


def counted_labels(y: Array) -> tuple[np.ndarray, np.ndarray]:
    """The different labels of a block, ascending, and how many rows have each. Raises as `plain_labels`."""
    values, counts = np.unique(plain_labels(y), return_counts=True)
    return values, counts


def plain_labels(y: Array) -> np.ndarray:
    """Labels (b,) of one type; objects become bools or numbers where they are, strings stay objects.

    Raises NonFiniteError for the first label that is missing, ValueError for another or more than one type.
    """
    labels = to_host(y).reshape(-1)
    if labels.dtype.kind == "O":
        _refuse_missing(labels, 0, "y")
        types = set(map(type, labels))
        labels = labels.astype(_type_of(types), copy=False)
    if labels.dtype.kind == "f":
        check_rows(labels, what="y")
    return labels


def _type_of(types: set[type]) -> type:
    """The numpy type for labels that are Python objects of these types. Raises ValueError."""
    for kinds, dtype in _LABELS:
        if all(issubclass(kind, kinds) and (dtype is bool or kind is not bool) for kind in types):
            return dtype
    names = ", ".join(sorted(kind.__name__ for kind in types))
    raise ValueError(
        f"y holds labels of type {names}: wanted strings, whole numbers or bools, all of one type"
    )


def _refuse_missing(values: np.ndarray, start: int, what: str) -> None:
    """Raise NonFiniteError for the first row of objects (b, ...) with a missing one: None, NA, NaT or NaN."""
    if any(kind.__name__ in _MISSING for kind in set(map(type, values.flat))):
        bad = [value is None or type(value).__name__ in _NO_VALUE or _is_nan(value) for value in values.flat]
        rows = np.array(bad, bool).reshape(len(values), -1).any(axis=1)
        check_rows(np.where(rows, np.nan, 0.0), start, what)


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def merge_counts(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The labels of several blocks. Raises ValueError where their types differ."""
    kinds = sorted({_KINDS[values.dtype.kind] for values, _ in parts})
    if len(kinds) > 1:
        raise ValueError(f"y holds {' and '.join(kinds)}: wanted labels of one type")
    classes, places = np.unique(np.concatenate([values for values, _ in parts]), return_inverse=True)
    counts = np.zeros(len(classes), np.int64)
    np.add.at(counts, places, np.concatenate([count for _, count in parts]))
    return classes, counts


def coded(y: Array, classes: np.ndarray) -> np.ndarray:
    """Codes (b,) int32 of labels that are all among the classes."""
    return np.searchsorted(classes, plain_labels(y)).astype(np.int32)


def plain_numbers(y: Array, *, start: int = 0, what: str = "y") -> np.ndarray:
    """Objects (b,) or (b, l) as float64. Raises NonFiniteError with the row, ValueError with the value."""
    values = to_host(y)
    if values.dtype.kind == "O":
        _refuse_missing(values, start, what)
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} has dtype {values.dtype}: wanted numbers ({error})") from error


def target_sums(y: Array) -> np.ndarray:
    """The sum of every column of a block of y (b,) or (b, l). Raises NonFiniteError with the row."""
    columns = to_host(y).reshape(len(y), -1)
    check_rows(columns.sum(axis=1, dtype=np.float64), what="y")
    return columns.sum(axis=0, dtype=np.float64)  # type: ignore[no-any-return]


def digest(y: Array) -> bytes:
    """A fingerprint of a block of y (b,) or (b, l): codes or numbers, whatever type they are stored in."""
    return hashlib.sha256(np.ascontiguousarray(to_host(y), np.float64).data).digest()


def merge_digests(parts: Sequence[bytes]) -> bytes:
    """The fingerprint of blocks in this order."""
    return hashlib.sha256(b"".join(parts)).digest()


def decided(f: Array, classes: np.ndarray) -> np.ndarray:
    """The class of the largest f (b, l): (b,)."""
    return classes[to_host(f).argmax(axis=1)]  # type: ignore[no-any-return]


def margins(f: Array, dtype: np.dtype[np.floating]) -> Array:
    """f (b, l), or for two classes how much the second is ahead (b,)."""
    return (f[:, 1] - f[:, 0] if f.shape[1] == 2 else f).astype(dtype)


def shifted(f: Array, mean: np.ndarray, flat: bool, dtype: np.dtype[np.floating]) -> Array:
    """f + mean (b, l), or (b,) where the targets were one column without a name."""
    result = (f + like(mean, f)).astype(dtype)
    return result[:, 0] if flat else result


def loss(f: Array, y: Array, encode: Encode) -> np.ndarray:
    """The sum of squared errors of a block, and how many classes are wrong."""
    squares = float(((f - encode(y)) ** 2).sum())
    wrong = int((f.argmax(axis=1) != y).sum()) if isinstance(encode, OneHot) else 0
    return np.array([squares, wrong])
