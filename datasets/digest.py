"""Fingerprints of decoded arrays, computed while the blocks stream past.

The fingerprint is of the numbers, not of the file: the same array read from another format has the same one.
"""

from __future__ import annotations

import hashlib

import numpy as np

from datasets.readers import ReaderError
from datasets.spec import ArraySpec


class DigestMismatchError(ReaderError):
    """The raw file does not hold the numbers that the specification promises."""


class ArrayDigest:
    """sha256 over the type string, the shape, and the values in row order."""

    def __init__(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        self._hash = hashlib.sha256(f"{dtype.str}{shape}".encode())

    def update(self, block: np.ndarray) -> None:
        """Take in the next rows."""
        self._hash.update(np.ascontiguousarray(block).data)

    def hexdigest(self) -> str:
        """The fingerprint of the rows seen."""
        return self._hash.hexdigest()

    def verify(self, promised: ArraySpec, path: str) -> str:
        """The fingerprint; raises DigestMismatchError unless it is the promised one, if that is known."""
        found = self.hexdigest()
        if promised.sha256 not in (None, found):
            raise DigestMismatchError(
                f"{path}: array {promised.member!r} has sha256 {found}, wanted {promised.sha256}; "
                "the file was changed: fetch it again"
            )
        return found


def array_sha256(array: np.ndarray) -> str:
    """The fingerprint of a whole array."""
    digest = ArrayDigest(array.dtype, array.shape)
    digest.update(array)
    return digest.hexdigest()
