"""Bench `store`: the rows written and read by the library and by plain Zarr, same chunks, same codecs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec, ZstdCodec

import daskkernels as dk
from pipelines.bench.records import Limit, Row
from pipelines.bench.setup import Setup
from pipelines.bench.timing import Race


def run(setup: Setup) -> Iterator[Row]:
    """Write new files, then read what is in the page cache."""
    rows, chunk = setup.data.stored, (setup.store.chunk_rows, setup.store.n_features)
    mine, theirs = setup.folder / "ours.zarr", setup.folder / "plain.zarr"
    race, limits = setup.yardstick.race, setup.limits

    def remove() -> None:
        for path in (mine, theirs):
            shutil.rmtree(path, ignore_errors=True)

    found = race(
        "store write", lambda: dk.write_dataset(mine, rows), lambda: plain_write(theirs, rows, chunk), remove
    )
    yield row(setup, found, "store write", "write_dataset, to the page cache")
    remove()
    dk.write_dataset(mine, rows)
    plain_write(theirs, rows, chunk)
    found = race(
        "store read", lambda: dk.open_dataset(mine).X.compute(), lambda: zarr.open_array(theirs, mode="r")[:]
    )
    shares = [rate.against(rows.nbytes, found.samples.median) for rate in (limits.zstd, limits.memory)]
    yield row(setup, found, "store read", "X.compute(), from the page cache", *shares)


def row(setup: Setup, found: Race, name: str, what: str, *limits: Limit) -> Row:
    """How many times as long plain Zarr takes."""
    chunk, rate = setup.store.chunk_rows, setup.data.stored.nbytes / found.samples.median / 1e9
    return Row(
        "store",
        name,
        f"{what}, {rate:.2g} GB/s; peer: plain Zarr, the same codecs and chunks of {chunk} rows",
        found.samples.times,
        "times",
        found.samples,
        judged=found.judged,
        limits=limits,
        details={"GB/s": rate},
    )


def plain_write(path: Path, rows: np.ndarray, chunk: tuple[int, int]) -> None:
    """What a user of Zarr alone would write."""
    array = zarr.create_array(
        path, shape=rows.shape, dtype=rows.dtype, chunks=chunk, compressors=[ZstdCodec(), Crc32cCodec()]
    )
    array[...] = rows
