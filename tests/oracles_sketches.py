"""Tests: dense float64 references for sketches of a kernel matrix, row scores and the power method."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Array = np.ndarray


def descending(M: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of a symmetric matrix, the largest first."""
    lam, U = np.linalg.eigh((M + M.T) / 2)
    return lam[::-1], U[:, ::-1]


class Sketched(NamedTuple):
    """B B^T = (C W_l^{-1} C^T)_s, and (tr K - tr B B^T) / tr K."""

    gram: Array
    eigenvalues: Array
    trace_error: float
    rank_trace_error: float


def sketched(K: Array, Pi: Array, rank: int, s: int, eps: float = float(np.finfo("f8").eps)) -> Sketched:
    """[K Alg. 2] for any matrix Pi (n, c), by whole matrices."""
    C = K @ Pi
    lam, U = descending(Pi.T @ C)
    kept = min(rank, int((lam > max(np.finfo("f8").eps * len(lam), eps) * lam[0]).sum()))
    R = C @ (U[:, :kept] / np.sqrt(lam[:kept]))
    _, g, V = np.linalg.svd(R, full_matrices=False)
    B, g = R @ V[:s].T, g**2  # of the s largest singular values
    return Sketched(B @ B.T, g, 1 - g[:s].sum() / K.trace(), 1 - g.sum() / K.trace())


def hadamard(n: int) -> Array:
    """The n x n Hadamard matrix of Sylvester, n a power of 2."""
    H = np.ones((1, 1))
    while len(H) < n:
        H = np.block([[H, H], [H, -H]])
    return H


def leverage(K: Array, s: int) -> Array:
    """|row i of V_s|^2 (n,)."""
    return (descending(K)[1][:, :s] ** 2).sum(axis=1)


def ridge_leverage(K: Array, lam: float) -> Array:
    """(K (K + lam I)^-1)_ii (n,)."""
    return np.diagonal(np.linalg.solve(K + lam * np.eye(len(K)), K)).copy()


def best_error(K: Array, s: int) -> float:
    """tr(K - K_s) / tr K: no approximation of rank s has less."""
    lam = descending(K)[0]
    return float(lam[s:].sum() / lam.sum())


def made_matrix(spectrum: Array, seed: int = 0) -> Array:
    """Rows X (n, n) whose X X^T has these eigenvalues, in a random basis."""
    n = len(spectrum)
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))
    return Q * np.sqrt(spectrum)


def coherence(K: Array, s: int) -> float:
    """mu = (n / s) max_i |row i of V_s|^2."""
    return float(len(K) / s * leverage(K, s).max())


def table2(kind: str, n: int, s: int, epsilon: float, mu: float) -> int:
    """c of [K Table 2], constants taken for 1; for "gaussian" 2: with 1 a step in the spectrum is missed."""
    log = math.log(s)
    sizes = {
        "uniform": mu * s / epsilon + mu * s * log,
        "leverage": s / epsilon + s * log,
        "gaussian": 2 * s / epsilon,
        "srht": (s + math.log(n)) * (1 / epsilon + log),
        "countsketch": s / epsilon + s**2,
    }
    return min(n, math.ceil(sizes[kind]))


def power_method(K: Array, P: Array, rounds: int) -> Array:
    """An orthonormal basis (n, c) after rounds of P <- orth(K P)."""
    for _ in range(rounds):
        P, _ = np.linalg.qr(K @ P)
    return P


def centered(K: Array) -> Array:
    """H K H."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
