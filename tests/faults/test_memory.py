"""Tests: data far larger than the workers' memory: both fits end, no worker is killed, paused or over."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from daskkernels.made import made_rows
from daskkernels.session import peak_memory
from tests.conftest import NO_DASHBOARD
from tests.faults.strikes import nothing_left, pids

LIMIT = 600_000_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Client, LocalCluster]]:
    """Two workers of 600 MB."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=LIMIT,
            dashboard_address=":0",
            scheduler_kwargs=NO_DASHBOARD,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client, cluster


def stretch(start: int, stop: int, d: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of small whole numbers around two centers: a pattern of 1021 rows, over and over."""
    pattern = np.random.default_rng(0).integers(0, 8, (1021, d), np.uint8)
    rows = np.arange(start, stop)
    y = (rows // 7 % 2).astype(np.int32)
    return (pattern[rows % 1021] + 3 * y[:, None].astype(np.uint8)).astype(dtype), y


def made(path: Path, n: int, d: int, dtype: str) -> Any:
    """A dataset that is written block by block by the workers."""
    X, y = made_rows(partial(stretch, d=d, dtype=dtype), n, d, dtype)
    return dk.write_dataset(path / "d.zarr", X, y, classes=[0, 1])


def survives(small: tuple[Client, LocalCluster], tmp_path: Path, fit: Any) -> None:
    client, cluster = small
    before = pids(cluster)
    fit()
    peaks = peak_memory(client)
    nothing_left(client, tmp_path / "scratch")
    assert pids(cluster) == before, "a worker was killed"
    assert max(peaks.values()) < LIMIT, f"{peaks} of {LIMIT}"


def clustering(small: tuple[Client, LocalCluster], tmp_path: Path, n: int) -> None:
    (tmp_path / "scratch").mkdir()
    data = made(tmp_path, n, 1000, "u1")

    def fit() -> None:
        options = {"n_landmarks": 60, "n_components": 20, "max_iter": 3, "random_state": 0}
        model = dk.KernelKMeans(2, kernel=dk.Gaussian(100.0), scratch=str(tmp_path / "scratch"), **options)
        model.fit(data.X)
        assert sorted(model.cluster_sizes_) == sorted(np.bincount(data.y.compute()))

    survives(small, tmp_path, fit)


def learning(small: tuple[Client, LocalCluster], tmp_path: Path, n: int, d: int) -> None:
    """Stored as float64, which takes eight times the room for the same arithmetic."""
    (tmp_path / "scratch").mkdir()
    data = made(tmp_path, n, d, "f8")

    def fit() -> None:
        options = {"n_subsamples": 500, "max_epochs": 1, "dtype": "float32", "random_state": 0}
        model = dk.EigenProClassifier(dk.Laplacian(300.0), scratch=str(tmp_path / "scratch"), **options)
        model.fit(data.X, data.y)
        assert model.n_epochs_ == 1
        assert np.isfinite(model.dual_coef_).all()

    survives(small, tmp_path, fit)


@pytest.mark.slow
@pytest.mark.timeout(150)
def test_clustering_1500_mb(small: tuple[Client, LocalCluster], tmp_path: Path) -> None:
    clustering(small, tmp_path, 1_500_000)


@pytest.mark.timeout(150)
def test_learning_130_mb(small: tuple[Client, LocalCluster], tmp_path: Path) -> None:
    """Twice what such workers may hold of it, in small rounds; 2 n^2 d forbids more here."""
    learning(small, tmp_path, 8000, 2000)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_clustering_6_gb(small: tuple[Client, LocalCluster], tmp_path: Path) -> None:
    clustering(small, tmp_path, 6_000_000)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_learning_1500_mb(small: tuple[Client, LocalCluster], tmp_path: Path) -> None:
    """2 n^2 d: ten minutes on two cores; 6 GB would take sixteen times that."""
    learning(small, tmp_path, 94_000, 2000)
