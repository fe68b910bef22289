"""Reader of delimited text: CSV, TSV, numbers between blanks; parsed by Arrow in pieces of whole lines.

A piece that Arrow refuses is read again cell by cell, which finds the line and the column that is wrong, and
reads what Python takes for a number and Arrow does not, such as +1.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn

import numpy as np

from datasets.readers import exact, files
from datasets.readers.base import Block, ReaderError, ReadOptions, Table
from datasets.readers.columns import chosen, integer, position
from datasets.readers.text import Piece, TextFile

DELIMITERS = ("\t", ";", ",", "|", " ")  # the first of these in the first line is the one
BLANKS = " "  # any run of blanks and tabs
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")  # in small letters
SAMPLE_ROWS = 1000
_SPOKEN = {"i": "a whole number of 64 bits", "f": "a finite number"}
FLOAT, WHOLE, TEXT = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.str_)


@dataclass(frozen=True)
class Layout:
    """How the lines of one file become rows."""

    delimiter: str
    names: tuple[str, ...] | None  # of all columns, from the header
    n_columns: int
    features: tuple[int, ...]
    label: int | None
    label_type: np.dtype
    number: np.dtype  # type of the features as they are parsed


def open_csv(address: str, options: ReadOptions) -> Table:
    """The table in a text file: all columns but `label` are features, unless `features` lists them."""
    text = TextFile(address)
    delimiter = _delimiter(_first_row(text)[1], options.delimiter)
    if delimiter == "\t":  # a line of tabs is a row without values
        text = TextFile(address, blank=b" \r")
    layout, header = _layout(text, delimiter, options)

    def read(_rows: int, start: int) -> Iterator[Block]:
        for piece in text.pieces(start, header):
            block = _parsed(piece, layout)
            yield block if block is not None else _parsed_by_cell(piece, layout)

    return Table(
        n_rows=None,
        n_features=len(layout.features),
        dtype=layout.number,
        read=read,
        feature_names=None if layout.names is None else tuple(layout.names[i] for i in layout.features),
        progress=text.progress,
    )


def _first_row(text: TextFile) -> tuple[int, bytes]:
    """The first line that is a row, with its number."""
    for piece in text.pieces():
        for row in piece.lines():
            return row
    raise ReaderError("it has no rows")


def _layout(text: TextFile, delimiter: str, options: ReadOptions) -> tuple[Layout, bool]:
    """How the file is to be read, as told or as its first lines show; and whether it has a header."""
    cells = [cell.strip() for cell in _cells(*_first_row(text), delimiter)]
    header = _is_header(cells, options.label) if options.header is None else options.header
    names = tuple(cells) if header else None
    label = None if options.label is None else position(options.label, names, len(cells))
    if names and not names[0] and label != 0 and options.features is None:
        raise ReaderError("column 0 has no name, as an index of pandas: features='1:' leaves it out")
    dtype = FLOAT if options.dtype is None else exact.number_type(options.dtype)
    layout = Layout(
        delimiter=delimiter,
        names=names,
        n_columns=len(cells),
        features=chosen(options.features, label, names, len(cells)),
        label=label,
        label_type=TEXT,
        number=dtype if dtype.kind in "iu" and dtype.itemsize == 8 else FLOAT,
    )
    rows = (row for piece in text.pieces(header=header) for row in piece.lines())
    sample = (_cells(number, line, delimiter) for number, line in islice(rows, SAMPLE_ROWS))
    labels = ["" if label is None else "".join(row[label : label + 1]).strip() for row in sample]
    if not labels:
        raise ReaderError("it has a header and no rows")
    alone = len(labels) > 1 and _is_name(labels[0]) and all(map(exact.is_number, labels[1:]))
    if alone and options.header is None and not header:
        _refuse_first_line(labels[0])
    return dataclasses.replace(layout, label_type=_label_type(labels, options.label_type)), header


def _delimiter(line: bytes, given: str | None) -> str:
    """The delimiter told, or the one that the first line has outside of quotes."""
    if given is not None:
        delimiter = given.replace("\\t", "\t")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ReaderError(f"delimiter must be one character, got {given!r}")
        return delimiter
    bare = re.sub(rb'"[^"]*"', b"", line.strip())
    return next((delimiter for delimiter in DELIMITERS if delimiter.encode() in bare), ",")


def _cells(number: int, line: bytes, delimiter: str) -> list[str]:
    """The cells of one line. Raises ReaderError with its number."""
    if b"\0" in line:
        raise ReaderError(f"line {number}: it holds a NUL byte: is this text in UTF-8?")
    try:
        text = line.decode("utf-8").rstrip("\r")
        if delimiter == BLANKS:
            text = re.sub(r"[ \t]+", " ", text).strip(" ")
        cells = next(csv.reader([text + "\n"], delimiter=delimiter))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ReaderError(f"line {number}: {error}") from error
    if cells[-1].endswith("\n"):  # the end of the line was inside of quotes
        raise ReaderError(f'line {number}: a quote (") is not closed on it; each row has to be one line')
    return cells


def _is_header(cells: list[str], label: str | int | None) -> bool:
    """Whether the label is told by a name, or all other cells of the first line are names.

    Only the first may be empty, as pandas writes its index. Raises ReaderError for the names 0, 1, 2, ...
    """
    column = None if label is None else integer(label)
    if label is not None and column is None:
        return True
    own = column if column is None or column >= 0 else column + len(cells)
    others = [cell for place, cell in enumerate(cells) if place != own]
    names = others[1:] if others and not others[0] else others
    numbered = [cell for place, cell in enumerate(cells) if place != own or not _is_name(cell)]
    numbered = numbered[1:] if numbered and not numbered[0] else numbered
    if len(numbered) > 1 and numbered == [str(place) for place in range(len(numbered))]:
        _refuse_first_line(", ".join(cells[:2]) + ", ...")
    return bool(names) and all(map(_is_name, names))


def _is_name(cell: str) -> bool:
    return not exact.is_number(cell) and cell.lower() not in MISSING


def _refuse_first_line(what: str) -> NoReturn:
    raise ReaderError(f"its first line ({what}) may be names or a row: header=True or header=False tells")


def _label_type(labels: list[str], told: str | None) -> np.dtype:
    """Whole numbers, floats or strings, by the labels of the first rows; a missing one counts for none."""
    present = [label for label in labels if label.lower() not in MISSING] or labels
    numbers = [label for label in present if exact.is_number(label)]
    if told == "string" or (told is None and len(numbers) < len(present)):
        return TEXT
    whole = all(re.fullmatch(r"[+-]?[0-9]+", label) for label in numbers)
    return WHOLE if whole and told != "float" else FLOAT


def _parsed(piece: Piece, layout: Layout) -> Block | None:
    """The rows of a piece by Arrow; None when something in it is not as it should be."""
    arrow, arrow_csv = (files.package(name, "reading text") for name in ("pyarrow", "pyarrow.csv"))
    rows = piece.rows
    n_rows = rows.count(b"\n")
    if b"\0" in rows or rows.count(b"\r") != rows.count(b"\r\n"):  # Arrow ends a row at a lone \r
        return None
    if layout.delimiter == BLANKS:
        rows = re.sub(rb" ?[\r\n]+ ?", b"\n", re.sub(rb"[ \t]+", b" ", rows)).lstrip()
    types = dict.fromkeys(layout.features, arrow.from_numpy_dtype(layout.number))
    if layout.label is not None:
        text = arrow.string()
        types[layout.label] = text if layout.label_type == TEXT else arrow.from_numpy_dtype(layout.label_type)
    try:
        found = arrow_csv.read_csv(
            io.BytesIO(rows),
            arrow_csv.ReadOptions(
                column_names=[str(i) for i in range(layout.n_columns)],
                block_size=len(rows) + 1,
                use_threads=False,
            ),
            arrow_csv.ParseOptions(delimiter=layout.delimiter),
            arrow_csv.ConvertOptions(
                column_types={str(i): kind for i, kind in types.items()},
                include_columns=[str(i) for i in types],
                null_values=[],
            ),
        )
    except arrow.ArrowInvalid:
        return None
    if found.num_rows != n_rows:
        return None  # a quote left open has joined lines
    X = np.empty((n_rows, len(layout.features)), layout.number)
    for j, column in enumerate(layout.features):
        X[:, j] = found[str(column)].to_numpy()
    if layout.label is None:
        return (X, None) if np.isfinite(X).all() else None
    y = found[str(layout.label)].to_numpy()
    if layout.label_type == TEXT:
        y = np.char.strip(exact.as_text(y))
    sound = (y != "").all() if layout.label_type == TEXT else np.isfinite(y).all()
    return (X, y) if sound and np.isfinite(X).all() else None


def _parsed_by_cell(piece: Piece, layout: Layout) -> Block:
    """The same rows, cell by cell. Raises ReaderError with the line and the column that is wrong."""
    X, y = [], []
    for number, line in piece.lines():
        cells = _cells(number, line, layout.delimiter)
        if len(cells) != layout.n_columns:
            raise ReaderError(f"line {number}: {len(cells)} cells, wanted {layout.n_columns}")
        X.append([_value(cells, column, layout, number) for column in layout.features])
        if layout.label is not None:
            y.append(_value(cells, layout.label, layout, number))
    if layout.label is None:
        return np.asarray(X, layout.number), None
    labels = exact.as_text(y) if layout.label_type == TEXT else np.asarray(y, layout.label_type)
    return np.asarray(X, layout.number), labels


def _value(cells: list[str], column: int, layout: Layout, line: int) -> float | int | str:
    """The value of one cell."""
    cell = cells[column].strip()
    kind = layout.label_type if column == layout.label else layout.number
    name = "" if layout.names is None else f" ({layout.names[column]!r})"
    where = f"line {line}, column {column}{name}"
    if not cell or (kind != TEXT and cell.lower() in MISSING):
        raise ReaderError(f"{where}: the value is missing ({cell!r}); fill it or leave the row out")
    if kind == TEXT:
        return cell
    value = exact.number(cell, kind)
    if value is not None:
        return value
    if column == layout.label:
        raise ReaderError(
            f"{where}: label {cell!r} is not {_SPOKEN[kind.kind]} as those before it; "
            "label_type says what all of them are"
        )
    hint = "; header=True if this line is one" if line == 1 and layout.names is None else ""
    raise ReaderError(f"{where}: {cell!r} is not a finite {kind} number{hint}")
