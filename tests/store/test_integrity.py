"""Damage of every kind is an error of its own name that says which file, never a wrong number."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from daskkernels import store

X = np.random.default_rng(0).normal(size=(1003, 4)).astype(np.float32)
Y = np.arange(1003) % 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store.write_dataset(tmp_path / "d.zarr", X, Y, chunk_rows=100)
    return tmp_path / "d.zarr"


def edit(file: Path, change: Any) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document, indent=2))


def ours(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["attributes"]["daskkernels"]
    return found


@pytest.mark.parametrize("chunk", ["X/c/0/0", "X/c/7/0", "X/c/10/0", "y/c/0"])
def test_missing_chunk(path: Path, chunk: str) -> None:
    reader = store.open_array(path, chunk[0])
    (path / chunk).unlink()
    with pytest.raises(store.MissingChunkError, match=chunk):
        store.open_dataset(path)
    with pytest.raises(store.MissingChunkError, match=chunk):  # also when it goes away later
        reader[:]
    with pytest.warns(store.MissingChunkWarning, match=f"1 of .*{chunk}"):
        data = store.open_dataset(path, allow_missing=True)
    lost = data.features[:] if chunk[0] == "X" else data.targets[:]  # type: ignore[index]
    whole = X if chunk[0] == "X" else Y
    assert np.all((lost == whole) | (lost == 0))


@pytest.mark.parametrize("offset", [0, 3, 40, -5, -1])
def test_flipped_byte(path: Path, offset: int) -> None:
    file = path / "X/c/3/0"
    raw = bytearray(file.read_bytes())
    raw[offset] ^= 1
    file.write_bytes(raw)
    data = store.open_dataset(path)
    np.testing.assert_array_equal(data.features[:300], X[:300])
    for call in (lambda: data.features[310:311], lambda: data.X.compute(scheduler="sync")):
        with pytest.raises(store.BlockReadError, match=r"array 'X' of .*d\.zarr.*X/c/3/0"):
            call()
    with pytest.raises(store.BlockReadError, match="X/c/3/0"):
        store.open_dataset(path, verify=True)


@pytest.mark.parametrize("size", [0, 1, 4, 5, 30])
def test_truncated_chunk(path: Path, size: int) -> None:
    file = path / "y/c/0"
    file.write_bytes(file.read_bytes()[:size])
    with pytest.raises(store.BlockReadError, match=r"array 'y'.*y/c/0 is damaged"):
        store.open_dataset(path, verify=True)


def test_chunk_of_another_array(path: Path, tmp_path: Path) -> None:
    store.write_dataset(tmp_path / "other.zarr", X[:, :3], chunk_rows=100)
    shutil.copy(tmp_path / "other.zarr/X/c/1/0", path / "X/c/1/0")
    with pytest.raises(store.BlockReadError, match=r"X/c/1/0.*another array"):
        store.open_dataset(path).features[:]


def test_exchanged_chunks_are_found_by_verify(path: Path) -> None:
    shutil.copy(path / "X/c/1/0", path / "X/c/2/0")
    with pytest.raises(store.DigestError, match="exchanged"):
        store.open_dataset(path, verify=True)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("zarr.json", lambda doc: ours(doc).update(n_rows=1002)),
        ("zarr.json", lambda doc: ours(doc).update(classes=[0, 1])),
        ("zarr.json", lambda doc: ours(doc).update(feature_names=list("abcd"))),
        ("zarr.json", lambda doc: ours(doc).pop("digest")),
        ("zarr.json", lambda doc: ours(doc).update(digest="0" * 64)),
        ("X/zarr.json", lambda doc: doc.update(shape=[1002, 4])),
        ("X/zarr.json", lambda doc: doc.update(data_type="int32")),
        ("X/zarr.json", lambda doc: doc.update(fill_value=1.0)),
        ("y/zarr.json", lambda doc: ours(doc).update(content="")),
    ],
)
def test_altered_json(path: Path, file: str, change: Any) -> None:
    edit(path / file, change)
    with pytest.raises(store.DigestError, match=file):
        store.open_dataset(path)


def test_reader_of_an_array_that_was_replaced(path: Path) -> None:
    data = store.open_dataset(path)
    data.features[:5]
    again = store.write_dataset(path, X + 1, Y, chunk_rows=100, overwrite=True)
    with pytest.raises(store.StaleReaderError, match="replaced"):
        data.features[:5]
    np.testing.assert_array_equal(again.features[:5], X[:5] + 1)
    assert again.X.name != data.X.name


def test_removed_or_added_array(path: Path) -> None:
    shutil.rmtree(path / "y")
    with pytest.raises(store.DigestError, match=r"zarr\.json"):
        store.open_dataset(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00\x01", '"text"'])
@pytest.mark.parametrize("file", ["zarr.json", "X/zarr.json"])
def test_garbage_metadata(path: Path, text: str, file: str) -> None:
    (path / file).write_text(text)
    with pytest.raises(store.StoreError, match=file):
        store.open_dataset(path)


def test_other_formats(path: Path, tmp_path: Path) -> None:
    edit(path / "zarr.json", lambda doc: ours(doc).update(format=2))
    with pytest.raises(store.FormatError, match="format 2"):
        store.open_dataset(path)
    for name, match in (("nothing", "no such file"), ("", "no zarr.json")):
        with pytest.raises(store.NotADatasetError, match=match):
            store.open_dataset(tmp_path / name)
    zarr.create_group(tmp_path / "group.zarr")
    zarr.create_array(tmp_path / "array.zarr", shape=(3,), dtype="f4")
    for name in ("group.zarr", "array.zarr"):
        with pytest.raises(store.NotADatasetError, match=name):
            store.open_dataset(tmp_path / name)


def test_incomplete(path: Path) -> None:
    edit(path / "zarr.json", lambda doc: ours(doc).update(complete=False))
    with pytest.raises(store.IncompleteWriteError, match=r"d\.zarr"):
        store.open_dataset(path)
    with pytest.raises(store.ExistsError, match="overwrite=True"):
        store.write_dataset(path, X)
    assert store.write_dataset(path, X, overwrite=True).n_rows == 1003


def test_consolidated_metadata_is_not_trusted(path: Path) -> None:
    with pytest.warns(UserWarning, match="onsolidated"):
        zarr.consolidate_metadata(path)
    edit(path / "zarr.json", lambda doc: doc["consolidated_metadata"]["metadata"]["X"].update(shape=[5, 4]))
    data = store.open_dataset(path, verify=True)
    assert data.n_rows == 1003
    edit(path / "zarr.json", lambda doc: doc.update(consolidated_metadata="garbage"))
    np.testing.assert_array_equal(store.open_dataset(path).features[:], X)


def test_read_only_store(path: Path) -> None:
    files = [path, *path.rglob("*")]
    for file in files:
        file.chmod(stat.S_IREAD | (stat.S_IEXEC if file.is_dir() else 0))
    try:
        data = store.open_dataset(path, verify=True)
        np.testing.assert_array_equal(data.X.compute(scheduler="sync"), X)
    finally:
        for file in files:
            file.chmod(0o755)


KILLED = """
import sys, time
import numpy as np
from daskkernels import store

def blocks():
    for i in range(100):
        yield np.full((100, 4), i, np.float32)
        if i == 50:
            print("half", flush=True)
            time.sleep(60)

store.write_dataset(sys.argv[1], blocks(), chunk_rows=10, overwrite=len(sys.argv) > 2)
"""


def kill_in_the_middle(path: Path, *more: str) -> None:
    command = [sys.executable, "-c", KILLED, str(path), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(store.__file__).parents[2]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        time.sleep(0.05)
        process.kill()


def test_killed_write(tmp_path: Path) -> None:
    kill_in_the_middle(tmp_path / "d.zarr")
    with pytest.raises(store.IncompleteWriteError, match=r"d\.zarr"):
        store.open_dataset(tmp_path / "d.zarr")


def test_killed_overwrite_keeps_the_old_dataset(path: Path) -> None:
    kill_in_the_middle(path, "overwrite")
    np.testing.assert_array_equal(store.open_dataset(path, verify=True).features[:], X)
