"""Layer 4: starting labels for kernel k-means: k-means++ (Arthur, Vassilvitskii 2007) in feature space.

All restarts share the passes; each has its own stream of random numbers.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..block import kernel_seeding as seeding
from ..block.draw import stream_keys
from ..events import Reporter
from ..finite import check_sample
from ..rowblocks import RowBlocks, absent
from ..rows import map_rows, reduce_rows, take_rows
from ..runtime import Runtime
from .kernel_sums import KernelMatrix

SEED = "kernel-kmeans-seed"


def seed_labels(
    K: KernelMatrix, k: int, seeds: list[np.random.SeedSequence], runtime: Runtime, reporter: Reporter
) -> RowBlocks:
    """Labels (n, R), kept, by k-means++ in feature space: a row a step, by its d^2.

    k passes for the columns of K of the chosen rows, in float64. Cost 2 n d k R.
    """
    keys = np.array([stream_keys(seed, k) for seed in seeds])  # (R, k)
    state = absent(K.X.grid)
    for step in range(k):
        chosen = _drawn(K, state, keys[:, step].tolist(), runtime, reporter)
        picks = _picks(K, chosen, runtime, reporter)
        if not any(picks):
            break  # fewer distinct rows than clusters
        total = map_rows(
            partial(seeding.nearer, step=step),
            K.X,
            state,
            operands=[runtime.place(picks)],
            stage=SEED,
            columns=2 * len(seeds),
            dtype=np.float64,
        )
        _, (after,) = runtime.run([], [total], reporter=reporter, stage=SEED)
        if step:
            runtime.release(state)
        state = after
    labels = map_rows(seeding.seeded_labels, state, stage=SEED, columns=len(seeds), dtype=np.int32)
    _, (kept,) = runtime.run([], [labels], reporter=reporter, stage=SEED)
    runtime.release(state)
    return kept


def _drawn(
    K: KernelMatrix, state: RowBlocks, keys: list[int], runtime: Runtime, reporter: Reporter
) -> list[int | None]:
    """The next row of each restart; None where all rows are chosen, or equal to such."""
    stage = f"{SEED}-draw"
    total = reduce_rows(
        partial(seeding.race, keys=keys),
        K.diagonal,
        state,
        combine=seeding.merge_race,
        stage=stage,
        numbered=True,
    )
    (winners,), _ = runtime.run([total], reporter=reporter, stage=stage)
    return [int(row) if np.isfinite(time) else None for time, row in winners.tolist()]


def _picks(
    K: KernelMatrix, chosen: list[int | None], runtime: Runtime, reporter: Reporter
) -> tuple[seeding.Pick | None, ...]:
    """The chosen rows made ready."""
    numbers = np.array([row for row in chosen if row is not None], np.int64)
    if not len(numbers):
        return (None,) * len(chosen)
    distinct, places = np.unique(numbers, return_inverse=True)
    stage = f"{SEED}-rows"
    (rows,), _ = runtime.run([take_rows(K.X, distinct, stage=stage)], reporter=reporter, stage=stage)
    check_sample(rows, distinct)
    found = iter(rows[places])
    return tuple(None if row is None else seeding.Pick.of(K.kernel, next(found)) for row in chosen)
