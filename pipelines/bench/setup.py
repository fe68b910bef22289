"""Bench: what every bench is handed. The rows, the yardstick, the limits, and a folder for stores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import daskkernels as dk
from pipelines.bench.inputs import Digits
from pipelines.bench.limits import Limits, forget
from pipelines.bench.timing import Yardstick


@dataclass(frozen=True)
class Setup:
    """One run."""

    data: Digits
    yardstick: Yardstick
    folder: Path

    @property
    def quick(self) -> bool:
        """Whether sizes are tiny and nothing is judged."""
        return self.yardstick.quick

    @cached_property
    def limits(self) -> Limits:
        """What the machine can do."""
        return Limits(self.yardstick, self.folder, self._chunks)

    @cached_property
    def store(self) -> dk.Dataset:
        """The rows as a dataset on disk."""
        return dk.write_dataset(self.folder / "rows.zarr", self.data.stored)

    def _chunks(self) -> tuple[list[Path], int]:
        """The files of the whole chunks of the store, and their size when decompressed."""
        data = self.store
        whole = max(1, data.n_rows // data.chunk_rows)
        return chunk_files(data)[:whole], data.chunk_rows * data.n_features * data.dtype.itemsize


def chunk_files(data: dk.Dataset) -> list[Path]:
    """The chunk files of the features, in the order of the rows."""
    folder = Path(data.path) / "X" / "c"
    return sorted(
        (path for path in folder.rglob("*") if path.is_file()), key=lambda path: int(path.parent.name)
    )


def forget_store(data: dk.Dataset) -> None:
    """Ask the page cache to drop the features."""
    for path in chunk_files(data):
        forget(path)
