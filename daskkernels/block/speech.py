"""Layer 2: made speech-like data: windows of filterbank frames, with the state of the frame in the middle.

One endless sequence for each seed: any range of rows is made on its own, with the same bits in any blocks and
on any machine, since nothing but counter-based uniforms, sums and products is used.
"""

from __future__ import annotations

import numpy as np

from ..xp import Array
from .draw import stream_keys, uniforms

BANDS = 40
WINDOW = 11  # frames in a row: five before the labelled one, five after
PHONES, STATES = 48, 3  # a phone has a beginning, a middle and an end
WAYS = 6  # to speak a phone, so that no straight line parts the classes
FEATURES, CLASSES = WINDOW * BANDS, PHONES * STATES
CELL, SHIFT = 9, 6  # a phone begins in every cell of 9 frames, at one of its first 6
UTTERANCE = 300  # frames with one speaker
SHAPES = 7  # smooth shapes that a mean spectrum is made of
TAPS = (0.25, 0.45, 0.7, 1.0)  # noise: how much a frame keeps of the three draws before its own
SCALES = (0.4, 1.0, 0.6)  # of the curves of a phone, of a way to speak it, of a part
SPEAKER_SCALE, NOISE_SCALE = 0.4, 0.7


def speech_rows(start: int, stop: int, *, seed: int = 0, first: int = 0) -> tuple[Array, Array]:
    """Rows `start` ... `stop`, counted from `first`: X (b, 440) float32, y (b,) int32 in 0 ... 143.

    Row i of the sequence holds the frames i ... i + 10, one after the other, and the state of frame i + 5:
    neighbours share ten frames.
    """
    start, stop = first + start, first + stop
    keys = stream_keys(np.random.SeedSequence(seed), 6)
    frames = stop - start + WINDOW - 1
    states, ways = _states(keys[:3], start, frames + 2)  # one more frame at each end
    means = _mean_spectra(keys[3])[states, ways]
    glide = 0.25 * means[:-2] + 0.5 * means[1:-1] + 0.25 * means[2:]  # a sound leans towards its neighbours
    x = glide + _speakers(keys[4], start, frames) + _noise(keys[5], start, frames)  # (frames, 40)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float32), WINDOW, axis=0)  # (b, 40, 11)
    X = np.ascontiguousarray(windows.transpose(0, 2, 1)).reshape(stop - start, FEATURES)
    middle = 1 + WINDOW // 2
    return X, states[middle : middle + stop - start]


def _states(keys: list[int], start: int, count: int) -> tuple[Array, Array]:
    """State of each frame and the way it is spoken: phones, some more common than others, in three parts."""
    time = np.arange(start + CELL, start + CELL + count)
    first = int(time[0]) // CELL - 1
    cells = int(time[-1]) // CELL - first + 2
    shifts = (SHIFT * uniforms(keys[0], first, cells)).astype(np.int64)
    phones = (PHONES * uniforms(keys[1], first, cells) ** 2).astype(np.int64)
    ways = (WAYS * uniforms(keys[2], first, cells)).astype(np.int64)
    begins = CELL * np.arange(first, first + cells) + shifts
    cell = time // CELL - first
    cell -= time < begins[cell]
    part = STATES * (time - begins[cell]) // (begins[cell + 1] - begins[cell])
    return (STATES * phones[cell] + part).astype(np.int32), ways[cell]


def _mean_spectra(key: int) -> Array:
    """Mean of each state and way (144, 6, 40): a curve for the phone, one for the way, one for the part."""
    sizes = (PHONES, 1, 1), (PHONES, 1, WAYS), (PHONES, STATES, 1)
    ends = np.cumsum([0, *(np.prod(size) for size in sizes)])
    curves = _curves(_centered(key, 0, int(ends[-1]) * SHAPES).reshape(-1, SHAPES))
    means = np.zeros((PHONES, STATES, WAYS, BANDS))
    for scale, size, begin, end in zip(SCALES, sizes, ends, ends[1:], strict=False):
        means += scale * curves[begin:end].reshape(*size, BANDS)
    return means.reshape(CLASSES, WAYS, BANDS)


def _speakers(key: int, start: int, count: int) -> Array:
    """What the speaker adds to each frame (count, 40)."""
    number = np.arange(start, start + count) // UTTERANCE
    first, last = int(number[0]), int(number[-1])
    draws = _centered(key, first * SHAPES, (last - first + 1) * SHAPES).reshape(-1, SHAPES)
    return SPEAKER_SCALE * _curves(draws)[number - first]


def _noise(key: int, start: int, count: int) -> Array:
    """Noise that is correlated in time (count, 40): a moving average of independent draws."""
    span = count + len(TAPS) - 1
    white = _centered(key, start * BANDS, span * BANDS).reshape(span, BANDS)
    noise = np.zeros((count, BANDS))
    for lag, tap in enumerate(TAPS):
        noise += tap * white[lag : lag + count]
    return NOISE_SCALE * noise


def _curves(weights: Array) -> Array:
    """Smooth curves over the bands (m, 40): Chebyshev polynomials with these weights (m, 7)."""
    x = np.linspace(-1.0, 1.0, BANDS)
    before, shape = x, np.ones(BANDS)  # T_-1 = T_1
    curves = np.zeros((len(weights), BANDS))
    for column in weights.T:
        curves += column[:, None] * shape
        before, shape = shape, 2.0 * x * shape - before
    return curves


def _centered(key: int, start: int, count: int) -> Array:
    """Uniform draws with mean 0 and variance 1."""
    return np.sqrt(12.0) * (uniforms(key, start, count) - 0.5)
