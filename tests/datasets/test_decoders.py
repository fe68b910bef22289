"""Decoders: original files, written here from known arrays, come back as these arrays, from any row on."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import daskkernels as dk
from datasets import decoders, registry
from datasets.build import build
from datasets.fetch import file_digest
from datasets.named.mushrooms import ATTRIBUTES
from datasets.readers import ReaderError, Table

Arrays = dict[str, np.ndarray]
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (7, 32, 32, 3), dtype=np.uint8)
LABELS = RNG.integers(0, 10, 7, dtype=np.uint8)


def collect(table: Table, rows: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    blocks = list(table.blocks(rows, start))
    assert all(len(X) == rows for X, _ in blocks[:-1])
    return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks if y is not None])


def cifar_archive(path: Path, cut: int = 0) -> Path:
    """An archive with seven images in two members, the second one first; `cut` bytes lack at its end."""
    records = np.c_[LABELS, IMAGES.transpose(0, 3, 1, 2).reshape(7, -1)].astype(np.uint8)
    with tarfile.open(path, "w:gz") as archive:
        for name, part in (("b.bin", records[4:]), ("a.bin", records[:4])):
            data = part.tobytes()[: part.nbytes - cut]
            member = tarfile.TarInfo(f"x/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


@given(rows=st.integers(1, 9), start=st.integers(0, 6))
def test_cifar10(tmp_path: Path, rows: int, start: int) -> None:
    path = cifar_archive(tmp_path / "c.tar.gz")
    table = decoders.cifar10("x/a.bin", "x/b.bin")(path)
    X, y = collect(table, rows, start)
    np.testing.assert_array_equal(X.reshape(-1, *table.feature_shape), IMAGES[start:])
    np.testing.assert_array_equal(y, LABELS[start:])
    assert table.n_features == 3072


def test_grey_is_the_luminance_of_pillow(tmp_path: Path) -> None:
    path = cifar_archive(tmp_path / "c.tar.gz")
    table = decoders.cifar10("x/a.bin", "x/b.bin", grey=True)(path)
    expected = np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in IMAGES])
    np.testing.assert_array_equal(collect(table, 3)[0].reshape(-1, *table.feature_shape), expected)
    cube = np.stack(np.meshgrid(*3 * [np.arange(0, 256, 3, np.uint8)]), axis=-1).reshape(-1, 1, 3)
    expected = np.asarray(Image.fromarray(np.ascontiguousarray(cube)).convert("L"))
    np.testing.assert_array_equal(decoders.luminance(cube.transpose(1, 2, 0))[0], expected[:, 0])


def test_grey_photographs_are_these(shared_data: Callable[[str], Arrays]) -> None:
    """Pixels of the first two photographs as printed everywhere, beside a grey copy made by somebody else."""
    grey = shared_data("cifar10_gray6k")["X"].reshape(-1, 32, 32)
    ends = [0, 1, 2, -3, -2, -1]
    first = [(59, 62, 63), (43, 46, 45), (50, 48, 43), (158, 132, 108), (152, 125, 102), (148, 124, 103)]
    third = [(25, 24, 21), (16, 7, 0), (49, 27, 8), (118, 84, 50), (120, 84, 50), (109, 73, 42)]
    second = [(154, 177, 187), (126, 137, 136), (105, 104, 95)]
    for colours, pixels in ((first, grey[0, 0, ends]), (third, grey[0, 2, ends]), (second, grey[1, 0, :3])):
        planes = np.array(colours, np.uint8).T[None]
        np.testing.assert_array_equal(decoders.luminance(planes)[0], pixels)


def test_images_of_a_matlab_file(tmp_path: Path) -> None:
    """As SVHN has them: images along the last axis, labels in a column."""
    scipy.io.savemat(
        tmp_path / "t.mat", {"X": IMAGES.transpose(1, 2, 3, 0), "y": LABELS[:, None]}, do_compression=True
    )
    X, y = collect(decoders.mat(tmp_path / "t.mat"), 3)
    np.testing.assert_array_equal(X.reshape(IMAGES.shape), IMAGES)
    np.testing.assert_array_equal(y, LABELS)


@pytest.mark.parametrize(
    ("member", "cut", "message"),
    [("x/c.bin", 0, "no file 'x/c.bin' in this archive"), ("x/a.bin", 1, "whole image of 3073 bytes")],
)
def test_a_wrong_archive_is_named(tmp_path: Path, member: str, cut: int, message: str) -> None:
    path = cifar_archive(tmp_path / "odd.tar.gz", cut)
    with pytest.raises(ReaderError, match=message) as caught:
        collect(decoders.cifar10(member)(path), 3)
    assert "odd.tar.gz" in str(caught.value)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = cifar_archive(tmp_path / "odd.tar.gz")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(ReaderError, match=r"odd\.tar\.gz: not a readable archive"):
        collect(decoders.cifar10("x/a.bin")(path), 3)


@given(start=st.integers(0, 12), length=st.integers(1, 12), rows=st.integers(1, 7), first=st.integers(0, 3))
def test_rows_of_a_text_file(tmp_path: Path, start: int, length: int, rows: int, first: int) -> None:
    X, y = np.arange(72).reshape(24, 3), np.arange(24) % 3
    path = tmp_path / "t.data"
    np.savetxt(path, np.c_[y, X], "%d", delimiter=",")
    table = decoders.csv(label=0, start=start, stop=start + length)(path)
    assert table.n_rows == length
    first = min(first, length - 1)
    found = collect(table, rows, first)
    np.testing.assert_array_equal(found[0], X[start + first : start + length])
    np.testing.assert_array_equal(found[1], y[start + first : start + length])


def test_letters_become_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.data"
    path.write_text("p,x,b\ne,y,a\n")
    table = decoders.letters("ep", (("one", "xyz"), ("two", "ab")))(path)
    X, y = collect(table, 1)
    assert X.tolist() == [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0]]
    assert y.tolist() == [1, 0]
    with pytest.raises(ReaderError, match=r"a\.data: 3 columns, wanted 2"):
        decoders.letters("ep", (("one", "xyz"),))(path)
    path.write_text("p,x\ne\n")
    with pytest.raises(ReaderError, match=r"a\.data: not a table of letters"):
        decoders.letters("ep", (("one", "xyz"),))(path)


def text_of(X: np.ndarray, y: np.ndarray, delimiter: str, first: bool) -> str:
    """The rows as UCI writes them, the label at one end."""
    rows = np.c_[y.astype(str), X.astype(str)] if first else np.c_[X.astype(str), y.astype(str)]
    return "".join(delimiter.join(row) + "\n" for row in rows)


def mushroom_text(data: Arrays) -> str:
    """The published file, but for stalk-root, which the columns do not hold."""
    columns, at = [np.array(list("ep"))[data["y"]]], 0
    for _, known in ATTRIBUTES:
        hot = data["X"][:, at : at + len(known)]
        columns.append(np.array(list(known))[hot.argmax(1)] if known else np.full(len(hot), "?"))
        at += len(known)
    return "".join(",".join(row) + "\n" for row in np.stack(columns, axis=1))


def write_originals(name: str, data: Arrays, folder: Path) -> None:
    """The original files of a data set."""
    if name == "letter":
        X, y = (np.concatenate([data[key], data[f"{key}_test"]]) for key in "Xy")
        names = np.array(registry.spec(name).classes)[y]
        (folder / "letter-recognition.data").write_text(text_of(X, names, ",", first=True))
    elif name == "satimage":
        (folder / "sat.trn").write_text(text_of(data["X"], data["y"], " ", first=False))
        (folder / "sat.tst").write_text(text_of(data["X_test"], data["y_test"], " ", first=False))
    elif name == "mushrooms":
        (folder / "agaricus-lepiota.data").write_text(mushroom_text(data))
    else:
        for array, kind in (("X", "images-idx3"), ("y", "labels-idx1")):
            packed = gzip.compress(idx_content(data[f"{array}_test"]), compresslevel=1)
            (folder / f"t10k-{kind}-ubyte.gz").write_bytes(packed)


def idx_content(values: np.ndarray) -> bytes:
    """Bytes or images of bytes as an IDX file."""
    shape = (len(values), 28, 28) if values.ndim == 2 else values.shape
    return struct.pack(f">{1 + len(shape)}i", 2048 + len(shape), *shape) + values.tobytes()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("letter", ("train", "test")),
        ("satimage", ("train", "test")),
        ("mushrooms", ("all",)),
        ("mnist", ("test",)),
    ],
)
def test_the_original_files_hold_the_pinned_numbers(
    tmp_path: Path, shared_data: Callable[[str], Arrays], name: str, parts: tuple[str, ...]
) -> None:
    data = shared_data(name)
    write_originals(name, data, tmp_path)
    spec = registry.spec(name)
    for part in parts:
        built = build(spec, tmp_path / f"{part}.zarr", part=part, raw=tmp_path)
        assert built.classes == spec.classes
        rows = data[spec.part(part).y.member]
        labels = rows if isinstance(spec.classes[0], int) else np.array(spec.classes)[rows]
        np.testing.assert_array_equal(np.asarray(built.classes)[built.y.compute()], labels)
    assert dk.open_dataset(tmp_path / f"{parts[-1]}.zarr").feature_shape == spec.feature_shape


# Checksums of the unpacked files; the published ones in the specification are of the packed files.
MNIST_UNPACKED = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def test_the_pinned_rows_are_the_published_files(
    shared_data: Callable[[str], Arrays], tmp_path: Path
) -> None:
    """What is written here as the original files has their published checksums: all rows, in their order."""
    for name in ("letter", "satimage"):
        write_originals(name, shared_data(name), tmp_path)
        for part in registry.spec(name).parts:
            for file in part.files:
                algorithm, _, published = file.checksum.partition(":")
                assert file_digest(tmp_path / file.name, algorithm) == published
                assert (tmp_path / file.name).stat().st_size == file.size
    data = shared_data("mnist")
    for name, (suffix, array) in zip(MNIST_UNPACKED, product(("", "_test"), "Xy"), strict=True):
        content = idx_content(data[array + suffix])
        assert hashlib.md5(content, usedforsecurity=False).hexdigest() == MNIST_UNPACKED[name]
