"""Layer 6: `y` at the door of a supervised fit: labels become codes and classes, numbers are centered.

Lazy `y` is computed once: streamed from its store, else kept by the workers or spooled to scratch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array.utils import meta_from_array
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..block.targets import (
    Centered,
    coded,
    counted_labels,
    merge_counts,
    plain_labels,
    plain_numbers,
    target_sums,
)
from ..callers import warn
from ..frames import NUMERIC, Lazy, lazy_array, unwrapped
from ..grid import Grid
from ..inputs import InputError, in_client
from ..plan import residence
from ..rounds import inline
from ..rowblocks import RowBlocks, from_dask
from ..rows import reduce_rows
from ..store import reader_of
from ..threads import single_blas_thread
from ..xp import to_host
from .base import Work

STAGE = "eigenpro-targets"


@dataclass(frozen=True)
class Labels:
    """Class codes (n,) int32 by row block, and the classes in ascending order."""

    codes: RowBlocks
    classes: np.ndarray
    counts: np.ndarray  # rows of each class

    def class_weights(self, asked: Any) -> np.ndarray | None:
        """What a residual of each class counts, at most 1: None, "balanced" or a dict. Raises ValueError."""
        if asked is None:
            return None
        if isinstance(asked, str) and asked == "balanced":
            weights = 1.0 / self.counts
        elif isinstance(asked, dict):
            unknown = set(asked) - set(self.classes.tolist())
            weights = np.array([float(asked.get(name, 1.0)) for name in self.classes.tolist()])
            if unknown or not (np.isfinite(weights).all() and (weights > 0).all()):
                raise InputError(f"class_weight={asked!r}: wanted positive numbers for classes of y")
        else:
            raise InputError(f"class_weight={asked!r}: wanted None, 'balanced' or a dict")
        return np.asarray(weights / weights.max())


@dataclass(frozen=True)
class Numbers:
    """Targets (n,) or (n, l) by row block, how they are centered, and whether they came as (n,)."""

    values: RowBlocks
    encode: Centered
    flat: bool


def open_targets(y: Any) -> Any:
    """y as an array of this process, or lazy; its type is checked and nothing is computed.

    Raises InputError (None, dtype), TypeError (sparse, masked).
    """
    if y is None:
        raise InputError("requires y to be passed, but the target y is None")
    y = lazy_array(y, "y") if dask.is_dask_collection(y) else _in_memory(unwrapped(y))
    sample = meta_from_array(y.array) if isinstance(y, Lazy) else y
    if hasattr(sample, "tocsr") or type(sample).__module__.startswith("sparse"):
        raise TypeError("y is sparse: targets need a dense array, use y.toarray()")
    if isinstance(sample, np.ma.MaskedArray):
        raise TypeError("y is a masked array: fill the masked values, y.filled(...), or drop their rows")
    if sample.dtype.kind not in NUMERIC + "UO":
        reason = "Complex data not supported: " if sample.dtype.kind == "c" else ""  # scikit-learn's words
        wanted = "wanted labels (strings, whole numbers, bools) or numbers"
        raise InputError(f"{reason}y has dtype {sample.dtype}: {wanted}")
    return y


def open_labels(y: Any, work: Work) -> Labels:
    """The labels of all rows. Raises InputError (length, one class), ValueError (not labels)."""
    runtime, grid = work.runtime, work.source.grid
    if isinstance(y, da.Array):
        rows = _held(_one_column(y), work)
        total = reduce_rows(counted_labels, rows, combine=merge_counts, stage=STAGE)
        ((classes, counts),), _ = runtime.run([total], reporter=work.reporter, stage=STAGE)
        check_classification_targets(np.repeat(classes, np.minimum(counts, 4)))  # it warns of rare classes
        operand = runtime.place(classes)
        codes = inline(coded, rows, columns=None, dtype=np.int32, operands=[operand])
        if rows.dtype.kind in "OU":  # strings are compared once, not in every round
            _, (codes,) = runtime.run([], [codes], reporter=work.reporter, stage=STAGE)
    else:
        flat = plain_labels(column_or_1d(y, warn=True))
        check_classification_targets(flat)
        _check_length(len(flat), grid)
        classes, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
        codes = runtime.place_rows(inverse.astype(np.int32), grid)
    if len(classes) < 2:
        raise InputError(f"y needs 2 classes at least, got 1 class: {classes.tolist()[0]!r}")
    return Labels(codes, classes, counts)


def open_numbers(y: Any, work: Work) -> Numbers:
    """The targets of all rows. Raises InputError (length, shape), NonFiniteError (with the row)."""
    runtime, grid = work.runtime, work.source.grid
    if isinstance(y, da.Array):
        rows = _held(y, work)
        if rows.dtype.kind not in NUMERIC:
            rows = inline(plain_numbers, rows, columns=rows.columns, dtype=np.float64, numbered=True)
            _, (rows,) = runtime.run([], [rows], reporter=work.reporter, stage=STAGE)
    else:
        values = _numeric(y)
        _check_length(len(values), grid)
        rows = runtime.place_rows(values, grid)
    total = reduce_rows(target_sums, rows, combine=sum, stage=STAGE)
    (sums,), _ = runtime.run([total], reporter=work.reporter, stage=STAGE)
    return Numbers(rows, Centered(sums / grid.n_rows), rows.columns is None)


def labels_of(y: Any) -> np.ndarray:
    """Labels (n,) that predictions are compared with, in memory. Raises InputError, ValueError."""
    return plain_labels(column_or_1d(_computed(y), warn=True))


def values_of(y: Any) -> np.ndarray:
    """Targets (n,) or (n, l) that predictions are compared with, in memory. Raises InputError, ValueError."""
    return _numeric(_computed(y))


def predicted(model: Any, X: Any) -> np.ndarray:
    """What a model predicts for X, in memory."""
    with single_blas_thread():
        found = model.predict(X)
        return to_host(found.compute() if dask.is_dask_collection(found) else found)


def weights_of(sample_weight: Any) -> np.ndarray | None:
    """Sample weights in memory."""
    return None if sample_weight is None else in_client(sample_weight, "sample_weight")


def codes_of(y: Any, classes: np.ndarray) -> np.ndarray:
    """Labels (n,) as codes of classes that are known. Raises InputError for another label."""
    labels = labels_of(y)
    known = np.isin(labels, classes) if _same_type(labels, classes) else np.zeros(len(labels), bool)
    if not known.all():
        row = int(known.argmin())
        (label,) = labels[row : row + 1].tolist()
        raise InputError(f"validation: y is {label!r} at row {row}, which is not in y of fit")
    return np.searchsorted(classes, labels).astype(np.int32)


def numbers_of(y: Any, outputs: int) -> np.ndarray:
    """Targets (n,) or (n, l) of rows that are not trained on. Raises InputError."""
    values = values_of(y)
    if values.size != len(values) * outputs or not np.isfinite(values).all():
        raise InputError(f"validation: y has shape {values.shape}: wanted {outputs} finite numbers a row")
    return values


def _same_type(y: np.ndarray, classes: np.ndarray) -> bool:
    """Whether labels can be classes: both are strings, or neither is."""
    return (y.dtype.kind in "OU") == (classes.dtype.kind in "OU")


def _computed(y: Any) -> np.ndarray:
    """y in memory, after the checks of the door."""
    y = open_targets(y)
    return to_host(y.array.compute()) if isinstance(y, Lazy) else y


def _in_memory(y: Any) -> Any:
    """A numpy array, unless it is of a kind that is refused."""
    if hasattr(y, "tocsr") or isinstance(y, np.ma.MaskedArray):
        return y
    values = to_host(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind == "T":
        return values.astype(object)
    text = isinstance(y, list | tuple) and values.dtype.kind == "U" and values.ndim == 1
    return np.asarray(y, object) if text and not all(isinstance(value, str) for value in y) else values


def _numeric(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in NUMERIC:
        values = plain_numbers(values)
    _check_shape(values)
    return values


def _check_shape(y: Any) -> None:
    if y.ndim not in (1, 2) or y.shape[1:] == (0,):
        raise InputError(f"y has shape {y.shape}: wanted (n,) or (n, outputs)")


def _one_column(y: da.Array) -> da.Array:
    """Lazy labels (n,) or (n, 1) as (n,). Raises InputError for more columns."""
    if y.ndim == 2 and y.shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected: it is raveled",
            DataConversionWarning,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise InputError(f"y has shape {y.shape}: wanted one column of labels (n,)")
    return y


def _held(y: da.Array, work: Work) -> RowBlocks:
    """Lazy y for many passes: streamed from its store, kept by the workers, or spooled."""
    _check_shape(y)
    _check_length(int(y.shape[0]), work.source.grid)
    rows, runtime = from_dask(y, work.source.grid), work.runtime
    where = residence(rows.nbytes, runtime.machine, stored=reader_of(y) is not None, in_caller=False)
    if where == "memory":
        _, (rows,) = runtime.run([], [rows], reporter=work.reporter, stage=STAGE)
    elif where == "scratch" and work.scratch.url is not None and y.dtype.kind in NUMERIC:
        rows = work.scratch.spool(rows, runtime, work.reporter)
    return rows


def _check_length(length: int, grid: Grid) -> None:
    if length != grid.n_rows:
        raise InputError(f"X has {grid.n_rows} rows, but y has {length}: inconsistent numbers of samples")
