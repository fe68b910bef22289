"""Data sets that are made on the workers, block by block, instead of being read.

The active Dask scheduler does the work: threads of this process unless there is a client. An unfinished build
goes on where it stopped, since every row can be made on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import fsspec
from tqdm.dask import TqdmCallback

import daskkernels as dk
from daskkernels.made import made_rows
from datasets.build import build
from datasets.spec import MadeSpec, Part


def build_made(
    spec: MadeSpec,
    part: Part,
    path: str | Path,
    *,
    raw: str | Path | None = None,
    overwrite: bool = False,
    say: Callable[[str], None] = lambda _line: None,
) -> dk.Dataset:
    """Make one part and write it; `raw`: the files of the data set that it is made from, if there is one.

    Raises what `build` raises for those, and what `dk.write_dataset` raises.
    """
    with originals_of(spec, path, raw) as originals:
        make, identity = maker(spec, part, originals)
        X, y = made_rows(make, *part.X.shape, part.X.dtype)
        try:
            with TqdmCallback(desc=f"{spec.name} {part.name}", unit=" tasks", disable=None):
                return dk.write_dataset(
                    path,
                    X,
                    y,
                    classes=spec.classes,
                    feature_names=spec.feature_names,
                    feature_shape=spec.feature_shape,
                    source=f"{spec.name} ({part.name}): {spec.citation}. {spec.source}. {spec.licence}",
                    overwrite=overwrite,
                    resume=identity,
                )
        except KeyboardInterrupt:
            say(f"{path}: not finished; the same command goes on with it")
            raise


@contextmanager
def originals_of(spec: MadeSpec, path: str | Path, raw: str | Path | None) -> Iterator[dk.Dataset | None]:
    """The data set that the rows are made from, built beside the path for as long as it is needed."""
    if spec.originals is None:
        yield None
        return
    from datasets import registry  # which knows this file's specifications

    place = f"{str(path).rstrip('/')}-originals.zarr"
    try:
        yield build(registry.spec(spec.originals), place, raw=raw, overwrite=True)
    finally:
        files, folder = fsspec.url_to_fs(place)
        if files.exists(folder):
            files.rm(folder, recursive=True)


def maker(spec: MadeSpec, part: Part, originals: dk.Dataset | None) -> tuple[Callable[..., Any], str]:
    """The function of row numbers, and a text that says which rows it makes."""
    module, _, name = spec.function.partition(":")
    bound: dict[str, Any] = {"seed": spec.seed}
    identity = f"{spec.name} ({part.name}) by {spec.function}, seed {spec.seed}, from row {part.first_row}"
    if part.first_row:
        bound["first"] = part.first_row
    if originals is not None:
        bound |= {"images": originals.features, "labels": originals.targets}
        identity += f", of {originals.digest}"
    return partial(getattr(import_module(module), name), **bound), identity
