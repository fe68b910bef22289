"""Comparing clusterings. Labels may be numpy or dask vectors; dask ones are counted by block."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import dask
import dask.array as da
import numpy as np

from .inputs import InputError

Pairs = dict[tuple[Any, Any], int]  # rows by pair of labels, as Python integers: they do not overflow


def contingency(a: Any, b: Any) -> np.ndarray:
    """Counts (k_a, k_b) of rows by pair of labels, in the order of the sorted labels that occur; int64.

    Labels may be integers, strings or booleans, in numpy or dask vectors (n,) of one length.
    Raises InputError for other shapes, unequal lengths and NaN.
    """
    pairs = _pairs(a, b)
    names = [sorted({pair[side] for pair in pairs}) for side in (0, 1)]
    row, column = ({name: i for i, name in enumerate(side)} for side in names)
    table = np.zeros((len(row), len(column)), np.int64)
    for (x, y), count in pairs.items():
        table[row[x], column[y]] = count
    return table


def normalized_mutual_info(a: Any, b: Any) -> float:
    """Mutual information over the geometric mean of the entropies (Strehl, Ghosh 2002), in [0, 1].

    scikit-learn's default divides by the arithmetic mean. Two labelings of one cluster each give 1, one such
    labeling gives 0. Cost and memory by the pairs of labels that occur.

    >>> normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    pairs = _pairs(a, b)
    rows, columns = _margins(pairs)
    if len(rows) == 1 or len(columns) == 1:
        return float(len(rows) == len(columns))
    n = sum(rows.values())
    entropies = [-math.fsum(c / n * math.log(c / n) for c in side.values()) for side in (rows, columns)]
    shared = math.fsum(c / n * math.log(c * n / (rows[x] * columns[y])) for (x, y), c in pairs.items())
    return min(1.0, max(0.0, shared / math.sqrt(entropies[0] * entropies[1])))


def adjusted_rand(a: Any, b: Any) -> float:
    """Adjusted Rand index (Hubert, Arabie 1985): 1 for equal partitions, about 0 for independent ones.

    Exact for any counts. Cost and memory by the pairs of labels that occur.

    >>> adjusted_rand([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    """
    pairs = _pairs(a, b)
    rows, columns = _margins(pairs)
    both, first, second = (sum(c * (c - 1) // 2 for c in side.values()) for side in (pairs, rows, columns))
    n = sum(rows.values())
    total = n * (n - 1) // 2
    denominator = (first + second) * total - 2 * first * second
    return 1.0 if denominator == 0 else (2 * both * total - 2 * first * second) / denominator


def _margins(pairs: Pairs) -> tuple[Counter[Any], Counter[Any]]:
    """Rows by label of either side."""
    rows, columns = Counter[Any](), Counter[Any]()
    for (x, y), count in pairs.items():
        rows[x] += count
        columns[y] += count
    return rows, columns


def _pairs(a: Any, b: Any) -> Pairs:
    """Rows by pair of labels, after checks; dask vectors are counted block by block."""
    a, b = _vector("a", a), _vector("b", b)
    if isinstance(a, da.Array) or isinstance(b, da.Array):
        a, b = _aligned(a, b)
        blocks = zip(a.to_delayed(), b.to_delayed(), strict=True)
        counted = dask.compute(*[dask.delayed(_count)(x, y) for x, y in blocks])
        merged = Counter[Any]()
        for part in counted:
            merged.update(part)
        return dict(merged)
    if len(a) != len(b):
        raise InputError(f"labels have lengths {len(a)} and {len(b)}: wanted equal ones")
    return _count(a, b)


def _vector(name: str, labels: Any) -> Any:
    if hasattr(labels, "to_dask_array"):
        labels = labels.to_dask_array(lengths=True)
    if isinstance(labels, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array: drop the masked rows of both")
    if not dask.is_dask_collection(labels):
        labels = np.asarray(labels)
    if labels.ndim != 1 or labels.shape[0] == 0:
        raise InputError(f"{name} has shape {labels.shape}: wanted a vector of at least one label")
    return labels


def _aligned(a: Any, b: Any) -> tuple[Any, Any]:
    a, b = (x if isinstance(x, da.Array) else da.from_array(x, chunks=-1) for x in (a, b))
    a, b = (x.copy().compute_chunk_sizes() if any(map(math.isnan, x.chunks[0])) else x for x in (a, b))
    if a.shape != b.shape:
        raise InputError(f"labels have lengths {a.shape[0]} and {b.shape[0]}: wanted equal ones")
    return a, b.rechunk(a.chunks)


def _count(a: np.ndarray, b: np.ndarray) -> Pairs:
    """Rows by pair of labels in one block."""
    for x in (a, b):
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InputError("labels contain NaN or infinity")
    labels_a, ia = np.unique(a, return_inverse=True)
    labels_b, ib = np.unique(b, return_inverse=True)
    codes, counts = np.unique(ia.astype(np.int64) * max(1, len(labels_b)) + ib, return_counts=True)
    names_a, names_b = labels_a.tolist(), labels_b.tolist()
    return {
        (names_a[code // len(names_b)], names_b[code % len(names_b)]): int(count)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    }
