"""Layer 0: which array library an array belongs to; the only file that knows cupy exists.

Small algebra and the kernels' maps run on any array API namespace; tile loops work in place and so need numpy
or cupy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_cupy_array

Array = Any  # an array of any supported namespace

_IN_PLACE = ("numpy", "cupy")


def namespace(*arrays: Array) -> Any:
    """The array API namespace that all the arrays share."""
    return array_namespace(*arrays)


def module_of(x: Array) -> Any:
    """numpy or cupy itself, whichever `x` belongs to (their functions take `out=`)."""
    if is_cupy_array(x):
        import cupy

        return cupy
    return np


def to_host(x: Array) -> np.ndarray:
    """A numpy array with the values of `x`; no copy for numpy."""
    if is_cupy_array(x):
        return x.get()  # type: ignore[no-any-return]
    return np.asarray(x)


def like(x: np.ndarray, other: Array) -> Array:
    """`x` in the memory of `other`: moved to the device when `other` is on one."""
    return module_of(other).asarray(x)


def mapped(function: str, x: Array, *arguments: Array) -> Array:
    """`function(x, *arguments)` elementwise, written over `x` where its library can."""
    library = namespace(x)
    if library.__name__.rpartition(".")[2] in _IN_PLACE:
        return getattr(module_of(x), function)(x, *arguments, out=x)
    return getattr(library, function)(x, *arguments)


def at_most_zero(tile: Array) -> Array:
    """min(tile, 0) of a tile (b, w), in place; a row of zeros takes a third of the time of a scalar 0."""
    return mapped("minimum", tile, namespace(tile).zeros(tile.shape[-1], dtype=tile.dtype))


def at_least_zero(tile: Array) -> Array:
    """max(tile, 0) of a tile (b, w), in place."""
    return mapped("maximum", tile, namespace(tile).zeros(tile.shape[-1], dtype=tile.dtype))


def without_subnormal(tile: Array, dtype: np.dtype[np.floating]) -> Array:
    """A tile of values of at least 0 where those that are subnormal in `dtype` are 0, in place.

    Processors take many times as long for products with subnormal numbers, of which a narrow kernel has many.
    """
    least = np.finfo(dtype).smallest_normal
    if isinstance(tile, np.ndarray) and tile.min(initial=1.0) < least:
        np.copyto(tile, 0.0, where=tile < least)
    return tile


def is_on_device(x: object) -> bool:
    """Whether `x` is a cupy array."""
    return bool(is_cupy_array(x))
