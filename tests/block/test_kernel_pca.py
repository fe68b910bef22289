"""Tests: orthonormal columns by a tall, skinny QR, where they are nearly dependent, too."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from daskkernels.block import kernel_pca as block
from daskkernels.block.sketches import times
from daskkernels.linalg import DegenerateMatrixError
from tests import oracles

rng = np.random.default_rng(0)
STEPS = [0, 40, 41, 130, 300]


def columns(decay: float, c: int = 12) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(300, c)))
    mixing, _ = np.linalg.qr(rng.normal(size=(c, c)))
    return (Q * decay ** np.arange(c)) @ mixing


def smooth() -> np.ndarray:
    X = rng.normal(size=(300, 2))
    return oracles.gaussian(X, X, 30.0) @ rng.normal(size=(300, 12))


def blocks(P: np.ndarray) -> list[np.ndarray]:
    return [P[a:b] for a, b in pairwise(STEPS)]


def r_of(P: np.ndarray) -> np.ndarray:
    parts = [block.r_factor(part) for part in blocks(P)]
    return block.merge_r([block.merge_r(parts[:2]), block.merge_r(parts[2:])])


def test_tree_of_factors() -> None:
    P = columns(0.5)
    R = r_of(P)
    np.testing.assert_allclose(R.T @ R, P.T @ P, atol=1e-12)
    np.testing.assert_allclose(np.tril(R, -1), 0.0)


MATRICES: dict[str, Any] = {
    "well": lambda: columns(0.9),
    "badly": lambda: columns(1e-2),  # condition 1e22
    "smooth kernel": smooth,
    "twice the same": lambda: np.tile(columns(0.9, 6), (1, 2)),
    "a column of zeros": lambda: np.c_[columns(0.9, 6), np.zeros(300)],
    "one column": lambda: columns(1.0, 1),
}


@pytest.mark.parametrize("name", MATRICES)
def test_two_factorisations_are_orthonormal(name: str) -> None:
    """To rounding, whatever the condition, and nothing of P above its own rounding is lost."""
    P = MATRICES[name]()
    once = np.concatenate([times(part, block.whitening(r_of(P))) for part in blocks(P)])
    R = r_of(once)
    Q = np.concatenate([block.times_inverse(part, R) for part in blocks(once)])
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-13)
    lost = P - Q @ (Q.T @ P)
    assert np.linalg.norm(lost) < 1e-12 * np.linalg.norm(P)


@pytest.mark.parametrize("name", ["badly", "smooth kernel"])
def test_one_inverse_or_cholesky_would_not_do(name: str) -> None:
    """What the two steps are for."""
    P = MATRICES[name]()
    once = np.linalg.solve(r_of(P).T, P.T).T
    assert np.abs(once.T @ once - np.eye(12)).max() > 1e-6
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(P.T @ P)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_matrices_without_directions(bad: float) -> None:
    with pytest.raises(DegenerateMatrixError):
        block.whitening(np.full((3, 3), bad))


def test_small_functions() -> None:
    P = columns(0.9, 3)
    mean = block.column_sums(P) / 300
    np.testing.assert_allclose(block.without(P, mean).mean(axis=0), 0.0, atol=1e-16)
    np.testing.assert_array_equal(block.with_ones(P), np.c_[P, np.ones(300)])
    whole = block.gaussian_rows(keys=(1, 2), columns=4, start=0, stop=50)
    np.testing.assert_array_equal(block.gaussian_rows(keys=(1, 2), columns=4, start=7, stop=50), whole[7:])
