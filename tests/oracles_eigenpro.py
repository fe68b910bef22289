"""Tests: EigenPro 2 as it is printed (Algorithm 1, MATHS section 5), dense, one batch after another, float64.

Imports nothing of the library. Kernel matrices are given whole; rows come in the order of their use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
POWER = 0.95


# --- the set-up --------------------------------------------------------------------------------------------
def eigenpairs(K_s: Array) -> tuple[Array, Array]:
    """sigma (s,), descending, and V (s, s) of the subsample's kernel matrix, not divided by s."""
    sigma, V = np.linalg.eigh((K_s + K_s.T) / 2)
    return np.maximum(sigma[::-1], 0.0), V[:, ::-1]


def damping(sigma: Array, q: int, power: float = POWER) -> Array:
    """D = Sigma^-1 (I - (sigma_q Sigma^-1)^a) of the q - 1 leading directions."""
    leading = sigma[: q - 1]
    return (1.0 - (sigma[q - 1] / leading) ** power) / leading


def preconditioned(K: Array, K_rows: Array, V: Array, D: Array) -> Array:
    """k_P of some rows: K - K(., Z) V D V^T K(Z, .), for their K (t, t) and K(., Z) (t, s)."""
    U = K_rows @ V[:, : len(D)]
    return K - (U * D) @ U.T


def largest_eigenvalue(K_P: Array) -> float:
    """lam': the largest eigenvalue of k_P on t rows, divided by t."""
    return float(np.linalg.eigvalsh((K_P + K_P.T) / 2)[-1]) / len(K_P)


def subsample_eigenvalue(sigma: Array, q: int, power: float = POWER) -> float:
    """lam' on the subsample itself: sigma_1 (sigma_q / sigma_1)^a / s."""
    return float(sigma[0] * (sigma[q - 1] / sigma[0]) ** power) / len(sigma)


def most_directions(sigma: Array, eps: float) -> int:
    """q_cap: the largest i <= s / 4 with sigma_i >= 10 eps sigma_1, at least 1."""
    quarter = sigma[: max(len(sigma) // 4, 1)]
    return max(1, int((quarter >= 10 * eps * sigma[0]).sum()))


def step_size(m: int, beta: float, eigenvalue: float, safety: float = 0.9) -> float:
    """X(m) = safety 2 m / (beta + (m - 1) lam')."""
    return safety * 2.0 * m / (beta + (m - 1) * eigenvalue)


# --- the iteration -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Model:
    """f(x) = k(x, X) alpha + k(x, Z) gamma, and |f - y|^2 of each batch before its step."""

    alpha: Array  # (n, l)
    gamma: Array  # (s, l)
    residuals: Array  # (batches,)

    def predict(self, K: Array, indices: Array) -> Array:
        """f for rows with K(., X) (t, n)."""
        return K @ self.alpha + K[:, indices] @ self.gamma


def batches(orders: Sequence[Array], m: int) -> list[Array]:
    """Row numbers by batch: every epoch in its order, cut into m rows; the last batch may be shorter."""
    return [order[i : i + m] for order in orders for i in range(0, len(order), m)]


def eigenpro(
    K: Array,
    Y: Array,
    indices: Array,
    V: Array,
    D: Array,
    order: Sequence[Array],
    step: Callable[[int], float],
    row_weights: Array | None = None,
) -> Model:
    """Algorithm 1 with K (n, n), targets Y (n, l), the subsample's numbers, and the batches in their order.

    g = f(x_t) - y_t; alpha_t -= (X/m) g; gamma += (X/m) V D V^T Phi^T g, Phi = K[t, r].
    """
    V = V[:, : len(D)]
    alpha, gamma = np.zeros((len(K), Y.shape[1])), np.zeros((len(indices), Y.shape[1]))
    residuals = []
    for rows in order:
        Phi = K[np.ix_(rows, indices)]
        g = K[rows] @ alpha + Phi @ gamma - Y[rows]
        residuals.append(float((g**2).sum()))
        if row_weights is not None:
            g = g * row_weights[rows][:, None]
        rate = step(len(rows)) / len(rows)
        alpha[rows] -= rate * g
        gamma += rate * V @ (D[:, None] * (V.T @ (Phi.T @ g)))
    return Model(alpha, gamma, np.array(residuals))


def one_hot(codes: Array, classes: int) -> Array:
    """Targets (n, classes) of zeros and ones."""
    return np.eye(classes)[np.asarray(codes)]
