"""Stores from strangers: links, pipes, huge claims and odd metadata are refused by name, before they cost."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest

import daskkernels as dk
from daskkernels import store
from tests.fuzz.signing import sign

X = np.random.default_rng(0).normal(size=(300, 4)).astype("f4")
Y = np.arange(300) % 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store.write_dataset(tmp_path / "d.zarr", X, Y, chunk_rows=100)
    return tmp_path / "d.zarr"


def edit(path: Path, file: str, change: Any) -> None:
    """Change a document, and make the store consistent again."""
    document = json.loads((path / file).read_text())
    change(document)
    (path / file).write_text(json.dumps(document))
    sign(path)


def ours(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["attributes"]["daskkernels"]
    return found


@pytest.mark.parametrize("key", ["X/c/1/0", "X/c/1", "X/c", "X", "X/zarr.json", "zarr.json", "y/c/0"])
def test_links_are_not_followed(path: Path, tmp_path: Path, key: str) -> None:
    shutil.move(path / key, tmp_path / "elsewhere")
    (path / key).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(store.StoreError, match="link inside a dataset is not followed"):
        store.open_dataset(path, verify=True)


def test_the_dataset_itself_may_be_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link.zarr").symlink_to(path)
    np.testing.assert_array_equal(store.open_dataset(tmp_path / "link.zarr", verify=True).features[:], X)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("key", ["X/c/1/0", "X/zarr.json", "zarr.json"])
def test_pipes_and_folders_are_not_files(path: Path, key: str) -> None:
    (path / key).unlink()
    os.mkfifo(path / key)
    with pytest.raises(store.StoreError, match=key):
        store.open_dataset(path)
    (path / key).unlink()
    (path / key).mkdir()
    with pytest.raises(store.StoreError, match=key):
        store.open_dataset(path)


@pytest.mark.parametrize("key", ["X/c/1/0", "X/zarr.json", "zarr.json"])
def test_endless_files_are_not_read(path: Path, key: str) -> None:
    os.truncate(path / key, 10**12)
    with pytest.raises(store.StoreError, match=r"1000000000000 bytes, where at most"):
        store.open_dataset(path, verify=True)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("rows", [100, 10**15, 1])
@pytest.mark.parametrize("allow_missing", [False, True])
def test_a_huge_shape_takes_no_memory(path: Path, rows: int, allow_missing: bool) -> None:
    def change(document: dict[str, Any]) -> None:
        document["shape"][0] = 10**15
        document["chunk_grid"]["configuration"]["chunk_shape"][0] = rows

    edit(path, "X/zarr.json", change)
    edit(path, "zarr.json", lambda doc: ours(doc).update(n_rows=10**15))
    with pytest.raises(store.StoreError):
        store.open_dataset(path, verify=True, allow_missing=allow_missing)
    reader = store.open_array(path, "X")
    with pytest.raises(store.BlockReadError):
        reader[:] if rows > 100 else reader[: 3 * rows + 1]


def test_a_frame_that_claims_more_than_there_is(path: Path) -> None:
    body = b"\x28\xb5\x2f\xfd\xe0" + (2**62).to_bytes(8, "little") + b"\0" * 9
    (path / "X/c/1/0").write_bytes(body + google_crc32c.value(body).to_bytes(4, "little"))
    with pytest.raises(store.BlockReadError, match=r"holds 4611686018427387904 bytes instead of 1600"):
        store.open_dataset(path).features[:]


LAYOUTS: dict[str, Any] = {
    "endian": lambda doc: doc["codecs"][0]["configuration"].update(endian="big"),
    "fill_value": lambda doc: doc.update(fill_value=7.0),
    "fill_value 0": lambda doc: doc.update(fill_value="0x00000000"),
    "numbers are wanted": lambda doc: doc.update(data_type="numcodecs.pickle"),
    "numbers": lambda doc: doc.update(data_type={"name": "numpy.datetime64"}),
    "codecs|row chunks": lambda doc: doc.update(codecs=[{"name": "numcodecs.pickle"}]),
    "row chunks": lambda doc: doc.update(codecs=5),
    "row chunks with bytes": lambda doc: doc.update(codecs=["bytes", "zstd", "crc32c"]),
    "row chunks with": lambda doc: doc.update(storage_transformers=[{"name": "x"}]),
    "chunk files": lambda doc: doc["chunk_key_encoding"]["configuration"].update(separator="."),
    "chunks of rows": lambda doc: doc["chunk_grid"]["configuration"].update(chunk_shape=[100, 2]),
    "chunk_grid": lambda doc: doc.update(chunk_grid=[1, 2]),
    "chunk_shape": lambda doc: doc.update(chunk_grid={"name": "regular"}),
    "shape must be": lambda doc: doc.update(shape="300,4"),
    "shape": lambda doc: doc.update(shape=[300, True]),
    "shape is not": lambda doc: doc.update(shape=[-1, 4]),
    "Zarr format 3": lambda doc: doc.update(zarr_format=2),
}


@pytest.mark.parametrize("match", LAYOUTS)
def test_layouts_that_are_not_ours(path: Path, match: str) -> None:
    edit(path, "X/zarr.json", LAYOUTS[match])
    with pytest.raises(store.StoreError, match=match):
        store.open_dataset(path)


ATTRIBUTES: list[dict[str, Any]] = [
    {"n_rows": "300"},
    {"n_rows": 300.0},
    {"n_features": float("inf")},
    {"classes": 5},
    {"classes": "abc"},
    {"classes": [["a"], ["b"], ["c"]]},
    {"classes": [10**30, 1, 2]},
    {"classes": ["a", "a", "b"]},
    {"feature_names": 4},
    {"feature_names": "abcd"},
    {"feature_shape": 4},
    {"feature_shape": [2.5, 2]},
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
def test_attributes_of_the_wrong_type(path: Path, attribute: dict[str, Any]) -> None:
    edit(path, "zarr.json", lambda doc: ours(doc).update(attribute))
    with pytest.raises(store.MetadataError, match="wrong type"):
        store.open_dataset(path)


def test_codes_without_a_class_are_found_by_verify(path: Path) -> None:
    edit(path, "zarr.json", lambda doc: ours(doc).update(classes=["a", "b"]))
    store.open_dataset(path)
    with pytest.raises(store.BlockReadError, match=r"row 2 is 2, wanted the code of one of 2 classes"):
        store.open_dataset(path, verify=True)


def test_files_of_zarr_2_beside_ours_change_nothing(path: Path) -> None:
    for name in (".zarray", ".zattrs", ".zgroup", "X/.zarray", "X/.zattrs", "X/c/copy"):
        (path / name).write_text("{}")
    np.testing.assert_array_equal(store.open_dataset(path, verify=True).features[:], X)


@pytest.mark.parametrize(
    "bad", ["~nobody-of-that-name/x", "nonsense://x", "a\0b", "x" * 5000, "s3x::file://a"]
)
def test_paths_that_cannot_be(bad: str) -> None:
    for call in (dk.open_dataset, dk.load):
        with pytest.raises(store.NotADatasetError):
            call(bad)


def test_an_unfinished_record_that_makes_no_sense(tmp_path: Path) -> None:
    path = tmp_path / "d.zarr"

    def broken(start: int = 0) -> Any:
        yield X[start : start + 100]
        raise RuntimeError("cut")

    with pytest.raises(RuntimeError, match="cut"):
        store.write_dataset(path, broken, chunk_rows=10, resume="x")
    edit(path, "zarr.json", lambda doc: ours(doc)["unfinished"].update(rows="many"))
    with pytest.raises(store.ExistsError, match="overwrite=True"):
        store.write_dataset(path, broken, chunk_rows=10, resume="x")
