"""Arrays made elsewhere, Zarr v2 and v3, with or without all their chunks, are plain input."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr
from dask.tokenize import tokenize

from daskkernels import store

A = np.random.default_rng(0).normal(size=(1000, 5))

LAYOUTS: dict[str, dict[str, Any]] = {
    "v3": {"chunks": (170, 5)},
    "v3 columns": {"chunks": (170, 2)},
    "v3 shards": {"chunks": (50, 5), "shards": (200, 5)},
    "v3 plain": {"chunks": (1000, 5), "compressors": None},
    "v2": {"chunks": (170, 5), "zarr_format": 2},
    "v2 columns": {"chunks": (170, 2), "zarr_format": 2, "order": "F"},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_plain_input(tmp_path: Path, layout: str) -> None:
    array = zarr.create_array(tmp_path / "a", shape=A.shape, dtype=A.dtype, **LAYOUTS[layout])
    array[:] = A
    reader = store.reader_of(zarr.open_array(tmp_path / "a", mode="r"))
    assert reader is not None
    np.testing.assert_array_equal(reader[100:345], A[100:345])
    copy = pickle.loads(pickle.dumps(reader))
    assert len(pickle.dumps(reader)) < 1000
    np.testing.assert_array_equal(copy[:], A)
    data = store.write_dataset(tmp_path / "d.zarr", array, chunk_rows=64)
    np.testing.assert_array_equal(data.X.compute(scheduler="sync"), A)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_missing_chunks_are_the_fill_value(tmp_path: Path, zarr_format: Any) -> None:
    array = zarr.create_array(
        tmp_path / "a", shape=A.shape, dtype="f8", chunks=(100, 5), fill_value=2.5, zarr_format=zarr_format
    )
    array[:300] = A[:300]
    with pytest.warns(store.MissingChunkWarning, match=r"7 of 10 chunks not stored.*2\.5"):
        reader = store.reader_of(array)
    assert reader is not None
    np.testing.assert_array_equal(reader[:300], A[:300])
    assert np.all(reader[300:] == 2.5)


def test_missing_shard(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "a", shape=A.shape, dtype="f8", chunks=(50, 5), shards=(200, 5))
    array[:600] = A[:600]
    with pytest.warns(store.MissingChunkWarning, match="not stored"):
        reader = store.reader_of(array)
    assert reader is not None
    np.testing.assert_array_equal(reader[500:700], np.concatenate([A[500:600], np.zeros((100, 5))]))


def test_memory_store_and_group_member(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "g")
    for array in (
        zarr.create_array({}, shape=A.shape, dtype="f8", chunks=(100, 5)),
        group.create_array("deep/x", shape=A.shape, dtype="f8", chunks=(100, 5)),
        zarr.create_array("memory://foreign", shape=A.shape, dtype="f8", chunks=(100, 5), overwrite=True),
    ):
        array[:] = A
        reader = store.reader_of(array)
        assert reader is not None
        lazy = store.to_dask(reader, (400, 600))
        np.testing.assert_array_equal(lazy.compute(), A)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(reader))[10:20], A[10:20])


def test_two_arrays_at_one_path_are_told_apart(tmp_path: Path) -> None:
    tokens = set()
    for value in (1.0, 2.0):
        array = zarr.create_array(tmp_path / "a", shape=(10, 2), dtype="f8", chunks=(5, 2), overwrite=True)
        array[:] = value
        reader = store.reader_of(array)
        assert reader is not None
        assert np.all(pickle.loads(pickle.dumps(reader))[:] == value)
        tokens.add(tokenize(reader))
    assert len(tokens) == 2


def test_damage_names_the_array(tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "a", shape=A.shape, dtype="f8", chunks=(100, 5))
    array[:] = A
    file = tmp_path / "a/c/3/0"
    file.write_bytes(file.read_bytes()[:50])
    reader = store.reader_of(array)
    assert reader is not None
    np.testing.assert_array_equal(reader[:300], A[:300])
    with pytest.raises(store.BlockReadError, match="rows 250 to 350"):
        reader[250:350]


def test_what_is_not_a_stored_array(tmp_path: Path) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", A)
    assert store.reader_of(data.X) == data.features
    assert store.reader_of(data.features) is data.features
    for other in (A, da.from_array(A), data.X[:10], data.X + 1, data.X.rechunk(7), data.X.persist(), None):
        assert store.reader_of(other) is None
    with pytest.raises(TypeError, match="scalar"):
        store.reader_of(zarr.create_array({}, shape=(), dtype="f8"))
