"""`ArrayWriter`: aligned or refused, complete or not there; and what may be overwritten."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from daskkernels import store
from daskkernels.store import ArrayWriter

ROWS = np.arange(2000, dtype=np.float32).reshape(1000, 2)


@pytest.fixture
def writer(tmp_path: Path) -> ArrayWriter:
    return ArrayWriter.create(tmp_path / "a.zarr", "features", (1000, 2), "f4", 300)


def test_write_and_finish(writer: ArrayWriter) -> None:
    for start in (900, 0, 300):
        writer.write(start, ROWS[start : start + (600 if start == 300 else 300)])
    reader = writer.finish()
    np.testing.assert_array_equal(reader[:], ROWS)
    assert reader == store.open_array(writer.url, "features")
    assert (reader.ndim, reader.shape, reader.dtype, reader.chunk_rows, len(reader)) == (
        2,
        (1000, 2),
        np.float32,
        300,
        1000,
    )


def test_many_writers(writer: ArrayWriter) -> None:
    with ThreadPoolExecutor(8) as pool:
        copies = [pickle.loads(pickle.dumps(writer)) for _ in range(4)]
        list(pool.map(lambda i: copies[i].write(300 * i, ROWS[300 * i : 300 * i + 300]), range(4)))
    np.testing.assert_array_equal(writer.finish()[:], ROWS)
    assert zarr.config.get("async.concurrency") > 1  # put back after the last of them
    assert zarr.config.get("array.write_empty_chunks") is False


@pytest.mark.parametrize(
    ("start", "stop"), [(150, 450), (1, 300), (0, 299), (0, 301), (300, 999), (900, 950)]
)
def test_misaligned(writer: ArrayWriter, start: int, stop: int) -> None:
    with pytest.raises(store.AlignmentError, match=rf"features.*300 rows, got rows {start} to {stop}"):
        writer.write(start, ROWS[start:stop])


@pytest.mark.parametrize("start", [-300, 900, 1200])
def test_outside(writer: ArrayWriter, start: int) -> None:
    with pytest.raises(store.AlignmentError, match="1000 rows"):
        writer.write(start, ROWS[:300])


@given(start=st.integers(0, 30), length=st.integers(0, 30))
def test_torn_writes_cannot_happen(tmp_path_factory: pytest.TempPathFactory, start: int, length: int) -> None:
    writer = ArrayWriter.create(tmp_path_factory.mktemp("a") / "a.zarr", "a", (25,), "i4", 4)
    stop = start + length
    allowed = stop <= 25 and start % 4 == 0 and (stop % 4 == 0 or stop == 25)
    block = np.arange(length, dtype=np.int32)
    if allowed:
        assert writer.write(start, block) == length
    else:
        with pytest.raises(store.AlignmentError):
            writer.write(start, block)


def test_wrong_blocks(writer: ArrayWriter) -> None:
    with pytest.raises(TypeError, match="masked"):
        writer.write(0, np.ma.masked_array(ROWS[:300]))
    with pytest.raises(store.ShapeError, match=r"\(rows, 2\), got \(300, 3\)"):
        writer.write(0, np.zeros((300, 3), np.float32))
    with pytest.raises(store.ShapeError, match=r"got \(300,\)"):
        writer.write(0, np.zeros(300, np.float32))
    with pytest.raises(TypeError, match="float32, got a block of float64"):
        writer.write(0, np.zeros((300, 2)))
    writer.write(0, np.zeros((300, 2), np.float16))


def test_unfinished(writer: ArrayWriter, tmp_path: Path) -> None:
    writer.write(0, ROWS[:900])
    with pytest.raises(store.IncompleteWriteError, match=r"features.*a\.zarr"):
        store.open_array(tmp_path / "a.zarr", "features")
    with pytest.raises(store.MissingChunkError, match="features/c/3/0"):
        writer.finish()
    with pytest.raises(store.IncompleteWriteError):
        store.open_array(tmp_path / "a.zarr", "features")


def test_zeros_are_stored(tmp_path: Path) -> None:
    writer = ArrayWriter.create(tmp_path / "a.zarr", "labels", (10,), np.int32, 5)
    pickle.loads(pickle.dumps(writer)).write(0, np.zeros(10, np.int32))
    assert (tmp_path / "a.zarr/labels/c/1").stat().st_size > 0
    assert not writer.finish()[:].any()


def test_several_arrays_and_attributes(tmp_path: Path) -> None:
    for name in ("labels", "deep/er"):
        writer = ArrayWriter.create(tmp_path / "a.zarr", name, (4,), "i4", 2, attributes={"seed": 1})
        writer.write(0, np.arange(4, dtype=np.int32))
        assert writer.finish()[1:3].tolist() == [1, 2]
    array = zarr.open_array(tmp_path / "a.zarr", path="labels", mode="r")
    assert array.attrs["seed"] == 1
    assert array[:].tolist() == [0, 1, 2, 3]  # type: ignore[index,union-attr]


def test_overwrite(tmp_path: Path) -> None:
    first = ArrayWriter.create(tmp_path / "a.zarr", "x", (4,), "i4", 2)
    first.write(0, np.arange(4, dtype=np.int32))
    reader = first.finish()
    with pytest.raises(store.ExistsError, match="overwrite=True"):
        ArrayWriter.create(tmp_path / "a.zarr", "x", (4,), "i4", 2)
    second = ArrayWriter.create(tmp_path / "a.zarr", "x", (4,), "i4", 2, overwrite=True)
    second.write(0, np.full(4, 7, np.int32))
    assert second.finish()[:].tolist() == [7] * 4
    with pytest.raises(store.StaleReaderError):
        reader[:]
    zarr.create_array(tmp_path / "a.zarr", name="other", shape=(3,), dtype="f4")
    with pytest.raises(store.ExistsError, match="not written by daskkernels"):
        ArrayWriter.create(tmp_path / "a.zarr", "other", (4,), "i4", 2, overwrite=True)


@pytest.mark.parametrize("name", ["", "/", "../x", "a//b", "a/"])
def test_bad_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        ArrayWriter.create(tmp_path / "a.zarr", name, (4,), "i4", 2)


def test_bad_requests(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="complex"):
        ArrayWriter.create(tmp_path / "a.zarr", "a", (4,), complex, 2)
    with pytest.raises(store.ShapeError, match=r"\(4, 0\)"):
        ArrayWriter.create(tmp_path / "a.zarr", "a", (4, 0), "f4", 2)
    with pytest.raises(ValueError, match="chunk_rows"):
        ArrayWriter.create(tmp_path / "a.zarr", "a", (4,), "f4", 0)
    with pytest.raises(ValueError, match="chunk_rows"):
        ArrayWriter.create(tmp_path / "a.zarr", "a", (4,), "f4", 10**30)
    with pytest.raises(store.NotADatasetError, match="nothing"):
        store.open_array(tmp_path / "a.zarr", "nothing")
    zarr.create_array(tmp_path / "b.zarr", name="x", shape=(3,), dtype="f4")
    with pytest.raises(store.NotADatasetError, match=r"zarr\.open_array"):
        store.open_array(tmp_path / "b.zarr", "x")


def test_existing_paths_are_safe(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    zarr.create_group(tmp_path / "group")
    for name in ("file", "folder", "group"):
        for overwrite in (False, True):
            with pytest.raises(store.ExistsError, match=name):
                store.write_dataset(tmp_path / name, ROWS, overwrite=overwrite)
    assert (tmp_path / "file").read_text() == (tmp_path / "folder/thesis.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert store.write_dataset(tmp_path / "empty", ROWS).n_rows == 1000
    with pytest.raises(store.ExistsError, match="overwrite=True"):
        store.write_dataset(tmp_path / "empty", ROWS)


@pytest.mark.parametrize("base", ["local", "memory://inside"])
def test_nothing_is_written_inside_a_dataset(tmp_path: Path, base: str) -> None:
    top = str(tmp_path) if base == "local" else base
    store.write_dataset(f"{top}/d.zarr", ROWS, np.arange(1000) % 2, overwrite=True)
    for inner in ("y", "y2", "X/inner", "X/c/0", "a/b/c"):
        for overwrite in (False, True):
            with pytest.raises(store.ExistsError, match=rf"d\.zarr/{inner} lies inside .*d\.zarr"):
                store.write_dataset(f"{top}/d.zarr/{inner}", ROWS, overwrite=overwrite)
            with pytest.raises(store.ExistsError, match=rf"d\.zarr/{inner} lies inside .*d\.zarr"):
                ArrayWriter.create(f"{top}/d.zarr/{inner}", "z", (4,), "f4", 2, overwrite=overwrite)
    with pytest.raises(store.ExistsError, match=r"X/inner lies inside .*d\.zarr/X:"):
        ArrayWriter.create(f"{top}/d.zarr", "X/inner", (4,), "f4", 2)
    ArrayWriter.create(f"{top}/d.zarr", "z", (4,), "f4", 2, overwrite=True)  # a member of its own
    np.testing.assert_array_equal(store.open_dataset(f"{top}/d.zarr", verify=True).features[:], ROWS)


def test_links(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    store.write_dataset(tmp_path / "disk/d.zarr", ROWS)
    link = tmp_path / "link.zarr"
    link.symlink_to("disk/d.zarr")
    with pytest.raises(store.ExistsError, match="overwrite=True"):
        store.write_dataset(link, ROWS)
    with pytest.raises(store.ExistsError, match="lies inside"):
        store.write_dataset(link / "y2", ROWS)
    before = store.open_dataset(link)
    np.testing.assert_array_equal(store.write_dataset(link, ROWS * 2, overwrite=True).features[:], ROWS * 2)
    with pytest.raises(store.StaleReaderError):
        before.features[:]
    assert link.is_symlink()
    np.testing.assert_array_equal(store.open_dataset(tmp_path / "disk/d.zarr").features[:], ROWS * 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["disk", "link.zarr"]
    assert [file.name for file in (tmp_path / "disk").iterdir()] == ["d.zarr"]
    (tmp_path / "dead.zarr").symlink_to("nowhere")
    with pytest.raises(store.ExistsError, match="dead"):
        store.write_dataset(tmp_path / "dead.zarr", ROWS, overwrite=True)


def test_failed_overwrite_keeps_the_old_dataset(tmp_path: Path) -> None:
    store.write_dataset(tmp_path / "d.zarr", ROWS)
    with pytest.raises(store.ShapeError):
        store.write_dataset(tmp_path / "d.zarr", iter([ROWS, ROWS[:, :1]]), overwrite=True)
    np.testing.assert_array_equal(store.open_dataset(tmp_path / "d.zarr", verify=True).features[:], ROWS)
    assert [file.name for file in tmp_path.iterdir()] == ["d.zarr"]


def test_a_dataset_can_replace_itself(tmp_path: Path) -> None:
    data = store.write_dataset(tmp_path / "d.zarr", ROWS, chunk_rows=100)
    again = store.write_dataset(tmp_path / "d.zarr", data.X * 2, chunk_rows=300, overwrite=True)
    np.testing.assert_array_equal(again.features[:], ROWS * 2)
    assert [file.name for file in tmp_path.iterdir()] == ["d.zarr"]
