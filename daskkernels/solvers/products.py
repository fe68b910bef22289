"""Layer 4: a kernel matrix times a matrix of weights, both sides streamed: n x m values are never held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..block.products import product, right_side
from ..kernels import AnyKernel
from ..rounds import cross_rows
from ..rowblocks import Operand, RowBlocks
from ..xp import Array

LEFT_ROWS = 4096  # taken together against every block of the right: enough arithmetic for a task


def kernel_product(
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    center: Array | None,
    X: RowBlocks,
    Z: RowBlocks,
    P: RowBlocks,
    *,
    stage: str,
    finish: Callable[..., Array],
    columns: int | None,
    out: Any,
    operands: Sequence[Operand] = (),
) -> RowBlocks:
    """finish(K(X, Z) P, *operands) for every row of X (n, d), lazily; Z (m, d), P (m, l) on one grid.

    `finish` gets the product of a block in float64, summed over tiles in a fixed order. `center` (d,) is
    subtracted from both sides first (None: the mean of the rows of X at hand). Rows of P that are all zero
    cost nothing. Cost 2 n m (d + l); in memory are a block of either side and (b, l) sums.
    """
    return cross_rows(
        product,
        finish,
        sum,
        partial(right_side, kernel=kernel, dtype=dtype, center=center),
        X,
        Z,
        P,
        stage=stage,
        columns=columns,
        dtype=out,
        operands=operands,
        at_least=LEFT_ROWS,
    )
