"""Store layer: one chunk of an array of ours, from the bytes of its file to numbers.

The codecs are those named in `zarr.json` (bytes, zstd, crc32c), called here directly, in the calling thread:
Zarr's own reader sends every chunk through an event loop and a second pool of threads, which costs half a
millisecond a chunk and competes with the arithmetic for the cores, and it reads a missing chunk as zeros.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import google_crc32c
import numpy as np
from numcodecs.zstd import Zstd  # type: ignore[import-untyped]

CRC_BYTES = 4
_MAGIC = bytes.fromhex("28b52ffd")
_ZSTD = Zstd()


def chunk_key(name: str, index: int, ndim: int) -> str:
    """File of the chunk number `index` of an array that is cut along its rows only: `X/c/12/0`."""
    return f"{name}/c/{index}" + "/0" * (ndim - 1)


def chunk_count(shape: tuple[int, ...], rows: int) -> int:
    """Number of chunk files of an array."""
    return -(-shape[0] // rows)


def each_key(name: str, shape: tuple[int, ...], rows: int) -> Iterator[str]:
    """All chunk files of an array, in the order of the rows, one after the other."""
    return (chunk_key(name, index, len(shape)) for index in range(chunk_count(shape, rows)))


def chunk_keys(name: str, shape: tuple[int, ...], rows: int) -> list[str]:
    """All chunk files of an array, in the order of the rows."""
    return list(each_key(name, shape, rows))


def most_bytes(chunk_bytes: int) -> int:
    """The longest file that a chunk can become: zstd adds little to what it cannot compress."""
    return chunk_bytes + chunk_bytes // 128 + 1024


def check(raw: bytes, chunk_bytes: int) -> None:
    """Check a chunk file before memory is taken for what it says it holds. Raises ValueError in words."""
    body = memoryview(raw)[:-CRC_BYTES]
    stored = int.from_bytes(raw[-CRC_BYTES:], "little")
    if len(raw) <= CRC_BYTES or google_crc32c.value(np.frombuffer(body, np.uint8)) != stored:
        raise ValueError(f"its checksum does not match ({len(raw)} bytes, truncated or altered)")
    size = content_size(body)
    if size is None:
        raise ValueError("it does not decompress (no zstd frame that says how many bytes it holds)")
    if size != chunk_bytes:
        raise ValueError(f"it holds {size} bytes instead of {chunk_bytes}: the chunk of another array")


def decode(raw: bytes, out: np.ndarray, skip: int, chunk_bytes: int) -> None:
    """Decompress one checked chunk file into `out`, the rows after the first `skip` bytes of the chunk.

    A whole chunk is decompressed in place: fresh buffers can cost as much in page faults as decompressing.
    Raises ValueError with the reason in words.
    """
    body = memoryview(raw)[:-CRC_BYTES]
    target = out.reshape(-1).view(np.uint8)
    try:
        if target.size == chunk_bytes:
            _ZSTD.decode(body, target)
            return
        plain = np.frombuffer(_ZSTD.decode(body), np.uint8)
    except RuntimeError as error:
        raise ValueError(f"it does not decompress ({error})") from error
    if plain.size != chunk_bytes:
        raise ValueError(f"it holds {plain.size} bytes instead of {chunk_bytes}: the chunk of another array")
    target[:] = plain[skip : skip + target.size]


def content_size(frame: memoryview) -> int | None:
    """Bytes that a zstd frame decompresses to, from its header (RFC 8878, 3.1.1.1); None if not there."""
    if len(frame) < 5 or frame[:4] != _MAGIC:
        return None
    descriptor = frame[4]
    single_segment = descriptor >> 5 & 1
    start = 5 + (1 - single_segment) + (0, 1, 2, 4)[descriptor & 3]
    size = (single_segment, 2, 4, 8)[descriptor >> 6]
    if size == 0 or len(frame) < start + size:
        return None
    return int.from_bytes(frame[start : start + size], "little") + (256 if size == 2 else 0)


def content_hash(checksums: Iterable[bytes]) -> str:
    """A fingerprint of all stored bytes in their order, from the checksum at the end of every chunk file."""
    total = hashlib.sha256()
    for checksum in checksums:
        total.update(checksum)
    return total.hexdigest()
