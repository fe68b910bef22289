"""Layer 2: counter-based random numbers: one draw for every global row number, the same in any block.

The generator is SplitMix64 (Steele, Lea, Flood 2014) applied to key + counter; streams are named by their
key.
"""

from __future__ import annotations

import numpy as np

from ..xp import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


def uniforms(key: int, start: int, count: int) -> Array:
    """Uniform numbers (count,) in (0, 1) for the rows from `start` on of the stream `key`, float64."""
    counter = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    z = _mix(np.uint64(key % 2**64) + counter * _GOLDEN)
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _mix(z: Array) -> Array:
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def stream_keys(seed: np.random.SeedSequence, count: int) -> list[int]:
    """`count` independent 64-bit keys, spawned from one seed."""
    return [int(child.generate_state(1, np.uint64)[0]) for child in seed.spawn(count)]
