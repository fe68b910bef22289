"""Tests: checks for values that are not finite look at what is read anyway: nothing is read for them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.errors import InputError, NonFiniteError
from daskkernels.estimators import training
from daskkernels.store.location import Location

N, D, CHUNK = 3072, 6, 1024  # chunks that are blocks: none is read for two of them
rng = np.random.default_rng(0)
Fit = Callable[[dk.Dataset], Any]
FITS: dict[str, Fit] = {
    "features": lambda data: dk.NystromFeatures(n_landmarks=30, random_state=0).fit(data.X),
    "transform": lambda data: (
        dk.NystromFeatures(n_landmarks=30, random_state=0).fit_transform(data.X).sum().compute()
    ),
    "k-means": lambda data: dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(data.X),
    "EigenPro": lambda data: dk.EigenProClassifier(max_epochs=2, random_state=0).fit(data.X, data.y),
    "scaling": lambda data: dk.Standardize().fit(data.X),
}


@pytest.fixture
def data(tmp_path: Path) -> dk.Dataset:
    X = rng.normal(size=(N, D)).astype("f4")
    return dk.write_dataset(tmp_path / "d.zarr", X, rng.integers(0, 3, N), chunk_rows=CHUNK)


@contextmanager
def unchecked() -> Iterator[None]:
    """No check of rows, wherever it is called."""
    with ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.startswith("daskkernels.")]:
            for check in ("check_rows", "check_sample"):
                if hasattr(module, check):
                    stack.enter_context(mock.patch.object(module, check))
        yield


def reads(fit: Fit, data: dk.Dataset) -> Counter[str]:
    """How often each chunk file of X is read; nothing that is streamed is kept in memory."""
    found: Counter[str] = Counter()
    read_many = Location.read_many

    def counted(location: Location, keys: Sequence[str], most: int) -> Any:
        found.update(key for key in keys if key.startswith("X/"))
        return read_many(location, keys, most)

    with mock.patch.object(Location, "read_many", counted), mock.patch.object(training, "X_SHARE", 0.0):
        fit(data)
    return found


@pytest.mark.parametrize("name", FITS)
def test_checks_read_nothing_again(name: str, data: dk.Dataset) -> None:
    checked = reads(FITS[name], data)
    with unchecked():
        without = reads(FITS[name], data)
    assert checked == without
    assert len(checked) == N // CHUNK
    assert min(checked.values()) >= 1


def test_passes_are_those_of_the_plan(data: dk.Dataset) -> None:
    """Bandwidth, the landmarks, the Gram matrix: three reads of a chunk, and no fourth that checks."""
    found = reads(FITS["features"], data)
    assert set(found.values()) == {3}


def test_without_checks_a_bad_row_is_not_named(tmp_path: Path) -> None:
    """What is switched off here is what finds it."""
    X = rng.normal(size=(N, D)).astype("f4")
    X[1234, 3] = np.nan
    bad = dk.write_dataset(tmp_path / "bad.zarr", X, chunk_rows=CHUNK)
    with pytest.raises(NonFiniteError, match="row 1234"):
        FITS["scaling"](bad)
    with unchecked(), pytest.raises(InputError, match="variance of column 3"):
        FITS["scaling"](bad)
