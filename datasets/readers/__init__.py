"""Readers of raw files: from a path or URL to a table of row blocks, by format or by the ending of the name.

`FORMATS` is the list of formats; everything a format needs stands in its own file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from datasets.readers import exact, files
from datasets.readers.base import Block, ReaderError, ReadOptions, Table
from datasets.readers.csv_files import open_csv
from datasets.readers.hdf5_files import open_hdf5
from datasets.readers.idx_files import open_idx
from datasets.readers.image_folder import open_images
from datasets.readers.libsvm_files import open_libsvm
from datasets.readers.matlab_files import open_matlab
from datasets.readers.numpy_files import open_npy, open_npz
from datasets.readers.parquet_files import open_parquet

__all__ = ["AS_IT_IS", "FORMATS", "Block", "Format", "ReadOptions", "ReaderError", "Table", "open_table"]


@dataclass(frozen=True)
class Format:
    """One kind of raw file: how its names end, how it is opened, which options mean something to it."""

    endings: tuple[str, ...]
    open: Callable[[str, ReadOptions], Table]
    options: frozenset[str]
    packed: bool = True  # may be compressed as a whole
    decimal: bool = False  # numbers are written as text


def _format(endings: str, opener: Callable[[str, ReadOptions], Table], options: str, **marks: bool) -> Format:
    return Format(tuple(endings.split()), opener, frozenset(options.split()), **marks)


FORMATS: dict[str, Format] = {
    "npz": _format(".npz", open_npz, "features label", packed=False),
    "npy": _format(".npy", open_npy, "label"),
    "csv": _format(
        ".csv .tsv .txt .data .dat .trn .tst", open_csv, "features label header delimiter", decimal=True
    ),
    "parquet": _format(".parquet .pq", open_parquet, "features label", packed=False),
    "libsvm": _format(".libsvm .svm .svmlight", open_libsvm, "n_features zero_based", decimal=True),
    "idx": _format(".idx -ubyte", open_idx, "label"),
    "hdf5": _format(".h5 .hdf5 .hdf", open_hdf5, "features label", packed=False),
    "mat": _format(".mat", open_matlab, "features label", packed=False),
    "images": _format("", open_images, "", packed=False),  # a folder
}
AS_IT_IS = ReadOptions()
_ALWAYS = frozenset({"format", "dtype", "label_type"})


def open_table(address: str | Path, options: ReadOptions = AS_IT_IS) -> Table:
    """The table in a raw file, at a path or fsspec URL, as `options` describe it.

    Raises ReaderError for a missing file, an unknown ending, an option that means nothing to the format, or
    content that is not a table; reading its blocks, for damage, with the row.
    """
    address = str(address)
    name = options.format or _name_of_format(address)
    if name not in FORMATS:
        raise ReaderError(f"format must be one of {', '.join(FORMATS)}, got {name!r}")
    form = FORMATS[name]
    _check_options(name, form, options)
    if not form.packed and files.compression(address):
        raise ReaderError(f"a {name} file is read here and there: decompress it first", files.shown(address))
    dtype = None if options.dtype is None else exact.number_type(options.dtype)
    with files.named(address, lambda: f"not a readable {name} file"):
        table = form.open(address, options)
        table = exact.retyped(table, dtype, options.label_type, rounds=form.decimal)
    table = dataclasses.replace(table, files=table.files or (address,))
    return dataclasses.replace(table, read=lambda rows, start: _guarded(address, table, rows, start))


def _name_of_format(address: str) -> str:
    """The format whose ending the address has."""
    name = files.name_of(address)
    for form, kind in FORMATS.items():
        if name.endswith(kind.endings):
            return form
    fs, path = files.filesystem(address)
    place = files.shown(address)
    if not fs.exists(path):
        raise ReaderError("no such file", place)
    if fs.isdir(path):
        return "images"
    known = ", ".join(ending for kind in FORMATS.values() for ending in kind.endings)
    raise ReaderError(f"no format has this ending ({known}): name one of {', '.join(FORMATS)}", place)


def _check_options(name: str, form: Format, options: ReadOptions) -> None:
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value is not None and field.name not in form.options | _ALWAYS:
            takes = ", ".join(sorted(form.options)) or "none"
            raise ReaderError(
                f"{field.name} ({value!r}) means nothing to the format {name}, which takes: {takes}"
            )


def _guarded(address: str, table: Table, rows: int, start: int) -> Iterator[Block]:
    """The blocks; whatever is wrong with the content is a ReaderError that names the file and the row."""
    row = start
    with files.named(address, lambda: f"damaged at or after row {row}"):
        if table.n_rows is not None and start > table.n_rows:
            raise ReaderError(f"it has {table.n_rows} rows, but reading is to begin at row {start}")
        for X, y in table.read(rows, start):
            yield X, y
            row += len(X)
        if table.n_rows not in (None, row):
            raise ReaderError(f"it ends at row {row}, but says that it has {table.n_rows}")
