"""The data of the experiments: datasets of a folder, built on first use from shipped or original files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import daskkernels as dk
from datasets import registry
from datasets.build import build
from datasets.made import build_made
from datasets.readers import ReaderError
from datasets.spec import MadeSpec
from pipelines.failures import InputError


class Sources:
    """Named datasets in `folder`, as `python -m datasets build` writes them; `raw` has original files."""

    def __init__(self, folder: Path, raw: Path | None = None) -> None:
        self.folder, self.raw = folder, raw
        self.dataset = cache(self._dataset)
        self.arrays = cache(self._arrays)
        self.made = cache(self._made)

    def _dataset(self, name: str, part: str | None = None) -> dk.Dataset:
        """The dataset; built on first use. Raises InputError saying how to get it."""
        path = self.folder / f"{name}{f'-{part}' if part else ''}.zarr"
        if path.exists():
            return dk.open_dataset(path)
        spec = registry.spec(name)
        try:
            return build(spec, path, part=part, raw=self._raw_of(name))
        except (ReaderError, OSError) as error:
            raise InputError(
                f"data set {name}: {error}. Build it with `python -m datasets build {name} --out {path}`, or "
                "name the folder of the original files by --raw"
            ) from error

    def _made(self, name: str, rows: int) -> dk.Dataset:
        """The first rows of a data set that is made on the workers."""
        path = self.folder / f"{name}-{rows}.zarr"
        if path.exists():
            return dk.open_dataset(path)
        spec = registry.spec(name)
        assert isinstance(spec, MadeSpec)
        whole = spec.part()
        arrays = {
            field: replace(array, shape=(rows, *array.shape[1:]))
            for field, array in (("X", whole.X), ("y", whole.y))
            if array is not None
        }
        try:
            return build_made(spec, replace(whole, **arrays), path, raw=self._raw_of(spec.originals or name))
        except (ReaderError, OSError) as error:
            raise InputError(
                f"data set {name}: {error}. Name the folder of the original files by --raw"
            ) from error

    def _raw_of(self, name: str) -> Path | None:
        """The file of decoded arrays, or the folder of original files, where there is one."""
        if self.raw is None:
            return None
        decoded = self.raw / f"{name}.npz"
        return decoded if decoded.exists() else self.raw if registry.spec(name).shipped is None else None

    def _arrays(self, name: str, part: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows as they are stored (n, d) and class codes (n,), in memory."""
        data = self.dataset(name, part)
        if data.y is None:
            raise InputError(f"data set {name} has no labels")
        return data.X.compute(), data.y.compute()

    def scaled(self, name: str, part: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The same with bytes as float32 in [0, 1]."""
        X, y = self.arrays(name, part)
        return (X / np.float32(255) if X.dtype == np.uint8 else X.astype(np.float32)), y
