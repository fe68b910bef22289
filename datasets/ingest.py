"""From a file of one's own to a Zarr dataset: opened by its reader, checked, scaled, written block by block.

An ingest that was stopped, by an error, by Ctrl-C or by a kill, goes on when the same call is made again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

import daskkernels as dk
from datasets.readers import AS_IT_IS, Block, ReaderError, ReadOptions, Table, files, open_table
from datasets.scaling import scaled
from datasets.taken import refuse_complete

BLOCK_BYTES = 8 * 2**20  # of one block as float64; the store regroups the rows to its own chunks


def ingest(
    address: str | Path,
    out: str | Path,
    options: ReadOptions = AS_IT_IS,
    *,
    scale: str | float | None = None,
    source: object = None,
    overwrite: bool = False,
    progress: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> dk.Dataset:
    """Write the table in a raw file as a Zarr dataset, a few megabytes in memory at a time.

    `scale` multiplies the features by a number, or standardizes them ("standard": one more pass); they become
    float32. `source` is kept with the data (default: the address). `progress` shows a bar on a terminal;
    `say` is told where an unfinished dataset is continued, and how to go on after Ctrl-C.
    Raises ReaderError for what is wrong with the file, ValueError for what is wrong with `scale`, and what
    `dk.write_dataset` raises when the path is taken or cannot be written.
    """
    if not overwrite:
        refuse_complete(out)
    before = files.identity(str(address))  # before anything is read of it
    raw = open_table(address, options)
    made_of = {file: before if file == str(address) else files.identity(file) for file in raw.files}
    rows = max(1, BLOCK_BYTES // (8 * raw.n_features))
    table = scaled(raw, scale, rows)

    def blocks(start: int) -> Iterator[Block]:
        if start:
            say(f"{out}: continuing at row {start}")
        checked = _finite(_unchanged(table.blocks(rows, start), made_of), start, str(address))
        return _with_bar(checked, table, start, progress)

    try:
        return dk.write_dataset(
            out,
            blocks,
            feature_names=table.feature_names,
            feature_shape=table.feature_shape,
            source=files.shown(str(address)) if source is None else source,
            overwrite=overwrite,
            resume=_recipe(made_of, options, scale),
        )
    except KeyboardInterrupt:
        say(f"{out}: not finished; the same command goes on with it")
        raise


def _recipe(made_of: dict[str, str], options: ReadOptions, scale: str | float | None) -> str:
    """What the dataset is made of: the files as they were opened, and everything that decides its values."""
    told = {**dataclasses.asdict(options), "scale": scale}
    parts = list(made_of.values())
    for name, value in told.items():
        if value is not None:
            parts.append(f"{name}={files.shown(value) if isinstance(value, str) else value!r}")
    return "; ".join(parts)


def _unchanged(blocks: Iterator[Block], made_of: dict[str, str]) -> Iterator[Block]:
    """The blocks; an error after the last one if a file is no longer what it was before it was opened."""
    yield from blocks
    for address, before in made_of.items():
        if files.identity(address) != before:
            raise ReaderError(
                "it has changed while it was read: pass overwrite=True to read it again", files.shown(address)
            )


def _finite(blocks: Iterator[Block], row: int, address: str) -> Iterator[Block]:
    """The blocks; a NaN or an infinity is an error, since no estimator takes it."""
    for X, y in blocks:
        if X.dtype.kind == "f" and not np.isfinite(X).all():
            place = np.argwhere(~np.isfinite(X))[0]
            value = X[tuple(place)]
            raise ReaderError(
                f"row {row + place[0]}, column {place[1]}: {value} is not a finite number; fill it or leave "
                "the row out",
                files.shown(address),
            )
        yield X, y
        row += len(X)


def _with_bar(blocks: Iterator[Block], table: Table, start: int, shown: bool) -> Iterator[Block]:
    """The blocks under a bar of the rows, or of the bytes read of a file whose rows are not counted."""
    disable = None if shown else True  # None: no bar where stderr is not a terminal
    if table.n_rows is not None or table.progress is None:
        with tqdm(total=table.n_rows, initial=start, unit=" rows", disable=disable) as bar:
            for X, y in blocks:
                yield X, y
                bar.update(len(X))
        return
    with tqdm(total=table.progress()[1], unit="B", unit_scale=True, disable=disable) as bar:
        for block in blocks:
            yield block
            bar.update(table.progress()[0] - bar.n)
