"""From original files to a Zarr dataset: read in blocks, checked, and written by the library.

The check ends with the last block, so a changed file leaves a store that was never marked complete. The same
call goes on with an unfinished store; the rows it holds are read again, so that the check covers all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import daskkernels as dk
from datasets.digest import ArrayDigest
from datasets.fetch import ARRAYS, file_digest, raw_files
from datasets.readers import ReaderError, ReadOptions, Table, open_table
from datasets.readers.base import Block
from datasets.readers.exact import as_type
from datasets.spec import DatasetSpec, MadeSpec, Part
from datasets.taken import refuse_complete

BLOCK_BYTES = 4 * 2**20  # held by the reader at a time; the store regroups the rows to its own chunks


def build(
    spec: DatasetSpec,
    path: str | Path,
    *,
    part: str | None = None,
    raw: str | Path | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> dk.Dataset:
    """Write one part of a named data set, by default the first, as a Zarr dataset.

    `raw`: the original file, a folder of them, or an .npz file of the decoded arrays; without it they are
    shipped or downloaded. `say` is told where an unfinished build goes on, and the fingerprints of arrays
    whose numbers are not known beforehand.
    Raises ReaderError when a file is missing or does not hold the promised numbers, and what
    `dk.write_dataset` raises when the path is taken or cannot be written.
    """
    chosen = spec.part(part)
    if not overwrite:
        refuse_complete(path)
    if isinstance(spec, MadeSpec) and not is_published(chosen, raw):
        from datasets.made import build_made

        return build_made(spec, chosen, path, raw=raw, overwrite=overwrite, say=say)
    files = raw_files(spec, chosen, None if raw is None else Path(raw))
    rows = PromisedRows(open_part(chosen, files), chosen, str(files[0]), f"{spec.name} {chosen.name}")

    def blocks(start: int) -> Iterator[Any]:
        if start:
            say(f"{path}: going on at row {start}")
        return rows.after(start)

    identity = ", ".join(f"{file.name} (sha256 {file_digest(file)})" for file in files)
    try:
        dataset = dk.write_dataset(
            path,
            blocks,
            classes=None if chosen.y is None else spec.classes,
            feature_names=spec.feature_names,
            feature_shape=spec.feature_shape,
            source=f"{spec.name} ({chosen.name}): {spec.citation}. {spec.source}. {spec.licence}",
            overwrite=overwrite,
            resume=f"{spec.name} ({chosen.name}) from {identity}",
        )
    except KeyboardInterrupt:
        say(f"{path}: not finished; the same command goes on with it")
        raise
    for array in chosen.arrays:
        if array.sha256 is None:
            say(f"{array.member}: sha256 {rows.fingerprints[array.member]} (not known beforehand)")
    return dataset


def is_published(part: Part, raw: str | Path | None) -> bool:
    """Whether the user has the published file of data that can also be made."""
    return raw is not None and Path(raw).name in {file.name for file in part.files}


def open_part(part: Part, files: tuple[Path, ...]) -> Table:
    """The table of one part, its shape compared with what is promised, before any row is read."""
    if files[0].suffix.lower() == ARRAYS:
        label = None if part.y is None else part.y.member
        table = open_table(files[0], ReadOptions(features=part.X.member, label=label))
    elif part.decode is not None:
        table = part.decode(*files)
    else:
        raise ReaderError(f"{files[0]}: wanted an {ARRAYS} file with the arrays {part.X.member}, ...")
    wanted = part.X.shape
    found = (wanted[0] if table.n_rows is None else table.n_rows, table.n_features)
    if found != wanted:
        raise ReaderError(f"{files[0]}: array {part.X.member!r} has shape {found}, wanted {wanted}")
    return table


class PromisedRows:
    """Rows of a table, compared with what is promised; `fingerprints` of the arrays when all are read."""

    def __init__(self, table: Table, part: Part, path: str, title: str) -> None:
        self._table, self._part, self._path, self._title = table, part, path, title
        self._rows = max(1, BLOCK_BYTES // (table.n_features * table.dtype.itemsize))
        self.fingerprints: dict[str, str] = {}

    def after(self, start: int) -> Iterator[np.ndarray | tuple[np.ndarray, np.ndarray]]:
        """Blocks from row `start` on, with labels where there are any; those before are read all the same.

        Raises ReaderError after the last block unless all rows are as promised.
        """
        digests = [ArrayDigest(np.dtype(array.dtype), array.shape) for array in self._part.arrays]
        row = 0
        with tqdm(total=self._part.X.shape[0], desc=self._title, unit=" rows", disable=None) as bar:
            for block in self._table.blocks(self._rows):
                arrays = self._as_promised(block, row)
                for digest, array in zip(digests, arrays, strict=True):
                    digest.update(array)
                skip = min(max(0, start - row), len(arrays[0]))
                row += len(arrays[0])
                bar.update(len(arrays[0]))
                if row > start:
                    rest = [array[skip:] for array in arrays]
                    yield rest[0] if len(rest) == 1 else (rest[0], rest[1])
        if row != self._part.X.shape[0]:
            raise ReaderError(f"{self._path}: {row} rows, wanted {self._part.X.shape[0]}")
        for digest, array in zip(digests, self._part.arrays, strict=True):
            self.fingerprints[array.member] = digest.verify(array, self._path)

    def _as_promised(self, block: Block, row: int) -> list[np.ndarray]:
        """The block's arrays in the promised types. Raises ReaderError for a value that does not fit."""
        arrays = []
        for promised, values in zip(self._part.arrays, block, strict=False):
            try:
                arrays.append(as_type(np.asarray(values), np.dtype(promised.dtype), row, rounds=True))
            except ReaderError as error:
                what = str(error).partition(";")[0]  # there is no type to choose
                raise ReaderError(f"array {promised.member!r}: {what}", self._path) from error
        return arrays
