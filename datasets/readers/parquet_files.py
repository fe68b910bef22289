"""Reader of Parquet files: row groups before the first row wanted are left out, the others come in batches.

Columns of different types are stored as the smallest type for all of them; a value that it does not hold
exactly is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from datasets.readers import exact, files
from datasets.readers.base import Block, ReaderError, ReadOptions, Table
from datasets.readers.columns import chosen, position

BUFFER_BYTES = 2**16  # of each column: without it, the whole of a row group is read at once


def open_parquet(address: str, options: ReadOptions) -> Table:
    """The table in a Parquet file: all columns but `label` are features, unless `features` lists them."""
    with _opened(address) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        group_rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    names = schema.names
    if len(set(names)) < len(names):
        raise ReaderError("two of its columns have the same name")
    label = None if options.label is None else position(options.label, names, len(names))
    features = chosen(options.features, label, names, len(names))
    if options.features is None:
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        features = tuple(column for column in features if names[column] not in index)
        if not features:
            raise ReaderError("all its columns are the index that pandas has written: list the features")
    dtype = np.result_type(*(_number_type(schema.field(column)) for column in features))
    if label is not None:
        _check_label(schema.field(label))
    taken = [names[column] for column in features]

    def read(rows: int, start: int) -> Iterator[Block]:
        groups, skip = _groups_from(group_rows, start)
        row = start
        with _opened(address) as file:
            columns = taken if label is None else [*taken, names[label]]
            for batch in file.iter_batches(rows, groups, columns, use_threads=False):
                found = batch.slice(min(skip, len(batch)))
                skip -= len(batch) - len(found)
                X = np.empty((len(found), len(taken)), dtype)
                for j, name in enumerate(taken):
                    X[:, j] = exact.as_type(_values(found, name, row), dtype, row)
                yield X, None if label is None else _values(found, names[label], row)
                row += len(found)

    return Table(n_rows, len(features), dtype, read, feature_names=tuple(taken))


@contextlib.contextmanager
def _opened(address: str) -> Iterator[Any]:
    parquet = files.package("pyarrow.parquet", "reading Parquet")
    with files.opened(address) as file:
        yield parquet.ParquetFile(
            file, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
        )


def _groups_from(group_rows: list[int], start: int) -> tuple[list[int], int]:
    """The row groups from the one with row `start` on, and how many rows of the first are before it."""
    first = 0
    while first < len(group_rows) and group_rows[first] <= start:
        start -= group_rows[first]
        first += 1
    return list(range(first, len(group_rows))), start


def _number_type(field: Any) -> np.dtype:
    """The numpy type of a column. Raises ReaderError unless it holds numbers."""
    types = files.package("pyarrow", "reading Parquet").types
    if types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type):
        dtype: np.dtype = np.dtype(field.type.to_pandas_dtype())
        return dtype
    raise ReaderError(
        f"column {field.name!r} is {field.type}, wanted numbers: make it the label, or list the features"
    )


def _check_label(field: Any) -> None:
    types = files.package("pyarrow", "reading Parquet").types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if not (types.is_string(kind) or types.is_large_string(kind)):
        _number_type(field.with_type(kind))


def _values(batch: Any, name: str, row: int) -> np.ndarray:
    """One column of a batch as numbers or strings. Raises ReaderError with the row of a missing value."""
    column = batch.column(name)
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        raise ReaderError(f"row {row + int(np.argmax(missing))}, column {name!r}: the value is missing")
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    values: np.ndarray = column.to_numpy(zero_copy_only=False)
    return exact.as_text(values, row) if values.dtype.kind == "O" else values
