"""Raw files of every format, written for the tests of their readers by other means than ours."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from PIL import Image

from datasets.readers import ReadOptions

PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
Written = tuple[Path, ReadOptions]


@dataclass(frozen=True)
class Kind:
    """A way to keep a table in a file, and what such a file can hold."""

    write: Callable[[Path, np.ndarray, np.ndarray], Written]
    dtype: str = "f8"
    shape: tuple[int, ...] = (3,)
    labels: str = "U"


def table(kind: Kind, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, ...) of any size, and labels (n,), that a file of this kind can hold."""
    random = np.random.default_rng(seed)
    shape = (n, *kind.shape)
    if np.dtype(kind.dtype).kind == "f":
        X = random.standard_normal(shape) * 10.0 ** random.integers(-300, 300, shape)
        X[random.random(shape) < 0.3] = 0
    else:
        limits = np.iinfo(kind.dtype)
        X = random.integers(limits.min, limits.max, shape, endpoint=True, dtype=kind.dtype)
    y = random.integers(0, 3, n)
    return X, np.array(["one", "two", "sixteen"])[y] if kind.labels == "U" else (
        y + 0.5 * (kind.labels == "f8")
    ).astype(kind.labels)


def npz(order: str, compressed: bool = True) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        save = np.savez_compressed if compressed else np.savez
        save(folder / "t.npz", X=np.asarray(X, order=order), y=y)
        return folder / "t.npz", ReadOptions(label="y")

    return write


def npy(order: str, ending: str = "") -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        for name, array in (("X", np.asarray(X, order=order)), ("y", y)):
            file = io.BytesIO()
            np.save(file, array)
            (folder / f"{name}.npy{ending}").write_bytes(PACK[ending](file.getvalue()))
        return folder / f"X.npy{ending}", ReadOptions(label=str(folder / f"y.npy{ending}"))

    return write


def text(
    delimiter: str, ending: str, header: bool, newline: str = "\n"
) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        lines = [
            delimiter.join([str(label), *map(repr, row)]) for row, label in zip(X.tolist(), y, strict=True)
        ]
        names = [delimiter.join(["kind", *(f"x{j}" for j in range(X.shape[1]))])] if header else []
        path = folder / f"t{ending}"
        pack = PACK["" if path.suffix not in PACK else path.suffix]
        path.write_bytes(pack((newline.join([*names, *lines]) + newline).encode()))
        return path, ReadOptions(label="kind" if header else 0)

    return write


def parquet(rows: int) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"kind": y}
        pq.write_table(pa.table(columns), folder / "t.parquet", row_group_size=rows)
        return folder / "t.parquet", ReadOptions(label="kind")

    return write


def libsvm(ending: str, first: int = 1) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        X[0] = 1  # all columns occur
        lines = [
            " ".join([str(label), *(f"{j + first}:{value!r}" for j, value in enumerate(row) if value)])
            for row, label in zip(X.tolist(), y, strict=True)
        ]
        path = folder / f"t.svm{ending}"
        path.write_bytes(PACK[ending](("# a comment\n" + "\n".join(lines)).encode()))
        return path, ReadOptions()

    return write


def idx(ending: str) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    codes = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}

    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        for name, array in (("images", X), ("labels", y)):
            head = bytes([0, 0, codes[array.dtype.str[1:]], array.ndim])
            sizes = np.array(array.shape, ">u4").tobytes()
            values = array.astype(array.dtype.newbyteorder(">")).tobytes()
            (folder / f"{name}-ubyte{ending}").write_bytes(PACK[ending](head + sizes + values))
        return folder / f"images-ubyte{ending}", ReadOptions(label=str(folder / f"labels-ubyte{ending}"))

    return write


def hdf5(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
    with h5py.File(folder / "t.h5", "w") as file:
        file.create_dataset(
            "deep/features", data=X, chunks=(min(4, len(X)), *X.shape[1:]), compression="gzip"
        )
        file["names"] = y.astype(h5py.string_dtype()) if y.dtype.kind == "U" else y
    return folder / "t.h5", ReadOptions(features="deep/features", label="names")


def matlab(compressed: bool) -> Callable[[Path, np.ndarray, np.ndarray], Written]:
    def write(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
        rows_last = X if X.ndim == 2 else np.moveaxis(X, 0, -1)
        content = {"note": "text", "X": rows_last, "y": y[:, None]}
        scipy.io.savemat(folder / "t.mat", content, do_compression=compressed)
        return folder / "t.mat", ReadOptions(label="y")

    return write


def images(folder: Path, X: np.ndarray, y: np.ndarray) -> Written:
    order = np.argsort(y, kind="stable")  # the reader's order: folders by name, then files by name
    X[:], y[:] = X[order], y[order]
    top = folder / "pictures"
    for number, (pixels, label) in enumerate(zip(X, y, strict=True)):
        (top / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(top / label / f"{number:03}.png")
    (top / "README.txt").write_text("no image")
    return top, ReadOptions()


KINDS: dict[str, Kind] = {
    "npz": Kind(npz("C")),
    "npz-plain": Kind(npz("C", compressed=False), "i4"),
    "npz-columns": Kind(npz("F")),
    "npz-images": Kind(npz("C"), "u1", (4, 3, 3)),
    "npy": Kind(npy("C"), ">f4"),
    "npy-columns": Kind(npy("F"), "i8"),
    "npy-packed": Kind(npy("C", ".xz"), "u2", (2, 5), "i8"),
    "npy-packed-columns": Kind(npy("F", ".gz")),
    "csv": Kind(text(",", ".csv", header=True)),
    "csv-gz": Kind(text(",", ".csv.gz", header=False, newline="\r\n"), labels="i8"),
    "tsv-bz2": Kind(text("\t", ".tsv.bz2", header=True), labels="f8"),
    "csv-xz": Kind(text(";", ".csv.xz", header=False)),
    "blanks": Kind(text("   ", ".trn", header=False), labels="i8"),
    "parquet": Kind(parquet(7)),
    "parquet-ints": Kind(parquet(100), "u1", labels="i8"),
    "libsvm": Kind(libsvm(""), labels="i8"),
    "libsvm-gz": Kind(libsvm(".gz", first=0), labels="i8"),
    "libsvm-bz2": Kind(libsvm(".bz2"), labels="f8"),
    "libsvm-xz": Kind(libsvm(".xz"), labels="i8"),
    "idx": Kind(idx(""), "i2", (4, 3), "u1"),
    "idx-gz": Kind(idx(".gz"), "u1", (4, 3), "u1"),
    "hdf5": Kind(hdf5, shape=(2, 3)),
    "hdf5-ints": Kind(hdf5, "i8", labels="i8"),
    "mat": Kind(matlab(compressed=True), "u1", (4, 3, 3), "u1"),
    "mat-plain": Kind(matlab(compressed=False), "f4", (4, 3), "i2"),
    "mat-matrix": Kind(matlab(compressed=True), labels="u1"),
    "images": Kind(images, "u1", (4, 3, 3)),
    "images-grey": Kind(images, "u1", (4, 3)),
}
