"""What is written comes back: any shape, type and cut into blocks, from every kind of input."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from daskkernels import grid, store

DTYPES = ["<f4", "<f8", "<f2", ">f4", "<i2", ">i8", "u1", "<u8", "?", "i1"]


def numbers(rows: int, columns: int, dtype: str) -> np.ndarray:
    values = np.random.default_rng(rows * 31 + columns).integers(0, 100, (rows, columns))
    return values.astype(dtype)


def cuts(total: int, seed: int, parts: int) -> list[int]:
    """`parts` block lengths that add up to `total`, some of them 0."""
    marks = np.sort(np.random.default_rng(seed).integers(0, total + 1, parts - 1))
    return np.diff([0, *marks, total]).tolist()


@given(
    rows=st.integers(1, 60),
    columns=st.integers(1, 5),
    dtype=st.sampled_from(DTYPES),
    chunk=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_any_cut_of_a_dask_array(rows: int, columns: int, dtype: str, chunk: int, seed: int) -> None:
    X = numbers(rows, columns, dtype)
    y = np.arange(rows) % 3
    lazy = da.from_array(X, chunks=(tuple(cuts(rows, seed, 4)), columns))
    labels = da.from_array(y, chunks=(tuple(cuts(rows, seed + 1, 3)),))
    with tempfile.TemporaryDirectory() as top, dask.config.set(scheduler="sync"):
        data = store.write_dataset(f"{top}/d.zarr", lazy, labels, chunk_rows=chunk)
        assert (data.n_rows, data.n_features, data.chunk_rows) == (rows, columns, chunk)
        assert data.dtype == np.dtype(dtype).newbyteorder("<")
        np.testing.assert_array_equal(data.X.compute(), X)
        assert data.classes is not None
        assert data.y is not None
        np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], y)


@given(
    rows=st.integers(1, 80),
    dtype=st.sampled_from(DTYPES),
    chunk=st.integers(1, 20),
    seed=st.integers(0, 99),
    parts=st.integers(1, 9),
)
def test_any_cut_of_an_iterator(rows: int, dtype: str, chunk: int, seed: int, parts: int) -> None:
    X, y = numbers(rows, 3, dtype), np.random.default_rng(seed).choice(["q", "a", "m"], rows)
    ends = np.cumsum(cuts(rows, seed, parts))
    starts = [0, *ends[:-1]]
    blocks = ((X[a:b], y[a:b]) for a, b in zip(starts, ends, strict=True))
    with tempfile.TemporaryDirectory() as top:
        data = store.write_dataset(f"{top}/d.zarr", blocks, chunk_rows=chunk)
        np.testing.assert_array_equal(data.features[:], X)
        assert data.classes == tuple(sorted(set(y)))
        assert data.targets is not None
        np.testing.assert_array_equal(np.asarray(data.classes)[data.targets[:]], y)


@given(
    rows=st.integers(1, 50), chunk=st.integers(1, 12), start=st.integers(-60, 60), stop=st.integers(-60, 60)
)
def test_reader_slices_like_numpy(rows: int, chunk: int, start: int, stop: int) -> None:
    X = numbers(rows, 2, "<f4")
    with tempfile.TemporaryDirectory() as top:
        reader = store.write_dataset(f"{top}/d.zarr", X, chunk_rows=chunk).features
        found = reader[start:stop]
    np.testing.assert_array_equal(found, X[start:stop])
    assert found.flags.c_contiguous
    assert found.flags.writeable


def test_zarr_itself_reads_the_same(tmp_path: Path) -> None:
    X = numbers(1003, 4, "<f4")
    X[:200] = 0  # whole chunks of the fill value are stored too
    store.write_dataset(tmp_path / "d.zarr", X, np.zeros(1003, int), chunk_rows=100)
    group: Any = zarr.open_group(tmp_path / "d.zarr", mode="r")
    np.testing.assert_array_equal(group["X"][:], X)
    assert group["X"].nchunks_initialized == group["X"].nchunks == 11
    assert [type(codec).__name__ for codec in group["X"].metadata.codecs] == [
        "BytesCodec",
        "ZstdCodec",
        "Crc32cCodec",
    ]
    assert group["X"].chunks == (100, 4)
    assert group.metadata.consolidated_metadata is None


def test_partial_last_chunk_has_no_padding(tmp_path: Path) -> None:
    X = numbers(1003, 2, "<f8") + 1.0
    data = store.write_dataset(tmp_path / "d.zarr", X, chunk_rows=100)
    assert data.features[1000:].shape == (3, 2)
    assert data.X.mean().compute() == pytest.approx(X.mean(), rel=1e-12)
    assert sum(data.X.chunks[0]) == 1003


def test_default_chunks_follow_the_grid(tmp_path: Path) -> None:
    X = np.zeros((5000, 8), np.float32)
    data = store.write_dataset(tmp_path / "d.zarr", X, np.zeros(5000))
    assert data.chunk_rows == grid.chunk_rows(5000, 8, 4)
    blocks = grid.Grid.canonical(5000, 8, 4).row_chunks
    assert data.X.chunks[0] == blocks
    assert data.y is not None
    assert data.y.chunks[0] == blocks


@pytest.mark.parametrize("url", ["file://{}/d.zarr", "{}/d.zarr", "memory://roundtrip/d.zarr"])
def test_paths_and_urls(tmp_path: Path, url: str) -> None:
    X, path = numbers(300, 3, "<f4"), url.format(tmp_path)
    store.write_dataset(path, X, list("abc") * 100, chunk_rows=64, overwrite=True)
    data = store.open_dataset(path, verify=True)
    np.testing.assert_array_equal(data.X.compute(scheduler="sync"), X)
    changed = store.write_dataset(path, X + 1, chunk_rows=64, overwrite=True)
    np.testing.assert_array_equal(changed.features[:], X + 1)
    assert changed.targets is None
    assert changed.digest != data.digest


def test_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = store.write_dataset("d.zarr", numbers(10, 2, "<f4"))
    monkeypatch.chdir("/")
    assert data.path == str(tmp_path / "d.zarr")
    assert data.X.sum().compute() >= 0


def test_metadata_is_kept(tmp_path: Path) -> None:
    source = {"name": "made up", "licence": "CC BY 4.0", "rows": [1, 2]}
    written = store.write_dataset(
        tmp_path / "d.zarr", numbers(10, 2, "u1"), feature_names=["é", "b"], source=source
    )
    data = store.open_dataset(tmp_path / "d.zarr")
    assert data == written
    assert (data.feature_names, data.source, data.classes, data.y) == (("é", "b"), source, None, None)


def test_same_data_same_digest(tmp_path: Path) -> None:
    X = numbers(500, 3, "<f4")
    digests = {
        store.write_dataset(tmp_path / "a.zarr", X, chunk_rows=64).digest,
        store.write_dataset(tmp_path / "b.zarr", da.from_array(X, chunks=(77, 2)), chunk_rows=64).digest,
        store.write_dataset(tmp_path / "c.zarr", iter([X[:99], X[99:]]), chunk_rows=64).digest,
    }
    other = X.copy()
    other[499, 2] += 1
    assert len(digests) == 1
    assert store.write_dataset(tmp_path / "d.zarr", other, chunk_rows=64).digest not in digests
