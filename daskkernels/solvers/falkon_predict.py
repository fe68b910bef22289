"""Layer 4: what M centers and their weights predict: for new rows, and for those a fit is judged by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..block import falkon as block
from ..block.nystrom import columns as kernel_columns
from ..block.targets import OneHot
from ..block.tiles import prepare
from ..kernels import AnyKernel
from ..rowblocks import RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime
from ..xp import Array
from .falkon import Prepared


def validator(
    prepared: Prepared, rows: RowBlocks, y: RowBlocks
) -> tuple[Callable[[np.ndarray], dict[str, float]], Sequence[RowBlocks]]:
    """A function from a (M, l) to the loss on rows that are not trained on, and for classes the wrong ones.

    Their kernel values are kept where those of the others are: the blocks to release in the end.
    """
    problem, runtime, reporter = prepared.problem, prepared.runtime, prepared.reporter
    stage, right = "falkon-validate", prepared.right
    kept: list[RowBlocks] = []
    if prepared.kept:
        made = map_rows(
            kernel_columns,
            rows,
            operands=[runtime.place(prepare(problem.kernel, problem.centers, problem.dtype))],
            stage=stage,
            columns=len(problem.centers),
            dtype=problem.dtype,
        )
        _, kept = runtime.run([], [made], reporter=reporter, stage=stage)
        rows = kept[0]
    encode = runtime.place(problem.encode)

    def validate(weights: np.ndarray) -> dict[str, float]:
        operands = [right, runtime.place(weights.astype(problem.dtype)), encode]
        total = reduce_rows(block.judged, rows, y, operands=operands, combine=sum, stage=stage)
        ((squares, wrong),), _ = runtime.run([total], reporter=reporter, stage=stage)
        n = rows.grid.n_rows
        found = {"validation_mse": float(squares) / (n * problem.n_outputs)}
        if isinstance(problem.encode, OneHot):
            found["validation_error"] = float(wrong) / n
        return found

    return validate, kept


def decision_rows(
    rows: RowBlocks,
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    centers: Array,
    weights: np.ndarray,
    finish: Callable[[Array], Array],
    columns: int | None,
    out: Any,
    runtime: Runtime,
) -> RowBlocks:
    """finish(K(X, Z) a) for every row of X, lazily. Cost 2 n M (d + l)."""
    operands = [runtime.place(prepare(kernel, centers, dtype)), runtime.place(weights.astype(dtype))]
    function = partial(block.predicted, finish=finish)
    return map_rows(function, rows, operands=operands, stage="falkon-predict", columns=columns, dtype=out)
