"""A contact sheet: the first images of a dataset in one picture, to see whether they look as they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import daskkernels as dk
from datasets.readers import ReaderError


def contact_sheet(
    path: str | Path, out: Path, *, rows: int = 10, columns: int = 20, start: int = 0, step: int = 1
) -> tuple[int, int]:
    """Write the images of the rows `start`, `start + step`, ... as one PNG file; returns how many it holds.

    Grey images are shown as ink on paper. Raises ReaderError where rows are not images.
    """
    from PIL import Image  # only here: nothing else needs it

    if out.suffix.lower() not in Image.registered_extensions():
        raise ReaderError(f"--out {out}: wanted the name of a picture, such as sheet.png")
    data = dk.open_dataset(path)
    if data.feature_shape is None or data.dtype != np.uint8:
        raise ReaderError(f"{path}: its rows are not 8-bit images (feature_shape is {data.feature_shape})")
    numbers = np.arange(start, data.n_rows, step)[: rows * columns]
    if not len(numbers):
        raise ReaderError(f"{path}: it has {data.n_rows} rows, row {start} is not there")
    images = data.X[numbers].compute().reshape(-1, *data.feature_shape)
    columns = min(columns, len(images))
    height, width = data.feature_shape[:2]
    lines = -(-len(images) // columns)
    sheet = np.zeros((lines * columns, *images.shape[1:]), np.uint8)
    sheet[: len(images)] = images
    sheet = sheet.reshape(lines, columns, *images.shape[1:]).swapaxes(1, 2)
    sheet = sheet.reshape(lines * height, columns * width, *images.shape[3:])
    Image.fromarray(255 - sheet if sheet.ndim == 2 else sheet).save(out)
    return lines, columns
