"""What a named data set is: a frozen record of its original files, its arrays, its licence and its source.

A specification holds facts only; `build` acts on it, and one file in `named/` holds one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datasets.readers import Table

RAW_FOLDER = Path(__file__).parent / "raw"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
Decoder = Callable[..., Table]  # from the paths of a part's original files, in order


@dataclass(frozen=True)
class ArraySpec:
    """One array of a part: its name in an .npz file, and what the original file decodes to."""

    member: str
    shape: tuple[int, ...]
    dtype: str  # numpy's type string, byte order included: "|u1", "<f4"
    sha256: str | None = None  # of the decoded array, as `digest.array_sha256` computes it; None: not known


@dataclass(frozen=True)
class RawFile:
    """An original file: its name, where it is published, its published checksum and size where known."""

    name: str
    urls: tuple[str, ...]
    checksum: str | None = None  # "md5:..." or "sha256:..."
    size: int | None = None


@dataclass(frozen=True)
class Part:
    """Rows that belong together, such as the training rows: features and labels.

    `files` are the original files, `decode` makes a table of them. Made data has neither: it starts at
    `first_row` of an endless sequence.
    """

    name: str
    X: ArraySpec
    y: ArraySpec | None = None
    files: tuple[RawFile, ...] = ()
    decode: Decoder | None = None
    first_row: int = 0

    @property
    def arrays(self) -> tuple[ArraySpec, ...]:
        """Features, and labels where there are any."""
        return (self.X,) if self.y is None else (self.X, self.y)

    @property
    def pinned(self) -> bool:
        """Whether the decoded numbers are known, so that every build can be checked."""
        return all(array.sha256 is not None for array in self.arrays)


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """A named data set; the first part is the one built unless another is asked for.

    `classes` are the labels. Where they are texts, the decoded y holds their codes 0, 1, ...
    """

    name: str
    title: str
    summary: str
    parts: tuple[Part, ...]
    classes: tuple[int, ...] | tuple[str, ...]
    licence: str
    citation: str
    source: str
    feature_names: tuple[str, ...] | None = None
    feature_shape: tuple[int, ...] | None = None  # (28, 28) or (32, 32, 3) where rows are images
    shipped: str | None = None  # file in the folder of raw files that holds the decoded arrays

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def origin(self) -> str:
        """How the data is got."""
        return "download" if self.shipped is None else "shipped"

    def part(self, name: str | None = None) -> Part:
        """The part of that name, or the first one; raises ValueError naming the parts there are."""
        if name is None:
            return self.parts[0]
        for part in self.parts:
            if part.name == name:
                return part
        known = ", ".join(part.name for part in self.parts)
        raise ValueError(f"data set {self.name!r} has no part {name!r}; its parts are: {known}")


@dataclass(frozen=True, kw_only=True)
class MadeSpec(DatasetSpec):
    """Data that a function of the library makes on the workers; `function` is a path, module:name."""

    function: str
    seed: int = 0
    originals: str | None = None  # name of the data set whose rows the function starts from

    @property
    def origin(self) -> str:
        """How the data is got."""
        return "made"
