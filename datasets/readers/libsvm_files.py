"""Reader of LIBSVM text, `label index:value ...`: pieces of lines, parsed by Arrow as a list of numbers.

A piece that is not of the plainest form is left to scikit-learn, five times slower, which knows comments and
query ids and says what is wrong. Rows are made dense a block at a time, since a few may be very wide.
"""

from __future__ import annotations

import bisect
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from datasets.readers import exact, files
from datasets.readers.base import Block, ReaderError, ReadOptions, Table
from datasets.readers.text import Piece, TextFile

BLANK, COLON, END = b" :\n"
ONE_A_LINE = bytes.maketrans(b" :", b"\n\n")
UNLIMITED = 2**31 - 1  # columns as scikit-learn counts them


@dataclass(frozen=True)
class Shape:
    """What the whole file has to be known for."""

    n_rows: int | None
    n_features: int | None  # None: any number, with indices as they are written
    zero_based: bool
    whole_labels: bool = False


def open_libsvm(address: str, options: ReadOptions) -> Table:
    """The table in a LIBSVM file, made dense; it is read through once before, unless n_features is told."""
    text = TextFile(address, comment=b"#")
    shape = _survey(text, options)
    width = shape.n_features or 0
    if shape.n_rows == 0 or width < 1:
        raise ReaderError("it has no rows" if shape.n_rows == 0 else "its rows have no features")

    def read(rows: int, start: int) -> Iterator[Block]:
        for piece in text.pieces(start):
            X, y = _parsed(piece, shape)
            if shape.whole_labels:
                y = _whole(piece, y)
            for first in range(0, len(y), rows):
                yield X[first : first + rows].toarray(), y[first : first + rows]

    return Table(
        n_rows=shape.n_rows,
        n_features=width,
        dtype=np.dtype(np.float64),
        read=read,
        progress=text.progress,
    )


def _survey(text: TextFile, options: ReadOptions) -> Shape:
    """The largest index, whether there is an index 0, and whether all labels are whole numbers."""
    raw = Shape(None, None, zero_based=True)
    n_rows, largest, smallest, whole = 0, -1, 1, options.label_type != "float"
    for piece in text.pieces():
        X, y = _parsed(piece, raw)
        n_rows += len(y)
        whole = whole and bool((y == np.floor(y)).all())
        if options.n_features is not None:  # nothing else is asked of the rest
            zero_based = bool(options.zero_based)
            return Shape(None, options.n_features, zero_based, whole)
        largest = max(largest, int(X.indices.max(initial=-1)))
        smallest = min(smallest, int(X.indices.min(initial=1)))
    zero_based = smallest == 0 if options.zero_based is None else options.zero_based
    return Shape(n_rows, largest + zero_based, zero_based, whole)


def _parsed(piece: Piece, shape: Shape) -> tuple[Any, np.ndarray]:
    """Sparse rows and labels. Raises ReaderError with the first line that cannot be read."""
    try:
        X, y = _plain(piece.rows, shape) or _load(piece.rows, shape)
    except (ValueError, OverflowError):
        rows = list(piece.lines())
        before = bisect.bisect_left(range(len(rows)), True, key=lambda last: _fails(rows[: last + 1], shape))
        number, line = rows[before]
        raise ReaderError(f"line {number}: {_trouble(line, shape)}: {line[:60]!r}") from None
    for values, rows_of in ((y, np.arange(len(y) + 1)), (X.data, X.indptr)):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            row = int(np.searchsorted(rows_of, bad[0], "right")) - 1
            raise ReaderError(f"line {_line_number(piece, row)}: {values[bad[0]]} is not finite")
    return X, y


def _plain(rows: bytes, shape: Shape) -> tuple[Any, np.ndarray] | None:
    """Rows of nothing but numbers, with one blank or colon between two of them; None for others."""
    rows = rows.replace(b"\r\n", b"\n").replace(b" \n", b"\n")
    marks = np.frombuffer(rows, np.uint8)
    marks = marks[(marks == BLANK) | (marks == COLON) | (marks == END)]
    ends = np.flatnonzero(marks == END)
    marks = np.delete(marks, ends)
    lengths, odd = np.divmod(np.diff(ends, prepend=-1) - 1, 2)  # features of each row
    if odd.any() or (marks[0::2] != BLANK).any() or (marks[1::2] != COLON).any():
        return None
    starts = np.concatenate([[0], np.cumsum(lengths)])
    numbers = _numbers(rows)
    if numbers is None or len(numbers) != len(ends) + 2 * starts[-1]:
        return None
    places = 2 * starts[:-1] + np.arange(len(ends))
    pairs = np.delete(numbers, places).reshape(-1, 2)
    columns = pairs[:, 0] - (not shape.zero_based)
    limit = UNLIMITED if shape.n_features is None else shape.n_features
    between = starts[(starts > 0) & (starts < len(columns))] - 1  # the last feature of a row and the next
    rising = np.diff(columns) > 0
    rising[between] = True
    whole = (columns >= 0) & (columns < limit) & (columns == np.floor(columns))
    if not (rising.all() and whole.all()):
        return None
    X = csr_matrix((pairs[:, 1], columns.astype(np.int32), starts), shape=(len(ends), limit))
    return X, numbers[places]


def _numbers(rows: bytes) -> np.ndarray | None:
    """All numbers of a text in their order; None where it holds something else."""
    arrow = files.package("pyarrow", "reading text")
    arrow_csv = files.package("pyarrow.csv", "reading text")
    options = arrow_csv.ReadOptions(column_names=["x"], block_size=len(rows) + 1, use_threads=False)
    convert = arrow_csv.ConvertOptions(column_types={"x": arrow.float64()}, null_values=[])
    try:
        found = arrow_csv.read_csv(io.BytesIO(rows.translate(ONE_A_LINE)), options, convert_options=convert)
    except arrow.ArrowInvalid:
        return None
    numbers: np.ndarray = found["x"].to_numpy()
    return numbers


def _load(rows: bytes, shape: Shape) -> tuple[Any, np.ndarray]:
    from sklearn.datasets import load_svmlight_file  # only here: it takes a second

    X, y = load_svmlight_file(
        io.BytesIO(rows), n_features=shape.n_features, zero_based=shape.zero_based, dtype=np.float64
    )
    return X, y


def _fails(rows: list[tuple[int, bytes]], shape: Shape) -> bool:
    return bool(_trouble(b"\n".join(line for _, line in rows), shape))


def _trouble(rows: bytes, shape: Shape) -> str:
    """Why these lines cannot be read, "" if they can."""
    try:
        _load(rows, shape)
    except (ValueError, OverflowError) as error:
        return str(error)
    return ""


def _whole(piece: Piece, y: np.ndarray) -> np.ndarray:
    """Labels as integers. Raises ReaderError with the first line whose label is none."""
    bad = np.flatnonzero((y != np.floor(y)) | (np.abs(y) >= exact.CERTAIN))
    if bad.size:
        raise ReaderError(
            f"line {_line_number(piece, bad[0])}: label {y[bad[0]]} is not a whole number below 2^53, as "
            "before; label_type='float' reads all of them as targets"
        )
    return y.astype(np.int64)


def _line_number(piece: Piece, row: int) -> int:
    return next(number for place, (number, _) in enumerate(piece.lines()) if place == row)
