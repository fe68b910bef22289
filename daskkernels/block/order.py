"""Layer 2: a fresh order of the rows for every epoch, as a keyed bijection evaluated where it is needed.

A stored permutation of 10^8 rows takes 800 MB; a Feistel network (Luby and Rackoff 1988) with cycle walking
takes a key, and gives any stretch of the order to any worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .draw import GOLDEN, mixed

_TURNS = 6  # of the network; the low bits are even after three


@dataclass(frozen=True)
class Order:
    """Row numbers in a random order without repetition: of `used` of the `n` rows, the same for one `base`.

    The rows that are not used (kept back for validation) are those of `kept_back`.
    """

    n: int
    used: int
    base: int  # key of the choice of rows
    key: int  # key of their order

    def rows(self, first: int, count: int) -> np.ndarray:
        """Row numbers (count,) int64 at the places `first` ... of the order."""
        places = shuffled(np.arange(first, first + count), self.used, self.key)
        return shuffled(places, self.n, self.base)

    def kept_back(self) -> np.ndarray:
        """The rows that are not used, ascending."""
        return np.sort(shuffled(np.arange(self.used, self.n), self.n, self.base))


@dataclass(frozen=True)
class Stretch:
    """The rows at the places `first` to `first + count` of an order."""

    order: Order
    first: int
    count: int

    def within(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows that lie in [start, stop): how far behind `start`, ascending, and their places here."""
        rows, places = _ascending(self)
        low, high = np.searchsorted(rows, [start, stop])
        return rows[low:high] - start, places[low:high]

    def below(self, row: int) -> int:
        """How many of the rows have a smaller number."""
        return int(np.searchsorted(_ascending(self)[0], row))

    def places(self) -> np.ndarray:
        """Place of each of the rows when they come in ascending order."""
        return _ascending(self)[1]


@lru_cache(maxsize=64)
def _ascending(stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers in ascending order, and their places in the stretch."""
    rows = stretch.order.rows(stretch.first, stretch.count)
    places = np.argsort(rows)
    return rows[places], places


def shuffled(places: np.ndarray, n: int, key: int) -> np.ndarray:
    """The images (int64) of numbers below n under the bijection of [0, n) that belongs to a key."""
    half = max(1, (max(n - 1, 1).bit_length() + 1) // 2)
    values = places.astype(np.uint64)
    outside = np.ones(values.shape, bool)
    while (
        outside.any()
    ):  # the network works on a power of four: walk on until inside, at most 4 steps on average
        values[outside] = _network(values[outside], half, key)
        outside = values >= n
    return values.astype(np.int64)


def _network(values: np.ndarray, half: int, key: int) -> np.ndarray:
    """A bijection of [0, 4^half)."""
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = values >> bits, values & mask
    for turn in range(_TURNS):
        salt = np.uint64((key + (turn + 1) * GOLDEN) % 2**64)
        left, right = right, left ^ (mixed(right + salt) & mask)
    return (left << bits) | right
