"""What a reader of raw files offers: a table that hands out its rows in blocks, with bounded memory.

A new format is one file beside this one, with a function from a path to a `Table`, and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np


class ReaderError(ValueError):
    """A raw file that cannot be read; the message names the file, and the array or line in it."""


class Table(Protocol):
    """Rows of features, with or without a label each, in the order of the file."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None where only reading to the end can tell."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def dtype(self) -> np.dtype:
        """Type of the features as the file holds them."""

    def blocks(self, rows: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Pairs of features (rows, d) and labels (rows,) or None; the last pair may be shorter."""


class ArraySource(Protocol):
    """One array of a file, read in row blocks."""

    @property
    def name(self) -> str:
        """The array's name, for messages."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def dtype(self) -> np.dtype:
        """Its type."""

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Its rows, in order, `rows` at a time."""
