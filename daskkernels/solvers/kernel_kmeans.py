"""Layer 4: kernel k-means itself, by Lloyd's algorithm in feature space: K H is streamed every iteration.

A cluster's mean is never written down: distances to it are sums of kernel values. All restarts share the
passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..block import kernel_kmeans as block
from ..callers import warn
from ..events import Iteration, Reporter
from ..rounds import inline
from ..rowblocks import Operand, RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime
from .kernel_seeding import seed_labels
from .kernel_sums import KernelMatrix, sums_by_cluster
from .kmeans import ConvergenceWarning

STAGE = "kernel-kmeans-sums"


@dataclass(frozen=True)
class Partition:
    """Clusters of the rows of X: labels (n, 1), sizes (k,), and (H^T Y)_jj (k,): all that distances need."""

    labels: RowBlocks
    sizes: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class KernelKMeansFit:
    """The best restart; inertia = tr K - sum_j (H^T Y)_jj / |J_j| is that of its labels; history of all."""

    partition: Partition
    inertia: float
    n_iter: int
    history: list[dict[str, float]]


def fit_kernel_kmeans(
    K: KernelMatrix,
    k: int,
    *,
    init: RowBlocks | None,
    seeds: list[np.random.SeedSequence],
    max_iter: int,
    tol: float,
    runtime: Runtime,
    reporter: Reporter,
) -> KernelKMeansFit:
    """Cluster the rows of K into k, from labels `init` (n,) or by k-means++ with one restart a seed.

    A restart is done when no label changes, or when its inertia falls by at most `tol` of itself; it goes on
    with the others. Cost 2 n^2 (d + R k) an iteration; sums (n, R k) are held within it.
    """
    if init is not None:
        start = inline(block.as_column, init, columns=1, dtype=np.int32)
    else:
        start = seed_labels(K, k, seeds, runtime, reporter)
    labels, sizes = _counted(start, k, runtime, reporter)
    runtime.release(start)
    progress = _Progress.of(len(sizes))
    for step in range(max_iter + 1):
        own, moved, after = _pass(K, labels, sizes, runtime, reporter)
        inertia = K.trace - (own / np.where(sizes > 0, sizes, 1)).sum(axis=1)
        progress.note(inertia, moved, tol)
        reporter.emit(Iteration(STAGE, step + 1, {"inertia": float(inertia.min())}))
        if progress.over or step == max_iter:
            runtime.release(after)
            break
        runtime.release(labels)
        labels, sizes = _without_empty(after, moved, runtime, reporter)
    best = int(inertia.argmin())
    if not progress.n_iter[best]:
        _warn(max_iter)
    column, _ = _counted(
        inline(partial(block.as_column, index=best), labels, columns=1, dtype=np.int32), k, runtime, reporter
    )
    runtime.release(labels)
    n_iter = min(progress.n_iter[best] or max_iter, max_iter)
    partition = Partition(column, sizes[best], own[best])
    return KernelKMeansFit(partition, max(0.0, float(inertia[best])), n_iter, progress.history)


@dataclass
class _Progress:
    """How far every restart has come."""

    inertia: np.ndarray  # (R,) the smallest so far
    n_iter: list[int]  # when each was done, 0 before
    history: list[dict[str, float]] = field(default_factory=list)
    step: int = 0

    @classmethod
    def of(cls, restarts: int) -> _Progress:
        """Nothing done yet."""
        return cls(np.full(restarts, np.inf), [0] * restarts)

    @property
    def over(self) -> bool:
        """Whether every restart is done."""
        return all(self.n_iter)

    def note(self, inertia: np.ndarray, moved: block.Moves, tol: float) -> None:
        """What a pass found."""
        self.step += 1
        for r, (value, count) in enumerate(zip(inertia.tolist(), moved.changed.tolist(), strict=True)):
            at_rest = count == 0 or self.inertia[r] - value <= tol * abs(value)
            at_rest = at_rest and not _fillable(moved, r)
            self.n_iter[r] = self.n_iter[r] or (self.step if at_rest else 0)
            self.history.append(
                {"restart": r, "iteration": self.step, "inertia": value, "changed": float(count)}
            )
        self.inertia = np.minimum(self.inertia, inertia)


def _fillable(moved: block.Moves, restart: int) -> bool:
    """Whether a cluster is empty and a row, not alone in its own, is at a distance from its mean."""
    sizes, labels = moved.sizes[restart], moved.farthest[restart][:, 2].astype(np.int64)
    return bool((sizes == 0).any() and (sizes[labels] > 1).any())


def _pass(
    K: KernelMatrix, labels: RowBlocks, sizes: np.ndarray, runtime: Runtime, reporter: Reporter
) -> tuple[np.ndarray, block.Moves, RowBlocks]:
    """(H^T Y)_jj (R, k) of these labels, and the labels (n, R) after them, in one graph."""
    restarts, k = sizes.shape
    Y = sums_by_cluster(K, K.X, labels, count=k, restarts=restarts, stage=STAGE)
    own = reduce_rows(
        partial(block.within, k=k), Y, labels, combine=block.added, stage="kernel-kmeans-within"
    )
    norms = [own.operand(), runtime.place(sizes)]
    after = map_rows(
        block.nearest_clusters,
        Y,
        operands=norms,
        stage="kernel-kmeans-labels",
        columns=restarts,
        dtype=np.int32,
    )
    moved = reduce_rows(
        block.moves,
        Y,
        after,
        labels,
        K.diagonal,
        operands=norms,
        combine=block.merge_moves,
        stage="kernel-kmeans-moves",
        numbered=True,
    )
    (sums, moves), (kept,) = runtime.run([own, moved], [after], reporter=reporter, stage=STAGE)
    return sums, moves, kept


def _counted(labels: RowBlocks, k: int, runtime: Runtime, reporter: Reporter) -> tuple[RowBlocks, np.ndarray]:
    """Labels (n, R) held by the workers, and the sizes (R, k) of their clusters."""
    stage = "kernel-kmeans-sizes"
    total = reduce_rows(partial(block.restart_counts, k=k), labels, combine=block.added, stage=stage)
    (sizes,), (kept,) = runtime.run([total], [labels], reporter=reporter, stage=stage)
    return kept, sizes


def _without_empty(
    labels: RowBlocks, moved: block.Moves, runtime: Runtime, reporter: Reporter
) -> tuple[RowBlocks, np.ndarray]:
    """Labels in which the rows farthest from their means are clusters of their own, where some were empty.

    A cluster stays empty where no row is at a distance. Splitting clusters never raises the objective.
    """
    sizes, changes = moved.sizes.copy(), []
    for r, far in enumerate(moved.farthest):
        empty = np.flatnonzero(sizes[r] == 0).tolist()
        for row, label in far[:, 1:].astype(np.int64).tolist():
            if empty and sizes[r, label] > 1:
                sizes[r, label] -= 1
                sizes[r, empty[0]] = 1
                changes.append((r, row, empty.pop(0)))
    if not changes:
        return labels, sizes
    operand = runtime.place(np.array(changes, np.int64))
    renamed = inline(
        block.relabelled, labels, columns=labels.columns, dtype=np.int32, operands=[operand], numbered=True
    )
    result = _counted(renamed, sizes.shape[1], runtime, reporter)
    runtime.release(labels)
    return result


def assigned_rows(K: KernelMatrix, rows: RowBlocks, partition: Partition, runtime: Runtime) -> RowBlocks:
    """Nearest clusters (m,) int32 of any rows (m, d), lazily, against all rows of K. Cost 2 m n d.

    Only K_ii, which is the same for all clusters, is left out of the distances.
    """
    return _labels(_sums_to(K, rows, partition), _placed(partition, runtime))


def _sums_to(K: KernelMatrix, rows: RowBlocks, partition: Partition) -> RowBlocks:
    k = len(partition.sizes)
    return sums_by_cluster(K, rows, partition.labels, count=k, stage="kernel-kmeans-predict")


def _placed(partition: Partition, runtime: Runtime) -> list[Operand]:
    return [runtime.place(partition.own[None]), runtime.place(partition.sizes[None])]


def _labels(Y: RowBlocks, operands: list[Operand]) -> RowBlocks:
    make = block.nearest_cluster
    return map_rows(make, Y, operands=operands, stage="kernel-kmeans-labels", columns=None, dtype=np.int32)


def assign_rows(
    K: KernelMatrix, rows: RowBlocks, partition: Partition, runtime: Runtime, reporter: Reporter
) -> tuple[RowBlocks, float]:
    """`assigned_rows` held by the workers, and the sum of their squared distances."""
    stage = "kernel-kmeans-predict"
    Y = _sums_to(K, rows, partition)
    operands = _placed(partition, runtime)
    labels = _labels(Y, operands)
    own = partial(block.diagonal, kernel=K.kernel, dtype=K.dtype, shift=K.shift)
    diagonal = inline(own, rows, columns=None, dtype=np.float64)
    total = reduce_rows(
        block.distance_sum, Y, labels, diagonal, operands=operands, combine=sum, stage=f"{stage}-inertia"
    )
    (found,), (kept,) = runtime.run([total], [labels], reporter=reporter, stage=stage)
    return kept, float(found)


def _warn(max_iter: int) -> None:
    warn(
        f"kernel k-means did not converge in max_iter={max_iter} iterations: raise max_iter or tol",
        ConvergenceWarning,
    )
