"""Building a named data set: the dataset holds the promised numbers, and a changed file leaves none."""

from __future__ import annotations

import dataclasses
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from datasets import build as building
from datasets import decoders, registry
from datasets.build import build
from datasets.digest import DigestMismatchError, array_sha256
from datasets.readers import ReaderError
from datasets.spec import RAW_FOLDER, ArraySpec, DatasetSpec, MadeSpec, Part, RawFile

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
PENDIGITS = registry.spec("pendigits")
BUILDABLE = [
    (name, part.name)
    for name in registry.names()
    for part in registry.spec(name).parts
    if part.pinned and not isinstance(registry.spec(name), MadeSpec)
]
X = np.random.default_rng(0).integers(0, 256, (30_000, 600), dtype=np.uint8)
Y = (np.arange(30_000) % 3).astype(np.uint8)


def spec_of(X: np.ndarray, y: np.ndarray, **changes: object) -> DatasetSpec:
    """A data set of these arrays, with their fingerprints."""
    arrays = (ArraySpec(name, a.shape, a.dtype.str, array_sha256(a)) for name, a in (("X", X), ("y", y)))
    facts = {
        "name": "made_up",
        "title": "Made up",
        "summary": "Numbers.",
        "parts": (Part("all", *arrays),),
        "classes": ("a", "b", "c"),
        "licence": "CC0",
        "citation": "Nobody",
        "source": "here",
    }
    return DatasetSpec(**(facts | changes))


def unpinned(spec: DatasetSpec) -> DatasetSpec:
    """The same data set, its fingerprints not known."""
    part = spec.parts[0]
    arrays = {key: dataclasses.replace(getattr(part, key), sha256=None) for key in ("X", "y")}
    return dataclasses.replace(spec, parts=(dataclasses.replace(part, **arrays),))


MADE_UP = spec_of(X, Y)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("raw") / "made_up.npz"
    np.savez(path, X=X, y=Y)
    return path


@pytest.mark.parametrize(("name", "part"), BUILDABLE)
def test_the_dataset_holds_the_promised_numbers(tmp_path: Path, name: str, part: str) -> None:
    spec = registry.spec(name)
    path = RAW_FOLDER / spec.shipped if spec.shipped else SHARED / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"needs {name}.npz in ../shared/data beside the checkout")
    build(spec, tmp_path / "d.zarr", part=part, raw=path)
    data = dk.open_dataset(tmp_path / "d.zarr", verify=True)
    chosen = spec.part(part)
    with np.load(path) as arrays:
        rows, labels = arrays[chosen.X.member], arrays[chosen.y.member]
    assert data.dtype == rows.dtype
    assert np.array_equal(data.X.compute(), rows)  # the readable comparison takes seconds
    named = labels if isinstance(spec.classes[0], int) else np.array(spec.classes)[labels]
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], named)
    assert data.classes == spec.classes
    assert data.feature_names == spec.feature_names
    assert data.feature_shape == spec.feature_shape
    assert all(fact in data.source for fact in (name, part, spec.licence, spec.source, spec.citation))


def test_shipped_data_needs_no_file(tmp_path: Path) -> None:
    for name in ("pendigits", "segment"):
        assert build(registry.spec(name), tmp_path / name).n_rows == registry.spec(name).parts[0].X.shape[0]


def test_a_changed_file_leaves_no_dataset(tmp_path: Path) -> None:
    with np.load(RAW_FOLDER / PENDIGITS.shipped) as raw:
        arrays = dict(raw)
    arrays["X"][7000, 3] ^= 1
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(DigestMismatchError, match=r"changed\.npz: array 'X' has sha256"):
        build(PENDIGITS, tmp_path / "p.zarr", raw=tmp_path / "changed.npz")
    with pytest.raises(dk.store.StoreError):
        dk.open_dataset(tmp_path / "p.zarr")
    with pytest.raises(dk.store.StoreError, match="overwrite"):  # what lies there came from another file
        build(PENDIGITS, tmp_path / "p.zarr")
    build(PENDIGITS, tmp_path / "p.zarr", overwrite=True)
    arrays["X"][7000, 3] ^= 1
    arrays["y"][0] ^= 1
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(DigestMismatchError, match="array 'y' has sha256"):
        build(PENDIGITS, tmp_path / "q.zarr", raw=tmp_path / "changed.npz")


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X[:3, :16], Y[:3], r"array 'X' has shape \(3, 16\), wanted \(30000, 600\)"),
        (X[:, :599], Y, r"wanted \(30000, 600\)"),
        (X[:, ::-1], Y[:9], "30000 rows, 'y' has"),
    ],
)
def test_arrays_of_another_shape_are_refused_before_writing(
    tmp_path: Path, X: np.ndarray, y: np.ndarray, message: str
) -> None:
    np.savez(tmp_path / "odd.npz", X=X, y=y)
    with pytest.raises(ReaderError, match=message):
        build(MADE_UP, tmp_path / "p.zarr", raw=tmp_path / "odd.npz")
    assert not (tmp_path / "p.zarr").exists()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (-1, r"array 'X': row 2, column 0: -1\.?0? is not exactly a uint8$"),
        (0.5, "row 2, column 0: 0.5 is not"),
    ],
)
def test_values_that_do_not_fit_are_named(tmp_path: Path, column: float, message: str) -> None:
    text = tmp_path / "t.data"
    rows = np.c_[np.array([1.0, 2.0, column]), np.zeros(3)]
    text.write_text("".join(f"{a:g},{int(b)}\n" for a, b in rows))
    part = Part(
        "all",
        ArraySpec("X", (3, 1), "|u1"),
        ArraySpec("y", (3,), "|u1"),
        files=(RawFile("t.data", ("http://127.0.0.1:9/t.data",)),),
        decode=decoders.csv(label=1),
    )
    spec = dataclasses.replace(MADE_UP, parts=(part,), classes=(0, 1))
    with pytest.raises(ReaderError, match=message) as caught:
        build(spec, tmp_path / "t.zarr", raw=text)
    assert str(caught.value).startswith(str(text))


def test_a_file_with_fewer_or_more_rows_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "t.data"
    text.write_text("1,0\n" * 5)
    for rows in (4, 6):
        part = Part(
            "all",
            ArraySpec("X", (rows, 1), "|u1"),
            ArraySpec("y", (rows,), "|u1"),
            files=(RawFile("t.data", ("http://127.0.0.1:9/t.data",)),),
            decode=decoders.csv(label=1),
        )
        spec = dataclasses.replace(MADE_UP, parts=(part,), classes=(0, 1))
        with pytest.raises(ReaderError, match=f"5 rows, wanted {rows}"):
            build(spec, tmp_path / f"{rows}.zarr", raw=text)


def test_fingerprints_that_are_not_known_are_told(tmp_path: Path, raw: Path) -> None:
    lines: list[str] = []
    build(unpinned(MADE_UP), tmp_path / "d.zarr", raw=raw, say=lines.append)
    assert lines == [
        f"X: sha256 {array_sha256(X)} (not known beforehand)",
        f"y: sha256 {array_sha256(Y)} (not known beforehand)",
    ]
    lines.clear()
    build(MADE_UP, tmp_path / "e.zarr", raw=raw, say=lines.append)
    assert not lines


def stopped_build(row: int, path: Path, raw: Path) -> None:
    """A build that is stopped as by Ctrl-C, at the first block that begins after a row."""
    as_type = building.as_type

    def stopping(values: np.ndarray, dtype: np.dtype, at: int, **options: bool) -> np.ndarray:
        if at > row:
            raise KeyboardInterrupt
        return as_type(values, dtype, at, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "as_type", stopping)
        lines: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            build(MADE_UP, path, raw=raw, say=lines.append)
        assert lines[-1] == f"{path}: not finished; the same command goes on with it"


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("stops", [(20_000,), (10_000, 25_000)])
def test_a_build_that_was_stopped_goes_on(tmp_path: Path, raw: Path, stops: tuple[int, ...]) -> None:
    whole, path = tmp_path / "whole.zarr", tmp_path / "stopped.zarr"
    build(MADE_UP, whole, raw=raw)
    for stop in stops:
        stopped_build(stop, path, raw)
        with pytest.raises(dk.store.StoreError):
            dk.open_dataset(path)
    lines: list[str] = []
    build(MADE_UP, path, raw=raw, say=lines.append)
    row = int(lines[0].rpartition("going on at row ")[2])
    assert stops[-1] / 2 < row <= stops[-1] + 7000  # whole buffers of the store, and a block of the reader
    assert files_of(path) == files_of(whole)


def test_what_is_skipped_is_checked_all_the_same(tmp_path: Path, raw: Path) -> None:
    """The rows on disk are those of the same file: another file, or a wrong promise, is found."""
    stopped_build(20_000, tmp_path / "d.zarr", raw)
    other = X.copy()
    other[0, 0] ^= 1
    np.savez(tmp_path / "made_up.npz", X=other, y=Y)
    with pytest.raises(dk.store.StoreError, match="overwrite"):
        build(MADE_UP, tmp_path / "d.zarr", raw=tmp_path / "made_up.npz")
    promise = dataclasses.replace(MADE_UP.parts[0].X, sha256=array_sha256(other))
    wrong = dataclasses.replace(MADE_UP, parts=(dataclasses.replace(MADE_UP.parts[0], X=promise),))
    with pytest.raises(DigestMismatchError):
        build(wrong, tmp_path / "d.zarr", raw=raw)


def test_a_complete_dataset_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    build(PENDIGITS, tmp_path / "p.zarr")
    part = dataclasses.replace(PENDIGITS.parts[0], files=(RawFile("x", ("http://127.0.0.1:9/x",)),))
    spec = dataclasses.replace(PENDIGITS, shipped=None, parts=(part,))
    with pytest.raises(dk.errors.ExistsError, match=r"p\.zarr exists"):
        build(spec, tmp_path / "p.zarr")


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Reader and store hold a few megabytes each, however many rows there are."""
    rows, labels = np.zeros((80_000, 1000), np.uint8), np.arange(80_000, dtype=np.uint8) % 3
    spec = spec_of(rows, labels)
    np.savez(tmp_path / "large.npz", X=rows, y=labels)
    size = rows.nbytes
    del rows
    tracemalloc.start()
    build(spec, tmp_path / "d.zarr", raw=tmp_path / "large.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 2
