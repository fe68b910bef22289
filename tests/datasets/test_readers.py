"""Every reader: exact round trips in any block length from any row, bounded memory, and one door for all."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import fsspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.readers import FORMATS, ReaderError, ReadOptions, Table, arrays, open_table, text
from tests.datasets.raw_files import KINDS, table

N = 23


def collected(found: Table, rows: int, start: int = 0) -> tuple[np.ndarray, np.ndarray | None]:
    blocks = list(found.blocks(rows, start))
    assert all(len(X_b) == rows for X_b, _ in blocks[:-1])
    assert all(y_b is None or len(y_b) == len(X_b) for X_b, y_b in blocks)
    labels = [y_b for _, y_b in blocks if y_b is not None]
    return np.concatenate([X_b for X_b, _ in blocks]), np.concatenate(labels) if labels else None


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@settings(max_examples=8)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    kind = KINDS[name]
    n = data.draw(st.integers(1, N), "n")
    start, rows = data.draw(st.integers(0, n - 1), "start"), data.draw(st.integers(1, N), "rows")
    X, y = table(kind, n, data.draw(st.integers(0, 1000), "seed"))
    path, options = kind.write(tmp_path_factory.mktemp("raw"), X, y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "HELD_BYTES", 1)
        patch.setattr(text, "PIECE_BYTES", data.draw(st.sampled_from([1, 30, 100, 2**20]), "piece"))
        found = open_table(path, options)
        features, labels = collected(found, rows, start)
    assert found.n_rows in (None, n)
    assert (found.n_features, found.dtype) == (np.prod(kind.shape), X.dtype.newbyteorder("="))
    assert features.dtype == found.dtype
    np.testing.assert_array_equal(features, X.reshape(n, -1)[start:])
    assert labels is not None
    assert labels.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(labels, y[start:])
    assert found.feature_shape == (kind.shape if len(kind.shape) > 1 else None)


@pytest.mark.parametrize("name", KINDS)
def test_a_url_is_as_good_as_a_path(tmp_path: Path, name: str) -> None:
    X, y = table(KINDS[name], N, 0)
    path, options = KINDS[name].write(tmp_path, X, y)
    memory = fsspec.filesystem("memory")
    url = f"memory://raw-{name}"
    memory.put(str(tmp_path), f"/raw-{name}", recursive=True)
    try:
        if options.label is not None and str(tmp_path) in str(options.label):
            options = dataclasses.replace(options, label=f"{url}/{Path(str(options.label)).name}")
        features, labels = collected(open_table(f"{url}/{path.name}", options), 6)
    finally:
        memory.rm(f"/raw-{name}", recursive=True)
    np.testing.assert_array_equal(features, X.reshape(N, -1))
    np.testing.assert_array_equal(labels, y)


@pytest.mark.parametrize("name", KINDS)
def test_reading_begins_no_later_than_at_the_end(tmp_path: Path, name: str) -> None:
    path, options = KINDS[name].write(tmp_path, *table(KINDS[name], N, 0))
    found = open_table(path, options)
    assert list(found.blocks(5, N)) == []
    with pytest.raises(ReaderError, match=f"it has {N} rows, but reading is to begin at row {N + 1}"):
        list(found.blocks(5, N + 1))


def test_every_format_is_tested_and_documented() -> None:
    assert {name.partition("-")[0] for name in KINDS} - {"tsv", "blanks"} == set(FORMATS)
    page = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    for name, form in FORMATS.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
        assert all(f"`{ending}`" in row for ending in form.endings)
        assert all(f"`{option}`" in row for option in form.options)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ReadOptions)])
def test_an_option_that_means_nothing_is_refused(tmp_path: Path, field: str) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    options = ReadOptions(**{field: "x"})
    message = {
        "format": "format must be one of npz, npy, csv",
        "dtype": "dtype must name a type of numbers",
        "label_type": "label_type must be one of int, float, string, got 'x'",
        "label": "x: no such file",
    }.get(field, f"{field} .'x'. means nothing to the format npy, which takes: label")
    with pytest.raises(ReaderError, match=message):
        open_table(tmp_path / "a.npy", options)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("none.npz", "none.npz: no such file"),
        ("none", "none: no such file"),
        (
            "table.xyz",
            r"table.xyz: no format has this ending \(.npz, .npy, .csv, .*: name one of npz, npy, csv",
        ),
        ("memory://nowhere/none.csv", "memory://nowhere/none.csv: no such file"),
        ("nowhere://bucket/x.csv", "nowhere://bucket/x.csv: Protocol not known: nowhere"),
        ("empty", "empty: it holds no images"),
        ("packed.npz.gz", "packed.npz.gz: a npz file is read here and there: decompress it first"),
        ("empty.csv", "empty.csv: it has no rows"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, address: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("table.xyz", "packed.npz.gz", "empty.csv"):
        (tmp_path / name).touch()
    with pytest.raises(ReaderError, match=message) as caught:
        open_table(address if "://" in address else tmp_path / address)
    assert "\n" not in str(caught.value)


def test_secrets_in_a_url_are_not_shown() -> None:
    with pytest.raises(ReaderError) as caught:
        open_table("memory://user:secret@host/none.csv?token=secret")
    assert "memory://host/none.csv" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a web server over `tmp_path`, one that cannot jump into a file."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)
    ) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{web.server_port}"
        web.shutdown()
        thread.join()


def test_files_of_a_web_server(tmp_path: Path, server: str) -> None:
    for name in ("csv-gz", "npy", "images-grey"):
        KINDS[name].write(tmp_path, *table(KINDS[name], N, 0))
    options = ReadOptions(label=0)
    found = collected(open_table(f"{server}/t.csv.gz?token=secret", options), 5, 7)
    expected = collected(open_table(tmp_path / "t.csv.gz", options), 5, 7)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    found = collected(open_table(f"{server}/X.npy"), 5, 7)
    np.testing.assert_array_equal(found[0], np.load(tmp_path / "X.npy")[7:])
    with pytest.raises(ReaderError, match=r"/none\.csv: no such file \(File not found\)") as caught:
        open_table(f"{server}/none.csv?token=secret")
    assert "secret" not in str(caught.value)


def test_block_lengths_are_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match="rows must be at least 1"):
        open_table(tmp_path / "a.npy").blocks(0)


TEXT = ("csv-gz", "libsvm")


@pytest.mark.parametrize("name", ["npz", "npz-columns", "npy-packed-columns", "hdf5", "idx-gz", "mat", *TEXT])
def test_memory_is_bounded(tmp_path: Path, name: str) -> None:
    """The table is many times larger than what is held at any moment."""
    kind = dataclasses.replace(KINDS[name], shape=(8, 8) if len(KINDS[name].shape) > 1 else (64,))
    X, y = table(kind, 1, 0)
    size = 2**21 if name in TEXT else 2**24  # a text is longer; other threads count too
    n = size // X[0].nbytes
    path, options = kind.write(tmp_path, np.repeat(X, n, axis=0), np.repeat(y, n))
    if name == "libsvm":  # no first reading, which takes long
        options = ReadOptions(n_features=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "PIECE_BYTES", 2**14)
        patch.setattr(arrays, "HELD_BYTES", 2**17)
        next(open_table(path, options).blocks(1))  # what is loaded once is not counted
        tracemalloc.start()
        try:
            total = sum(len(X_b) for X_b, _ in open_table(path, options).blocks(64))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert total == n
    assert peak < size // (3 if name in TEXT else 12), f"{peak} bytes"


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, options = KINDS["hdf5"].write(tmp_path, *table(KINDS["hdf5"], 3, 0))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ReaderError, match=r'reading HDF5 needs h5py: pip install "daskkernels\[app\]"'):
        open_table(path, options)


def test_a_folder_with_the_ending_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(ReaderError, match=r"t\.csv: no such file"):
        open_table(tmp_path / "t.csv")
