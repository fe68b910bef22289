"""Layer 2: rows of MNIST8M: the 60 000 digits of MNIST, and seeded deformations of them without end.

Row i shows digit i mod n, and rows below n are the originals, as in Loosli, Canu and Bottou, *Training
invariant support vector machines using selective sampling* (2007); the deformations are our own recipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..xp import Array
from .draw import stream_keys, uniforms

SIDE = 28  # pixels; an image is a row of SIDE * SIDE bytes
FIELDS = 4096  # displacement fields, drawn once
# Deformations as small as leave kernel k-means what it finds in the published MNIST8M: its NMI with the
# digits is .38 at c = 100, s = 20 and .38 to .40 at c = 400, s = 80 (120 000 rows), published .383 and .410.
SHIFT = 1  # whole pixels, at most, in each direction: drawn for every row
ROTATION = np.deg2rad(4.0)  # at most
STRETCH = 0.04  # at most, of each axis; the shear is as large
ELASTIC = 0.3  # root mean square of the elastic displacement, in pixels
SMOOTH = 4.0  # standard deviation of its Gaussian smoothing, in pixels
_BORDER = 9  # pixels of empty paper around an image while it is deformed
_WIDTH = SIDE + 2 * _BORDER
_TILE = 512  # rows deformed at a time, so that what they need stays in the cache


@dataclass(frozen=True)
class Fields:
    """Where every pixel of a deformed image is taken from, for each of FIELDS deformations.

    `corner`: position of the upper left of four neighbours in the bordered image; `right` and `down`: 256ths
    of a pixel from there. All (FIELDS, SIDE * SIDE).
    """

    corner: Array  # int16
    right: Array  # uint8
    down: Array  # uint8


def digit_rows(start: int, stop: int, *, images: Array, labels: Array, seed: int = 0) -> tuple[Array, Array]:
    """Rows `start` to `stop` of the endless data set: X (b, 784) uint8 and their labels (b,).

    `images` (n, 784) and `labels` (n,) are the originals: arrays, or anything that returns rows for a slice.
    Row i does not depend on the block it is asked in. Cost: about 12 ns a pixel, integers only.
    """
    n = images.shape[0]
    parts = []
    while start < stop:
        first = start % n
        count = min(stop - start, n - first)
        originals = images[first : first + count]
        X = originals if start < n else deform(originals, start, seed)
        parts.append((X, labels[first : first + count]))
        start += count
    X, y = (np.concatenate(halves) for halves in zip(*parts, strict=True))
    return X, y


def deform(images: Array, start: int, seed: int) -> Array:
    """Images (b, 784) uint8, deformed as the rows `start` ... of the endless data set are."""
    tiles = range(0, len(images), _TILE)
    return np.concatenate([_deformed(images[i : i + _TILE], start + i, seed) for i in tiles])


def _deformed(images: Array, start: int, seed: int) -> Array:
    """One tile of images."""
    fields, keys = displacement_fields(seed), _keys(seed)
    count = len(images)
    field = (uniforms(keys[0], start, count) * FIELDS).astype(np.intp)
    down, right = (
        (uniforms(key, start, count) * (2 * SHIFT + 1)).astype(np.int32) - SHIFT for key in keys[1:3]
    )
    corner = fields.corner[field].astype(np.int32)
    corner += (np.arange(count, dtype=np.int32) * _WIDTH**2 + down * _WIDTH + right)[:, None]
    return _blend(_neighbours(images).take(corner), fields.right[field], fields.down[field])


def _neighbours(images: Array) -> Array:
    """Four neighbouring pixels in one number, for every pixel of the bordered images, flat."""
    paper = np.zeros((len(images) * _WIDTH + 1, _WIDTH), np.uint32)
    inner = paper[:-1].reshape(len(images), _WIDTH, _WIDTH)[:, _BORDER:-_BORDER, _BORDER:-_BORDER]
    inner[:] = images.reshape(-1, SIDE, SIDE)
    flat = paper.reshape(-1)
    count = len(images) * _WIDTH**2
    four = flat[:count].copy()  # upper left, upper right, lower left, lower right from the lowest byte on
    for shift, offset in ((8, 1), (16, _WIDTH), (24, _WIDTH + 1)):
        four[: len(flat) - offset] |= flat[offset : offset + count] << np.uint32(shift)
    return four


def _blend(four: Array, right: Array, down: Array) -> Array:
    """Bilinear interpolation: left and right of both lines at once, then the lines; rounded to nearest."""
    lanes, part = np.uint32(0x00FF00FF), right.astype(np.uint32)
    lines = (four & lanes) * (np.uint32(256) - part) + ((four >> np.uint32(8)) & lanes) * part
    part = down.astype(np.uint32)
    value = (lines & np.uint32(0xFFFF)) * (np.uint32(256) - part) + (lines >> np.uint32(16)) * part
    return ((value + np.uint32(1 << 15)) >> np.uint32(16)).astype(np.uint8)


@lru_cache(maxsize=2)
def displacement_fields(seed: int) -> Fields:
    """The deformations of a seed, the same in every process; 13 MB, a second to make."""
    keys = _keys(seed)
    parts = [_fields(keys, first, _TILE) for first in range(0, FIELDS, _TILE)]
    corner, right, down = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return Fields(corner, right, down)


def _fields(keys: tuple[int, ...], first: int, count: int) -> tuple[Array, Array, Array]:
    """Some of the fields: corner, right, down."""
    turn, tall, wide, shear = (2 * uniforms(key, first, count) - 1 for key in keys[3:7])
    cos, sin = np.cos(ROTATION * turn), np.sin(ROTATION * turn)
    rows = np.stack([cos * (1 + STRETCH * tall), -sin], axis=1)  # (count, 2): where "down" is taken from
    columns = np.stack([sin + STRETCH * shear, cos * (1 + STRETCH * wide)], axis=1)
    middle = (SIDE - 1) / 2
    grid = np.stack(np.meshgrid(*2 * [np.arange(SIDE) - middle], indexing="ij")).reshape(2, -1)
    at = np.stack([(linear[:, :, None] * grid).sum(axis=1) for linear in (rows, columns)], axis=1) + middle
    at += _elastic(keys[7], first, count)  # (count, 2, SIDE * SIDE)
    steps = np.rint(256 * np.clip(at, -_BORDER + SHIFT, SIDE + _BORDER - SHIFT - 2)).astype(np.int32)
    whole, part = steps >> 8, (steps & 255).astype(np.uint8)
    corner = (whole[:, 0] + _BORDER) * _WIDTH + whole[:, 1] + _BORDER
    return corner.astype(np.int16), part[:, 1], part[:, 0]


def _elastic(key: int, first: int, count: int) -> Array:
    """Smooth random displacements (count, 2, SIDE * SIDE) in pixels."""
    size = 2 * SIDE * SIDE
    noise = (uniforms(key, first * size, count * size) - 0.5).reshape(-1, SIDE, SIDE)
    distance = np.subtract.outer(np.arange(SIDE), np.arange(SIDE))
    smooth = np.exp(-(distance**2) / (2 * SMOOTH**2))
    smooth /= np.sqrt((smooth**2).sum(axis=1, keepdims=True))  # every value keeps the variance of the noise
    return (ELASTIC * np.sqrt(12.0) * smooth @ noise @ smooth.T).reshape(count, 2, -1)


@lru_cache(maxsize=8)
def _keys(seed: int) -> tuple[int, ...]:
    """Streams of one seed: field, two shifts, four of the linear part, the elastic part."""
    return tuple(stream_keys(np.random.SeedSequence(seed), 8))
