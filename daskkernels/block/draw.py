"""Layer 2: counter-based random numbers: one draw for every global row number, the same in any block.

The generator is SplitMix64 (Steele, Lea, Flood 2014) applied to key + counter; streams are named by their
key.
"""

from __future__ import annotations

import numpy as np

from ..xp import Array

GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: steps that leave no pattern
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


def uniforms(key: int, start: int, count: int) -> Array:
    """Uniform numbers (count,) in (0, 1) for the rows from `start` on of the stream `key`, float64."""
    return uniforms_of(key, np.arange(start, start + count))


def uniforms_of(key: int, numbers: Array) -> Array:
    """The same for any row numbers (count,)."""
    counter = numbers.astype(np.uint64) + np.uint64(1)
    z = mixed(np.uint64(key % 2**64) + counter * np.uint64(GOLDEN))
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def mixed(z: Array) -> Array:
    """The finalizer of SplitMix64: a bijection of 64-bit numbers whose output bits look independent."""
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def stream_keys(seed: np.random.SeedSequence, count: int) -> list[int]:
    """`count` independent 64-bit keys, spawned from one seed."""
    return [int(child.generate_state(1, np.uint64)[0]) for child in seed.spawn(count)]
