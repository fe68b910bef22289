"""Layer 5: comparing clusterings, what their clusters are like, and how good they are for a kernel.

Labels may be numpy or dask vectors; dask ones are read by block.
"""

from __future__ import annotations

import math
from collections import Counter
from numbers import Integral
from typing import Any

import dask
import dask.array as da
import numpy as np

from .block.metrics import MemberSums, member_sums, merge_member_sums
from .events import reporter
from .inputs import InputError, lazy_rows
from .metrics_inputs import label_rows, label_vector, open_rows
from .metrics_kernel import Approximation, approximation_error, kernel_kmeans_objective
from .rows import reduce_rows
from .runtime import active_runtime

__all__ = [
    "Approximation",
    "Pairs",
    "accuracy",
    "adjusted_rand",
    "approximation_error",
    "cluster_means",
    "contingency",
    "kernel_kmeans_objective",
    "normalized_mutual_info",
]

Pairs = dict[tuple[Any, Any], int]
"""Rows by pair of labels, as Python integers: they do not overflow."""


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
    labeling gives 0. Labels as in `contingency`. Cost and memory by the pairs of labels that occur.

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

    Exact for any counts. Labels as in `contingency`. Cost and memory by the pairs of labels that occur.

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


def accuracy(a: Any, b: Any) -> float:
    """Share of rows on which two labelings agree, once their labels are paired in the best way, in [0, 1].

    max over pairings of sum_j table[j, pair(j)] / n, table as in `contingency`, labels as there: each label
    of one side is paired with at most one of the other (Hungarian method, Kuhn 1955). For clusters and
    classes this is the clustering accuracy. Cost O(k^3) for k labels, one pass over both vectors.

    Raises InputError for other shapes, unequal lengths and NaN.

    References
    ----------
    Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics Quarterly 2, 1955.

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], ["x", "x", "y", "x"])
    0.75
    """
    from scipy.optimize import linear_sum_assignment  # not needed to import the library

    table = contingency(a, b)
    return float(table[linear_sum_assignment(table, maximize=True)].sum() / table.sum())


def cluster_means(X: Any, labels: Any, n_clusters: int | None = None) -> np.ndarray:
    """Means (k, d) of the rows of X (n, d) in clusters 0 ... k - 1, float64; NaN for a cluster without rows.

    `labels` (n,) are cluster numbers, such as `labels_`; k is `n_clusters`, or one more than the largest.
    X may be all that estimators take. One pass over X, the same bits for any chunks; cost 2 n d min(256, k).
    Raises InputError (other labels, unequal lengths), NonFiniteError (with the row).

    >>> cluster_means([[0.0, 1.0], [2.0, 3.0], [9.0, 9.0]], [0, 0, 2])
    array([[ 1.,  2.],
           [nan, nan],
           [ 9.,  9.]])
    """
    if n_clusters is not None and not (isinstance(n_clusters, Integral) and n_clusters > 0):
        raise InputError(f"n_clusters={n_clusters!r}: wanted a whole number of at least 1")
    source, runtime = open_rows(X), active_runtime()
    members = label_rows(labels, source.grid, runtime)
    total = reduce_rows(
        member_sums,
        lazy_rows(source, runtime),
        members,
        combine=merge_member_sums,
        stage="cluster-means",
    )
    (found,), _ = runtime.run([total], reporter=reporter(), stage="cluster-means")
    means = np.full((_count_of(found, source.grid.n_rows, n_clusters), source.shape[1]), np.nan)
    means[found.clusters] = found.means
    return means


def _count_of(found: MemberSums, n_rows: int, n_clusters: int | None) -> int:
    """The number of clusters, once it is known which occur. Raises InputError."""
    lowest, highest = int(found.clusters[0]), int(found.clusters[-1])
    if n_clusters is None and highest >= n_rows:
        raise InputError(f"labels hold {highest} for {n_rows} rows: wanted cluster numbers, or n_clusters=")
    count = highest + 1 if n_clusters is None else n_clusters
    if lowest < 0 or highest >= count:
        bad = lowest if lowest < 0 else highest
        raise InputError(f"labels hold {bad}: wanted cluster numbers from 0 to {count - 1}")
    return count


def _margins(pairs: Pairs) -> tuple[Counter[Any], Counter[Any]]:
    """Rows by label of either side."""
    rows, columns = Counter[Any](), Counter[Any]()
    for (x, y), count in pairs.items():
        rows[x] += count
        columns[y] += count
    return rows, columns


def _pairs(a: Any, b: Any) -> Pairs:
    """Rows by pair of labels, after checks; dask vectors are counted block by block."""
    a, b = label_vector("a", a), label_vector("b", b)
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
