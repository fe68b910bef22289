"""Tests: EigenPro, one seed: the same bits for any chunks, scheduler, workers, container and storage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from tests.estimators.rows_in_many_forms import N, assert_same_bits, chunked, dense, row_cuts, table

DTYPES = ["f4", "f8", "u1"]
MODELS = ["classifier", pytest.param("regressor", marks=pytest.mark.slow)]
NEW = table(n=1100)


def rows(dtype: str) -> np.ndarray:
    return (table() * 10 + 128).clip(0, 255).astype(dtype) if dtype == "u1" else table(dtype)


def targets(model: str) -> np.ndarray:
    X = table()
    if model == "classifier":
        return np.array(["left", "middle", "right"])[np.digitize(np.sin(X[:, 0]) + X[:, 1], [-1, 1])]
    return np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]]


def fitted(model: str, X: Any, y: Any, **options: Any) -> Any:
    made: Any = {"classifier": dk.EigenProClassifier, "regressor": dk.EigenProRegressor}[model]
    chosen = {
        "n_subsamples": 80,
        "max_epochs": 2,
        "round_size": 1024,
        "validation_fraction": 0.1,
        "random_state": 0,
        **options,
    }
    return made(**chosen).fit(X, y)


def answers(model: str, X: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Everything a fit says, as numpy and numbers; times left out."""
    found = fitted(model, X, y, **options)
    timed = ("seconds", "rows_per_second", "gflops")
    values = {
        "alpha": dense(found.dual_coef_),
        "gamma": found.subsample_coef_,
        "subsample": found.subsample_indices_,
        "bandwidth": found.kernel_.bandwidth,
        "history": [[v for k, v in sorted(h.items()) if k not in timed] for h in found.history_],
        "choices": [getattr(found.plan_, k) for k in ("n_directions", "batch_size", "step_size", "beta")],
        "predicted": dense(found.predict(X)),
        "new": found.predict(NEW),
    }
    return values if model == "regressor" else values | {"f": dense(found.decision_function(X))}


@pytest.fixture(scope="module")
def expected() -> Callable[[str, str], dict[str, Any]]:
    """From numpy, in this process, one thread; made when it is asked for."""
    made: dict[Any, dict[str, Any]] = {}

    def of(model: str, dtype: str) -> dict[str, Any]:
        if (model, dtype) not in made:
            with dask.config.set(scheduler="sync"):
                made[model, dtype] = answers(model, rows(dtype), targets(model))
        return made[model, dtype]

    return of


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=3)
@given(row_cuts(), row_cuts(), st.sampled_from([5, 2]), st.sampled_from(["f4", "u1"]))
def test_any_chunks(
    expected: Any, model: str, of_x: tuple[int, ...], of_y: tuple[int, ...], columns: int, dtype: str
) -> None:
    """Those of X and those of y, which need not be the same."""
    y = targets(model)
    lazy = da.from_array(y).rechunk((of_y, *y.shape[1:]))
    assert_same_bits(answers(model, chunked(rows(dtype), of_x, columns), lazy), expected(model, dtype))


@pytest.mark.parametrize("model", ["classifier", "regressor"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_threads(expected: Any, model: str, dtype: str) -> None:
    with dask.config.set(scheduler="threads", num_workers=2):
        assert_same_bits(answers(model, rows(dtype), targets(model)), expected(model, dtype))


@pytest.mark.parametrize("chunk_rows", [pytest.param(None, marks=pytest.mark.slow), 1024])
def test_stores(expected: Any, chunk_rows: int | None, tmp_path: Path) -> None:
    """X and y from one dataset; labels are stored as codes with their names."""
    data = dk.write_dataset(tmp_path / "d.zarr", rows("u1"), targets("regressor"), chunk_rows=chunk_rows)
    assert_same_bits(answers("regressor", data.X, data.y), expected("regressor", "u1"))
    y = np.unique(targets("classifier"), return_inverse=True)[1]
    data = dk.write_dataset(tmp_path / "c.zarr", rows("f4"), y, chunk_rows=chunk_rows)
    found, wanted = answers("classifier", data.X, data.y), dict(expected("classifier", "f4"))
    for name in ("predicted", "new"):
        assert np.array_equal(np.array(["left", "middle", "right"])[found.pop(name)], wanted.pop(name))
    assert_same_bits(found, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["classifier", "regressor"])
def test_processes(expected: Any, model: str) -> None:
    """Lazy results are computed outside: Dask would start new processes for each of them, for seconds."""
    with dask.config.set(scheduler="processes", num_workers=1):
        assert_same_bits(answers(model, rows("f4"), targets(model)), expected(model, "f4"))


@pytest.fixture(scope="module")
def growing() -> Iterator[LocalCluster]:
    """A cluster in this process that grows from one worker to two."""
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=0
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("model", MODELS)
def test_workers(expected: Any, growing: LocalCluster, model: str, workers: int) -> None:
    growing.scale(workers)
    with Client(growing) as client:
        client.wait_for_workers(workers, timeout=30)
        assert_same_bits(answers(model, rows("f4"), targets(model)), expected(model, "f4"))
        lazy = chunked(rows("f8")), da.from_array(targets(model), chunks=900)
        assert_same_bits(answers(model, *lazy), expected(model, "f8"))


@pytest.mark.slow
def test_worker_processes(expected: Any, client_processes: Client) -> None:
    """Weights go through the scratch store after every group."""
    lazy = chunked(rows("f4"), (0, 1, N - 1)), da.from_array(targets("classifier"), chunks=900)
    assert_same_bits(answers("classifier", *lazy), expected("classifier", "f4"))


def test_the_size_of_rounds_changes_rounding_only() -> None:
    X, y = rows("f8"), targets("regressor")
    reference = fitted("regressor", X, y)
    for size in (500, 10**6):
        model = fitted("regressor", X, y, round_size=size)
        np.testing.assert_allclose(model.predict(NEW), reference.predict(NEW), rtol=1e-5, atol=1e-6)
        assert model.plan_.batch_size == reference.plan_.batch_size
        assert model.plan_.step_size == reference.plan_.step_size


def test_one_seed_repeats_and_others_differ() -> None:
    X, y = rows("f4"), targets("classifier")
    first, again, other = (answers("classifier", X, y, random_state=seed) for seed in (3, np.int64(3), 4))
    assert_same_bits(again, first)
    assert not np.array_equal(first["subsample"], other["subsample"])
    assert not np.array_equal(first["f"], other["f"])
    model = dk.EigenProClassifier(n_subsamples=80, max_epochs=1, random_state=3)
    np.testing.assert_array_equal(model.fit(X, y).dual_coef_.copy(), model.fit(X, y).dual_coef_)
