"""Layer 2: buffers that a thread uses again and again.

A tile's buffers are a few megabytes, just what an allocator gives back to the system each time: page faults
of new ones cost up to a tenth of a pass.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..xp import Array, module_of

KEPT_BYTES = 64 * 2**20  # larger buffers are not kept


class _Buffers(threading.local):
    """The free buffers of one thread by purpose."""

    def __init__(self) -> None:
        self.free: dict[str, np.ndarray] = {}


_buffers = _Buffers()


@contextmanager
def borrowed(purpose: str, shape: tuple[int, ...], dtype: Any, like: Array) -> Iterator[Array]:
    """An uninitialised array in the memory of `like`, from this thread's buffers; valid in the `with`.

    A purpose that is in use already, further up in the same thread, gets memory of its own.
    """
    if module_of(like) is not np:  # cupy has a memory pool
        yield module_of(like).empty(shape, dtype)
        return
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _buffers.free.pop(purpose, None)
    if memory is None or memory.nbytes < size:
        memory = np.empty(size, np.uint8)
    try:
        yield memory[:size].view(dtype).reshape(shape)
    finally:
        if memory.nbytes <= KEPT_BYTES:
            _buffers.free[purpose] = memory
