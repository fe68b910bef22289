"""Layer 4: kernel values against all centers: what predictions are made of, and what is kept for rounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..block.stripes import neighbours, stripe_of
from ..events import Reporter
from ..kernels import AnyKernel
from ..rounds import near_rows
from ..rowblocks import Operand, RowBlocks
from ..runtime import Runtime
from ..xp import Array
from .products import kernel_product

STAGE, TILES = "eigenpro-predict", "eigenpro-tiles"


def kept_stripes(
    X: RowBlocks,
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    stored: np.dtype[np.generic],
    center: Array | None,
    preconditioner: Operand,
    runtime: Runtime,
    reporter: Reporter,
) -> RowBlocks:
    """K of every pair of blocks, half of it, and U, held by the workers. Cost n^2 (d + 2) + 2 n s (d + p)."""
    make = partial(stripe_of, kernel=kernel, dtype=dtype, stored=stored, center=center)
    near = partial(neighbours, n_blocks=X.grid.n_blocks)
    stripes = near_rows(make, X, near, preconditioner, stage=TILES)
    _, (held,) = runtime.run([], [stripes], reporter=reporter, stage=TILES)
    return held


def decision_rows(
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    center: Array | None,
    X: RowBlocks,
    centers: RowBlocks,
    weights: RowBlocks,
    finish: Callable[[Array], Array],
    columns: int | None,
    out: Any,
) -> RowBlocks:
    """finish(K(X, centers) weights) for every row of X, both sides streamed. Cost 2 n m (d + l)."""
    return kernel_product(
        kernel, dtype, center, X, centers, weights, stage=STAGE, finish=finish, columns=columns, out=out
    )
