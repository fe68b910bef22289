"""Readers of raw files: exact round trips in any block length, and an error that names what is wrong."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.readers import ReaderError, open_table

X = np.arange(60, dtype="<i2").reshape(20, 3)
Y = np.array(list("abcde" * 4))


def collect(path: Path, rows: int, **names: str | None) -> tuple[np.ndarray, np.ndarray | None]:
    blocks = list(open_table(path, **names).blocks(rows))
    assert all(len(X_b) == rows for X_b, _ in blocks[:-1])
    labels = None if blocks[0][1] is None else np.concatenate([y_b for _, y_b in blocks])
    return np.concatenate([X_b for X_b, _ in blocks]), labels


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("raw")
    np.savez_compressed(folder / "packed.npz", X=X, y=Y)
    np.savez(folder / "plain.npz", X=X, y=Y)
    np.savez_compressed(folder / "columns.npz", X=np.asfortranarray(X), y=Y)
    np.save(folder / "rows.npy", X)
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["packed.npz", "plain.npz", "columns.npz"])
@given(rows=st.integers(1, 25))
def test_npz_comes_back_exactly(files: dict[str, Path], name: str, rows: int) -> None:
    features, labels = collect(files[name], rows)
    assert features.dtype == X.dtype
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(labels, Y)


@pytest.mark.parametrize("name", ["rows.npy", "fortran.npy"])
@given(rows=st.integers(1, 25))
def test_npy_comes_back_exactly(files: dict[str, Path], name: str, rows: int) -> None:
    features, labels = collect(files[name], rows)
    assert features.flags.c_contiguous
    assert labels is None
    np.testing.assert_array_equal(features, X)


def test_facts_are_known_before_reading(files: dict[str, Path]) -> None:
    table = open_table(files["packed.npz"])
    assert (table.n_rows, table.n_features, table.dtype) == (20, 3, np.dtype("<i2"))


def test_labels_can_be_left_out(files: dict[str, Path]) -> None:
    assert collect(files["packed.npz"], 7, y=None)[1] is None


def test_a_packed_array_streams(tmp_path: Path) -> None:
    """The array is many times larger than what is held at any moment."""
    path = tmp_path / "large.npz"
    np.savez_compressed(path, X=np.zeros((1 << 16, 64), "f4"))
    tracemalloc.start()
    total = sum(len(X_b) for X_b, _ in open_table(path, y=None).blocks(1 << 10))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 1 << 16
    assert peak < 1 << 21  # the array is 1 << 24


def flipped(path: Path, target: Path) -> Path:
    """A copy with one byte changed in the middle of the first member's data."""
    with zipfile.ZipFile(path) as archive:
        start = archive.infolist()[0].header_offset + 30 + len("X.npy") + 200
    data = bytearray(path.read_bytes())
    data[start] ^= 0xFF
    target.write_bytes(data)
    return target


def test_a_flipped_byte_is_found(files: dict[str, Path], tmp_path: Path) -> None:
    path = flipped(files["plain.npz"], tmp_path / "flipped.npz")
    with pytest.raises(ReaderError, match=r"flipped\.npz: .*CRC-32.*X"):
        collect(path, 7)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.npz", None, "no such file"),
        ("table.xyz", b"", r"no reader for '\.xyz'; known: \.npy, \.npz"),
        ("text.npz", b"not an archive", "not a readable .npz file"),
        ("text.npy", b"not an array", "not a readable .npy file"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReaderError, match=message) as caught:
        open_table(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": X}, "no array 'X'; it holds: Z"),
        ({"X": X}, "no array 'y'; it holds: X"),
        ({"X": Y, "y": Y}, r"'X' has shape \(20,\), wanted \(n, d\)"),
        ({"X": X, "y": Y[:19]}, r"'X' has 20 rows, 'y' has shape \(19,\)"),
        ({"X": X.astype(object), "y": Y}, "'X' holds Python objects"),
    ],
)
def test_arrays_that_are_not_a_table(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ReaderError, match=message):
        open_table(tmp_path / "odd.npz")


def test_a_truncated_member_is_found(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    whole = (tmp_path / "X.npy").read_bytes()
    with zipfile.ZipFile(tmp_path / "short.npz", "w") as archive:
        archive.writestr("X.npy", whole[:-10])
    with pytest.raises(ReaderError, match="'X' is damaged"):
        collect(tmp_path / "short.npz", 6, y=None)
    with zipfile.ZipFile(tmp_path / "long.npz", "w") as archive:
        archive.writestr("X.npy", whole + b"1")
    with pytest.raises(ReaderError, match="longer than its header says"):
        collect(tmp_path / "long.npz", 6, y=None)
