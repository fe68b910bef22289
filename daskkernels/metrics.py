"""Layer 5: comparing clusterings. Labels may be numpy or dask vectors; dask ones are counted by block."""

from __future__ import annotations

import math
from typing import Any

import dask
import dask.array as da
import numpy as np

from .inputs import InputError


def contingency(a: Any, b: Any) -> np.ndarray:
    """Counts (k_a, k_b) of rows by pair of labels, in the order of the sorted labels; int64.

    Labels may be integers, strings or booleans, in numpy or dask vectors (n,) of one length.
    Raises InputError for other shapes, unequal lengths and NaN.
    """
    a, b = _vector("a", a), _vector("b", b)
    if isinstance(a, da.Array) or isinstance(b, da.Array):
        return _merged_tables(*_aligned(a, b))
    if len(a) != len(b):
        raise InputError(f"labels have lengths {len(a)} and {len(b)}: wanted equal ones")
    return _dense(*_table(a, b))


def normalized_mutual_info(a: Any, b: Any) -> float:
    """Mutual information over the geometric mean of the entropies (Strehl, Ghosh 2002), in [0, 1].

    scikit-learn's default divides by the arithmetic mean. Two labelings of one cluster each give 1, one such
    labeling gives 0.

    >>> normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    table = contingency(a, b)
    rows, columns = [int(v) for v in table.sum(axis=1)], [int(v) for v in table.sum(axis=0)]
    n = sum(rows)
    entropies = [-sum(c / n * math.log(c / n) for c in counts) for counts in (rows, columns)]
    if len(rows) == 1 and len(columns) == 1:
        return 1.0
    if len(rows) == 1 or len(columns) == 1:
        return 0.0
    shared = math.fsum(
        int(table[i, j]) / n * math.log(int(table[i, j]) * n / (rows[i] * columns[j]))
        for i, j in zip(*np.nonzero(table), strict=True)
    )
    return min(1.0, max(0.0, shared / math.sqrt(entropies[0] * entropies[1])))


def adjusted_rand(a: Any, b: Any) -> float:
    """Adjusted Rand index (Hubert, Arabie 1985): 1 for equal partitions, about 0 for independent ones. Exact
    for any counts.

    >>> adjusted_rand([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    """
    table = contingency(a, b)

    def pairs(counts: Any) -> int:
        return sum(c * (c - 1) // 2 for c in counts[counts > 1].tolist())

    n = int(table.sum())
    both, first, second, total = (
        pairs(table),
        pairs(table.sum(axis=1)),
        pairs(table.sum(axis=0)),
        n * (n - 1) // 2,
    )
    denominator = (first + second) * total - 2 * first * second
    return 1.0 if denominator == 0 else (2 * both * total - 2 * first * second) / denominator


def _vector(name: str, labels: Any) -> Any:
    if hasattr(labels, "to_dask_array"):
        labels = labels.to_dask_array(lengths=True)
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


def _merged_tables(a: Any, b: Any) -> np.ndarray:
    pairs = zip(a.to_delayed(), b.to_delayed(), strict=True)
    tables = dask.compute(*[dask.delayed(_table)(x, y) for x, y in pairs])
    merged: dict[tuple[Any, Any], int] = {}
    for _, _, counts in (t for t in tables):
        for pair, count in counts.items():
            merged[pair] = merged.get(pair, 0) + count
    return _dense(sorted({p for p, _ in merged}), sorted({q for _, q in merged}), merged)


def _table(a: np.ndarray, b: np.ndarray) -> tuple[list[Any], list[Any], dict[tuple[Any, Any], int]]:
    """Labels of both sides and the counts of their pairs, as Python integers: they do not overflow."""
    for x in (a, b):
        if x.dtype.kind == "f" and not np.isfinite(x).all():
            raise InputError("labels contain NaN or infinity")
    labels_a, ia = np.unique(a, return_inverse=True)
    labels_b, ib = np.unique(b, return_inverse=True)
    codes, counts = np.unique(ia.astype(np.int64) * max(1, len(labels_b)) + ib, return_counts=True)
    names_a, names_b = labels_a.tolist(), labels_b.tolist()
    pairs = {
        (names_a[code // len(names_b)], names_b[code % len(names_b)]): int(count)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    }
    return names_a, names_b, pairs


def _dense(names_a: list[Any], names_b: list[Any], counts: dict[tuple[Any, Any], int]) -> np.ndarray:
    table = np.zeros((len(names_a), len(names_b)), np.int64)
    row, column = ({name: i for i, name in enumerate(names)} for names in (names_a, names_b))
    for (x, y), count in counts.items():
        table[row[x], column[y]] = count
    return table
