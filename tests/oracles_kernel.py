"""Tests: dense float64 references for kernel k-means and approximations of K, importing nothing of ours."""

from __future__ import annotations

import itertools

import numpy as np

Array = np.ndarray


def feature_points(K: Array) -> Array:
    """Rows F (n, n) with F F^T = K."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def scatter(points: Array, labels: Array) -> float:
    """Sum of squared distances of points (n, p) to the means of their clusters."""
    total = 0.0
    for cluster in np.unique(labels):
        members = points[labels == cluster]
        total += float(((members - members.mean(axis=0)) ** 2).sum())
    return total


def kernel_objective(K: Array, labels: Array, definition: str) -> float:
    """Mean squared distance to the own mean, of the features or of the columns of K."""
    points = feature_points(K) if definition == "features" else K.T
    return scatter(points, labels) / len(K)


def feature_distances(K: Array, labels: Array, k: int, K_new: Array, own: Array) -> Array:
    """|phi(x) - mean of cluster j|^2 (m, k), entry by entry; K_new (m, n), own (m,) = k(x, x)."""
    D = np.full((len(K_new), k), np.inf)
    for j in range(k):
        members = np.flatnonzero(labels == j)
        if members.size:
            inside = K[np.ix_(members, members)].mean()
            D[:, j] = own - 2.0 * K_new[:, members].mean(axis=1) + inside
    return D


def kernel_lloyd(K: Array, labels: Array, k: int, max_iter: int = 100) -> tuple[Array, float]:
    """Labels at the fixed point reached from `labels`, and their inertia. No cluster may empty."""
    for _ in range(max_iter):
        fresh = feature_distances(K, labels, k, K, np.diag(K)).argmin(axis=1)
        if np.array_equal(fresh, labels):
            break
        labels = fresh
    return labels, scatter(feature_points(K), labels)


def accuracy(a: Array, b: Array) -> float:
    """Agreement under the best of all ways to pair labels, by trying them."""
    names_a, names_b = np.unique(a), np.unique(b)
    if len(names_a) > len(names_b):
        return accuracy(b, a)
    best = 0
    for chosen in itertools.permutations(names_b, len(names_a)):
        best = max(best, sum(int(((a == x) & (b == y)).sum()) for x, y in zip(names_a, chosen, strict=True)))
    return best / len(a)


def norms(E: Array) -> dict[str, float]:
    """The trace, and the Frobenius and spectral norms, of a symmetric matrix."""
    return {
        "trace": float(np.trace(E)),
        "frobenius": float(np.sqrt((E * E).sum())),
        "spectral": float(np.abs(np.linalg.eigvalsh((E + E.T) / 2)).max()),
    }
