"""Layer 4: the leading eigenspace of a kernel matrix by the power method [K Alg. 1].

K is streamed on both sides and computed again in every product; matrices of n rows and a few columns are
held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..block import kernel_pca as block
from ..block import sketches
from ..events import Iteration, Reporter
from ..rounds import grouped, split
from ..rowblocks import RowBlocks, absent, made
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime
from .sketches import RowsFit, RowsMap, product_with_rows, restricted_fit, traced

F8 = np.dtype(np.float64)
STAGE, ORTHONORMAL = "kpca-product", "kpca-orthonormal"


class Hold(Protocol):
    """Keeps matrices of n rows between passes."""

    def __call__(self, rows: RowBlocks, stage: str) -> RowBlocks:
        """The same rows, computed."""

    def release(self, rows: RowBlocks) -> None:
        """Give up rows that were kept."""


class PowerMethod:
    """Products with K, or with H K H (H = I - 1 1^T / n) where rows are centered in feature space."""

    def __init__(
        self, start: RowsMap, centered: bool, hold: Hold, runtime: Runtime, reporter: Reporter
    ) -> None:
        self._start, self._centered, self._hold = start, centered, hold
        self._runtime, self._reporter = runtime, reporter
        self._grid = start.rows.grid

    def basis(self, keys: tuple[int, int], columns: int, rounds: int) -> RowBlocks:
        """Orthonormal columns (n, c) after so many rounds P <- orth(K P), beginning with a normal P.

        Where K has fewer than c eigenvalues above rounding, there are fewer columns. Cost 2 n^2 (d + c) a
        round. Raises DegenerateMatrixError.
        """
        first = partial(block.gaussian_rows, keys=keys, columns=columns)
        P = self._centered_rows(self._hold(made(first, self._grid, columns=columns, dtype=F8), ORTHONORMAL))
        for number in range(1, rounds + 1):
            P = self._orthonormal(self._swap(P, self._product(P), STAGE))
            self._reporter.emit(Iteration(STAGE, number, {"columns": float(P.columns or 0)}))
        return P

    def fit(self, U: RowBlocks, n_components: int | None) -> RowsFit:
        """The best `n_components` features of C = K U, W = U^T K U; one more product. U is given up."""
        weights, mean, P = absent(self._grid), None, U
        if self._centered:
            P = map_rows(block.with_ones, U, stage=ORTHONORMAL, columns=(U.columns or 0) + 1, dtype=F8)
        C = self._hold(self._product(P), STAGE)
        if self._centered:
            mean = self._mean(C)
        share = reduce_rows(
            partial(sketches.sketch_part, mean=None if mean is None else mean[:-1]),
            C,
            grouped(U, 1),
            grouped(weights, 1),
            combine=sketches.merge_sketch,
            stage=ORTHONORMAL,
        )
        traces = traced(self._start, weights)
        (part, *sums), _ = self._runtime.run([share, *traces], reporter=self._reporter, stage=ORTHONORMAL)
        self._hold.release(C)
        trace = sums[0] if sums else part.weight
        fitted = restricted_fit(
            replace(self._start, weights=U),
            part,
            trace if mean is None else trace - float(mean[-1]),
            None,
            n_components,
            partial(self._hold, stage=ORTHONORMAL),
            self._runtime,
            None if mean is None else mean[:-1],
        )
        self._hold.release(U)
        return fitted

    def _product(self, P: RowBlocks) -> RowBlocks:
        """K P (n, c), lazily."""
        return split(product_with_rows(self._start, self._start.rows, P, stage=STAGE), self._grid)

    def _orthonormal(self, P: RowBlocks) -> RowBlocks:
        """Orthonormal columns that span those of P, which is given up: two factorisations in float64.

        The second one is of P without its rounding, so that its columns are nearly orthonormal already.
        """
        P = self._centered_rows(P)
        whitening = block.whitening(self._reduced(block.r_factor, block.merge_r, P))
        P = self._mapped(sketches.times, P, whitening)
        P = self._centered_rows(P)
        return self._mapped(block.times_inverse, P, self._reduced(block.r_factor, block.merge_r, P))

    def _centered_rows(self, P: RowBlocks) -> RowBlocks:
        """H P, where rows are centered; P is given up."""
        return self._mapped(block.without, P, self._mean(P)) if self._centered else P

    def _mean(self, P: RowBlocks) -> np.ndarray:
        """Means of the columns (c,)."""
        return np.asarray(self._reduced(block.column_sums, sum, P) / self._grid.n_rows)

    def _reduced(self, function: Callable[..., Any], combine: Callable[..., Any], P: RowBlocks) -> Any:
        total = reduce_rows(function, P, combine=combine, stage=ORTHONORMAL)
        return self._runtime.run([total], reporter=self._reporter, stage=ORTHONORMAL)[0][0]

    def _mapped(self, function: Callable[..., Any], P: RowBlocks, matrix: np.ndarray) -> RowBlocks:
        """`function(block, matrix)` of every block, held; P is given up."""
        columns = int(matrix.shape[-1])
        operand = self._runtime.place(matrix)
        made_rows = map_rows(function, P, operands=[operand], stage=ORTHONORMAL, columns=columns, dtype=F8)
        return self._swap(P, made_rows)

    def _swap(self, old: RowBlocks, new: RowBlocks, stage: str = ORTHONORMAL) -> RowBlocks:
        """The new rows, held, after which the old ones are given up."""
        held = self._hold(new, stage)
        self._hold.release(old)
        return held
