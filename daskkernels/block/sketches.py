"""Layer 2: sketches C = K Pi of a kernel matrix by random projections: rows of Pi, and a block's share of the
small matrices.

A row of Pi follows from its number and a key alone, so that Pi is never stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..kernels import AnyKernel, has_unit_diagonal
from ..linalg import InverseRoot, top_eigenpairs, truncated_inverse_root
from ..xp import Array, like, module_of, to_host
from .draw import uniforms, uniforms_of
from .sized import Sized
from .tiles import kernel_diagonal

PROJECTIONS = ("gaussian", "srht", "countsketch")


@dataclass(frozen=True)
class Sketch(Sized):
    """A random matrix Pi (n, c) with E[Pi Pi^T] = I, given by its kind and its keys [K Table 2]."""

    kind: str
    n_columns: int
    keys: tuple[int, int]
    hadamard: np.ndarray | None = None  # "srht": numbers (c,) of the columns of the Hadamard matrix

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Rows `start` to `stop` of Pi (b, c), float64."""
        numbers, c = np.arange(start, stop), self.n_columns
        if self.kind == "gaussian":
            drawn: np.ndarray = normals(self.keys, start * c, (stop - start) * c).reshape(-1, c)
            return np.asarray(drawn / np.sqrt(c))
        signs = np.where(uniforms_of(self.keys[0], numbers) < 0.5, -1.0, 1.0)
        if self.hadamard is not None:
            odd = np.bitwise_count(numbers[:, None] & self.hadamard) & 1  # entry (i, j) is -1^|i & j|
            return np.asarray(signs[:, None] * (1.0 - 2.0 * odd) / np.sqrt(c))
        rows = np.zeros((stop - start, c))
        rows[np.arange(stop - start), (uniforms_of(self.keys[1], numbers) * c).astype(np.int64)] = signs
        return rows


def normals(keys: tuple[int, int], start: int, count: int) -> np.ndarray:
    """Standard normal numbers (count,) for the counters from `start` on, two uniforms each (Box, Muller)."""
    radius = np.sqrt(-2.0 * np.log(uniforms(keys[0], start, count)))
    return np.asarray(radius * np.cos(2.0 * np.pi * uniforms(keys[1], start, count)))


def sketch_rows(weights: Array | None, *, sketch: Sketch, start: int, stop: int) -> Array:
    """Rows of Pi; for weighted rows diag(w)^(1/2) Pi, the sketch of diag(w)^(1/2) K diag(w)^(1/2)."""
    rows = sketch.rows(start, stop)
    return rows if weights is None else like(rows, weights) * module_of(weights).sqrt(weights)[:, None]


@dataclass(frozen=True)
class SketchPart(Sized):
    """A block's share of W = Pi^T C (c, c) and C^T C (c, c), float64, and of the sum of the weights."""

    W: Array
    squares: Array
    weight: float


def sketch_part(
    C: Array, P: Sequence[Array], weights: Sequence[Array | None], mean: Array | None = None
) -> SketchPart:
    """The share of a block C (b, c) with the rows P of Pi for it, in parts; `mean` (c,) is taken off C.

    The products are made in float64: C^T C is whitened by an inverse of W afterwards. Cost 2 b c^2.
    """
    xp, C = module_of(C), _aligned(C)
    C = C if mean is None else C[:, : len(mean)] - like(mean, C)
    W = like(to_host(xp.concatenate([like(part, C) for part in P])), C).T @ C
    if weights[0] is None:
        return SketchPart(W, C.T @ C, float(len(C)))
    w = like(to_host(xp.concatenate(list(weights))), C)
    scaled = C * xp.sqrt(w)[:, None]
    return SketchPart(W, scaled.T @ scaled, float(w.sum()))


def _aligned(C: Array) -> Array:
    """The block on an address that its type asks for.

    One that was sent may lie anywhere: numpy would copy the two factors of C^T C apart, and then take another
    product than the symmetric one, with other last bits.
    """
    return np.require(C, requirements=["A", "C"]) if isinstance(C, np.ndarray) else C


def merge_sketch(parts: Sequence[SketchPart]) -> SketchPart:
    """The sum of the shares, in order."""
    return reduce(lambda a, b: SketchPart(a.W + b.W, a.squares + b.squares, a.weight + b.weight), parts)


def trace_part(X: Array, weights: Array | None, kernel: AnyKernel, dtype: np.dtype[np.floating]) -> float:
    """The share of a block in tr(K) = sum of w k(x, x)."""
    diagonal = kernel_diagonal(kernel, X, dtype)
    return float(diagonal.sum() if weights is None else diagonal @ weights)


def knows_trace(kernel: AnyKernel) -> bool:
    """Whether tr(K) is the sum of the weights."""
    return has_unit_diagonal(kernel)


@dataclass(frozen=True)
class Reduced:
    """W's inverse root Z, and G = Z^T C^T C Z with its eigensystem: what `restricted` found."""

    inverse: InverseRoot
    gram: Array  # (l, l)
    values: Array  # (l,) eigenvalues of G
    vectors: Array  # (l, l)


def restricted(part: SketchPart, rank: int | None, eps: float) -> Reduced:
    """Z = U_l diag(lam_l)^(-1/2) of W, G = Z^T (C^T C) Z and its eigenpairs. Cost c^3."""
    inverse = truncated_inverse_root((part.W + part.W.T) * 0.5, rank, eps)
    gram = inverse.root.T @ part.squares @ inverse.root
    return Reduced(inverse, gram, *top_eigenpairs(gram))


def times(P: Array, Q: Array) -> Array:
    """P Q (b, s) of one block, float64: rows of what new rows are multiplied with."""
    return like(to_host(P), Q) @ Q


def as_features(total: Array, offset: Array | None, dtype: np.dtype[np.floating]) -> Array:
    """Sums of products (b, s) as features: less the offset (s,), in the type of the computation."""
    return (total if offset is None else total - offset).astype(dtype, copy=False)
