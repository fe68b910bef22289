"""Readers of raw files: from a path to a table of row blocks, chosen by the ending of the file's name.

`READERS` is the list of formats; everything a format needs stands in its own file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from datasets.readers.base import ReaderError, Table
from datasets.readers.numpy_files import open_npy, open_npz

__all__ = ["READERS", "ReaderError", "Table", "open_table"]

READERS: dict[str, Callable[[Path, str, str | None], Table]] = {".npy": open_npy, ".npz": open_npz}


def open_table(path: str | Path, *, X: str = "X", y: str | None = "y") -> Table:
    """The table in a raw file: `X` names its features, `y` its labels (None: no labels).

    Raises ReaderError for a missing file, an unknown ending, or content that is not a table.
    """
    path = Path(path)
    if not path.is_file():
        raise ReaderError(f"{path}: no such file")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        ending = path.suffix or "no ending"
        raise ReaderError(f"{path}: no reader for {ending!r}; known: {', '.join(READERS)}")
    return reader(path, X, y)
