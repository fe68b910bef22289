"""Tests: one seed gives the same bits for any chunks, scheduler, number of workers, container and storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import plan_clustering as planning
from tests.estimators.rows_in_many_forms import answers, assert_same_bits, chunked, row_cuts, stored, table

DTYPES = ["f4", "f8", "u1"]
KERNELS: dict[str, Any] = {
    "gaussian": "gaussian",
    "polynomial": dk.Polynomial(2),
    "matern": dk.Matern("median"),
}


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    """From numpy, in this process, one thread."""
    with dask.config.set(scheduler="sync"):
        return {dtype: answers(scaled(dtype)) for dtype in DTYPES}


def scaled(dtype: str) -> np.ndarray:
    return (table() * 10 + 128).clip(0, 255).astype(dtype) if dtype == "u1" else table(dtype)


@given(row_cuts(), st.sampled_from([5, 2]), st.sampled_from(DTYPES))
@settings(max_examples=12)
def test_any_chunks(expected: Any, rows: tuple[int, ...], columns: int, dtype: str) -> None:
    assert_same_bits(answers(chunked(scaled(dtype), rows, columns)), expected[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_schedulers(expected: Any, scheduler: str, dtype: str) -> None:
    with dask.config.set(scheduler=scheduler):
        assert_same_bits(answers(scaled(dtype)), expected[dtype])
        assert_same_bits(answers(chunked(scaled(dtype))), expected[dtype])


def test_processes(expected: Any, tmp_path: Path) -> None:
    """Lazy results are computed outside: Dask would start new processes for each of them, for seconds."""
    data = stored(table(), tmp_path)
    with dask.config.set(scheduler="processes", num_workers=1):
        assert_same_bits(answers(table("f4")), expected["f4"])
        model = dk.KernelKMeans(4, n_landmarks=40, random_state=0, tol=1e-3).fit(data)
    assert np.array_equal(model.labels_.compute(), expected["f8"]["labels"])
    assert np.array_equal(model.cluster_centers_, expected["f8"]["centers"])
    assert model.inertia_ == expected["f8"]["inertia"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("chunk_rows", [None, 1024, 500])
def test_stores(expected: Any, chunk_rows: int | None, dtype: str, tmp_path: Path) -> None:
    assert_same_bits(answers(stored(scaled(dtype), tmp_path, chunk_rows)), expected[dtype])


@pytest.fixture(scope="module")
def growing() -> Iterator[LocalCluster]:
    """A cluster in this process that grows from one worker to four."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers(expected: Any, growing: LocalCluster, workers: int, tmp_path: Path) -> None:
    growing.scale(workers)
    with Client(growing) as client:
        client.wait_for_workers(workers, timeout=30)
        assert_same_bits(answers(table("f4")), expected["f4"])
        assert_same_bits(answers(chunked(table("f4"))), expected["f4"])
        assert_same_bits(answers(stored(table(), tmp_path)), expected["f8"])


def test_worker_processes(expected: Any, client_processes: Client, tmp_path: Path) -> None:
    assert_same_bits(answers(table("f4")), expected["f4"])
    assert_same_bits(answers(chunked(table(), (0, 1, 2999))), expected["f8"])
    assert_same_bits(answers(stored(table(), tmp_path)), expected["f8"])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_and_seeds(kernel: str, init: str, weighted: bool) -> None:
    X, options = table(), {"kernel": KERNELS[kernel], "init": init, "n_init": 2}
    w = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    first, again = (
        dk.KernelKMeans(4, n_landmarks=40, random_state=5, **options).fit(data, sample_weight=w)
        for data in (X, chunked(X, (1, 2999)))
    )
    assert np.array_equal(first.labels_, again.labels_.compute())
    assert np.array_equal(first.cluster_centers_, again.cluster_centers_)
    assert first.inertia_ == again.inertia_
    assert first.history_ == again.history_


def force(monkeypatch: pytest.MonkeyPatch, keep_columns: bool, storage: str) -> None:
    """Make the planner choose, whatever the machine."""
    original = {name: getattr(planning, name) for name in ("plan_features", "plan_kmeans")}

    def forced(name: str) -> Any:
        def plan(*args: Any, **kwargs: Any) -> Any:
            features = {} if name == "plan_features" else {"features": storage}
            return replace(original[name](*args, **kwargs), keep_columns=keep_columns, **features)

        return plan

    for name in original:
        monkeypatch.setattr(planning, name, forced(name))


@pytest.mark.parametrize("storage", ["memory", "scratch", "recomputed"])
@pytest.mark.parametrize("keep_columns", [True, False])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_storage(
    expected: Any,
    monkeypatch: pytest.MonkeyPatch,
    storage: str,
    keep_columns: bool,
    form: str,
    tmp_path: Path,
) -> None:
    force(monkeypatch, keep_columns, storage)
    for dtype in ("f4", "f8"):
        data = table(dtype) if form == "numpy" else chunked(table(dtype))
        assert_same_bits(answers(data, scratch=str(tmp_path)), expected[dtype])
    assert list(tmp_path.iterdir()) == []


def test_storage_of_many_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of two tiles, Lloyd's blocks of several; polynomial, so that the trace is summed too."""
    X = table("f4", 40_000, 3)
    options: dict[str, Any] = {
        "kernel": dk.Polynomial(2),
        "n_landmarks": 20,
        "max_iter": 3,
        "scratch": str(tmp_path),
    }
    found = []
    for keep_columns, storage in [(True, "memory"), (False, "recomputed"), (False, "scratch")]:
        with monkeypatch.context() as patch:
            force(patch, keep_columns, storage)
            with pytest.warns(UserWarning, match="max_iter"):
                found.append(answers(X, **options))
    assert_same_bits(found[1], found[0])
    assert_same_bits(found[2], found[0])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_features_alone(dtype: str, tmp_path: Path) -> None:
    X = table(dtype)
    model = dk.NystromFeatures(n_landmarks=40, n_components=7, random_state=1)
    expected = model.fit_transform(X)
    assert expected.dtype == dtype
    for data in (X, chunked(X, 333), stored(X, tmp_path)):
        assert np.array_equal(np.asarray(model.fit(data).transform(data)), expected)
        assert np.array_equal(np.asarray(model.fit_transform(data)), expected)
