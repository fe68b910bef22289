"""Rows made on the workers: lazy, in canonical blocks, each block made once, the same whoever asks."""

from __future__ import annotations

from pathlib import Path

import dask
import numpy as np
import pytest

import daskkernels as dk
from daskkernels.grid import Grid
from daskkernels.made import made_rows

CALLS: list[tuple[int, int]] = []


def counting(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    CALLS.append((start, stop))
    numbers = np.arange(start, stop)
    return np.stack([numbers, -numbers], axis=1).astype("f4"), (numbers % 3).astype("i4")


def test_rows_of_the_function() -> None:
    X, y = made_rows(counting, 5000, 2, "f4")
    assert X.chunks[0] == y.chunks[0] == Grid.canonical(5000, 2, 4).row_chunks
    assert (X.dtype, y.dtype) == (np.dtype("f4"), np.dtype("i4"))
    np.testing.assert_array_equal(X[1500:3100].compute()[:, 0], np.arange(1500, 3100))
    np.testing.assert_array_equal(y.compute(), np.arange(5000) % 3)


def test_written_in_one_pass(tmp_path: Path) -> None:
    """Features and labels of a block come out of one call."""
    X, y = made_rows(counting, 5000, 2, "f4")
    CALLS.clear()
    with dask.config.set(scheduler="sync"):
        data = dk.write_dataset(tmp_path / "d.zarr", X, y, classes=list("abc"))
    assert sorted(CALLS) == list(Grid.canonical(5000, 2, 4))
    assert data.classes == ("a", "b", "c")


def test_same_name_for_the_same_rows() -> None:
    assert made_rows(counting, 5000, 2, "f4")[0].name == made_rows(counting, 5000, 2, "f4")[0].name
    assert made_rows(counting, 5000, 2, "f4")[0].name != made_rows(counting, 5001, 2, "f4")[0].name


def test_a_function_that_breaks_its_word() -> None:
    X, _ = made_rows(counting, 5000, 3, "f4")
    with pytest.raises(ValueError, match=r"rows 0 to 1024 were made as .*wanted"):
        X[:5].compute()
