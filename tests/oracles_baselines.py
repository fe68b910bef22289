"""Tests: dense float64 references for spectral clustering with Nyström columns, random features, EigenPro 1.

Imports nothing of the library. What is inverted is inverted as a whole; nothing is streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


# --- spectral clustering -----------------------------------------------------------------------------------
def one_shot_spectral(A: Array, B: Array, k: int) -> tuple[Array, Array]:
    """Fowlkes et al. 2004: A (c, c) of the landmarks, B (c, n - c) with the others, rows landmarks first.

    Degrees of [A B; B^T B^T A^-1 B]; with both normalised S = A + A^-1/2 B B^T A^-1/2 = U L U^T and
    V = [A; B^T] A^-1/2 U L^-1/2. Eigenvalues (k,) and V (n, k). Every degree must be positive.
    """
    first = A.sum(axis=1) + B.sum(axis=1)
    others = B.sum(axis=0) + B.T @ np.linalg.solve(A, B.sum(axis=1))
    if not (first > 0).all() or not (others > 0).all():
        raise ValueError("a degree is not positive: the method is not defined")
    A = A / np.sqrt(np.outer(first, first))
    B = B / np.sqrt(np.outer(first, others))
    values, U = np.linalg.eigh(A)
    root = (U / np.sqrt(values)) @ U.T
    L, Q = np.linalg.eigh(A + root @ B @ B.T @ root)
    L, Q = L[::-1][:k], Q[:, ::-1][:, :k]
    return L, np.concatenate([A, B.T]) @ root @ Q / np.sqrt(L)


def floored_spectral(R: Array, diagonal: Array) -> tuple[Array, Array]:
    """Eigenvalues of D^-1/2 R R^T D^-1/2 (n,), descending, degrees that are not positive set to `diagonal`.

    And the degrees (n,) as they were, relative to the size of what they are sums of.
    """
    K = R @ R.T
    degrees = K.sum(axis=1)
    sizes = np.sqrt((R * R).sum(axis=1)) * np.sqrt((R.sum(axis=0) ** 2).sum())
    changed = np.where(degrees > 0, degrees, diagonal)
    relative = np.divide(degrees, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    return np.linalg.eigvalsh(K / np.sqrt(np.outer(changed, changed)))[::-1], relative


def unit_rows(V: Array) -> Array:
    """Rows scaled to length 1."""
    return V / np.sqrt((V * V).sum(axis=1, keepdims=True))


# --- random features ---------------------------------------------------------------------------------------
def fourier(X: Array, frequencies: Array) -> Array:
    """[cos(w x), sin(w x)] / sqrt(number of frequencies)."""
    phases = np.asarray(X, "f8") @ frequencies.T
    return np.concatenate([np.cos(phases), np.sin(phases)], axis=1) / np.sqrt(len(frequencies))


# --- EigenPro 1 --------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Model:
    """f(x) = k(x, X) alpha, and |f - y|^2 of each batch before its step."""

    alpha: Array  # (n, l)
    residuals: Array  # (batches,)


def long_eigenvectors(C: Array, W: Array, rank: int) -> tuple[Array, Array]:
    """Orthonormal eigenvectors (n, rank) of C W_l^-1 C^T, W cut to `rank`; their eigenvalues."""
    values, U = np.linalg.eigh((W + W.T) / 2)
    R = C @ (U[:, ::-1][:, :rank] / np.sqrt(values[::-1][:rank]))
    E, roots, _ = np.linalg.svd(R, full_matrices=False)
    return E, roots**2


def eigenpro1(
    K: Array, Y: Array, E: Array, D: Array, order: Sequence[Array], step: Callable[[int], float]
) -> Model:
    """alpha_t -= (X/m) g; alpha += (X/m) E D E_t^T g: every batch changes the weights of all rows."""
    alpha = np.zeros((len(K), Y.shape[1]))
    residuals = []
    for rows in order:
        g = K[rows] @ alpha - Y[rows]
        residuals.append(float((g**2).sum()))
        rate = step(len(rows)) / len(rows)
        alpha[rows] -= rate * g
        alpha += rate * E @ (D[:, None] * (E[rows].T @ g))
    return Model(alpha, np.array(residuals))
