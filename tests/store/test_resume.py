"""`resume=`: a write that was cut anywhere goes on and ends as the uninterrupted one, or says why not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import store
from daskkernels.store import stream
from daskkernels.store.location import Location

N = 1000
X = np.random.default_rng(0).normal(size=(N, 3)).astype("f4")
LABELS = np.array([f"class {i % 7 if i > 500 else 6 - i % 3}" for i in range(N)])  # some come late
TARGETS = np.random.default_rng(2).normal(size=(N, 2))
Blocks = Callable[[int], Iterator[tuple[np.ndarray, Any]]]


class CutError(Exception):
    """What stops the stream."""


def blocks(y: np.ndarray | None, rows: int, stop: int = 2 * N, asked: list[int] | None = None) -> Blocks:
    """The rows in blocks of `rows`; at row `stop` the stream breaks."""

    def stream_from(start: int) -> Iterator[tuple[np.ndarray, Any]]:
        if asked is not None:
            asked.append(start)
        for first in range(start, N, rows):
            if first + rows > stop:
                raise CutError
            part = slice(first, first + rows)
            yield X[part], None if y is None else y[part]

    return stream_from


@pytest.fixture
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "BUFFER_BYTES", 1)


def content(path: Path) -> dict[str, bytes]:
    """Every file of a dataset, the record of an unfinished write set aside."""
    return {
        str(f.relative_to(path)): f.read_bytes() for f in path.rglob("*") if f.is_file() if f.parent != path
    }


@pytest.mark.parametrize("y", [None, LABELS, TARGETS], ids=["none", "labels", "targets"])
@settings(max_examples=12)
@given(
    rows=st.integers(1, 400),
    cuts=st.lists(st.integers(0, N - 1), max_size=3),
    chunk=st.integers(40, 300),
    classes=st.booleans(),
)
def test_cut_and_continued(
    tmp_path_factory: pytest.TempPathFactory,
    y: np.ndarray | None,
    rows: int,
    cuts: list[int],
    chunk: int,
    classes: bool,
) -> None:
    folder = tmp_path_factory.mktemp("resume")
    known = sorted(set(LABELS)) if classes and y is LABELS else None
    options: dict[str, Any] = {"chunk_rows": chunk, "classes": known, "resume": "the rows"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BUFFER_BYTES", 1)
        for stop in sorted(cuts):
            with pytest.raises(CutError):
                dk.write_dataset(folder / "cut.zarr", blocks(y, rows, stop), **options)
            if stop >= rows:  # else nothing was begun
                with pytest.raises(store.IncompleteWriteError, match="resume="):
                    dk.open_dataset(folder / "cut.zarr")
        dk.write_dataset(folder / "cut.zarr", blocks(y, rows), **options)
    whole = dk.write_dataset(folder / "whole.zarr", blocks(y, rows)(0), chunk_rows=chunk, classes=known)
    again = dk.open_dataset(folder / "cut.zarr", verify=True)
    assert again.digest == whole.digest
    assert content(folder / "cut.zarr") == content(folder / "whole.zarr")


@pytest.mark.usefixtures("_small_buffers")
def test_goes_on_after_the_whole_chunks(tmp_path: Path) -> None:
    asked: list[int] = []
    with pytest.raises(CutError):
        dk.write_dataset(tmp_path / "d.zarr", blocks(LABELS, 70, 490, asked), chunk_rows=100, resume="r")
    dk.write_dataset(tmp_path / "d.zarr", blocks(LABELS, 70, asked=asked), chunk_rows=100, resume="r")
    assert asked == [0, 400]


@pytest.mark.usefixtures("_small_buffers")
def test_only_the_same_request_goes_on(tmp_path: Path) -> None:
    path, asked = tmp_path / "d.zarr", list[int]()
    with pytest.raises(CutError):
        dk.write_dataset(path, blocks(LABELS, 70, 490), chunk_rows=100, resume="r")
    for other in ({"resume": "s", "chunk_rows": 100}, {"resume": "r", "chunk_rows": 50}, {"chunk_rows": 100}):
        with pytest.raises(dk.errors.ExistsError, match=r"unfinished dataset \(of 'r'\).*overwrite=True"):
            dk.write_dataset(path, blocks(LABELS, 70), **other)
    other = {"resume": "s", "chunk_rows": 100, "overwrite": True}
    assert dk.write_dataset(path, blocks(LABELS, 70, asked=asked), **other).n_rows == N
    assert asked == [0]


@pytest.mark.usefixtures("_small_buffers")
def test_replacing_goes_on_beside_the_old_one(tmp_path: Path) -> None:
    path, asked = tmp_path / "d.zarr", list[int]()
    old = dk.write_dataset(path, X[:50])
    options: dict[str, Any] = {"chunk_rows": 100, "resume": "r", "overwrite": True}
    with pytest.raises(CutError):
        dk.write_dataset(path, blocks(LABELS, 70, 490), **options)
    assert dk.open_dataset(path, verify=True).digest == old.digest
    with pytest.raises(dk.errors.ExistsError, match=r"^the dataset .* exists"):
        dk.write_dataset(path, blocks(LABELS, 70), **{**options, "overwrite": False})
    new = dk.write_dataset(path, blocks(LABELS, 70, asked=asked), **options)
    assert (asked, new.n_rows) == ([400], N)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.zarr"]


@pytest.mark.usefixtures("_small_buffers")
def test_killed_while_codes_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that are half rewritten must never be taken for provisional ones."""
    path = tmp_path / "d.zarr"
    with monkeypatch.context() as patch:
        patch.setattr(stream.GrowingArray, "rewrite", lambda *_: (_ for _ in ()).throw(CutError))
        with pytest.raises(CutError):
            dk.write_dataset(path, blocks(LABELS, 70), chunk_rows=100, resume="r")
    asked: list[int] = []
    again = dk.write_dataset(path, blocks(LABELS, 70, asked=asked), chunk_rows=100, resume="r")
    assert asked == [0]
    np.testing.assert_array_equal(np.asarray(again.classes)[again.y.compute()], LABELS)


@pytest.mark.parametrize("kind", ["numpy", "dask"])
def test_arrays_write_what_is_missing(tmp_path: Path, kind: str) -> None:
    """Groups that are whole are neither computed again nor touched."""
    n, made = 8 * 1024, list[int]()
    numbers = da.from_array(np.arange(n)[:, None], chunks=(1024, 1))

    def doubled(rows: np.ndarray, bad: int) -> np.ndarray:
        made.append(int(rows[0, 0]))
        if rows[0, 0] == bad:
            raise CutError
        return np.repeat(rows, 2, axis=1).astype("f4")

    def lazy(bad: int) -> da.Array:
        meta = np.empty((0, 0), "f4")
        return numbers.map_blocks(doubled, bad, dtype="f4", chunks=(numbers.chunks[0], (2,)), meta=meta)

    path = tmp_path / "d.zarr"
    with dask.config.set(scheduler="sync"), pytest.raises(CutError):
        dk.write_dataset(path, lazy(4 * 1024), resume="r")
    kept = {file: file.stat().st_mtime_ns for file in (path / "X/c").rglob("*") if file.is_file()}
    assert 0 < len(kept) < 8
    made.clear()
    again = dk.write_dataset(path, lazy(-1) if kind == "dask" else lazy(-1).compute(), resume="r")
    np.testing.assert_array_equal(again.X.compute(), np.repeat(np.arange(n)[:, None], 2, axis=1))
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert kind == "numpy" or len(made) == 8 - len(kept)


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (iter([X]), {"resume": "r"}, "resume needs X as a function"),
        (blocks(LABELS, 70), {"y": LABELS}, "give y in pairs"),
    ],
)
def test_refused(tmp_path: Path, given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        dk.write_dataset(tmp_path / "d.zarr", given, **options)
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.usefixtures("_small_buffers")
def test_a_stream_of_another_form_does_not_go_on(tmp_path: Path) -> None:
    with pytest.raises(CutError):
        dk.write_dataset(tmp_path / "d.zarr", blocks(None, 70, 490), chunk_rows=100, resume="r")
    with pytest.raises(dk.errors.ShapeError, match="has 5 features, the blocks before it have 3"):
        dk.write_dataset(tmp_path / "d.zarr", lambda _: iter([np.ones((4, 5))]), chunk_rows=100, resume="r")
    with pytest.raises(TypeError, match="float64, the blocks before it are float32"):
        dk.write_dataset(tmp_path / "d.zarr", lambda _: iter([np.ones((4, 3))]), chunk_rows=100, resume="r")


def test_feature_shape(tmp_path: Path) -> None:
    pictures = np.zeros((5, 12), "u1")
    data = dk.write_dataset(tmp_path / "d.zarr", pictures, feature_shape=(2, 2, 3))
    assert data.feature_shape == dk.open_dataset(tmp_path / "d.zarr").feature_shape == (2, 2, 3)
    assert dk.write_dataset(tmp_path / "e.zarr", pictures).feature_shape is None
    for shape in ((3, 3), (12,), (0, 12), (-3, -4)):
        with pytest.raises(dk.errors.ShapeError, match="feature_shape must be"):
            dk.write_dataset(tmp_path / "f.zarr", pictures, feature_shape=shape)
    assert not (tmp_path / "f.zarr").exists()


@pytest.mark.usefixtures("_small_buffers")
def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """A second process is refused at once; here the first one's stream plays the second."""
    seen: list[str] = []

    def intruding(start: int) -> Iterator[tuple[np.ndarray, Any]]:
        for block in blocks(LABELS, 70)(start):
            with pytest.raises(dk.errors.ExistsError, match="is being written by another process") as caught:
                dk.write_dataset(tmp_path / "d.zarr", blocks(LABELS, 70), chunk_rows=100, resume="r")
            seen.append(str(caught.value))
            yield block

    data = dk.write_dataset(tmp_path / "d.zarr", intruding, chunk_rows=100, resume="r")
    assert len(seen) == 15
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], LABELS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.zarr"]


@pytest.mark.usefixtures("_small_buffers")
def test_a_writer_that_was_overtaken_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no locks, as on object stores, the record tells whose turn it is."""
    url = "memory://overtaken/d.zarr"

    def overtaken(start: int) -> Iterator[tuple[np.ndarray, Any]]:
        for number, block in enumerate(blocks(LABELS, 70)(start)):
            if number == 5:
                dk.write_dataset(url, blocks(LABELS, 70), chunk_rows=100, resume="r")
            yield block

    with pytest.raises(dk.errors.ExistsError, match="is being written by another process"):
        dk.write_dataset(url, overtaken, chunk_rows=100, resume="r")
    data = dk.open_dataset(url, verify=True)
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], LABELS)


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_killed_during_the_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """Complete, but not yet in its place: the same call puts it there and reads nothing."""
    path, asked = tmp_path / "d.zarr", list[int]()
    dk.write_dataset(path, X[:50])
    done: list[int] = []
    move, remove = Location.move, Location.remove

    def killed(self: Location, *given: Any) -> None:
        if len(done) == moves:
            raise CutError
        done.append(1)
        move(self, *given)

    def kept(self: Location, *given: Any) -> None:
        if len(done) == moves:
            raise CutError
        remove(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Location, "move", killed)
        patch.setattr(Location, "remove", kept if moves == 2 else remove)
        with pytest.raises(CutError):
            dk.write_dataset(path, blocks(LABELS, 70), overwrite=True, resume="r")
    overwrite = moves < 2
    if overwrite:
        data = dk.write_dataset(path, blocks(LABELS, 70, asked=asked), overwrite=True, resume="r")
        assert asked == []
    else:  # the new dataset is there, the old one still beside it
        with pytest.raises(dk.errors.ExistsError):
            dk.write_dataset(path, blocks(LABELS, 70), resume="r")
        data = dk.open_dataset(path)
    assert data.n_rows == N
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.zarr"]


def test_wide_rows_take_small_chunks(tmp_path: Path) -> None:
    """A chunk is held while it is filled: 1024 rows of a photograph would be gigabytes."""
    wide = np.arange(3 * 2**20, dtype="u1").reshape(3, -1)  # rows of a megabyte
    data = dk.write_dataset(tmp_path / "d.zarr", iter([wide]))
    assert data.chunk_rows == 8
    np.testing.assert_array_equal(data.X.compute(), wide)
    np.testing.assert_array_equal(dk.write_dataset(tmp_path / "e.zarr", wide).X.compute(), wide)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"resume": 5}, TypeError),
        ({"resume": b"r"}, TypeError),
        ({"feature_shape": (1, 3.0)}, dk.errors.ShapeError),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        dk.write_dataset(tmp_path / "d.zarr", X, **options)
    assert not list(tmp_path.iterdir())
    assert dk.write_dataset(tmp_path / "d.zarr", X, chunk_rows=np.int64(2), resume="r").chunk_rows == 2
