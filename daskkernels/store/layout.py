"""Store layer: the `zarr.json` of an array of ours, read strictly and without zarr: numbers, nothing else.

zarr would look for any codec or type that is named there among the installed packages and import it.
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from daskkernels.store.errors import FormatError, MetadataError

CODECS = ["bytes", "zstd", "crc32c"]
TYPES = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))
TYPES = (*TYPES, "float16", "float32", "float64")
MAX_AXES = 32
MAX_BYTES = 2**63 - 1


def parse(document: str, parsed: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and rows of a chunk. Raises MetadataError, FormatError with the name of the document."""
    if parsed.get("zarr_format") != 3 or parsed.get("node_type") != "array":
        raise MetadataError(f"{document} does not describe an array of Zarr format 3")
    shape = _sizes(document, "shape", parsed.get("shape"))
    dtype = _dtype(document, parsed.get("data_type"))
    chunk = _chunk(document, parsed, shape, dtype.itemsize)
    _check_codecs(document, parsed, dtype)
    fill = parsed.get("fill_value")
    if not isinstance(fill, int | float) or fill != 0:
        raise FormatError(f"{document}: fill_value 0 is wanted, got {_shown(fill)}")
    if math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise MetadataError(f"{document}: no array has the shape {_shown(shape)}")
    return shape, dtype, chunk


def _sizes(document: str, name: str, value: Any) -> tuple[int, ...]:
    """A list of numbers: rows, then columns."""
    plain = isinstance(value, list) and 1 <= len(value) <= MAX_AXES
    if not plain or not all(isinstance(size, int) and not isinstance(size, bool) for size in value):
        raise MetadataError(f"{document}: {name} must be a list of whole numbers, got {_shown(value)}")
    if value[0] < 0 or any(size < 1 for size in value[1:]) or max(value) > MAX_BYTES:
        raise MetadataError(f"{document}: {name} is not one of an array: {_shown(value)}")
    return tuple(value)


def _dtype(document: str, value: Any) -> np.dtype[Any]:
    if not isinstance(value, str) or value not in TYPES:
        raise FormatError(f"{document}: numbers are wanted, got {_shown(value)}")
    return np.dtype(value)


def _chunk(document: str, parsed: dict[str, Any], shape: tuple[int, ...], itemsize: int) -> int:
    """Rows of a chunk, which holds all columns."""
    grid = _named(document, parsed, "chunk_grid")
    chunk = _sizes(document, "chunk_shape", grid.get("configuration", {}).get("chunk_shape"))
    if grid["name"] != "regular" or chunk[1:] != shape[1:] or chunk[0] < 1:
        raise FormatError(f"{document}: chunks of rows are wanted, got {grid['name']} {_shown(chunk)}")
    if math.prod(chunk) * itemsize > MAX_BYTES:
        raise MetadataError(f"{document}: no chunk has the shape {_shown(chunk)}")
    keys = _named(document, parsed, "chunk_key_encoding")
    if keys["name"] != "default" or keys.get("configuration", {}).get("separator", "/") != "/":
        raise FormatError(f"{document}: chunk files c/0/0 are wanted, got the encoding {_shown(keys)}")
    return chunk[0]


def _check_codecs(document: str, parsed: dict[str, Any], dtype: np.dtype[Any]) -> None:
    codecs = parsed.get("codecs")
    names = [codec.get("name") if isinstance(codec, dict) else None for codec in _listed(codecs)]
    if names != CODECS or parsed.get("storage_transformers"):
        raise FormatError(f"{document}: row chunks with bytes, zstd, crc32c are wanted, got {_shown(codecs)}")
    order = _listed(codecs)[0].get("configuration") or {}
    endian = order.get("endian") if isinstance(order, dict) else order
    if endian != "little" and not (endian is None and dtype.itemsize == 1):
        raise FormatError(f"{document}: little-endian numbers are wanted, got {_shown(order)}")


def _named(document: str, parsed: dict[str, Any], key: str) -> dict[str, Any]:
    """A part of the metadata that has a name and perhaps a configuration."""
    part = parsed.get(key)
    if (
        not isinstance(part, dict)
        or not isinstance(part.get("name"), str)
        or not isinstance(part.get("configuration", {}), dict)
    ):
        raise MetadataError(f"{document}: {key} must have a name and a configuration, got {_shown(part)}")
    return part


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shown(value: Any) -> str:
    return reprlib.repr(value)
