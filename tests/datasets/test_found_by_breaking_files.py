"""Binary files and folders that were once read wrongly without a word, or ended the interpreter."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from datasets.decoders import RECORD, cifar10
from datasets.readers import ReaderError, ReadOptions, files, open_table
from tests.datasets.test_readers import collected


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """An HDF5 file whose datasets are partly in another file."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = np.ones((4, 2))
    layout = h5py.VirtualLayout((4, 2), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "X", shape=(4, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (4, 2), "f8", external=[("raw.bin", 0, h5py.h5f.UNLIMITED)])
        file["link"] = h5py.ExternalLink("other.h5", "/X")
        file["group"] = h5py.ExternalLink("other.h5", "/")
        file["soft"] = h5py.SoftLink("/group/X")
        file["loop"] = h5py.SoftLink("/loop")
        file["deep/own"] = np.arange(8.0).reshape(4, 2)
        file["deep/soft"] = h5py.SoftLink("own")
        file["empty"] = h5py.Empty("f8")
        file["words"] = h5py.Empty(h5py.string_dtype())
        file["long"] = ["x", "y" * 251, "z", "z"]
    return tmp_path / "a.h5"


@pytest.mark.parametrize("place", ["path", "url"])
def test_hdf5_of_several_files(linked: Path, place: str) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(linked), "/linked.h5")
    address = str(linked) if place == "path" else "memory://linked.h5"
    for name, message in {
        "virtual": "the values of dataset 'virtual' are in other files",
        "raw": "the values of dataset 'raw' are in other files",
        "link": "'link' is a link to another file, 'other.h5'",
        "group/X": "'group' is a link to another file",
        "soft": "'group' is a link to another file",
        "loop": "not a readable hdf5 file",
        "empty": r"array 'empty' has shape \(\)",
        "words": "dataset 'words' holds object",
        "none/X": "no dataset 'none/X'",
    }.items():
        with pytest.raises(ReaderError, match=message):
            open_table(address, ReadOptions(features=name))
    X, _ = collected(open_table(address, ReadOptions(features="deep/soft")), 3)
    assert X.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    with pytest.raises(ReaderError, match=r"row 1: label 'yyyy.* has 251 characters"):
        collected(open_table(address, ReadOptions(features="deep/own", label="long")), 3)
    memory.rm("/linked.h5")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((2, 2), np.longdouble), np.zeros(2), "array 'X' holds .*, wanted numbers of at most 8"),
        (np.zeros((2, 2), "c8"), np.zeros(2), "array 'X' holds complex64"),
        (np.zeros((2, 2)), np.zeros(2, np.longdouble), "array 'y' holds .*, wanted numbers of at most 8"),
        (np.zeros((2, 2)), np.zeros(2, "c16"), "array 'y' holds complex128"),
        (np.zeros((2, 2)), np.zeros(2, "M8[s]"), "array 'y' holds datetime64"),
        (np.zeros((2, 2)), np.zeros(2, "V4"), "array 'y' holds .V4"),
        (np.zeros((2, 2)), np.zeros(2, "U251"), "array 'y' holds <U251, .* at most 250 characters"),
    ],
)  # fmt: skip
def test_types_that_are_not_stored(tmp_path: Path, X: np.ndarray, y: np.ndarray, message: str) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=y)
    with pytest.raises(ReaderError, match=message):
        open_table(tmp_path / "a.npz", ReadOptions(label="y"))


def test_an_array_by_columns_longer_than_its_header(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.asfortranarray(np.ones((5, 2))))
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", file.getvalue() + bytes(8))
    with pytest.raises(ReaderError, match="array 'X' is longer than its header says"):
        collected(open_table(tmp_path / "a.npz"), 3)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("cut", [1, 5])
def test_a_matlab_file_without_its_end(tmp_path: Path, compressed: bool, cut: int) -> None:
    content = {"X": np.ones((5, 3)), "y": np.arange(5.0)}
    scipy.io.savemat(tmp_path / "a.mat", content, do_compression=compressed)
    assert open_table(tmp_path / "a.mat").n_rows == 5
    (tmp_path / "a.mat").write_bytes((tmp_path / "a.mat").read_bytes()[:-cut])
    with pytest.raises(ReaderError, match="the file ends too early"):
        open_table(tmp_path / "a.mat")


def test_cifar_names_the_member_that_is_cut(tmp_path: Path) -> None:
    import tarfile

    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("batch_1.bin")
        member.size = RECORD + 7
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(ReaderError, match=r"c\.tar\.gz: batch_1\.bin does not end with a whole image"):
        list(cifar10("batch_1.bin")(tmp_path / "c.tar.gz").blocks(10))


def png_of_16_bits(path: Path) -> None:
    import struct
    import zlib

    rows = b"".join(b"\0" + bytes(range(6 * 4)) for _ in range(3))
    head = struct.pack(">IIBBBBB", 4, 3, 16, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(d)) + kind + d + struct.pack(">I", zlib.crc32(kind + d)) for kind, d in parts
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("a.png", png_of_16_bits, r"a\.png \(row 0\) has 16 bits a colour, which would be changed to 8 bits"),
        (
            "a.ppm",
            lambda path: path.write_bytes(b"P6 2 1 65535\n" + bytes(12)),
            "has a largest value of 65535",
        ),
        ("a.pgm", lambda path: path.write_bytes(b"P5 2 1 100\n" + bytes(2)), "has a largest value of 100"),
        ("a.pgm", lambda path: path.write_bytes(b"P2 2 1 100\n1 2\n"), "has a largest value of 100"),
        ("a.pgm", lambda path: path.write_bytes(b"P5 2 1 255\n" + bytes(2)), None),
        ("a.pgm", lambda path: path.write_bytes(b"P2 2 1 255\n1 2\n"), None),
    ],
)
def test_images_that_8_bits_do_not_hold(
    tmp_path: Path, name: str, write: Callable[[Path], object], message: str | None
) -> None:
    write(tmp_path / name)
    if message is None:
        assert open_table(tmp_path).n_rows == 1
        return
    with pytest.raises(ReaderError, match=message):
        open_table(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes, one of them a link to a folder elsewhere."""
    for place in ("classes/ant", "elsewhere"):
        (tmp_path / place).mkdir(parents=True)
        Image.new("L", (3, 2)).save(tmp_path / place / "1.png")
    (tmp_path / "classes" / "bee").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "classes"


def test_links_to_folders_are_followed(folder: Path) -> None:
    _, y = collected(open_table(folder), 5)
    assert y is not None
    assert y.tolist() == ["ant", "bee"]
    before = files.identity(str(folder))
    Image.new("L", (3, 2), 7).save(folder.parent / "elsewhere" / "2.png")
    assert files.identity(str(folder)) != before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda top: (top / "bee" / "all").symlink_to(top / "bee"), "bee/all is a link to a folder that it"),
        (lambda top: (top / "cat").symlink_to(top / "none"), "cat is a link to nothing"),
        (lambda top: (top / "ant" / "2.gif").touch(), r"ant/2\.gif is of a kind that is not read"),
        (lambda top: ((top / "cat").mkdir(), (top / "cat" / "1.raw").touch()), "folder cat holds files, but"),
    ],
)  # fmt: skip
def test_nothing_is_left_out_in_silence(folder: Path, change: Callable[[Path], object], message: str) -> None:
    change(folder)
    with pytest.raises(ReaderError, match=message):
        open_table(folder)
