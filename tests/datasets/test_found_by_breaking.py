"""Files that were once read wrongly without a word, or with a traceback: text, labels, the command."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskkernels as dk
from datasets import ingest as ingest_module
from datasets.cli import main
from datasets.ingest import ingest
from datasets.readers import ReaderError, ReadOptions, exact, open_table, text
from datasets.scaling import scaled
from tests.datasets.test_readers import collected

ROOT = Path(__file__).resolve().parents[2]


def read(path: Path, content: str | bytes, **options: object) -> tuple[np.ndarray, np.ndarray | None]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return collected(open_table(path, ReadOptions(**options)), 2)


QUOTE = r'a quote \("\) is not closed on it; each row has to be one line'


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('a,b,c\n1,2,"x\n2,3,"y\n3,4,z\n', {"label": "c"}, f"line 2: {QUOTE}"),
        ('a,b,c\n1,2,"x\n2,3,"y\n3,4,z\n', {"features": "a,b"}, f"line 2: {QUOTE}"),
        ('1 2 "a\n3 4 "b\n', {"label": -1}, f"line 1: {QUOTE}"),
        ('1,2,a\n1,2,"l\nx"\n', {"label": -1}, f"line 2: {QUOTE}"),
        ("1\t2\n\t\n3\t4\n", {}, "line 2, column 0: the value is missing"),
        ("\t\n1\t2\n", {}, "line 1, column 0: the value is missing"),
        ("1,x\n2,x\0\n", {"label": 1}, "line 2: it holds a NUL byte"),
        ("a,b\n1,2\n".encode("utf-16"), {}, "line 1: it holds a NUL byte: is this text in UTF-8?"),
        (f"1,x\n2,{'y' * 251}\n", {"label": 1}, "label 'yyyyyyyyyyyyyyyyyyyy'... has 251 characters"),
        ("1,99999999999999999999\n", {"label": 1}, "line 1, .*label '9*' is not a whole number of 64 bits"),
        ("1,2.0\n1,9007199254740993.0\n", {"label": 1, "label_type": "int"}, "row 1: label 9.* is rounded"),
        ("0,1,2\n5,6,7\n", {}, r"its first line \(0, 1, ...\) may be names or a row: header=True or"),
        (",0,1\n0,6,7\n", {}, r"its first line \(, 0, ...\) may be names or a row"),
        ("0,1,class\n5,6,cat\n", {"label": -1}, "its first line .* may be names or a row"),
        ("3,7,class\n5,6,1\n5,6,2\n", {"label": -1}, r"its first line \(class\) may be names or a row"),
        ("?,?\n1,2\n", {}, "line 1, column 0: the value is missing"),
        ("?,cat\n1,dog\n", {"label": 1}, "line 1, column 0: the value is missing"),
        (",a,b\n0,1,2\n", {}, "column 0 has no name, as an index of pandas: features='1:' leaves it out"),
    ],
)  # fmt: skip
def test_what_is_refused_in_a_text(tmp_path: Path, content: str, options: dict, message: str) -> None:
    with pytest.raises(ReaderError, match=rf"a\.csv: {message}") as caught:
        read(tmp_path / "a.csv", content, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "options", "X", "y"),
    [
        ("0,1,2\n5,6,7\n", {"header": True}, [[5, 6, 7]], None),
        ("0,1,2\n5,6,7\n", {"header": False}, [[0, 1, 2], [5, 6, 7]], None),
        (",a,b\n0,1,2\n", {"features": "1:"}, [[1, 2]], None),
        ('1,2,5" pipe\n3,4,"6"" pipe, long"\n', {"label": 2}, [[1, 2], [3, 4]], ['5" pipe', '6" pipe, long']),
        ('1   "a b"\n2\t"c"\n', {"label": 1}, [[1], [2]], ["a b", "c"]),
        ("1\t2\n  \n3\t4\n", {}, [[1, 2], [3, 4]], None),
        ("1,1234567890123456789\n2,1234567890123456790", {"label": 1}, [[1], [2]], None),
        ("9007199254740993.0,1e3\n", {"dtype": "int64"}, [[9007199254740993, 1000]], None),
    ],
)
def test_what_is_read_of_a_text(tmp_path: Path, content: str, options: dict, X: list, y: list | None) -> None:
    found, labels = read(tmp_path / "a.csv", content, **options)
    assert found.tolist() == X
    assert y is None or (labels is not None and labels.tolist() == y)


@given(
    cells=st.lists(st.text('a", \r', max_size=4), min_size=1, max_size=6),
    piece=st.sampled_from([1, 2**20]),
)
def test_rows_are_lines_or_an_error(tmp_path: Path, cells: list[str], piece: int) -> None:
    lines = [f"{row},7,{cell}" for row, cell in enumerate(cells)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "PIECE_BYTES", piece)
        try:
            X, _ = read(tmp_path / "a.csv", "\n".join(lines), features="0", header=False)
        except ReaderError:
            return
    assert X[:, 0].tolist() == list(range(len(cells)))


@pytest.mark.parametrize("label_type", [None, "int"])
def test_long_whole_labels_stay_apart(tmp_path: Path, label_type: str | None) -> None:
    content = "1,1234567890123456789\n2,1234567890123456790"
    _, y = read(tmp_path / "a.csv", content, label=1, label_type=label_type)
    assert y is not None
    assert y.tolist() == [1234567890123456789, 1234567890123456790]
    with pytest.raises(ReaderError, match=r"line 2: label 9.* is not a whole number below 2\^53"):
        read(tmp_path / "a.svm", "1 1:1\n9007199254740993 1:1\n")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("9007199254740993.0", 2**53 + 1), ("-9223372036854775808.0", -(2**63)),
        ("9223372036854775808", None),
        ("1e3", 1000), ("0e999999999", 0), ("1e-400", None), ("0e99999999999999999999", None), ("1.5", None),
    ],
)  # fmt: skip
def test_whole_numbers_are_exact_or_none(written: str, value: int | None) -> None:
    assert exact.number(written, np.dtype(np.int64)) == value


def test_the_index_of_pandas_is_no_feature(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3], "b": [4.0, 5, 6]})
    frame.set_index(pd.Index([0, 2, 7])).to_parquet(tmp_path / "a.parquet")
    found = open_table(tmp_path / "a.parquet")
    assert found.feature_names == ("a", "b")
    assert collected(found, 5)[0].tolist() == [[1, 4], [2, 5], [3, 6]]
    named = open_table(tmp_path / "a.parquet", ReadOptions(features="b,__index_level_0__"))
    assert collected(named, 5)[0].tolist() == [[4, 0], [5, 2], [6, 7]]
    frame[[]].rename_axis("i").set_index(pd.Index([5, 7, 8], name="i")).to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ReaderError, match="all its columns are the index"):
        open_table(tmp_path / "b.parquet")
    pd.DataFrame({"x": [1.0, 2], "y": ["k", "k\0"]}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ReaderError, match=r"c\.parquet: row 1: label .* holds a NUL"):
        collected(open_table(tmp_path / "c.parquet", ReadOptions(label="y")), 5)


@pytest.mark.parametrize(
    ("name", "when"), [("a.csv", "opening"), ("a.csv", "reading"), ("labels.npy", "reading")]
)
def test_a_file_that_changes_is_no_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, when: str
) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    np.save(tmp_path / "labels.npy", np.zeros(2))
    label = str(tmp_path / name) if name == "labels.npy" else None
    path = tmp_path / ("a.csv" if label is None else "a.npy")

    def touched(blocks: Iterator, *_: object) -> Iterator:
        yield from blocks
        with (tmp_path / name).open("ab") as file:
            file.write(b"5,6\n")

    def opened(*arguments: object) -> object:
        found = open_table(*arguments)
        (tmp_path / name).write_text("1,2\n3,4\n5,6\n")
        return found

    if when == "opening":
        monkeypatch.setattr(ingest_module, "open_table", opened)
    unchanged = ingest_module._unchanged
    if when == "reading":
        monkeypatch.setattr(ingest_module, "_unchanged", lambda blocks, of: unchanged(touched(blocks), of))
    with pytest.raises(ReaderError, match=rf"{name}: it has changed while it was read: pass overwrite=True"):
        ingest(path, tmp_path / "d.zarr", ReadOptions(label=label))
    with pytest.raises(dk.errors.StoreError):
        dk.open_dataset(tmp_path / "d.zarr")


def test_a_column_of_one_value_is_scaled_to_zero(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1))
    X, _ = collected(scaled(open_table(tmp_path / "a.npy"), "standard", 7), 100)
    assert not X[:, 0].any()
    assert np.allclose([X[:, 1].mean(), X[:, 1].std()], [0, 1], atol=1e-6)


def test_a_signed_address_of_labels_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    for name in ("X", "y"):
        with fsspec.open(f"memory://signed/{name}.npy?sig=secret", "wb") as file:
            np.save(file, np.zeros((3, 2) if name == "X" else 3, "i4"))
    told = {}
    monkeypatch.setattr(dk, "write_dataset", lambda *_, **options: told.update(options))
    options = ReadOptions(label="memory://signed/y.npy?sig=secret")
    ingest("memory://signed/X.npy?sig=secret", tmp_path / "d.zarr", options)
    assert "signed/y.npy" in str(told)
    assert "secret" not in str(told)


def test_no_memory_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")

    def failing(*_: object, **__: object) -> None:
        raise MemoryError("unable to allocate 37 GB")

    monkeypatch.setattr(dk, "write_dataset", failing)
    assert main(["ingest", str(tmp_path / "a.csv"), "--out", str(tmp_path / "d.zarr")]) == 1
    assert capsys.readouterr().err == "datasets: failed: not enough memory (unable to allocate 37 GB)\n"


def test_a_failing_disk_is_one_line_with_the_path(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((100_000, 20)))
    done = subprocess.run(
        [sys.executable, "-m", "datasets", "ingest", str(tmp_path / "a.npy"), "--out", "d.zarr", "--quiet"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "datasets: failed: d.zarr: [Errno 27] File too large\n"
