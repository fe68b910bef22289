"""What a named data set is: a frozen record of its raw file, its arrays, its licence and its source.

A specification holds facts only; `build` acts on it, and one file in `named/` holds one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RAW_FOLDER = Path(__file__).parent / "raw"


@dataclass(frozen=True)
class ArraySpec:
    """One array of a raw file: its name there and what it decodes to."""

    member: str
    shape: tuple[int, ...]
    dtype: str  # numpy's type string, byte order included: "|u1", "<f4"
    sha256: str  # of the decoded array, as `digest.array_sha256` computes it


@dataclass(frozen=True)
class Part:
    """Rows that belong together, such as the training rows: features and labels."""

    name: str
    X: ArraySpec
    y: ArraySpec | None = None


@dataclass(frozen=True)
class DatasetSpec:
    """A named data set; the first part is the one built unless another is asked for."""

    name: str
    title: str
    summary: str
    raw: str  # file name in the folder of raw files
    parts: tuple[Part, ...]
    feature_names: tuple[str, ...]
    n_classes: int
    licence: str
    citation: str
    source: str

    @property
    def raw_path(self) -> Path:
        """Where the raw file lies."""
        return RAW_FOLDER / self.raw

    def part(self, name: str | None = None) -> Part:
        """The part of that name, or the first one; raises ValueError naming the parts there are."""
        if name is None:
            return self.parts[0]
        for part in self.parts:
            if part.name == name:
                return part
        known = ", ".join(part.name for part in self.parts)
        raise ValueError(f"data set {self.name!r} has no part {name!r}; its parts are: {known}")
