"""Readers of text: what is found out about a file, exactness to the last bit, errors with line and column."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from datasets.readers import ReaderError, ReadOptions, csv_files, libsvm_files, open_table, text
from tests.datasets.test_readers import collected


def read(path: Path, content: str | bytes, **options: object) -> tuple[np.ndarray, np.ndarray | None]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return collected(open_table(path, ReadOptions(**options)), 2)


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=8))
@example(values=[0.1, 5e-324, -0.0, 1.7976931348623157e308, 9007199254740993.0, 1 / 3])
def test_decimals_come_back_to_the_last_bit(tmp_path: Path, values: list[float]) -> None:
    expected = np.array([values, values])
    lines = ",".join(map(repr, values))
    X, _ = read(tmp_path / "a.csv", f"{lines}\n{lines}\n")
    assert X.tobytes() == expected.tobytes()
    pairs = " ".join(f"{j}:{value!r}" for j, value in enumerate(values, 1))
    X, _ = read(tmp_path / "a.svm", f"1 {pairs}\n1 {pairs}\n", n_features=len(values))
    np.testing.assert_array_equal(X, expected)  # a value that is not stored is 0, never -0


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_whole_numbers_of_64_bits(tmp_path: Path, values: list[int]) -> None:
    X, y = read(tmp_path / "a.csv", "\n".join(f"{v},{v}" for v in values), dtype="int64", label=1)
    assert X[:, 0].tolist() == values
    assert y is not None
    assert y.tolist() == values


@pytest.mark.parametrize(
    ("content", "options", "names", "X"),
    [
        ("1,2\n3,4", {}, None, [[1, 2], [3, 4]]),
        ("a,b\n3,4", {}, ("a", "b"), [[3, 4]]),
        ("1,2\n3,4", {"header": True}, ("1", "2"), [[3, 4]]),
        ("a, b \r\n\r\n3,4\r\n \n", {}, ("a", "b"), [[3, 4]]),
        (b"\xef\xbb\xbfa,b\n3,4", {}, ("a", "b"), [[3, 4]]),
        ('"a,x";"b"\n"3";4', {}, ("a,x", "b"), [[3, 4]]),
        ("a\tb\n3\t4", {}, ("a", "b"), [[3, 4]]),
        ("a|b\n3|4", {"delimiter": "|"}, ("a", "b"), [[3, 4]]),
        ("a\tb\n3\t4", {"delimiter": "\\t"}, ("a", "b"), [[3, 4]]),
        ("  1   2 \n3\t 4\t\n", {}, None, [[1, 2], [3, 4]]),
        ("7\n8", {}, None, [[7], [8]]),
        ("a,b\n+3, 4e0 ", {}, ("a", "b"), [[3, 4]]),
        ("i,a,b\n9,3,4", {"features": "a,2"}, ("a", "b"), [[3, 4]]),
        ("9,3,4,8", {"features": "1:3"}, None, [[3, 4]]),
        ("9,3,4", {"features": "1:, 0"}, None, [[3, 4, 9]]),
        ("9,3,4", {"features": "-1"}, None, [[4]]),
    ],
)
def test_layouts(tmp_path: Path, content: str | bytes, options: dict, names: object, X: list) -> None:
    found, labels = read(tmp_path / "a.csv", content, **options)
    assert found.tolist() == X
    assert labels is None
    assert open_table(tmp_path / "a.csv", ReadOptions(**options)).feature_names == names


@pytest.mark.parametrize(
    ("content", "options", "labels"),
    [
        ("1,2,7\n3,4,-8", {"label": -1}, np.array([7, -8])),
        ("1,2,7.0\n3,4,8", {"label": 2}, np.array([7.0, 8.0])),
        ("1,2,7.0\n3,4,8", {"label": "2", "label_type": "int"}, np.array([7, 8])),
        ("1,2,7\n3,4,8.5", {"label": 2, "label_type": "float"}, np.array([7.0, 8.5])),
        ("1,2,07\n3,4,8", {"label": 2, "label_type": "string"}, np.array(["07", "8"])),
        ("x, y,x\nb,4,1\n a ,3,2", {"label": 0}, np.array(["b", "a"])),
        ("k,a\nnone,1\nsome,2", {"label": "k"}, np.array(["none", "some"])),
        ("5,a\n1,2\n3,4", {"label": "5", "header": True}, np.array([1, 3])),
    ],
)
def test_labels(tmp_path: Path, content: str, options: dict, labels: np.ndarray) -> None:
    X, y = read(tmp_path / "a.csv", content, **options)
    assert len(X) == 2
    assert y is not None
    assert y.dtype.kind == labels.dtype.kind
    assert y.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1,2\n3", {}, "line 2: 1 cells, wanted 2"),
        ("1,2\n\n3,4,5", {}, "line 3: 3 cells, wanted 2"),
        ("1,2\n3,", {}, "line 2, column 1: the value is missing"),
        ("a,b\n1,2\n3,NA", {}, "line 3, column 1 .'b'.: the value is missing .'NA'."),
        ("1,2\n3,nan", {}, "line 2, column 1: the value is missing"),
        ("1,2\n3,inf", {}, "line 2, column 1: 'inf' is not a finite float64 number"),
        ("1,2\n3,1e999", {}, "line 2, column 1: '1e999' is not a finite float64 number"),
        ("1,2\n3,1_0", {}, "line 2, column 1: '1_0' is not a finite float64 number"),
        ("1,2\n3,x", {}, "line 2, column 1: 'x' is not a finite float64 number$"),
        ("1,x\n3,y", {}, "line 1, column 1: 'x' .*; header=True if this line is one"),
        ("1,a\n3,", {"label": 1}, "line 2, column 1: the value is missing"),
        ("1,2.5\n3,NA", {"label": 1}, "line 2, column 1: the value is missing"),
        ("1,2.5\n3,4", {"label": 1, "label_type": "int"}, "row 0: 2.5 is not exactly a int64; choose"),
        ("1,2\n3,a", {"label": 1, "label_type": "int"}, "line 2, column 1: label 'a' is not a whole number"),
        ("1,2\n3,4.5", {"dtype": "uint8"}, "row 1, column 1: 4.5 is not exactly a uint8; choose"),
        ("1,2\n3,256", {"dtype": "uint8"}, "row 1, column 1: 256.0 is not exactly a uint8"),
        ("1,2\n3,1e39", {"dtype": "float32"}, "row 1, column 1: 1e.39 is not exactly a float32"),
        ("1,2\n3,99999999999999999999", {"dtype": "int64"}, "line 2, column 1: '9*' is not a finite int64"),
        (b"1,2\n3,\xff", {}, "line 2: 'utf-8' codec can't decode"),
        ("1,2", {"label": "y", "header": False}, "no column 'y'; the columns have no names"),
        ("a,b\n1,2", {"label": "y"}, "no column 'y'; its columns: a, b"),
        ("1,2", {"label": 2}, "no column 2: there are 2, counted from 0"),
        ("a,a\n1,2", {"label": "a"}, "two columns are named 'a'"),
        ("1,2", {"features": "a:b"}, "a slice of columns is written as numbers, such as 1:29, got 'a' in it"),
        ("1,2", {"features": "1", "label": 1}, "no column is left for the features"),
        ("1,2", {"delimiter": ",,"}, "delimiter must be one character, got ',,'"),
        ("a,b\n", {}, "it has a header and no rows"),
        ("\n \n", {}, "it has no rows"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_text(tmp_path: Path, content: str | bytes, options: dict, message: str) -> None:
    with pytest.raises(ReaderError, match=rf"a\.csv: {message}") as caught:
        read(tmp_path / "a.csv", content, **options)
    assert "\n" not in str(caught.value)


def test_labels_that_are_numbers_at_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "SAMPLE_ROWS", 1)
    message = "line 2, column 1: label 'x' is not a whole number of 64 bits as those before it; label_type"
    with pytest.raises(ReaderError, match=message):
        read(tmp_path / "a.csv", "1,2\n3,x", label=1)
    _, y = read(tmp_path / "a.csv", "1,2\n3,x", label=1, label_type="string")
    assert y is not None
    assert y.tolist() == ["2", "x"]


@given(bad=st.integers(1, 60), piece=st.sampled_from([1, 50, 2**20]))
def test_a_bad_line_is_found_wherever_it_is(tmp_path: Path, bad: int, piece: int) -> None:
    lines = [f"{number % 3},1,2" for number in range(1, 61)]
    lines[bad - 1] = "0,1,two"
    pairs = [f"{number % 3} 1:1 3:2" for number in range(1, 61)]
    pairs[bad - 1] = "0 1:1 3:two"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "PIECE_BYTES", piece)
        with pytest.raises(ReaderError, match=f"line {bad}, column 2: 'two'"):
            read(tmp_path / "a.csv", "\n".join(lines), label=0)
        with pytest.raises(ReaderError, match=f"line {bad}: .*two"):
            read(tmp_path / "a.svm", "\n".join(pairs))


SVM = "# head\n+1 1:0.5 3:2 # tail\n\n-1\t2:1e-3\n0\n"


def test_libsvm_is_made_dense(tmp_path: Path) -> None:
    X, y = read(tmp_path / "a.svm", SVM)
    assert X.tolist() == [[0.5, 0, 2], [0, 1e-3, 0], [0, 0, 0]]
    assert y is not None
    assert (y.tolist(), y.dtype) == ([1, -1, 0], np.int64)
    assert open_table(tmp_path / "a.svm").n_rows == 3
    assert open_table(tmp_path / "a.svm", ReadOptions(n_features=5)).n_rows is None
    assert read(tmp_path / "a.svm", SVM, n_features=5)[0].shape == (3, 5)
    assert read(tmp_path / "a.svm", SVM, zero_based=True)[0].shape == (3, 4)
    assert read(tmp_path / "a.svm", "1 0:5", label_type="float")[0].tolist() == [[5]]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("1 1:2\n\n1 2:x", {}, "line 3: .*x"),
        ("1 1:2\n1 2:1 2:3", {}, "line 2: Feature indices .*: b'1 2:1 2:3'"),
        ("1 1:2\n1 7:1", {"n_features": 5}, "line 2: .*n_features"),
        ("1 1:2\n1 0:1", {"zero_based": False}, "line 2: Invalid index 0"),
        ("1 1:2\n1 1:nan", {}, "line 2: nan is not finite"),
        ("1 1:2\n#\nnan 1:1", {}, "line 3: nan is not finite"),
        ("1 1:2\n1:2 3", {}, "line 2: "),
        ("1 1:2\n1 2 3:4:5", {}, "line 2: "),
        ("1 1:2\n1,2 3:4", {}, "line 2: "),
        ("1 99999999999:2", {}, "line 1: "),
        ("1\n2", {}, "its rows have no features"),
        ("# nothing", {}, "it has no rows"),
    ],
)
def test_what_is_wrong_in_a_libsvm_file(tmp_path: Path, content: str, options: dict, message: str) -> None:
    with pytest.raises(ReaderError, match=rf"a\.svm: {message}"):
        read(tmp_path / "a.svm", content, **options)


def test_libsvm_labels_that_are_whole_at_first(tmp_path: Path) -> None:
    content = "1 1:2\n2 1:1\n" * 30 + "1.5 1:3\n"
    _, y = read(tmp_path / "a.svm", content)  # the whole file is read before
    assert y is not None
    assert y.dtype == np.float64
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "PIECE_BYTES", 30)
        message = "line 61: label 1.5 is not a whole number below 2.53, as before; label_type='float'"
        with pytest.raises(ReaderError, match=message):
            read(tmp_path / "a.svm", content, n_features=1)
        _, y = read(tmp_path / "a.svm", content, n_features=1, label_type="float")
    assert y is not None
    assert y[-1] == 1.5


number = st.one_of(
    st.integers(-3, 12), st.floats(-2, 2), st.sampled_from(["1e-3", "x", "", "+1", "1.", ".5"])
)
pair = st.builds("{}:{}".format, st.one_of(st.integers(0, 12), number), number)
lines = st.lists(
    st.lists(st.one_of(pair, pair, pair, number.map(str)), max_size=4).map(" ".join), min_size=1, max_size=6
)


@given(labels=st.lists(number, min_size=6, max_size=6), lines=lines, zero_based=st.booleans())
def test_the_fast_way_is_that_of_scikit_learn_or_none(
    labels: list, lines: list[str], zero_based: bool
) -> None:
    rows = "".join(f"{label} {line}\n" for label, line in zip(labels, lines, strict=False)).encode()
    found = libsvm_files._plain(rows, libsvm_files.Shape(None, 10, zero_based))
    if found is None:
        return
    X, y = load_svmlight_file(io.BytesIO(rows), n_features=10, zero_based=zero_based)
    assert (found[0].toarray() == X.toarray()).all()
    assert (found[1] == y).all()


def test_the_fast_way_is_taken() -> None:
    assert libsvm_files._plain(b"1 1:2 3:4\n-1\n2 1:1 \n", libsvm_files.Shape(None, 10, False)) is not None


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(text, "PIECE_BYTES", 10)
    with pytest.raises(ReaderError, match="a line is longer than 100 bytes: is this a text file"):
        read(tmp_path / "a.csv", "1" * 200)
