"""Bench: the rows to measure with. A dataset that was named, MNIST beside the checkout, or its like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import daskkernels as dk
from datasets.address import check_protocol
from pipelines.failures import InputError

MNIST = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist.npz"
ROWS, QUICK_ROWS = 60_000, 2048


@dataclass(frozen=True)
class Digits:
    """Rows as they are stored (n, d), class codes y (n,), and where they come from."""

    stored: np.ndarray
    y: np.ndarray
    source: str

    @cached_property
    def X(self) -> np.ndarray:  # noqa: N802 - the name in the mathematics
        """The rows in float32."""
        return self.stored.astype("f4")

    @cached_property
    def bandwidth(self) -> float:
        """Root mean squared distance of all pairs; both sides are handed the same number."""
        return float(np.sqrt(2 * self.X.var(axis=0, dtype="f8").sum()))


def load(address: str | None, quick: bool, path: Path = MNIST) -> Digits:
    """What to measure with; a quick run needs few rows and no file. Raises InputError."""
    if address is not None:
        return from_dataset(address, QUICK_ROWS if quick else ROWS)
    if quick or not path.exists():
        return stand_in(QUICK_ROWS if quick else ROWS)
    with np.load(path, allow_pickle=False) as arrays:
        return Digits(arrays["X"][:ROWS], arrays["y"][:ROWS], "MNIST")


def from_dataset(address: str, rows: int) -> Digits:
    """The first rows of a stored dataset. Raises InputError unless it is labelled and large enough."""
    check_protocol(address, "--data")
    data = dk.open_dataset(address)
    if data.y is None or data.classes is None:
        raise InputError(f"--data {address}: has no class labels; wanted a labelled dataset such as MNIST")
    if data.n_rows < QUICK_ROWS:
        raise InputError(f"--data {address}: has {data.n_rows} rows; wanted at least {QUICK_ROWS}")
    return Digits(data.X[:rows].compute(), data.y[:rows].compute(), data.source or Path(address).name)


def stand_in(n: int) -> Digits:
    """Ten low-dimensional clusters in 784 columns of bytes, mostly zero as ink on paper is."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    shapes, basis = rng.normal(size=(10, 784)), rng.normal(size=(30, 784))
    X = 60 * shapes[y] + (12 * rng.normal(size=(n, 30))) @ basis - 40
    source = "a synthetic stand-in of MNIST's shape"
    return Digits(np.clip(X, 0, 255).round().astype("u1"), y, source)
