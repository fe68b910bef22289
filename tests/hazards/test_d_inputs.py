"""Tests: hazards, section D, inputs: containers, unknown and empty chunks, names, sparse, schedulers."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils import get_tags

import daskkernels as dk
from tests.hazards.forms import (
    FORMS,
    Array,
    blobs,
    chunked,
    cluster,
    dask_frame,
    dense,
    pandas_frame,
)

X = blobs(900)
REFERENCE = cluster(X)


@pytest.mark.parametrize("form", FORMS)
def test_every_container_gives_the_same(form: str) -> None:
    """dask-ml#112 and its kind: xarray, frames, zarr arrays and odd memory layouts, equal to plain numpy."""
    data = FORMS[form](X)
    model = cluster(data)
    np.testing.assert_array_equal(dense(model.labels_), REFERENCE.labels_)
    np.testing.assert_array_equal(model.cluster_centers_, REFERENCE.cluster_centers_)
    assert model.inertia_ == REFERENCE.inertia_
    np.testing.assert_array_equal(dense(model.predict(FORMS[form](X))), REFERENCE.labels_)
    np.testing.assert_array_equal(dense(model.transform(FORMS[form](X))), REFERENCE.transform(X))


@pytest.mark.parametrize("form", FORMS)
def test_every_container_can_be_scaled(form: str) -> None:
    """`Standardize` takes the same kinds."""
    scaler = dk.Standardize().fit(FORMS[form](X))
    np.testing.assert_allclose(scaler.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        dense(scaler.transform(FORMS[form](X))), (X - X.mean(axis=0)) / X.std(axis=0), rtol=1e-9
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_input_is_not_changed(form: str) -> None:
    """No argument is ever mutated, not even a view that could be centred in place."""
    data = FORMS[form](X.copy())
    cluster(data).predict(data)
    dk.Standardize().fit(data).transform(data)
    np.testing.assert_array_equal(dense(data), X)


@pytest.mark.parametrize("form", FORMS)
def test_kind_in_is_kind_out(form: str) -> None:
    """Lazy in, lazy out with known chunks; in memory in, numpy out."""
    data = FORMS[form](X)
    model = cluster(data)
    lazy = "dask" in form or form == "zarr"
    for out in (model.labels_, model.predict(data), model.transform(data), model.features_.transform(data)):
        assert isinstance(out, da.Array if lazy else np.ndarray)
        assert len(out) == len(X)
        assert not lazy or not np.isnan(out.chunks[0]).any()


@pytest.mark.parametrize("chunks", [300, 77, (1, 899), (450, 1, 449)])
def test_boolean_masks_leave_unknown_chunks(chunks: Any) -> None:
    """dask#2699, #4161: `X[mask]` has chunks of unknown length; the same mask on the weights."""
    mask = X[:, 0] > np.median(X[:, 0])
    lazy_mask = chunked(mask, chunks)
    w = np.linspace(0.5, 2, len(X))
    lazy, plain = chunked(X, chunks)[lazy_mask], X[mask]
    assert np.isnan(lazy.chunks[0]).any()
    a, b = cluster(lazy), cluster(plain)
    np.testing.assert_array_equal(dense(a.labels_), b.labels_)
    np.testing.assert_array_equal(dense(a.predict(lazy)), b.labels_)
    model = dk.KernelKMeans(4, n_landmarks=60, random_state=0)
    a = model.fit(lazy, sample_weight=chunked(w, chunks)[lazy_mask])
    labels, inertia = dense(a.labels_), a.inertia_
    b = model.fit(plain, sample_weight=w[mask])
    np.testing.assert_array_equal(labels, b.labels_)
    assert inertia == pytest.approx(b.inertia_, rel=1e-12)


def test_different_masks_are_refused() -> None:
    """Rows and weights, or rows and targets, of different masks: the mismatch is said, never cut to fit."""
    lazy = chunked(X, 100)
    one, other = lazy[:, 0] > 0, lazy[:, 1] > 0
    n, m = int((X[:, 0] > 0).sum()), int((X[:, 1] > 0).sum())
    assert n != m
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{n}\b)(?=.*\b{m}\b)"):
        dk.KernelKMeans(4, n_landmarks=20).fit(lazy[one], sample_weight=da.ones(len(X), chunks=100)[other])


def test_different_masks_are_refused_by_the_store(tmp_path: Any) -> None:
    """The same when writing X and y."""
    lazy, y = chunked(X, 100), chunked(np.arange(len(X)) % 3, 100)
    with pytest.raises(ValueError, match=r"\d+.*\d+"):
        dk.write_dataset(tmp_path / "d.zarr", lazy[lazy[:, 0] > 0], y[lazy[:, 1] > 0])


def test_masks_are_written_and_read_back(tmp_path: Any) -> None:
    """One mask for both is a data set like any other."""
    lazy, y = chunked(X, 100), chunked(np.arange(len(X)) % 3, 100)
    mask = X[:, 0] > 0
    data = dk.write_dataset(tmp_path / "d.zarr", lazy[chunked(mask, 100)], y[chunked(mask, 100)])
    assert data.n_rows == mask.sum()
    np.testing.assert_array_equal(dense(data.X), X[mask])
    np.testing.assert_array_equal(dense(data.y), (np.arange(len(X)) % 3)[mask])


EMPTY_CHUNKS = [(0, 5, 5, 0), (0, 0, 10), (10, 0), (5, 0, 5)]


@pytest.mark.parametrize("chunks", EMPTY_CHUNKS, ids=str)
def test_chunks_without_rows(chunks: tuple[int, ...], tmp_path: Any) -> None:
    """dask-ml#551, #911, #770: a chunk of zero rows broke fit or predict."""
    few = X[:10]
    pieces = np.split(few, np.cumsum(chunks)[:-1])
    lazy = da.concatenate([da.from_array(p, chunks=p.shape) for p in pieces], allow_unknown_chunksizes=True)
    for data in (lazy, da.from_delayed(dask.delayed(few), few.shape, few.dtype).rechunk((chunks, (8,)))):
        model, plain = cluster(data, 3, n_landmarks=8), cluster(few, 3, n_landmarks=8)
        np.testing.assert_array_equal(dense(model.labels_), plain.labels_)
        np.testing.assert_array_equal(dense(model.predict(data)), plain.labels_)
        np.testing.assert_allclose(dk.Standardize().fit(data).mean_, few.mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(dense(dk.write_dataset(tmp_path / "d.zarr", lazy).X), few)


def test_frames_with_empty_partitions(tmp_path: Any) -> None:
    """`ddf[ddf.x > 7]` leaves partitions of (0, 0, 2) rows."""
    frame = pd.DataFrame({"x": np.arange(30.0), "z": np.arange(30.0) % 7})
    ddf = dask.dataframe.from_pandas(frame, npartitions=3)
    rows, kept = ddf[ddf.x > 17], frame[frame.x > 17]
    model, plain = cluster(rows, 2, n_landmarks=8), cluster(kept.to_numpy(), 2, n_landmarks=8)
    np.testing.assert_array_equal(dense(model.labels_), plain.labels_)
    np.testing.assert_array_equal(dense(model.predict(rows)), plain.labels_)
    np.testing.assert_array_equal(dense(dk.write_dataset(tmp_path / "d.zarr", rows).X), kept.to_numpy())


@pytest.mark.parametrize(
    "empty", [np.empty((0, 3)), da.empty((0, 3), chunks=(5, 3)), pandas_frame(np.empty((0, 3)))]
)
@pytest.mark.parametrize("model", [dk.KernelKMeans(2), dk.NystromFeatures(), dk.Standardize()], ids=repr)
def test_no_rows_at_all(empty: Any, model: Any) -> None:
    """Zero rows are refused at the door."""
    with pytest.raises(ValueError, match=r"\b0\b|empty|no rows"):
        model.fit(empty)


def test_a_mask_that_keeps_nothing() -> None:
    """The same, found only when the lengths are computed."""
    lazy = chunked(X, 100)
    with pytest.raises(ValueError, match=r"\b0\b|empty|no rows"):
        cluster(lazy[lazy[:, 0] > 1e9])


def shy_kernel(A: Array, Z: Array) -> Array:
    """A user's kernel that cannot stand the (0, 0) and (1, 1) arrays by which graph builders guess a type."""
    if len(A) < 2 or len(Z) < 2:
        raise AssertionError(f"called on a guess: {A.shape}, {Z.shape}")
    return np.exp(-((A[:, None] - Z[None]) ** 2).sum(axis=-1) / 50)


def test_building_a_graph_never_calls_the_kernel(no_compute: Any) -> None:
    """dask#5007, dask-ml#774, xarray#3575: `map_blocks` calls the function on tiny arrays to guess."""
    few = X[:300]
    model = cluster(chunked(few, 50), kernel=shy_kernel, n_landmarks=20)
    with no_compute:
        outs = [getattr(m, name)(chunked(few, 50)) for m, name in ((model, "predict"), (model, "transform"))]
        outs.append(model.features_.transform(chunked(few, 50)))
    shapes = [o.shape for o in outs]
    assert shapes == [(300,), (300, 4), (300, model.features_.n_components_)]
    for out in outs:
        assert dense(out).dtype == out.dtype
    np.testing.assert_array_equal(dense(outs[0]), dense(model.labels_))


SPARSE = {
    "csr matrix": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "dask of csr": lambda a: chunked(a, 300).map_blocks(sp.csr_matrix),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_input_is_refused_at_the_door(kind: str) -> None:
    """dask-ml#888, sklearn#4384: sparse rows died deep inside. A TypeError, as the tag promises."""
    thresholded = np.where(X > 1, X, 0)
    fitted = cluster(X)
    calls: list[Any] = [
        dk.KernelKMeans(4).fit,
        dk.NystromFeatures().fit,
        dk.Standardize().fit,
        fitted.predict,
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"(?i)sparse|csr|csc|coo"):
            dense(call(SPARSE[kind](thresholded)))
    for model in (dk.KernelKMeans(), dk.NystromFeatures(), dk.Standardize()):
        assert not get_tags(model).input_tags.sparse


@pytest.mark.parametrize("frame", [pandas_frame, dask_frame], ids=["pandas", "dask"])
def test_feature_names_survive(frame: Any) -> None:
    """dask-ml#858, xgboost#5394: names were lost, or every predict warned about them."""
    names = [f"column {j}" for j in range(8)]
    for model in (
        dk.KernelKMeans(4, n_landmarks=30, random_state=0),
        dk.NystromFeatures(n_landmarks=30),
        dk.Standardize(),
    ):
        model.fit(frame(X))
        assert list(model.feature_names_in_) == names
        assert model.n_features_in_ == 8
        method = model.predict if hasattr(model, "predict") else model.transform
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dense(method(frame(X)))
        with pytest.raises(ValueError, match="feature names"):
            method(frame(X).rename(columns={"column 1": "else"}))
        with pytest.raises(ValueError, match="feature names"):
            method(frame(X)[names[::-1]])
        with pytest.warns(UserWarning, match="feature names"):
            dense(method(X))


def test_names_are_not_invented() -> None:
    """An array has no names, and fitting one after a frame forgets them."""
    model = dk.KernelKMeans(4, n_landmarks=30, random_state=0).fit(pandas_frame(X))
    assert hasattr(model, "feature_names_in_")
    assert not hasattr(model.fit(X), "feature_names_in_")
    assert not hasattr(model.fit(chunked(X, 100)), "feature_names_in_")


def test_wrong_number_of_columns() -> None:
    """Both numbers, for in-memory and lazy input, before anything computes."""
    for bad in (X[:, :5], chunked(X[:, :5], 100)):
        with pytest.raises(ValueError, match=r"(?s)(?=.*\b5\b)(?=.*\b8\b)"):
            REFERENCE.predict(bad)


@pytest.mark.parametrize(
    "bad", [X[0], X[None], np.array([["a", "b"]]), np.array([[1j, 2]]), np.array([[None, 1]])], ids=str
)
def test_what_is_no_table_of_numbers_is_refused(bad: Any) -> None:
    """One dimension, three, text, complex, objects."""
    for model in (dk.KernelKMeans(1), dk.NystromFeatures(), dk.Standardize()):
        with pytest.raises((ValueError, TypeError)):
            model.fit(bad)
        with pytest.raises((ValueError, TypeError)):
            model.fit(da.from_array(bad, chunks=-1))


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One worker process for all computations: the scheduler would start new ones for each."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("scheduler", ["sync", "threads", "processes"])
def test_no_client_is_needed(scheduler: str, request: pytest.FixtureRequest) -> None:
    """xgboost#6652: dask input was refused without a cluster."""
    few = X[:400]
    plain = cluster(few, n_landmarks=30)
    pool = {"pool": request.getfixturevalue("processes")} if scheduler == "processes" else {}
    with dask.config.set(scheduler=scheduler, **pool):
        model = cluster(chunked(few, 150), n_landmarks=30)
        np.testing.assert_array_equal(dense(model.labels_), plain.labels_)
        np.testing.assert_array_equal(dense(model.predict(chunked(few, 99))), plain.labels_)


@pytest.mark.slow
def test_no_client_is_needed_for_new_processes_each_time() -> None:
    """The same with the multiprocessing scheduler as it comes: new processes for every pass."""
    few = X[:400]
    with dask.config.set(scheduler="processes", num_workers=2):
        model = cluster(chunked(few, 150), n_landmarks=30)
        np.testing.assert_array_equal(dense(model.labels_), cluster(few, n_landmarks=30).labels_)
