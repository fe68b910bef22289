"""`python -m datasets ingest`: what is stored, scaled, continued after a stop, said; in bounded memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import grid
from daskkernels.store import stream
from datasets import ingest as ingest_module
from datasets.cli import main
from datasets.ingest import ingest
from datasets.readers import ReaderError, ReadOptions, text
from tests.datasets.raw_files import KINDS, table

ROOT = Path(__file__).resolve().parents[2]


def same(left: dk.Dataset, right: dk.Dataset) -> None:
    assert left.digest == right.digest
    for mine, other in ((left.X, right.X), (left.y, right.y)):
        np.testing.assert_array_equal(mine.compute(), other.compute())


@pytest.mark.parametrize("name", ["npz-images", "csv", "tsv-bz2", "parquet", "libsvm", "idx-gz", "images"])
def test_what_was_written_is_stored(tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    X, y = table(kind, 40, 0)
    path, options = kind.write(tmp_path, X, y)
    found = ingest(path, tmp_path / "d.zarr", options, source={"who": "me"})
    np.testing.assert_array_equal(found.X.compute(), X.reshape(40, -1), strict=True)
    labels = found.y.compute() if found.classes is None else np.asarray(found.classes)[found.y.compute()]
    np.testing.assert_array_equal(labels, y)
    assert found.feature_shape == (kind.shape if len(kind.shape) > 1 else None)
    assert found.feature_names == (("x0", "x1", "x2") if name in ("csv", "tsv-bz2", "parquet") else None)
    assert found.source == {"who": "me"}


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("csv-gz", None),
        ("libsvm-xz", None),
        ("npz-images", "standard"),
        ("parquet-ints", "1/255"),
        ("images-grey", "standard"),
    ],
)
@given(stop=st.integers(0, 24), piece=st.sampled_from([3000, 2**20]), interrupt=st.booleans())
@settings(max_examples=2)
def test_a_stopped_ingest_goes_on(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    scale: str | None,
    stop: int,
    piece: int,
    interrupt: bool,
) -> None:
    folder = tmp_path_factory.mktemp("stop")
    rows = 120 if name == "images-grey" else 2500
    path, options = KINDS[name].write(folder, *table(KINDS[name], rows, stop))
    out, said = folder / "d.zarr", []
    finite = ingest_module._finite

    def stopping(blocks: Iterator, *more: object) -> Iterator:
        for number, block in enumerate(finite(blocks, *more)):
            if number == stop:
                raise KeyboardInterrupt if interrupt else OSError(28, "No space left on device")
            yield block

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            grid, "TILE_ROWS", rows // 8
        )  # chunks, and with them the steps of the record, are small
        patch.setattr(grid, "CHUNK_BYTES", 1)
        patch.setattr(stream, "BUFFER_BYTES", 1)
        patch.setattr(text, "PIECE_BYTES", piece)
        patch.setattr(ingest_module, "BLOCK_BYTES", 8 * np.prod(KINDS[name].shape) * rows // 25)
        whole = ingest(path, folder / "whole.zarr", options, scale=scale)
        patch.setattr(ingest_module, "_finite", stopping)
        with pytest.raises((KeyboardInterrupt, OSError)):
            ingest(path, out, options, scale=scale, say=said.append)
        patch.setattr(ingest_module, "_finite", finite)
        assert said == [f"{out}: not finished; the same command goes on with it"] * interrupt
        said.clear()
        with pytest.raises(dk.errors.StoreError):
            dk.open_dataset(out)
        same(ingest(path, out, options, scale=scale, say=said.append), whole)
    kept = stop * (rows // 25) // (rows // 8) * (rows // 8)
    assert said == ([f"{out}: continuing at row {kept}"] if kept else [])


def test_another_file_or_option_is_not_a_continuation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1,2\n" * 5000 + "1,x\n")
    monkeypatch.setattr(stream, "BUFFER_BYTES", 1)
    monkeypatch.setattr(grid, "CHUNK_BYTES", 1)
    monkeypatch.setattr(text, "PIECE_BYTES", 5000)
    monkeypatch.setattr(ingest_module, "BLOCK_BYTES", 16_000)
    with pytest.raises(ReaderError, match=r"a\.csv: line 5001, column 1: 'x'"):
        ingest(path, tmp_path / "d.zarr")
    for change in ({"options": ReadOptions(label=0)}, {"scale": 2}):
        with pytest.raises(
            dk.errors.ExistsError, match=r"an unfinished dataset \(of '.*a\.csv \(size 20004, mtime"
        ):
            ingest(path, tmp_path / "d.zarr", **change)
    path.write_text("1,2\n" * 5000 + "1,3\n")
    os.utime(path, (1, 1))
    with pytest.raises(dk.errors.ExistsError, match="pass overwrite=True"):
        ingest(path, tmp_path / "d.zarr")
    assert ingest(path, tmp_path / "d.zarr", overwrite=True).n_rows == 5001


def test_scaling(tmp_path: Path) -> None:
    X = np.array([[0, 51, 255], [10, 51, 1], [20, 51, 0]], "u1")
    np.savez(tmp_path / "a.npz", X=X)
    by_number = ingest(tmp_path / "a.npz", tmp_path / "n.zarr", scale="1/255")
    assert by_number.dtype == np.float32
    np.testing.assert_array_equal(by_number.X.compute(), (X / 255).astype("f4"))
    np.testing.assert_array_equal(
        ingest(tmp_path / "a.npz", tmp_path / "m.zarr", scale=0.5).X.compute(), X / 2
    )
    standard = ingest(tmp_path / "a.npz", tmp_path / "s.zarr", scale="standard").X.compute()
    expected = (X - X.mean(0)) / np.where(X.std(0) == 0, 1, X.std(0))
    np.testing.assert_allclose(standard, expected, rtol=1e-6, atol=1e-7)
    for scale in ("0", "x", "1/0", "nan"):
        with pytest.raises(ValueError, match=f"scale must .*, got '{scale}'"):
            ingest(tmp_path / "a.npz", tmp_path / "b.zarr", scale=scale)
    with pytest.raises(ReaderError, match=r"a\.npz: row 0, column 1: inf is not a finite number"):
        ingest(tmp_path / "a.npz", tmp_path / "b.zarr", scale="1e38")


def test_values_that_no_estimator_takes_are_refused(tmp_path: Path) -> None:
    X = np.zeros((50, 3))
    X[33, 2] = np.nan
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ReaderError, match=r"a\.npy: row 33, column 2: nan is not a finite number"):
        ingest(tmp_path / "a.npy", tmp_path / "d.zarr")


def test_secrets_are_not_stored(tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/host/a.csv?token=secret", b"1,2\n3,4\n")
    found = ingest("memory://host/a.csv?token=secret", tmp_path / "d.zarr")
    assert found.source == "memory://host/a.csv"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("kind,a,b\nx,1,2\ny,3,4\nx,5,6\n")
    argv = [
        "ingest",
        str(tmp_path / "a.csv"),
        "--out",
        str(tmp_path / "d.zarr"),
        "--label",
        "0",
        "--dtype",
        "uint8",
    ]
    assert main(argv) == 0
    out, error = capsys.readouterr()
    shown = f"{tmp_path / 'd.zarr'}"
    assert (
        out
        == f"{shown}: 3 rows, 2 columns, uint8, 2 classes; open it with daskkernels.open_dataset({shown!r})\n"
    )
    assert error == ""
    assert dk.open_dataset(tmp_path / "d.zarr").classes == ("x", "y")
    assert main(argv) == 2
    assert "exists: add --overwrite" in capsys.readouterr().err
    assert main([*argv, "--overwrite", "--label-type", "float"]) == 2
    assert "a.csv: line 2, column 0 ('kind'): label 'x' is not a finite number" in capsys.readouterr().err
    assert dk.open_dataset(tmp_path / "d.zarr").n_rows == 3


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["none.csv", "--out", "d.zarr"], "none.csv: no such file"),
        (["a.csv"], "--out"),
        (["a.csv", "--out", ""], "--out: the path is empty"),
        (["nowhere://x/a.csv", "--out", "d.zarr"], "FILE nowhere://x/a.csv: "),
        (["a.csv", "--out", "nowhere://x"], "--out nowhere://x: "),
        (
            ["a.csv", "--out", "d.zarr", "--n-features", "3"],
            "--n-features (3) means nothing to the format csv",
        ),
        (["a.csv", "--out", "d.zarr", "--format", "exe"], "format must be one of npz, npy, csv"),
        (["a.csv", "--out", "d.zarr", "--label-type", "word"], "invalid choice"),
        (["a.csv", "--out", "d.zarr", "--scale", "big"], "scale must be a number, a fraction such as 1/255"),
    ],
)
def test_wrong_input(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: list,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("1,2\n")
    assert main(["ingest", *argv]) == 2
    out, error = capsys.readouterr()
    assert not out
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "d.zarr").exists()


def test_an_interrupt_is_said_and_ends_with_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")

    def interrupted(*_: object) -> Iterator:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(ingest_module, "_finite", interrupted)
    assert main(["ingest", str(tmp_path / "a.csv"), "--out", str(tmp_path / "d.zarr")]) == 130
    assert "d.zarr: not finished; the same command goes on with it\n" in capsys.readouterr().err


def test_progress_is_shown_by_bytes_or_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    (tmp_path / "a.csv").write_text("1,2\n" * 500)
    np.save(tmp_path / "a.npy", np.zeros((77, 2)))
    for name, expected in (("a.csv", r"100%.*2\.00k/2\.00k .*B/s"), ("a.npy", r"100%.*77/77 .* rows/s")):
        argv = ["ingest", str(tmp_path / name), "--out", str(tmp_path / f"{name}.zarr")]
        assert main(argv) == 0
        assert re.search(expected, capsys.readouterr().err)
        assert main([*argv, "--overwrite", "--quiet"]) == 0
        assert capsys.readouterr().err == ""


# VmHWM and not ru_maxrss, which counts the memory of the process that forked.
MEASURED = (
    "import re, sys; from pathlib import Path; from datasets.cli import main; code = main(sys.argv[1:]);"
    "print('peak', re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]); sys.exit(code)"
)


def command(*argv: str) -> list[str]:
    return [sys.executable, "-c", MEASURED, "ingest", *argv]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet"])
def test_a_large_file_in_little_memory_killed_on_the_way(tmp_path: Path, name: str) -> None:
    """200 MB as text or 400 MB as numbers, in less than 100 MB more than a file of a few rows takes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, columns = 400_000, 128
    X = np.random.default_rng(0).integers(0, 1000, (rows, columns)).astype("f8")
    for size, n in (("small", 100), ("large", rows)):
        (tmp_path / size).mkdir()
        path = tmp_path / size / name
        if name.endswith("csv"):
            np.savetxt(path, X[:n].astype("i2"), "%d", ",")
        elif name.endswith("npz"):
            np.savez(path, X=X[:n])
        else:
            pq.write_table(pa.table({f"x{j}": X[:n, j] for j in range(columns)}), path)
    peaks = {}
    for size in ("small", "large"):
        argv = command(
            str(tmp_path / size / name), "--out", str(tmp_path / f"{size}.zarr"), "--dtype", "float32"
        )
        if size == "large":
            process = subprocess.Popen(argv, cwd=ROOT)
            while not (tmp_path / "large.zarr" / "X" / "c" / "60").exists():
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True)
        assert ("continuing at row" in done.stderr) is (size == "large")
        peaks[size] = 1024 * int(done.stdout.split()[-1])
    np.testing.assert_array_equal(dk.open_dataset(tmp_path / "large.zarr").X[-1000:].compute(), X[-1000:])
    assert dk.open_dataset(tmp_path / "large.zarr", verify=True).n_rows == rows
    pages = columns * 2**20 if name.endswith("parquet") else 0  # one of each column is held
    assert peaks["large"] - peaks["small"] < 100e6 + pages, peaks
