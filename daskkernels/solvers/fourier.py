"""Layer 4: random Fourier features [Rahimi, Recht 2007] in two passes: their Gram matrix, then its leading
directions, the same restriction to s components as that of Nyström features [K Alg. 2].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import fourier as block
from ..events import Reporter
from ..kernels import Gaussian, Laplacian
from ..linalg import top_eigenpairs
from ..rowblocks import Operand, RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime
from ..xp import to_host

STAGE = "fourier-gram"


@dataclass(frozen=True)
class FourierMap:
    """The features as a function of a row: [cos(W x), sin(W x)] / sqrt(c / 2) of shifted rows, times V."""

    frequencies: np.ndarray  # (c / 2, d) float64
    shift: np.ndarray  # (d,)
    components: np.ndarray | None  # V (c, s); None: all features as they are
    dtype: np.dtype[np.floating]

    @property
    def n_components(self) -> int:
        """s."""
        return 2 * len(self.frequencies) if self.components is None else int(self.components.shape[1])


@dataclass(frozen=True)
class FourierFit:
    """A map and the eigenvalues (c,) of the Gram matrix of its features; none where it was not needed."""

    map: FourierMap
    gram_eigenvalues: np.ndarray | None

    def trace_error(self) -> float:
        """The share of the trace that the restriction to s components loses: 0 without one."""
        if self.gram_eigenvalues is None:
            return 0.0
        values = self.gram_eigenvalues
        return float(max(0.0, 1.0 - values[: self.map.n_components].sum() / values.sum()))


def draw_frequencies(
    kernel: Gaussian | Laplacian, count: int, d: int, rng: np.random.Generator
) -> np.ndarray:
    """Frequencies (count, d) whose mean of cos(w (x - z)) is k(x, z).

    Gaussian: w = g / s. Laplacian: w = g / (s |h|), g ~ N(0, I_d) and one h ~ N(0, 1) a frequency, a Cauchy
    distribution of d dimensions (independent Cauchy coordinates belong to the 1-norm).
    """
    frequencies: np.ndarray = rng.standard_normal((count, d)) * np.sqrt(kernel.inverse_square())
    if isinstance(kernel, Laplacian):
        frequencies /= np.abs(rng.standard_normal((count, 1)))
    return frequencies


def fit_fourier(
    rows: RowBlocks,
    features: FourierMap,
    n_components: int | None,
    runtime: Runtime,
    reporter: Reporter,
) -> FourierFit:
    """G = R^T R (c, c), V = its top-s eigenvectors above rounding; no pass where s is None.

    Cost n c d + n c^2. Raises NonFiniteError with the row.
    """
    if n_components is None:
        return FourierFit(features, None)
    total = reduce_rows(
        block.gram, rows, operands=[_placed(features, runtime)], combine=block.merge_grams, stage=STAGE
    )
    (gram,), _ = runtime.run([total], reporter=reporter, stage=STAGE)
    values, V = top_eigenpairs(to_host(gram))
    above = int((values > float(np.finfo(features.dtype).eps) * values.sum()).sum())
    V = V[:, : min(n_components, above)]
    return FourierFit(FourierMap(features.frequencies, features.shift, V, features.dtype), values)


def fourier_rows(rows: RowBlocks, features: FourierMap, runtime: Runtime, *, merge: int = 1) -> RowBlocks:
    """Pass two, lazily: the features (n, s) of rows of any origin. Cost n c (d + s)."""
    make = partial(
        map_rows, stage="fourier-features", columns=features.n_components, dtype=features.dtype, merge=merge
    )
    frequencies = _placed(features, runtime)
    if features.components is None:
        return make(block.features, rows, operands=[frequencies])
    return make(block.projected, rows, operands=[frequencies, runtime.place(features.components)])


def _placed(features: FourierMap, runtime: Runtime) -> Operand:
    """The frequencies for the tasks, in the type of the arithmetic."""
    matrix = features.frequencies.astype(features.dtype)
    return runtime.place(block.Frequencies(matrix, features.shift))
