"""Every kind of X and y that users hold: accepted as it is, or refused at the door by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from daskkernels import store

A = np.random.default_rng(0).normal(size=(500, 4))
LETTERS = ["x", "y", "z", "x", "b"] * 100
FRAME = pd.DataFrame(A, columns=list("abcd"))


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., store.Dataset]:
    return lambda *args, **options: store.write_dataset(tmp_path / "d.zarr", *args, chunk_rows=64, **options)


LABELS = {
    "list": LETTERS,
    "object": np.array(LETTERS, dtype=object),
    "bytes": np.array(LETTERS, dtype="S"),
    "string": np.array(LETTERS, dtype=np.dtypes.StringDType()),
    "column": np.array(LETTERS)[:, None],
    "series": pd.Series(LETTERS),
    "categorical": pd.Categorical(LETTERS),
    "categorical series": pd.Series(LETTERS, dtype="category"),
    "dask": da.from_array(np.array(LETTERS), chunks=77),
    "dask objects": da.from_array(np.array(LETTERS, dtype=object), chunks=77),
    "dask series": dd.from_pandas(pd.Series(LETTERS), npartitions=3),
    "dask categorical": dd.from_pandas(pd.Series(LETTERS, dtype="category"), npartitions=3),
}


@pytest.mark.parametrize("kind", LABELS)
def test_string_labels(write: Callable[..., store.Dataset], kind: str) -> None:
    data = write(A, LABELS[kind])
    assert data.classes == ("b", "x", "y", "z")
    assert data.y is not None
    assert data.y.dtype == np.int32
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], LETTERS)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (A[:, 0] > 0, (False, True)),
        ((A[:, 0] > 0).astype(object), (False, True)),
        (np.array([-7, 1000, 3, 3, 3] * 100), (-7, 3, 1000)),
        (np.array([-7, 1000, 3, 3, 3] * 100, dtype=object), (-7, 3, 1000)),
        (np.array([1, 200, 3, 3, 3] * 100, dtype="u1")[:, None], (1, 3, 200)),
        (np.array([2**62, 2**62 + 1] * 250, dtype="u8"), (2**62, 2**62 + 1)),
    ],
)
def test_other_labels(write: Callable[..., store.Dataset], y: np.ndarray, classes: tuple[Any, ...]) -> None:
    data = write(A, y)
    assert data.classes == classes
    assert [type(label) for label in data.classes] == [type(label) for label in classes]
    np.testing.assert_array_equal(np.asarray(classes)[data.targets[:]], y.reshape(-1))  # type: ignore[index]


@pytest.mark.parametrize("y", [A[:, 0], A[:, :1], A[:, :2], np.ones((500, 2), int), A[:, 0].astype("f2")])
def test_targets_stay(write: Callable[..., store.Dataset], y: np.ndarray) -> None:
    for given in (y, da.from_array(y, chunks=99)):
        data = write(A, given, overwrite=True)
        assert data.classes is None
        assert data.y is not None
        assert data.y.dtype == y.dtype
        np.testing.assert_array_equal(data.y.compute(), y)


def test_given_classes(write: Callable[..., store.Dataset]) -> None:
    data = write(A, LETTERS, classes=["z", "y", "x", "b", "never"])
    assert data.classes == ("z", "y", "x", "b", "never")
    assert data.targets[:5].tolist() == [2, 1, 0, 2, 3]  # type: ignore[index]
    codes = write(A, np.arange(500) % 3, classes=["zero", "one", "two"], overwrite=True)
    assert codes.targets[:4].tolist() == [0, 1, 2, 0]  # type: ignore[index]


def with_hole(values: list[Any], hole: Any) -> np.ndarray:
    array = np.array(values, dtype=object)
    array[321] = hole
    return array


BAD_LABELS = {
    "None": (with_hole(LETTERS, None), "row 321"),
    "nan": (with_hole(LETTERS, np.nan), "row 321"),
    "NA": (pd.Series(with_hole(LETTERS, pd.NA)), "row 321"),
    "Int64": (pd.Series(with_hole([1] * 500, pd.NA), dtype="Int64"), "row 321"),
    "float nan": (with_hole([1.0] * 500, np.nan).astype(float), "row 321"),
    "float inf": (with_hole([1.0] * 500, np.inf).astype("f4"), "row 321"),
    "dask nan": (da.from_array(with_hole(LETTERS, np.nan), chunks=50), "row 321"),
    "dask float": (da.from_array(with_hole([1.0] * 500, np.nan).astype(float), chunks=50), "row 321"),
    "mixed": (with_hole(LETTERS, 3), "int, str"),
    "mixed list": (["a", 1] * 250, "int, str"),
    "objects": (with_hole(LETTERS, object()), "object"),
    "nul": (with_hole(LETTERS, "x\0"), r"row 321 is 'x\\x00': strip the NUL"),
    "nul list": (["a", "a\0"] * 250, "row 1 .*NUL"),
    "dask nul": (da.from_array(with_hole(LETTERS, "x\0"), chunks=50), "row 321 .*NUL"),
    "too large": (np.full(500, 2**63, dtype="u8"), "64 signed bits"),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels(write: Callable[..., store.Dataset], tmp_path: Path, kind: str) -> None:
    y, match = BAD_LABELS[kind]
    with pytest.raises(store.LabelError, match=match):
        write(A, y)
    with pytest.raises(store.StoreError):
        store.open_dataset(tmp_path / "d.zarr")


def hidden_mask(values: np.ndarray) -> da.Array:
    """Masked blocks in a dask array that does not say so."""

    def mask(block: np.ndarray) -> np.ndarray:
        return np.ma.masked_array(block, mask=block == block[0])

    return da.from_array(values, chunks=77).map_blocks(mask, dtype=values.dtype, meta=np.empty(0))


BAD = {
    "y short": ((A, np.ones(499)), store.LengthMismatchError, "500 rows, but y has 499"),
    "y dask": ((da.from_array(A), da.ones(499)), store.LengthMismatchError, "500 rows, but y has 499"),
    "1-d": ((A[0],), store.ShapeError, r"\(4,\).*X\[:, None\]"),
    "3-d": ((A[None],), store.ShapeError, r"\(1, 500, 4\)"),
    "no rows": ((A[:0],), store.ShapeError, "at least one row"),
    "no dask rows": ((da.from_array(A)[:0],), store.ShapeError, "at least one row"),
    "none left": ((da.from_array(A)[da.from_array(A[:, 0]) > 99],), store.ShapeError, "at least one row"),
    "no columns": ((A[:, :0],), store.ShapeError, "one feature"),
    "object": ((A.astype(object),), TypeError, "object"),
    "complex": ((A.astype(complex),), TypeError, "complex128"),
    "long double": ((A.astype(np.longdouble),), TypeError, "float"),
    "strings": ((np.array([["a"]]),), TypeError, "<U1"),
    "sparse": ((sp.csr_matrix(A),), TypeError, "sparse"),
    "sparse array": ((sp.coo_array(A),), TypeError, "sparse"),
    "dask sparse": ((da.from_array(A).map_blocks(sp.csr_matrix),), TypeError, "sparse"),
    "masked": ((np.ma.masked_array(A),), TypeError, "masked"),
    "masked labels": ((A, hidden_mask(A[:, 0] > 0)), TypeError, "y is a masked array"),
    "lines": ((iter(["1,2\n", "3,4\n"]),), TypeError, r"iterator of str: .*\(rows, features\)"),
    "scalars": ((iter([1.0, 2.0]),), TypeError, "iterator of float"),
    "text": (("d.csv",), TypeError, "str"),
    "dict": (({"a": A},), TypeError, "dict"),
    "None": ((None,), TypeError, "NoneType"),
    "text column": ((FRAME.assign(e="x"),), TypeError, "'e'.*encode"),
    "category": ((dd.from_pandas(FRAME.assign(e=pd.Categorical(LETTERS)), npartitions=2),), TypeError, "'e'"),
    "y 3-d": ((A, A[None]), store.ShapeError, "outputs"),
    "y complex": ((A, A[:, 0].astype(complex)), TypeError, "complex"),
    "y text columns": ((A, np.array([LETTERS, LETTERS]).T), store.ShapeError, "one column"),
    "no block": ((iter([]),), store.ShapeError, "without rows"),
    "empty blocks": ((iter([A[:0]]),), store.ShapeError, "without rows"),
    "width": ((iter([A, A[:, :3]]),), store.ShapeError, "block 1 .* 3 features"),
    "type": ((iter([A.astype("i4"), A]),), TypeError, "block 1 .*float64"),
    "half": ((iter([(A, A[:, 0]), A]),), store.LengthMismatchError, "only some blocks"),
    "pair": ((iter([(A, A[:9, 0])]),), store.LengthMismatchError, "block 0: X has 500 rows, but y has 9"),
    "iterator short": ((iter([A[:300], A[300:]]), np.ones(400)), store.LengthMismatchError, "block 1"),
    "iterator long": ((iter([A[:300]]), np.ones(400)), store.LengthMismatchError, "0 rows, but y has 100"),
}


@pytest.mark.parametrize("kind", BAD)
def test_refused_at_the_door(write: Callable[..., store.Dataset], tmp_path: Path, kind: str) -> None:
    arguments, error, match = BAD[kind]
    if hasattr(arguments[0], "__next__"):  # an iterator can be used once
        arguments = (iter(list(arguments[0])), *arguments[1:])
    with pytest.raises(error, match=match):
        write(*arguments)
    assert not (tmp_path / "d.zarr").exists()


BAD_OPTIONS = {
    "names": ({"feature_names": ["a"]}, store.ShapeError, "4 strings"),
    "name types": ({"feature_names": [1, 2, 3, 4]}, store.ShapeError, "4 strings"),
    "source": ({"source": object()}, TypeError, "JSON"),
    "source keys": ({"source": {("a", 1): 2}}, TypeError, "JSON"),
    "equal keys": ({"source": [{1: 2, "1": 3}]}, TypeError, "JSON.*same text"),
    "zero": ({"chunk_rows": 0}, ValueError, "at least 1"),
    "huge": ({"chunk_rows": 10**30}, ValueError, "at most 67108863 for 4 features of 8 bytes"),
    "float": ({"chunk_rows": 1.5}, TypeError, "integer"),
    "classes": ({"classes": ["a"]}, store.LabelError, "no y"),
    "twice": ({"classes": ["a", "a"], "y": LETTERS}, store.LabelError, "different"),
    "unknown": ({"classes": ["x", "y"], "y": LETTERS}, store.LabelError, "'z' at row 2"),
    "floats": ({"classes": ["x", "y"], "y": A[:, 0]}, store.LabelError, "float64 targets"),
    "kinds": ({"classes": [1, 2], "y": LETTERS}, store.LabelError, "strings, but classes are integers"),
}


@pytest.mark.parametrize("kind", BAD_OPTIONS)
def test_bad_options(tmp_path: Path, kind: str) -> None:
    options, error, match = BAD_OPTIONS[kind]
    with pytest.raises(error, match=match):
        store.write_dataset(tmp_path / "d.zarr", A, **options)
    assert not (tmp_path / "d.zarr").exists()


def test_stream_options(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="chunk_rows must be at most"):
        store.write_dataset(tmp_path / "d.zarr", iter([A]), chunk_rows=10**30)
    (tmp_path / "d.csv").write_text("1,2\n")
    with (tmp_path / "d.csv").open() as file, pytest.raises(TypeError, match="X is an iterator of str"):
        store.write_dataset(tmp_path / "d.zarr", file)
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.parametrize("source", [{9: 1, 10: 2}, {"a": (1, None), 3: {True: 2.5}}, "text"])
def test_source_is_normalised(write: Callable[..., store.Dataset], source: Any) -> None:
    assert write(A, source=source).source == json.loads(json.dumps(source))


@pytest.mark.parametrize("columns", [4, 2])
def test_hidden_masks(write: Callable[..., store.Dataset], tmp_path: Path, columns: int) -> None:
    lazy = hidden_mask(A)
    for given in (lazy, lazy.rechunk((77, columns)), lazy[da.from_array(A[:, 0] > 0, chunks=77)]):
        with pytest.raises(TypeError, match="masked array"):
            write(given, overwrite=True)
        with pytest.raises(store.StoreError):
            store.open_dataset(tmp_path / "d.zarr")


def test_frames(write: Callable[..., store.Dataset]) -> None:
    for frame in (FRAME, dd.from_pandas(FRAME, npartitions=3)):
        data = write(frame, overwrite=True)
        assert data.feature_names == ("a", "b", "c", "d")
        np.testing.assert_array_equal(data.X.compute(), A)
    mixed = pd.DataFrame({"a": np.arange(3, dtype="i4"), "b": [True, False, True]})
    assert write(mixed, overwrite=True).dtype == np.int32
    numbered = write(pd.DataFrame({0: [1, 2], 1: [2.5, 3]}), overwrite=True)
    assert numbered.feature_names is None
    nullable = pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})
    for frame in (nullable, dd.from_pandas(nullable, npartitions=1)):
        np.testing.assert_array_equal(write(frame, overwrite=True).features[:], [[1.0], [np.nan]])


def test_frame_blocks_and_lists(write: Callable[..., store.Dataset]) -> None:
    data = write(iter([FRAME[:123], FRAME[123:]]), pd.Series(LETTERS))
    np.testing.assert_array_equal(data.features[:], A)
    assert data.classes == ("b", "x", "y", "z")
    np.testing.assert_array_equal(write(A.tolist(), overwrite=True).features[:], A)


def test_xarray(write: Callable[..., store.Dataset]) -> None:
    xr = pytest.importorskip("xarray")
    coords = {"f": list("pqrs")}
    for values in (A, da.from_array(A, chunks=77)):
        table = xr.DataArray(values, dims=("r", "f"), coords=coords)
        data = write(table, xr.DataArray(np.arange(500) % 2, dims="r"), overwrite=True)
        assert data.feature_names == ("p", "q", "r", "s")
        np.testing.assert_array_equal(data.X.compute(), A)
    with pytest.raises(TypeError, match="DataArray"):
        write(xr.Dataset({"a": ("r", A[:, 0])}), overwrite=True)


def test_unknown_chunks(write: Callable[..., store.Dataset]) -> None:
    lazy, y = da.from_array(A, chunks=(77, 3)), da.from_array(np.array(LETTERS), chunks=50)
    mask = da.from_array(A[:, 0] > 0, chunks=77)
    data = write(lazy[mask], y[mask.rechunk(50)])
    np.testing.assert_array_equal(data.X.compute(), A[A[:, 0] > 0])
    assert data.y is not None
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], np.array(LETTERS)[A[:, 0] > 0])
    with pytest.raises(store.LengthMismatchError, match="rows, but y has"):
        write(lazy[mask], y[~mask.rechunk(50)], overwrite=True)


def test_chunks_without_rows(write: Callable[..., store.Dataset]) -> None:
    lazy = da.from_array(A[:10], chunks=((0, 5, 5, 0), (4,)))
    np.testing.assert_array_equal(write(lazy, np.arange(10)).features[:], A[:10])


def test_nothing_computes_twice(write: Callable[..., store.Dataset]) -> None:
    calls: list[int] = []

    def count(block: np.ndarray) -> np.ndarray:
        calls.append(len(block))
        return block

    lazy = da.from_array(A, chunks=(100, 4)).map_blocks(count, dtype=A.dtype, meta=np.empty((0, 0)))
    write(lazy, np.arange(500) % 2)
    assert calls == [100] * 5
    calls.clear()
    write(lazy[lazy[:, 0] > 0], overwrite=True)
    assert len(calls) <= 4 * 5  # the lengths in one pass, the rows in another
