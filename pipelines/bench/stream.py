"""Bench `stream`: one pass over a Zarr store, `Standardize.fit`, from the page cache and from the disk.

The peer is what one would write with dask.array alone, in two reductions over the same store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import dask
import dask.array as da
import numpy as np

import daskkernels as dk
from pipelines.bench.limits import fetched_bytes
from pipelines.bench.records import Limit, Row
from pipelines.bench.setup import Setup, chunk_files, forget_store

COPIES = 4  # of the rows: a pass over 60 000 bytes images alone is over in a moment


def run(setup: Setup) -> Iterator[Row]:
    """Both: limits are memory and decompression, and for the second one the disk."""
    data = repeated(setup, 1 if setup.quick else COPIES)
    packed = sum(path.stat().st_size for path in chunk_files(data))
    plain = data.n_rows * data.n_features * data.dtype.itemsize
    limits = setup.limits

    def shares(seconds: float) -> tuple[Limit, ...]:
        return limits.zstd.against(plain, seconds), limits.memory.against(plain, seconds)

    yield one(setup, data, plain, "stream, cached", "from the page cache", None, shares)
    forget_store(data)
    before = fetched_bytes()
    one_pass(data)()
    fetched = None if before is None else (fetched_bytes() - before) / packed
    where = "dropped from the page cache" if fetched is None else f"{min(fetched, 1):.0%} of it from the disk"
    yield one(
        setup,
        data,
        plain,
        "stream, disk",
        where,
        lambda: forget_store(data),
        lambda seconds: (limits.disk.read.against(packed, seconds), *shares(seconds)),
    )


def repeated(setup: Setup, copies: int) -> dk.Dataset:
    """The rows several times over, as a dataset on disk."""
    blocks = (block for _ in range(copies) for block in np.array_split(setup.data.stored, 8))
    return dk.write_dataset(setup.folder / "stream.zarr", blocks)


def one_pass(data: dk.Dataset) -> Callable[[], object]:
    """Means and variances by the library."""
    return lambda: dk.Standardize().fit(data.X)


def peer_pass(data: dk.Dataset) -> Callable[[], object]:
    """Means and variances by dask.array, which shares the chunks between its two reductions."""

    def run() -> object:
        X = da.from_zarr(data.path, component="X")
        return dask.compute(X.mean(axis=0), X.var(axis=0))

    return run


def one(
    setup: Setup,
    data: dk.Dataset,
    plain: int,
    name: str,
    where: str,
    prepare: Callable[[], object] | None,
    shares: Callable[[float], tuple[Limit, ...]],
) -> Row:
    """One row: GB/s of rows as they are in memory."""
    found = setup.yardstick.race(name, one_pass(data), peer_pass(data), prepare)
    return Row(
        "stream",
        name,
        f"Standardize.fit n={data.n_rows} {data.dtype}, {where}; peer: mean and var of dask.array",
        plain / found.samples.median / 1e9,
        "GB/s",
        found.samples,
        judged=found.judged,
        limits=shares(found.samples.median),
    )
