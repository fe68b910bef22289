"""Readers of binary files: damage named with file and row, arrays that are no table, images not alike."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from datasets.readers import ReaderError, ReadOptions, open_table
from tests.datasets.raw_files import KINDS, table
from tests.datasets.test_readers import collected

X = np.arange(60, dtype="<i2").reshape(20, 3)
Y = np.array(list("abcde" * 4))


def read(path: Path, rows: int = 7, **options: object) -> tuple[np.ndarray, np.ndarray | None]:
    return collected(open_table(path, ReadOptions(**options)), rows)


PLAIN_TEXT = {"csv", "blanks", "libsvm"}  # after a whole line nothing tells that more was there


@pytest.mark.parametrize("name", sorted(KINDS.keys() - PLAIN_TEXT))
@given(kept=st.floats(0.2, 0.99))
def test_a_file_that_was_cut_is_never_a_shorter_table(tmp_path: Path, name: str, kept: float) -> None:
    path, options = KINDS[name].write(tmp_path, *table(KINDS[name], 40, 0))
    file = path if path.is_file() else next(path.glob("*/*.png"))
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * (0.7 if path.is_dir() else 1) * kept)])
    with pytest.raises(ReaderError, match=rf"(?s){path.name}: (?!no such file).") as caught:
        collected(open_table(path, options), 6)
    if path.is_dir():
        assert file.name in str(caught.value)


@pytest.mark.parametrize("name", KINDS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=6)
def test_whatever_is_wrong_is_said_in_one_line(tmp_path: Path, name: str, seed: int) -> None:
    path, options = KINDS[name].write(tmp_path, *table(KINDS[name], 30, 0))
    file = path if path.is_file() else next(path.glob("*/*.png"))
    data, random = np.frombuffer(file.read_bytes(), np.uint8).copy(), np.random.default_rng(seed)
    data[random.integers(0, len(data), 3)] ^= random.integers(0, 256, 3, dtype=np.uint8)
    file.write_bytes(data.tobytes())
    try:
        found = open_table(path, options)
        collected(found, 7)
    except ReaderError as error:
        assert path.name in str(error)  # noqa: PT017 - not every change is an error
        assert "\n" not in str(error)  # noqa: PT017


def flipped(path: Path, target: Path) -> Path:
    """A copy with one byte changed in the middle of the first member's data."""
    with zipfile.ZipFile(path) as archive:
        start = archive.infolist()[0].header_offset + 30 + len("X.npy") + 200
    data = bytearray(path.read_bytes())
    data[start] ^= 0xFF
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("start", [0, 15])
def test_a_flipped_byte_is_found_also_before_the_first_row(tmp_path: Path, start: int) -> None:
    np.savez(tmp_path / "plain.npz", X=X, y=Y)
    path = flipped(tmp_path / "plain.npz", tmp_path / "flipped.npz")
    with pytest.raises(ReaderError, match=r"flipped\.npz: .*CRC-32.*X"):
        collected(open_table(path), 5, start)


def test_a_flipped_byte_in_a_packed_matlab_variable(tmp_path: Path) -> None:
    path, options = KINDS["mat"].write(tmp_path, *table(KINDS["mat"], 40, 0))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ReaderError, match=r"t\.mat: (array 'X' is damaged|not a readable mat file)"):
        collected(open_table(path, options), 5)


def test_a_truncated_member_is_found(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X)
    whole = (tmp_path / "X.npy").read_bytes()
    for name, data in (("short.npz", whole[:-10]), ("long.npz", whole + b"1")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("X.npy", data)
    with pytest.raises(ReaderError, match="'X' is damaged at or after row 18 "):
        read(tmp_path / "short.npz", 6)
    with pytest.raises(ReaderError, match="longer than its header says"):
        read(tmp_path / "long.npz", 6)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": X}, "no array 'X'; it holds: Z"),
        ({"X": X}, "no array 'y'; it holds: X"),
        ({"X": Y, "y": Y}, r"'X' has shape \(20,\), wanted \(n, d\)"),
        ({"X": Y[:, None], "y": Y}, "'X' holds <U1, wanted numbers"),
        ({"X": X, "y": Y[:19]}, r"'X' has 20 rows, 'y' has shape \(19,\)"),
        ({"X": X, "y": X[:, :, None]}, r"'y' has shape \(20, 3, 1\)"),
        ({"X": X, "y": np.float64(3)}, "'y' is a single value"),
        ({"X": X.astype(object), "y": Y}, "'X' holds Python objects"),
    ],
)
def test_arrays_that_are_not_a_table(tmp_path: Path, arrays: dict, message: str) -> None:
    np.savez(tmp_path / "odd.npz", **arrays)
    with pytest.raises(ReaderError, match=rf"odd\.npz: .*{message}"):
        read(tmp_path / "odd.npz", label="y")


@pytest.mark.parametrize("ending", [".npz", ".npy", ".npy.gz", ".parquet", ".h5", ".mat", ".idx", ".csv.xz"])
def test_a_file_of_something_else(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"odd{ending}").write_bytes(b"something else" * 20)
    with pytest.raises(ReaderError, match=rf"odd{ending}: \S"):
        open_table(tmp_path / f"odd{ending}")


@pytest.mark.parametrize("name", ["npy", "npy-columns", "idx"])
def test_a_cut_array_is_found_at_the_door(tmp_path: Path, name: str) -> None:
    path, options = KINDS[name].write(tmp_path, *table(KINDS[name], 40, 0))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ReaderError, match=f"{path.name}: it has .* bytes, but .* values of shape .* make it"):
        open_table(path, options)


@pytest.mark.parametrize("name", ["npy-packed", "idx-gz"])
def test_a_damaged_labels_file_is_the_one_named(tmp_path: Path, name: str) -> None:
    path, options = KINDS[name].write(tmp_path, *table(KINDS[name], 40, 0))
    labels = Path(str(options.label))
    labels.write_bytes(labels.read_bytes()[:-9])
    with pytest.raises(ReaderError, match=rf"{labels.name}: array .* is damaged at or after row "):
        collected(open_table(path, options), 6)
    labels.write_bytes(b"1")
    with pytest.raises(ReaderError, match=f"{labels.name}: "):
        open_table(path, options)


def test_hdf5_says_what_there_is(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["deep/features"] = X
        file["words"] = Y.astype("S1")
        file["odd"] = np.zeros(20, [("a", "i4"), ("b", "f8")])
    with pytest.raises(ReaderError, match=r"a\.h5: no dataset 'X'; it holds: deep/features, odd, words"):
        open_table(tmp_path / "a.h5")
    with pytest.raises(ReaderError, match="no dataset 'deep'"):
        read(tmp_path / "a.h5", features="deep")
    with pytest.raises(ReaderError, match=r"dataset 'odd' holds .* numbers or strings are wanted"):
        read(tmp_path / "a.h5", features="deep/features", label="odd")
    assert read(tmp_path / "a.h5", features="deep/features", label="words")[1].tolist() == Y.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"Z": X}, "no variable 'X'; it holds: Z"),
        ({"X": "text"}, "variable 'X' is not an array of real numbers"),
        ({"X": X * 1j}, "variable 'X' is not an array of real numbers"),
        ({"X": X.astype("f8"), "y": X}, "no variable"),
    ],
)
def test_matlab_says_what_there_is(tmp_path: Path, content: dict, message: str) -> None:
    scipy.io.savemat(tmp_path / "a.mat", content, do_compression=True)
    with pytest.raises(ReaderError, match=rf"a\.mat: {message}"):
        read(tmp_path / "a.mat", features="Q" if "y" in content else None)
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(600))
    with pytest.raises(ReaderError, match=r"new\.mat: .* is an HDF5 file: name the format hdf5"):
        read(tmp_path / "new.mat")


def write_parquet(path: Path, **columns: object) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_columns_of_several_types(tmp_path: Path) -> None:
    path = write_parquet(
        tmp_path / "a.parquet",
        a=pa.array([1, 2**53], pa.int64()),
        b=pa.array([0.5, 1.5], pa.float32()),
        c=pa.array([True, False]),
        k=pa.array(["x", "y"]).dictionary_encode(),
        t=pa.array([0, 1], pa.date32()),
    )
    features, labels = read(path, features="a,b,c", label="k")
    assert features.dtype == np.float64
    assert features.tolist() == [[1, 0.5, 1], [2**53, 1.5, 0]]
    assert labels.tolist() == ["x", "y"]
    assert read(path, features="b,c")[0].dtype == np.float32
    assert read(path, features="0:3")[0].tolist() == features.tolist()
    assert open_table(path, ReadOptions(features="1")).feature_names == ("b",)
    with pytest.raises(
        ReaderError, match=r"column 't' is date32.day., wanted numbers: make it the label, or list"
    ):
        read(path, label="k")
    with pytest.raises(ReaderError, match=r"column 't' is date32"):
        read(path, features="a", label="t")


def test_parquet_values_that_do_not_fit(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", a=[1, 2**53 + 1], b=[0.5, 1.5])
    with pytest.raises(ReaderError, match=r"a\.parquet: row 1: 9007199254740993 is not exactly a float64"):
        read(path)
    path = write_parquet(tmp_path / "b.parquet", a=[1.0, None, 3.0], b=["x", "y", None])
    with pytest.raises(ReaderError, match=r"b\.parquet: row 1, column 'a': the value is missing"):
        read(path, rows=1, features="a")
    path = write_parquet(tmp_path / "b.parquet", a=[1.0, 2.0, 3.0], b=["x", "y", None])
    with pytest.raises(ReaderError, match=r"b\.parquet: row 2, column 'b': the value is missing"):
        read(path, rows=2, label="b")


def picture(path: Path, mode: str = "L", size: tuple[int, int] = (3, 4)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size).save(path)


@pytest.mark.parametrize(
    ("name", "mode", "size", "message"),
    [
        (
            "b/2.png",
            "L",
            (4, 4),
            r"b/2\.png \(row 1\) is 4 x 4 uint8, but a/1\.png is 4 x 3 uint8: all images must",
        ),
        ("b/2.png", "RGB", (3, 4), r"b/2\.png \(row 1\) is 4 x 3 x 3 uint8, but a/1\.png is 4 x 3 uint8"),
        ("b/2.png", "RGBA", (3, 4), r"b/2\.png \(row 1\) has mode RGBA"),
        ("b/2.png", "I;16", (3, 4), r"b/2\.png \(row 1\) is 4 x 3 uint16"),
        ("2.png", "L", (3, 4), r"2\.png is in no folder that names its label, but others are"),
    ],
)
def test_images_that_are_not_alike(tmp_path: Path, name: str, mode: str, size: tuple, message: str) -> None:
    picture(tmp_path / "a" / "1.png")
    picture(tmp_path / name, mode, size)
    with pytest.raises(ReaderError, match=message):
        read(tmp_path)


def test_images_without_folders_and_with_deeper_ones(tmp_path: Path) -> None:
    for name in ("2.png", "10.png", "1.jpg"):
        picture(tmp_path / "flat" / name)
    features, labels = read(tmp_path / "flat")
    assert features.shape == (3, 12)
    assert labels is None
    for name in ("cat/day/1.png", "cat/2.png", "ant/night/3.bmp", ".hidden/4.png", "cat/.5.png"):
        picture(tmp_path / "deep" / name)
    assert read(tmp_path / "deep")[1].tolist() == ["ant", "cat", "cat"]


def test_an_animation_is_not_an_image(tmp_path: Path) -> None:
    frames = [Image.new("L", (2, 2), shade) for shade in (0, 200)]
    frames[0].save(tmp_path / "a.tiff", save_all=True, append_images=frames[1:])
    with pytest.raises(ReaderError, match=r"a\.tiff \(row 0\) has mode L and 2 frame"):
        read(tmp_path)


def test_an_idx_file_in_a_gz_file_of_another_name(tmp_path: Path) -> None:
    (tmp_path / "images-ubyte").write_bytes(gzip.compress(b"\0\0\x08\x02" + bytes(20)))
    with pytest.raises(ReaderError, match="which is not how an IDX file begins"):
        read(tmp_path / "images-ubyte")
