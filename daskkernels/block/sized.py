"""Layer 2: records that say how many bytes they hold.

Dask takes a record for a few bytes, whatever arrays are in it, and sends it from worker to worker as if that
cost nothing.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any


class Sized:
    """A record (a dataclass) whose size is that of the arrays in it, and in the records in it."""

    def __sizeof__(self) -> int:
        return _bytes(self)


def _bytes(value: Any) -> int:
    """Bytes of the arrays in a value."""
    if isinstance(value, tuple | list):
        return sum(map(_bytes, value))
    if is_dataclass(value):
        return 64 + sum(_bytes(getattr(value, field.name)) for field in fields(value))
    return int(getattr(value, "nbytes", 8))
