"""Bench: MNIST where it lies beside the checkout, else rows of the same shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

MNIST = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist.npz"


@dataclass(frozen=True)
class Digits:
    """X (n, 784) float32, y (n,), and where they come from."""

    X: np.ndarray
    y: np.ndarray
    source: str


def digits(n: int = 60_000, path: Path = MNIST) -> Digits:
    """The first n training images of MNIST, values 0 to 255."""
    if path.exists():
        with np.load(path, allow_pickle=False) as arrays:
            return Digits(arrays["X"][:n].astype("f4"), arrays["y"][:n], "MNIST")
    return stand_in(n)


def stand_in(n: int) -> Digits:
    """Ten low-dimensional clusters in 784 columns, clipped to bytes, mostly zero as ink on paper is."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    shapes, basis = rng.normal(size=(10, 784)), rng.normal(size=(30, 784))
    X = 60 * shapes[y] + (12 * rng.normal(size=(n, 30))) @ basis - 40
    return Digits(
        np.clip(X, 0, 255).round().astype("f4"),
        y,
        "a synthetic stand-in of MNIST's shape (its file is absent)",
    )


def mean_bandwidth(X: np.ndarray) -> float:
    """Root mean squared distance of all pairs; both sides are handed the same number."""
    return float(np.sqrt(2 * X.var(axis=0, dtype="f8").sum()))
