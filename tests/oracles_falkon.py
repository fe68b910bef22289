"""Tests: FALKON as it is printed (MATHS section 5), dense, float64, one column of y after another.

Imports nothing of the library. K_nM and K_MM are given whole; weights count rows.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def exact(K_nM: Array, K_MM: Array, Y: Array, penalty: float, weights: Array | None = None) -> Array:
    """The predictions K_nM a (n, l) of (K_nM^T W K_nM + lam sum(w) K_MM) a = K_nM^T W Y.

    As least squares in b with K_MM = R R^T and a = R^-T b: no squared condition number, any rank.
    """
    w = np.ones(len(K_nM)) if weights is None else np.asarray(weights, float)
    values, vectors = np.linalg.eigh((K_MM + K_MM.T) / 2)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    features = K_nM @ (vectors[:, kept] / np.sqrt(values[kept]))  # f = features b, |f|^2 = |b|^2
    root = np.sqrt(w)[:, None]
    ridge = np.sqrt(penalty * w.sum()) * np.eye(int(kept.sum()))
    left = np.concatenate([root * features, ridge])
    right = np.concatenate([root * Y, np.zeros((len(ridge), Y.shape[1]))])
    return features @ np.linalg.lstsq(left, right, rcond=None)[0]


def factors(K_MM: Array, penalty: float, jitter: float, center_weights: Array | None = None) -> Array:
    """T and A, upper: T^T T = K_MM + jitter tr(K_MM) I, A^T A = T D T^T / tr(D) + lam I."""
    M = len(K_MM)
    D = np.eye(M) if center_weights is None else np.diag(center_weights)
    T = np.linalg.cholesky(K_MM + jitter * np.trace(K_MM) * np.eye(M)).T
    A = np.linalg.cholesky(T @ D @ T.T / np.trace(D) + penalty * np.eye(M)).T
    return np.stack([T, A])


def conjugate_gradients(
    K_nM: Array, T: Array, A: Array, Y: Array, penalty: float, iterations: int, weights: Array | None = None
) -> list[Array]:
    """a (M, l) after each iteration: every column of y by conjugate gradients of its own."""
    w = np.ones(len(K_nM)) if weights is None else np.asarray(weights, float)
    P = np.linalg.inv(T) @ np.linalg.inv(A)  # a = P b
    H = P.T @ (K_nM.T * w) @ K_nM @ P / w.sum() + penalty * np.linalg.inv(A).T @ np.linalg.inv(A)
    paths = []
    for y in Y.T:
        b, r = np.zeros(len(T)), P.T @ K_nM.T @ (w * y) / w.sum()
        p, path = r.copy(), []
        for _ in range(iterations):
            step = (r @ r) / (p @ H @ p)
            b, before = b + step * p, r @ r
            r = r - step * (H @ p)
            p = r + (r @ r) / before * p
            path.append(P @ b)
        paths.append(path)
    return [np.stack(columns, axis=1) for columns in zip(*paths, strict=True)]
