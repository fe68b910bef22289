"""The command `python -m datasets ingest`: a file of one's own, in any format that has a reader, as Zarr.

Says on stdout what was written, on stderr how far it is.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import Any

from datasets.address import check_protocol, not_empty

EPILOG = (
    "A stopped ingest goes on when the same command is given again. "
    "Formats, examples and errors: docs/data.md."
)


def add_parser(commands: Any) -> None:
    """Add the command and its arguments to those of the program."""
    parser = commands.add_parser("ingest", help="write a file of your own as Zarr", epilog=EPILOG)
    add = parser.add_argument
    yes_or_no = argparse.BooleanOptionalAction
    add("file", type=not_empty, metavar="FILE", help="path or URL of a file or of a folder of images")
    add("--out", type=not_empty, required=True, metavar="PATH", help="folder or URL, such as mine.zarr")
    add("--format", metavar="NAME", help="csv, libsvm, ...; without it the ending of the name tells")
    add("--features", metavar="NAMES", help="array (default: X), or columns such as age,income or 1:29")
    add("--label", metavar="NAME", help="array, file or column of labels (columns also by number: 0, -1)")
    add("--label-type", choices=("int", "string", "float"), help="classes, or float: regression targets")
    add("--header", action=yes_or_no, help="text: whether the first line names the columns")
    add("--delimiter", metavar="CHAR", help="text: between two cells; ' ' is any run of blanks")
    add("--n-features", type=int, metavar="N", help="LIBSVM: columns; saves reading the file twice")
    add("--zero-based", action=yes_or_no, help="LIBSVM: whether the first column is number 0")
    add("--dtype", metavar="TYPE", help="type to store, such as uint8; refused if a value does not fit")
    add("--scale", metavar="BY", help="multiply by a number such as 1/255, or: standard (mean 0, variance 1)")
    add("--overwrite", action="store_true", help="replace a dataset that is already there")
    add("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=ingest_file)


def ingest_file(arguments: argparse.Namespace) -> int:
    """Write one file and say what was written."""
    check_protocol(arguments.file, "FILE")
    check_protocol(arguments.out, "--out")
    # Imported here: the library takes seconds to load, and listing or refusing needs none of it.
    from datasets.ingest import ingest
    from datasets.readers import ReadOptions

    dataset = ingest(
        arguments.file,
        arguments.out,
        ReadOptions(**{field.name: getattr(arguments, field.name) for field in fields(ReadOptions)}),
        scale=arguments.scale,
        overwrite=arguments.overwrite,
        progress=not arguments.quiet,
        say=lambda line: print(line, file=sys.stderr),
    )
    found = f"{dataset.n_rows} rows, {dataset.n_features} columns, {dataset.dtype}, {_labels(dataset)}"
    print(f"{arguments.out}: {found}; open it with daskkernels.open_dataset({arguments.out!r})")
    return 0


def _labels(dataset: Any) -> str:
    if dataset.classes is not None:
        return f"{len(dataset.classes)} classes"
    return "no labels" if dataset.y is None else "targets"
