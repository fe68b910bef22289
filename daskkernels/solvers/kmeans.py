"""Layer 4: k-means by Lloyd's algorithm over row blocks, all restarts in shared passes, sums in float64.

Labels always belong to the returned centers, and inertia is the sum of squared distances for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..block import kmeans as block
from ..callers import warn
from ..events import Iteration, Reporter
from ..rowblocks import RowBlocks
from ..rows import map_rows, reduce_rows
from ..runtime import Runtime
from .bandwidth import moments
from .seeding import seed_centers

STAGE = "kmeans-assign"


class ConvergenceWarning(UserWarning):
    """k-means stopped at max_iter before its centers came to rest."""


@dataclass(frozen=True)
class KMeansFit:
    """The best restart: centers (k, s), weighted inertia, cluster sizes (k,), labels; history of all."""

    centers: np.ndarray
    inertia: float
    sizes: np.ndarray
    n_iter: int
    labels: RowBlocks
    history: list[dict[str, float]]


@dataclass
class _Restart:
    """One set of centers on its way."""

    centers: np.ndarray  # (k, s)
    n_iter: int = 0
    converged: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


def fit_kmeans(
    B: RowBlocks,
    weights: RowBlocks,
    k: int,
    *,
    init: str | np.ndarray,
    seeds: list[np.random.SeedSequence],
    max_iter: int,
    tol: float,
    runtime: Runtime,
    reporter: Reporter,
    stop: Callable[[list[np.ndarray]], bool] = lambda _centers: False,
) -> KMeansFit:
    """Cluster the rows of B (n, s) into k; of one restart for each seed the one of smallest inertia.

    Stops when the centers move less than `tol` times the mean variance of a column (squared, summed), or not
    at all, or when `stop`, given the centers (k, s) of each restart after an iteration, says so.
    Cost 4 n k s an iteration and restart.
    """
    if isinstance(init, np.ndarray):
        starts = [init.astype(np.float64)]
    else:
        starts = [_filled(c, k) for c in seed_centers(B, weights, k, init, seeds, runtime, reporter)]
    spread = float(moments(B, weights, runtime, reporter, stage="kmeans-variance").variance.mean())
    restarts = [_Restart(block.snapped(start, B.dtype)) for start in starts]
    for _ in range(max_iter):
        active = [r for r in restarts if not r.converged]
        if not active:
            break
        _step(B, weights, active, tol * spread, runtime, reporter)
        if stop([r.centers for r in restarts]):
            max_iter = 0  # ended as asked for
            break
    return _best(B, weights, restarts, max_iter, runtime, reporter)


def _filled(centers: np.ndarray, k: int) -> np.ndarray:
    """k centers: where the data have fewer distinct rows the last is repeated, and these stay empty."""
    return np.concatenate([centers, np.repeat(centers[-1:], k - len(centers), axis=0)])


def _step(
    B: RowBlocks,
    weights: RowBlocks,
    active: list[_Restart],
    threshold: float,
    runtime: Runtime,
    reporter: Reporter,
) -> None:
    """One Lloyd iteration of all active restarts in one pass, two where a cluster became empty."""
    sets = tuple(block.Centers.of(r.centers, B.dtype) for r in active)
    total = reduce_rows(
        block.assign, B, weights, operands=[runtime.place(sets)], combine=block.merge_sets, stage=STAGE
    )
    (parts,), _ = runtime.run([total], reporter=reporter, stage=STAGE)
    moved = [_means(part, r.centers) for part, r in zip(parts, active, strict=True)]
    empty = [part.weights == 0 for part in parts]
    if any(e.any() for e in empty):
        moved = _relocated(B, weights, sets, moved, empty, runtime, reporter)
    moved = [block.snapped(centers, B.dtype) for centers in moved]
    for restart, centers, was_empty in zip(active, moved, empty, strict=True):
        shift = float(((centers - restart.centers) ** 2).sum())
        relocated = bool(was_empty.any()) and not np.array_equal(
            centers[was_empty], restart.centers[was_empty]
        )
        restart.converged = shift == 0.0 or (shift <= threshold and not relocated)
        restart.centers = centers
        restart.n_iter += 1
        restart.history.append({"iteration": restart.n_iter, "shift": shift, "empty": int(was_empty.sum())})
        reporter.emit(Iteration(STAGE, restart.n_iter, {"shift": shift, "threshold": threshold}))


def _means(part: block.AssignPart, old: np.ndarray) -> np.ndarray:
    """The mean of each cluster's members; a cluster without members stays where it is."""
    weights = part.weights[:, None]
    return np.where(weights > 0, part.sums / np.where(weights > 0, weights, 1.0), old)


def _relocated(
    B: RowBlocks,
    weights: RowBlocks,
    sets: tuple[block.Centers, ...],
    moved: list[np.ndarray],
    empty: list[np.ndarray],
    runtime: Runtime,
    reporter: Reporter,
) -> list[np.ndarray]:
    """Empty clusters moved to the farthest distinct rows; they stay where no row is at a distance."""
    count = max(int(e.sum()) for e in empty)
    total = reduce_rows(
        partial(block.farthest, count=count),
        B,
        weights,
        operands=[runtime.place(sets)],
        combine=partial(block.merge_farthest, count=count),
        stage=STAGE,
        numbered=True,
    )
    (far,), _ = runtime.run([total], reporter=reporter, stage=STAGE)
    return [_moved_to(centers, e, drawn.points) for centers, e, drawn in zip(moved, empty, far, strict=True)]


def _moved_to(centers: np.ndarray, empty: np.ndarray, points: np.ndarray) -> np.ndarray:
    _, first = np.unique(points, axis=0, return_index=True)
    distinct = points[np.sort(first)]
    places = np.flatnonzero(empty)[: len(distinct)]
    centers = centers.copy()
    centers[places] = distinct[: len(places)]
    return centers


def _best(
    B: RowBlocks,
    weights: RowBlocks,
    restarts: Sequence[_Restart],
    max_iter: int,
    runtime: Runtime,
    reporter: Reporter,
) -> KMeansFit:
    """Labels and exact inertia of every restart in one last pass; the best one is kept."""
    totals, labels = [], []
    for restart in restarts:
        centers = runtime.place(block.Centers.of(restart.centers, B.dtype))
        nearest = map_rows(
            block.labels, B, operands=[centers], stage="kmeans-labels", columns=None, dtype=np.int32
        )
        totals.append(
            reduce_rows(
                block.quality,
                B,
                nearest,
                weights,
                operands=[centers],
                combine=block.merge_quality,
                stage="kmeans-inertia",
            )
        )
        labels.append(nearest)
    qualities, kept = runtime.run(totals, labels, reporter=reporter, stage="kmeans-labels")
    best = int(np.argmin([q.inertia for q in qualities]))
    for i, rows in enumerate(kept):
        if i != best:
            runtime.release(rows)
    chosen = restarts[best]
    if not chosen.converged and max_iter > 0:
        warn(
            f"k-means did not converge in max_iter={max_iter} iterations: raise max_iter or tol",
            ConvergenceWarning,
        )
    history = [{"restart": i, **entry} for i, r in enumerate(restarts) for entry in r.history]
    return KMeansFit(
        chosen.centers, qualities[best].inertia, qualities[best].sizes, chosen.n_iter, kept[best], history
    )
