"""Layer 4: Y = K H, the sums of all kernel values by cluster, streamed; and the exact objective they give.

n^2 kernel values are computed in every pass and none is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import kernel_kmeans as block
from ..block.tiles import kernel_block
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel, has_unit_diagonal
from ..rounds import cross_rows, inline
from ..rowblocks import RowBlocks, absent, cut
from ..rows import map_rows, reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import to_host
from .products import LEFT_ROWS

SAMPLE = 256  # rows that say where the data are and how large kernel values are
NEAR_ONE = 0.5  # mean value from which 1 is subtracted from all of K
SUMS_VALUES = 2**21  # of the sums of a block, 16 MB
CLUSTERS_AT_ONCE = 512  # of one pass of the objective


@dataclass(frozen=True)
class KernelMatrix:
    """K of the rows of X less a constant, and what is needed to stream it."""

    X: RowBlocks
    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    center: np.ndarray  # (d,) subtracted from all rows before distances
    shift: float  # subtracted from all of K: 1 where its values are near 1
    diagonal: RowBlocks  # k(x, x) - shift (n,), kept
    trace: float  # its sum


def matrix_of(
    X: RowBlocks, kernel: AnyKernel, dtype: np.dtype[np.floating], center: np.ndarray, shift: float
) -> KernelMatrix:
    """K of rows whose center and shift are known, for products alone: without its diagonal."""
    return KernelMatrix(X, kernel, dtype, center, shift, absent(X.grid), 0.0)


def open_matrix(
    X: RowBlocks,
    kernel: AnyKernel,
    dtype: np.dtype[np.floating],
    runtime: Runtime,
    reporter: Reporter,
    stage: str = "kernel-diagonal",
) -> KernelMatrix:
    """Look at a few rows of X and find the diagonal of K, one pass.

    Near 1 float32 sums of K lose what tells rows apart; those of K - 1 do not, and say the same.
    """
    n = X.grid.n_rows
    chosen = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))
    (sample,), _ = runtime.run([take_rows(X, chosen, stage=stage)], reporter=reporter, stage=stage)
    check_sample(sample, chosen)
    rows = to_host(sample).astype(np.float64)
    near_one = has_unit_diagonal(kernel) and kernel_block(kernel, rows).mean() > NEAR_ONE
    shift = 1.0 if near_one else 0.0
    find = partial(block.diagonal, kernel=kernel, dtype=dtype, shift=shift)
    diagonal = map_rows(find, X, stage=stage, columns=None, dtype=np.float64)
    total = reduce_rows(np.sum, diagonal, combine=sum, stage=f"{stage}-sum")
    (trace,), (kept,) = runtime.run([total], [diagonal], reporter=reporter, stage=stage)
    return KernelMatrix(X, kernel, dtype, rows.mean(axis=0), shift, kept, float(trace))


def sums_by_cluster(
    K: KernelMatrix,
    left: RowBlocks,
    labels: RowBlocks,
    *,
    first: int = 0,
    count: int,
    restarts: int = 1,
    squares: bool = False,
    stage: str,
) -> RowBlocks:
    """(K(left, X) - shift) H, lazily, for H of the clusters from `first` on: (m, restarts count) float64.

    `labels` (n, restarts) are those of the rows of X. With `squares`, one more column: the sums of squares
    over the rows of these clusters. `left` is X itself or other rows. Cost 2 m n (d + restarts count).
    """
    width = restarts * count + squares
    numbered_left = inline(block.numbered, left, columns=None, dtype=object, numbered=True)
    numbered = inline(block.numbered, K.X, columns=None, dtype=object, numbered=True)
    sums = cross_rows(
        partial(block.cluster_sums, first=first, count=count, shift=K.shift, squares=squares),
        np.asarray,
        sum,
        partial(block.left_side, kernel=K.kernel, dtype=K.dtype, center=K.center, same=left is K.X),
        numbered_left,
        numbered,
        labels,
        stage=stage,
        columns=width,
        dtype=np.float64,
        at_least=max(1, min(LEFT_ROWS, SUMS_VALUES // width)),
    )
    return cut(sums, left.grid)


def exact_objective(
    K: KernelMatrix, labels: RowBlocks, sizes: np.ndarray, squares: bool, runtime: Runtime, reporter: Reporter
) -> float:
    """The kernel k-means objective of labels 0, 1, ... (n,) int32, none without members.

    (1/n) [tr K - sum_j (H^T Y)_jj / |J_j|], or with `squares`, of the columns of K as points,
    (1/n) [|K|_F^2 - sum_ij Y_ij^2 / |J_j|] [K eq. 6].
    """
    total, stage = 0.0, "objective-sums"
    for first in range(0, len(sizes), CLUSTERS_AT_ONCE):
        some = sizes[first : first + CLUSTERS_AT_ONCE]
        Y = sums_by_cluster(K, K.X, labels, first=first, count=len(some), squares=squares, stage=stage)
        share = partial(block.objective_share, first=first, squares=squares)
        part = reduce_rows(
            share, Y, labels, operands=[runtime.place(some)], combine=sum, stage="objective-share"
        )
        (value,), _ = runtime.run([part], reporter=reporter, stage=stage)
        total += value
    value = total if squares else K.trace - total
    return max(0.0, float(value)) / K.X.grid.n_rows


def counted_labels(
    labels: RowBlocks, runtime: Runtime, reporter: Reporter
) -> tuple[RowBlocks, np.ndarray, np.ndarray]:
    """Labels (n,) kept by the workers, the values (k,) that occur, ascending, and their rows (k,)."""
    total = reduce_rows(
        block.label_counts, labels, combine=block.merge_label_counts, stage="objective-labels"
    )
    ((values, counts),), (kept,) = runtime.run([total], [labels], reporter=reporter, stage="objective-labels")
    return kept, values, counts


def ranked_labels(labels: RowBlocks, values: np.ndarray, runtime: Runtime) -> RowBlocks:
    """Labels by their places among all values: 0, 1, ... without a gap."""
    return inline(block.ranks, labels, columns=None, dtype=np.int32, operands=[runtime.place(values)])
