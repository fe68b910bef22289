"""Small stored datasets for the jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk


def blobs(n_rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Three groups far apart, in five columns, and their names."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=n_rows)
    X = rng.normal(size=(n_rows, 5)) + 8.0 * codes[:, None]
    return X.astype("f4"), np.array(["low", "middle", "top"])[codes]


@pytest.fixture(scope="session")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of three named groups."""
    path = tmp_path_factory.mktemp("data") / "groups.zarr"
    dk.write_dataset(path, *blobs())
    return path


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """`written(X, y)`: the path of a dataset holding these."""

    def write(*arrays: np.ndarray) -> str:
        dk.write_dataset(tmp_path / "own.zarr", *arrays)
        return str(tmp_path / "own.zarr")

    return write
