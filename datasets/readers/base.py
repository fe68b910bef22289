"""What every reader of raw files is asked and answers: options in, a table that hands out row blocks.

A new format is one file beside this one, with a function from an address and options to a `Table`, and one
line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

Block = tuple[np.ndarray, np.ndarray | None]  # X (b, d), and y (b,) or (b, l) or None


class ReaderError(ValueError):
    """A raw file that cannot be read; the message names the file, and the array, row or line in it.

    Readers say what is wrong inside of a file; its name is put before that once, where the file was opened.
    """

    def __init__(self, text: str, address: str = "") -> None:
        super().__init__(f"{address}: {text}" if address else text)
        self.has_address = bool(address)


@dataclass(frozen=True)
class ReadOptions:
    """What a user can say about a raw file; a reader refuses what means nothing to it."""

    format: str | None = None  # None: by the ending of the name
    features: str | None = None  # the array's name (default "X"); for text and Parquet the columns to take
    label: str | int | None = None  # name of an array, name or number of a column, address of a labels file
    label_type: str | None = None  # "int" or "string": classes, "float": targets; None: as in the file
    n_features: int | None = None  # LIBSVM; None: found by reading the file once more
    zero_based: bool | None = None  # LIBSVM; None: found out with n_features, else counted from 1
    header: bool | None = None  # text; None: the first line is one if it holds no number
    delimiter: str | None = None  # text; " ": any run of blanks; None: found in the first line
    dtype: str | None = None  # type to store; values that it does not hold exactly are refused


@dataclass(frozen=True)
class Table:
    """Rows of features, with or without a label each, in the order of the file; reading begins anywhere."""

    n_rows: int | None  # None where only reading to the end tells
    n_features: int
    dtype: np.dtype
    read: Callable[[int, int], Iterator[Block]]  # (rows, start): blocks of any length, about `rows` at most
    feature_names: tuple[str, ...] | None = None
    feature_shape: tuple[int, ...] | None = None  # (28, 28) or (32, 32, 3): each row is an image in C order
    files: tuple[str, ...] = ()  # addresses of all that is read
    progress: Callable[[], tuple[int, int | None]] | None = None  # bytes read, and of how many

    def blocks(self, rows: int, start: int = 0) -> Iterator[Block]:
        """Rows `start` and after, `rows` at a time; the last block may be shorter."""
        if rows < 1 or start < 0:
            raise ValueError(f"rows must be at least 1 and start at least 0, got {rows} and {start}")
        return regrouped(self.read(rows, start), rows)


def regrouped(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """The same rows in blocks of exactly `rows`; only the last one may be shorter."""
    held: list[Block] = []
    count = 0
    for X, y in blocks:
        at = 0
        while at < len(X):
            stop = min(at + rows - count, len(X))
            held.append((X[at:stop], None if y is None else y[at:stop]))
            count, at = count + stop - at, stop
            if count == rows:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    labels = [y for _, y in blocks if y is not None]
    return np.concatenate([X for X, _ in blocks]), np.concatenate(labels) if labels else None
