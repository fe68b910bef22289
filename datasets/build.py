"""From a raw file to a Zarr dataset: read in blocks, checked, and written by the library.

The check ends with the last block, so a changed raw file leaves a store that was never marked complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import daskkernels as dk
from datasets.digest import ArrayDigest
from datasets.readers import ReaderError, Table, open_table
from datasets.spec import DatasetSpec, Part

Block = np.ndarray | tuple[np.ndarray, np.ndarray]
BLOCK_BYTES = 8 * 2**20  # held by the reader at a time; the store regroups the rows to its own chunks


def build(
    spec: DatasetSpec, path: str | Path, *, part: str | None = None, overwrite: bool = False
) -> dk.Dataset:
    """Write one part of a named data set, by default the first, as a Zarr dataset.

    Raises ReaderError when the raw file is missing or does not hold the promised numbers, and what
    `dk.write_dataset` raises when the path is taken or cannot be written.
    """
    chosen = spec.part(part)
    table = open_part(spec, chosen)
    return dk.write_dataset(
        path,
        verified_blocks(table, chosen, str(spec.raw_path)),
        feature_names=list(spec.feature_names),
        source=f"{spec.name} ({chosen.name}): {spec.citation}. {spec.source}. {spec.licence}",
        overwrite=overwrite,
    )


def open_part(spec: DatasetSpec, part: Part) -> Table:
    """The raw file of one part, shape and type compared with what is promised, before any row is read."""
    table = open_table(spec.raw_path, X=part.X.member, y=part.y.member if part.y else None)
    found = ((table.n_rows, table.n_features), table.dtype.str)
    wanted = (part.X.shape, part.X.dtype)
    if found != wanted:
        name = part.X.member
        raise ReaderError(f"{spec.raw_path}: array {name!r} has shape and type {found}, wanted {wanted}")
    return table


def verified_blocks(table: Table, part: Part, path: str) -> Iterator[Block]:
    """Row blocks, with labels where there are any; raises after the last one unless all is as promised."""
    features = ArrayDigest(np.dtype(part.X.dtype), part.X.shape)
    labels = ArrayDigest(np.dtype(part.y.dtype), part.y.shape) if part.y else None
    for X, y in table.blocks(max(1, BLOCK_BYTES // (table.n_features * table.dtype.itemsize))):
        features.update(X)
        if labels is None or y is None:
            yield X
        else:
            labels.update(y)
            yield X, y
    features.verify(part.X, path)
    if labels is not None and part.y is not None:
        labels.verify(part.y, path)
