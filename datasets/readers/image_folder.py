"""Reader of a folder of images: the first folder on the way to an image is its label.

Images are rows in the order of their sorted paths; all have the size and the kind of the first.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import fsspec
import numpy as np

from datasets.readers import files
from datasets.readers.base import Block, ReaderError, ReadOptions, Table

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
NOT_READ = (
    ".gif",
    ".avif",
    ".heic",
    ".heif",
    ".jp2",
    ".jxl",
    ".jfif",
    ".jpe",
    ".svg",
    ".tga",
    ".ico",
    ".dcm",
)
MODES = ("L", "I;16", "I;16B", "RGB")  # as pillow calls 8-bit grey, 16-bit grey and colour
FETCHED = 64  # files read together: where they are far away, waiting for one by one takes long


@dataclass(frozen=True)
class Folder:
    """The images below one folder: their paths from there, sorted."""

    fs: fsspec.AbstractFileSystem
    root: str
    names: tuple[str, ...]

    @property
    def labels(self) -> np.ndarray | None:
        """The folder that each image is in; None where all are in the top one. Raises ReaderError."""
        loose = [name for name in self.names if "/" not in name]
        if loose and len(loose) < len(self.names):
            raise ReaderError(f"{loose[0]} is in no folder that names its label, but others are")
        return None if loose else np.array([name.partition("/")[0] for name in self.names])

    def images(self, start: int = 0) -> Iterator[tuple[str, np.ndarray]]:
        """Images `start` and after with their names."""
        for first in range(start, len(self.names), FETCHED):
            names = self.names[first : first + FETCHED]
            paths = [f"{self.root}/{name}" for name in names]
            found = self.fs.cat_ranges(paths, [None] * len(paths), [None] * len(paths), on_error="raise")
            for row, (name, data) in enumerate(zip(names, found, strict=True), first):
                yield name, _decoded(name, row, data)


def open_images(address: str, _options: ReadOptions) -> Table:
    """The table of the images in a folder, (h, w) or (h, w, 3), with the names of their folders as labels."""
    fs, path = files.filesystem(address)
    root = path.rstrip("/")
    names = [name[len(root) :].lstrip("/") for name in files.below(fs, path)]
    wanted = _wanted([name for name in names if "/." not in f"/{name}"])
    folder = Folder(fs, root, tuple(wanted))
    labels = folder.labels
    model, first = next(folder.images())

    def read(rows: int, start: int) -> Iterator[Block]:
        images = folder.images(start)
        for row in range(start, len(wanted), rows):
            n = min(rows, len(wanted) - row)
            X = np.empty((n, first.size), first.dtype)
            for place in range(n):
                name, image = next(images)
                if (image.shape, image.dtype) != (first.shape, first.dtype):
                    raise ReaderError(
                        f"{name} (row {row + place}) is {_kind(image)}, but {model} is {_kind(first)}: "
                        "all images must be alike"
                    )
                X[place] = image.reshape(-1)
            yield X, None if labels is None else labels[row : row + n]

    return Table(len(wanted), first.size, first.dtype, read, feature_shape=first.shape)


def _wanted(names: list[str]) -> list[str]:
    """The images among the files, sorted. Raises ReaderError for an image or a whole folder left out."""
    wanted = sorted(name for name in names if name.lower().endswith(ENDINGS))
    if not wanted:
        raise ReaderError(f"it holds no images ({', '.join(ENDINGS)})")
    other = next((name for name in names if name.lower().endswith(NOT_READ)), None)
    if other is not None:
        raise ReaderError(f"{other} is of a kind that is not read ({', '.join(ENDINGS)}): convert it")
    if any("/" in name for name in wanted):
        left = {name.partition("/")[0] for name in names if "/" in name}
        left -= {name.partition("/")[0] for name in wanted}
        if left:
            raise ReaderError(
                f"folder {min(left)} holds files, but no image ({', '.join(ENDINGS)}): take it out"
            )
    return wanted


def _decoded(name: str, row: int, data: bytes) -> np.ndarray:
    """The pixels of one image, (h, w) or (h, w, 3). Raises ReaderError with its name."""
    pillow = files.package("PIL.Image", "reading images")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            if image.mode not in MODES or getattr(image, "n_frames", 1) > 1:
                frames = getattr(image, "n_frames", 1)
                raise ReaderError(
                    f"{name} (row {row}) has mode {image.mode} and {frames} frame(s), wanted one of "
                    f"{', '.join(MODES)} and 1 frame: convert it"
                )
            loss = _loss(image)
            if loss:
                raise ReaderError(
                    f"{name} (row {row}) has {loss}, which would be changed to 8 bits: convert it"
                )
            pixels = np.asarray(image)
    except (OSError, EOFError, SyntaxError, struct.error, pillow.DecompressionBombError) as error:
        raise ReaderError(f"{name} (row {row}) is damaged or no image: {error}") from error
    return pixels.astype(pixels.dtype.newbyteorder("="), copy=False)


def _loss(image: Any) -> str:
    """What pillow would not keep of an image: colours of 16 bits, and the scale of a PGM or PPM."""
    for _codec, _box, _offset, told in image.tile:
        told = told if isinstance(told, tuple) else (told,)
        if image.format == "PPM" and len(told) == 2 and told[1] != 255:
            return f"a largest value of {told[1]}"
        if image.mode == "RGB" and ";16" in str(told[0]):
            return "16 bits a colour"
    return ""


def _kind(image: np.ndarray) -> str:
    return f"{' x '.join(map(str, image.shape))} {image.dtype}"
