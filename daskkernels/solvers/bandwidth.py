"""Layer 4: data-driven bandwidths and column moments, one streamed pass."""

from __future__ import annotations

import numpy as np

from ..block.moments import Moments, block_moments, merge_moments
from ..callers import warn
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel, Stationary
from ..linalg import NumericalWarning
from ..rowblocks import RowBlocks
from ..rows import reduce_rows, take_rows
from ..runtime import Runtime

MEDIAN_ROWS = 1000  # half a million pairs


def moments(
    rows: RowBlocks, weights: RowBlocks, runtime: Runtime, reporter: Reporter, *, stage: str
) -> Moments:
    """Count, mean and squared deviations of every column, exact in float64, merged in a fixed tree."""
    total = reduce_rows(block_moments, rows, weights, combine=merge_moments, stage=stage)
    (found,), _ = runtime.run([total], reporter=reporter, stage=stage)
    return found  # type: ignore[no-any-return]


def resolve_kernel(
    kernel: AnyKernel,
    rows: RowBlocks,
    weights: RowBlocks,
    runtime: Runtime,
    reporter: Reporter,
    rng: np.random.Generator,
) -> AnyKernel:
    """The kernel with its bandwidth as a number: "mean" by [K eq. 5], "median" from a seeded sample."""
    if not isinstance(kernel, Stationary) or kernel.resolved:
        return kernel
    if kernel.bandwidth == "mean":
        square = moments(rows, weights, runtime, reporter, stage="bandwidth").mean_squared_distance()
        scale = float(np.sqrt(square))
    else:
        scale = _median_distance(rows, runtime, reporter, rng)
    if not scale > 0.0:
        warn(
            "all rows are equal, or differ by less than 1e-154, so that the bandwidth is set to 1: pass "
            "bandwidth= a number",
            NumericalWarning,
        )
        scale = 1.0
    return kernel.with_scale(scale)


def _median_distance(
    rows: RowBlocks, runtime: Runtime, reporter: Reporter, rng: np.random.Generator
) -> float:
    """Median distance within a sample of 1000 rows; of its unequal pairs, when half of all are equal."""
    n = rows.grid.n_rows
    chosen = np.sort(rng.choice(n, min(n, MEDIAN_ROWS), replace=False))
    (sample,), _ = runtime.run(
        [take_rows(rows, chosen, stage="bandwidth")], reporter=reporter, stage="bandwidth"
    )
    check_sample(sample, chosen)
    sample = np.asarray(sample, dtype=np.float64)
    sample = sample - sample.mean(axis=0)
    norms = np.einsum("ij,ij->i", sample, sample)
    squares = norms[:, None] + norms[None, :] - 2.0 * sample @ sample.T
    pairs = squares[np.triu_indices(len(sample), 1)]
    rounding = 8 * np.finfo(np.float64).eps * float(norms.max(initial=0.0))
    if pairs.size and np.median(pairs) <= rounding:
        pairs = pairs[pairs > rounding]
    return float(np.sqrt(np.median(pairs))) if pairs.size else 0.0
