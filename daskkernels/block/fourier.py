"""Layer 2: random Fourier features of one block: [cos(W x), sin(W x)] of random frequencies, their Gram
matrix, and what is left of them after a projection [Rahimi, Recht 2007].
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..finite import check_rows
from ..grid import TILE_ROWS
from ..xp import Array, like, module_of
from .sized import Sized
from .workspace import borrowed


@dataclass(frozen=True)
class Frequencies(Sized):
    """Frequencies (h, d) in the type of the arithmetic, and what is subtracted from a row first (d,).

    A shift turns each pair (cos, sin) by an angle: products of features stay, and phases keep their digits.
    """

    matrix: Array
    shift: Array

    @property
    def n_features(self) -> int:
        """c = 2 h."""
        return 2 * int(self.matrix.shape[0])


def _tiles(X: Array, frequencies: Frequencies) -> Iterator[tuple[slice, Array]]:
    """The features of the rows tile by tile, in one reused buffer (1024, c). Raises NonFiniteError."""
    xp, W, shift = module_of(X), like(frequencies.matrix, X), like(frequencies.shift, X)
    exact = np.can_cast(X.dtype, W.dtype)  # else the difference first, then the rounding
    b, h = min(TILE_ROWS, X.shape[0]), W.shape[0]
    with (
        borrowed("left", (b, W.shape[1]), W.dtype, X) as left_buffer,
        borrowed("phases", (b, h), W.dtype, X) as phase_buffer,
        borrowed("fourier", (b, 2 * h), W.dtype, X) as tile,
    ):
        for start in range(0, X.shape[0], TILE_ROWS):
            rows = slice(start, min(start + TILE_ROWS, X.shape[0]))
            b = rows.stop - start
            left, phases, R = left_buffer[:b], phase_buffer[:b], tile[:b]
            with np.errstate(over="ignore", invalid="ignore"):
                if exact:
                    xp.subtract(X[rows], shift.astype(W.dtype), out=left)
                else:
                    left[...] = X[rows] - shift
                check_rows(left.sum(axis=1, dtype=np.float64), start)
            xp.matmul(left, W.T, out=phases)
            xp.cos(phases, out=R[:, :h])
            xp.sin(phases, out=R[:, h:])
            R *= W.dtype.type(h**-0.5)
            yield rows, R


def gram(X: Array, frequencies: Frequencies) -> Array:
    """R_b^T R_b (c, c): products of 1024 rows summed in float64. Cost b c d + b c^2."""
    xp, c, dtype = module_of(X), frequencies.n_features, frequencies.matrix.dtype
    total = xp.zeros((c, c), np.float64)
    with borrowed("squares", (c, c), dtype, X) as square:
        for _, R in _tiles(X, frequencies):
            total += xp.matmul(R.T, R, out=square)
    return total


def merge_grams(parts: Sequence[Array]) -> Array:
    """The sum of the shares, in order."""
    return reduce(operator.add, parts)


def features(X: Array, frequencies: Frequencies) -> Array:
    """R_b (b, c): all features. Cost b c d / 2 and as many sines as there are features."""
    result = module_of(X).empty((X.shape[0], frequencies.n_features), frequencies.matrix.dtype)
    for rows, R in _tiles(X, frequencies):
        result[rows] = R
    return result


def projected(X: Array, frequencies: Frequencies, components: Array) -> Array:
    """B_b = R_b V (b, s)."""
    xp, dtype = module_of(X), frequencies.matrix.dtype
    components = like(components, X).astype(dtype, copy=False)
    B = xp.empty((X.shape[0], components.shape[1]), dtype)
    for rows, R in _tiles(X, frequencies):
        xp.matmul(R, components, out=B[rows])
    return B
