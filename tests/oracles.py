"""Tests: dense float64 references for everything the library streams, importing nothing of it.

Slow, direct and short: distances by subtraction, eigenproblems on whole matrices, scores in exact integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.spatial.distance import cdist

Array = np.ndarray


# --- kernels -----------------------------------------------------------------------------------------------
def squared_distances(X: Array, Z: Array) -> Array:
    """|x - z|^2 by subtraction, never by the expansion that cancels."""
    return cdist(np.asarray(X, "f8"), np.asarray(Z, "f8"), "sqeuclidean")


def distances(X: Array, Z: Array) -> Array:
    return np.sqrt(squared_distances(X, Z))


def gaussian(X: Array, Z: Array, bandwidth: float) -> Array:
    return np.exp(-squared_distances(X, Z) / (2.0 * bandwidth**2))


def laplacian(X: Array, Z: Array, bandwidth: float) -> Array:
    return np.exp(-distances(X, Z) / bandwidth)


def cauchy(X: Array, Z: Array, bandwidth: float) -> Array:
    return 1.0 / (1.0 + squared_distances(X, Z) / bandwidth**2)


def matern(X: Array, Z: Array, bandwidth: float, nu: float = 1.5) -> Array:
    t = math.sqrt(2 * nu) * distances(X, Z) / bandwidth
    polynomial_part = {1.5: 1.0 + t, 2.5: 1.0 + t + t * t / 3.0}[nu]
    return polynomial_part * np.exp(-t)


def linear(X: Array, Z: Array) -> Array:
    return np.asarray(X, "f8") @ np.asarray(Z, "f8").T


def polynomial(
    X: Array, Z: Array, degree: float = 3, gamma: float | None = None, coef0: float = 1.0
) -> Array:
    scale = 1.0 / np.shape(X)[1] if gamma is None else gamma
    return (scale * linear(X, Z) + coef0) ** degree


def cosine(X: Array, Z: Array) -> Array:
    """A row of zeros has cosine 0 with everything."""
    return linear(_unit_rows(X), _unit_rows(Z))


def _unit_rows(X: Array) -> Array:
    X = np.asarray(X, "f8")
    lengths = np.sqrt((X * X).sum(axis=1, keepdims=True))
    return np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)


# --- bandwidths --------------------------------------------------------------------------------------------
def mean_bandwidth(X: Array, factor: float = 1.0) -> float:
    """Root mean squared distance over all n^2 ordered pairs, by the pairs themselves (eq. 5)."""
    return factor * math.sqrt(squared_distances(X, X).mean())


def median_bandwidth(X: Array, factor: float = 1.0) -> float:
    """Median distance over the pairs i < j."""
    D = distances(X, X)
    return factor * float(np.median(D[np.triu_indices(len(D), 1)]))


# --- Nystrom features --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Nystrom:
    """Everything section 2 names, kept dense: B = C Q, R = C U diag(lam)^(-1/2), B B^T = (R R^T)_s."""

    eigenvalues: Array  # (l,) kept eigenvalues of W, descending
    R: Array  # (n, l)
    gram_eigenvalues: Array  # (l,) of R^T R, descending
    V: Array  # (l, s)
    Q: Array  # (c, s)
    B: Array  # (n, s)
    trace_error_before: float  # relative to tr K, with all l directions
    trace_error_after: float  # relative to tr K, with the s kept ones

    @property
    def gram(self) -> Array:
        return self.B @ self.B.T


def nystrom(
    C: Array,
    W: Array,
    diagonal: Array,
    rank: int | str | None = "auto",
    n_components: int | None = None,
    eps: float = float(np.finfo("f8").eps),
) -> Nystrom:
    """C (n, c), W (c, c), diagonal (n,) of K. `eps` belongs to the type in which C was computed."""
    C, W = np.asarray(C, "f8"), np.asarray(W, "f8")
    c = len(W)
    lam, U = _descending_eigh(W)
    wanted = {"auto": math.ceil(c / 2), None: c}.get(rank, rank)
    tolerance = max(np.finfo("f8").eps * c, eps) * lam[0]
    kept = min(int(wanted), int((lam > tolerance).sum()))
    root = U[:, :kept] / np.sqrt(lam[:kept])
    R = C @ root
    gram_eigenvalues, V = _descending_eigh(R.T @ R)
    s = kept if n_components is None else min(n_components, kept)
    Q = root @ V[:, :s]
    total = float(np.sum(diagonal))
    return Nystrom(
        lam[:kept],
        R,
        gram_eigenvalues,
        V[:, :s],
        Q,
        C @ Q,
        (total - gram_eigenvalues.sum()) / total,
        (total - gram_eigenvalues[:s].sum()) / total,
    )


def nystrom_of(
    kernel: Callable[[Array, Array], Array], X: Array, landmarks: Array, **options: object
) -> Nystrom:
    """The same from data: `kernel(X, Z) -> (n, m)` is one of the functions above."""
    diagonal = np.array([kernel(x[None], x[None])[0, 0] for x in np.asarray(X)])
    return nystrom(kernel(X, landmarks), kernel(landmarks, landmarks), diagonal, **options)  # type: ignore[arg-type]


def best_rank(M: Array, s: int) -> Array:
    """(M)_s of a positive semidefinite matrix: its s largest eigenpairs."""
    lam, U = _descending_eigh(M)
    return (U[:, :s] * lam[:s]) @ U[:, :s].T


def _descending_eigh(M: Array) -> tuple[Array, Array]:
    lam, U = np.linalg.eigh((M + M.T) / 2)
    return lam[::-1], U[:, ::-1]


# --- k-means -----------------------------------------------------------------------------------------------
def inertia(B: Array, labels: Array, centers: Array, weights: Array | None = None) -> float:
    """Sum of squared distances of the rows to the center their label names."""
    errors = ((np.asarray(B, "f8") - np.asarray(centers, "f8")[labels]) ** 2).sum(axis=1)
    return float(errors.sum() if weights is None else (errors * weights).sum())


def nearest(B: Array, centers: Array) -> Array:
    return squared_distances(B, centers).argmin(axis=1)


def means(B: Array, labels: Array, k: int, weights: Array | None = None) -> Array:
    """(k, s) weighted means of the members; every cluster must have some."""
    w = np.ones(len(B)) if weights is None else np.asarray(weights, "f8")
    H = (labels[:, None] == np.arange(k)) * w[:, None]  # (n, k)
    return (H.T @ np.asarray(B, "f8")) / H.sum(axis=0)[:, None]


def lloyd(
    B: Array, centers: Array, max_iter: int = 300, weights: Array | None = None
) -> tuple[Array, Array, float]:
    """Labels, centers, inertia at the fixed point reached from `centers`. No cluster may empty."""
    B, centers, labels = np.asarray(B, "f8"), np.asarray(centers, "f8"), np.full(len(B), -1)
    for _ in range(max_iter):
        fresh = nearest(B, centers)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
        centers = means(B, labels, len(centers), weights)
    labels = nearest(B, centers)
    return labels, centers, inertia(B, labels, centers, weights)


def best_kmeans(B: Array, k: int) -> tuple[Array, float]:
    """The best of all partitions of at most 10 rows into at most k clusters: labels and inertia."""
    B, best = np.asarray(B, "f8"), (np.zeros(len(B), int), math.inf)
    if len(B) > 10:
        raise ValueError(f"brute force is for 10 rows, got {len(B)}")
    for labels in _partitions(len(B), k):
        used = len(set(labels))
        y = np.asarray(labels)
        value = inertia(B, y, means(B, y, used))
        if value < best[1]:
            best = (y, value)
    return best


def _partitions(n: int, k: int) -> list[tuple[int, ...]]:
    """Restricted growth strings: every partition once, labels in order of appearance."""
    strings: list[tuple[int, ...]] = [(0,)]
    for _ in range(n - 1):
        strings = [(*s, j) for s in strings for j in range(min(max(s) + 2, k))]
    return strings


# --- scores ------------------------------------------------------------------------------------------------
def contingency(a: Sequence[int], b: Sequence[int]) -> Array:
    """Counts as Python integers: rows the distinct values of a, columns those of b, both sorted."""
    rows, cols = sorted(set(np.asarray(a).tolist())), sorted(set(np.asarray(b).tolist()))
    table = np.zeros((len(rows), len(cols)), dtype=object)
    for x, y in zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True):
        table[rows.index(x), cols.index(y)] += 1
    return table


def nmi_of_table(table: Array) -> float:
    """Mutual information over the geometric mean of the entropies (Strehl & Ghosh), from exact counts."""
    counts = [[int(v) for v in row] for row in np.asarray(table)]
    n = sum(map(sum, counts))
    rows, cols = [sum(r) for r in counts], [sum(c) for c in zip(*counts, strict=True)]
    if sum(r > 0 for r in rows) == 1 and sum(c > 0 for c in cols) == 1:
        return 1.0
    if sum(r > 0 for r in rows) == 1 or sum(c > 0 for c in cols) == 1:
        return 0.0
    pairs = itertools.product(range(len(rows)), range(len(cols)))
    mutual = math.fsum(
        counts[i][j] / n * math.log(Fraction(counts[i][j] * n, rows[i] * cols[j]))
        for i, j in pairs
        if counts[i][j]
    )
    return mutual / math.sqrt(_entropy(rows, n) * _entropy(cols, n))


def _entropy(counts: Sequence[int], n: int) -> float:
    return -math.fsum(v / n * math.log(v / n) for v in counts if v)


def ari_of_table(table: Array) -> float:
    """Hubert & Arabie's adjusted Rand index in exact rational arithmetic."""
    counts = [[int(v) for v in row] for row in np.asarray(table)]
    n = sum(map(sum, counts))
    pairs = sum(math.comb(v, 2) for row in counts for v in row)
    in_rows = sum(math.comb(sum(r), 2) for r in counts)
    in_cols = sum(math.comb(sum(c), 2) for c in zip(*counts, strict=True))
    if math.comb(n, 2) == 0:
        return 1.0
    expected = Fraction(in_rows * in_cols, math.comb(n, 2))
    best = Fraction(in_rows + in_cols, 2)
    return 1.0 if best == expected else float((pairs - expected) / (best - expected))


def nmi(a: Sequence[int], b: Sequence[int]) -> float:
    return nmi_of_table(contingency(a, b))


def ari(a: Sequence[int], b: Sequence[int]) -> float:
    return ari_of_table(contingency(a, b))


def standardized(X: Array) -> tuple[Array, Array, Array]:
    """(X - mean) / std with population variances (a constant column is divided by 1); mean; variance."""
    X = np.asarray(X, "f8")
    mean, variance = X.mean(axis=0), X.var(axis=0)
    return (X - mean) / np.where(variance > 0, np.sqrt(variance), 1.0), mean, variance
