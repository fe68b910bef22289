"""Layer 4: starting centers for k-means: k-means|| (Bahmani et al. 2012) and k-means++ (Arthur, Vassilvitskii
2007).

Every restart has its own stream of random numbers and all restarts share the passes.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..block import kmeans as block
from ..block.draw import stream_keys
from ..events import Reporter
from ..rowblocks import RowBlocks
from ..rows import reduce_rows
from ..runtime import Runtime

ROUNDS = 5  # of k-means||
OVERSAMPLING = 2  # rows drawn a round, in units of k
_TRIES = 10  # seedings of the small problem on the candidates
STAGE = "kmeans-seed"


class _Points:
    """The rows being clustered, with what is needed to pass over them."""

    def __init__(self, B: RowBlocks, weights: RowBlocks, runtime: Runtime, reporter: Reporter) -> None:
        self.B, self.weights, self.runtime, self.reporter = B, weights, runtime, reporter

    def reduce(self, function: Any, combine: Any, operands: list[Any], numbered: bool = True) -> Any:
        placed = [self.runtime.place(value) for value in operands]
        total = reduce_rows(
            function, self.B, self.weights, operands=placed, combine=combine, stage=STAGE, numbered=numbered
        )
        (value,), _ = self.runtime.run([total], reporter=self.reporter, stage=STAGE)
        return value

    def sets(self, points: list[np.ndarray]) -> block.Sets:
        return tuple(block.Centers.of(p, self.B.dtype) if len(p) else None for p in points)


def seed_centers(
    B: RowBlocks,
    weights: RowBlocks,
    k: int,
    method: str,
    seeds: list[np.random.SeedSequence],
    runtime: Runtime,
    reporter: Reporter,
) -> list[np.ndarray]:
    """Starting centers (k, s) for each seed; fewer than k rows where the data have fewer distinct rows."""
    points = _Points(B, weights, runtime, reporter)
    if method == "k-means++":
        return _plus_plus(points, k, seeds)
    return _parallel(points, k, seeds)


def _plus_plus(points: _Points, k: int, seeds: list[np.random.SeedSequence]) -> list[np.ndarray]:
    """k passes; each draws one row a restart with probability proportional to w d^2."""
    keys = np.array([stream_keys(seed, k) for seed in seeds])  # (restarts, k)
    centers = [np.empty((0, points.B.columns or 0))] * len(seeds)
    for step in range(k):
        centers = _draw_one(points, centers, keys[:, step].tolist())
    return centers


def _draw_one(points: _Points, centers: list[np.ndarray], keys: list[int]) -> list[np.ndarray]:
    winners = points.reduce(block.race, block.merge_race, [points.sets(centers), keys])
    return [np.concatenate([c, w.points]) for c, w in zip(centers, winners, strict=True)]


def _parallel(points: _Points, k: int, seeds: list[np.random.SeedSequence]) -> list[np.ndarray]:
    """k-means||: one uniform row, rounds of about 2 k rows each, then weighted k-means on the candidates."""
    keys = np.array([stream_keys(seed, ROUNDS + k + 2) for seed in seeds])
    candidates = _draw_one(points, [np.empty((0, points.B.columns or 0))] * len(seeds), keys[:, 0].tolist())
    wanted = float(OVERSAMPLING * k)
    for step in range(1, ROUNDS + 1):
        drawn = points.reduce(
            partial(block.propose, oversampling=wanted),
            partial(block.merge_propose, oversampling=wanted),
            [points.sets(candidates), keys[:, step].tolist()],
        )
        if not any(len(d.rows) for d in drawn):
            break
        candidates = [np.concatenate([c, d.points]) for c, d in zip(candidates, drawn, strict=True)]
    for step in range(
        ROUNDS + 1, ROUNDS + 1 + k
    ):  # top up: too few candidates, a small or nearly constant data set
        if all(len(c) >= k for c in candidates):
            break
        grown = _draw_one(points, candidates, keys[:, step].tolist())
        if all(len(a) == len(b) for a, b in zip(grown, candidates, strict=True)):
            break
        candidates = grown
    members = points.reduce(block.assign, block.merge_sets, [points.sets(candidates)], numbered=False)
    return [
        _cluster_candidates(c, part.weights, k, np.random.default_rng(int(key)))
        for c, part, key in zip(candidates, members, keys[:, -1], strict=True)
    ]


def _cluster_candidates(C: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The best of ten weighted k-means++ seedings of a few hundred candidates (m, s), after Lloyd steps."""
    C = C[weights > 0]
    weights = weights[weights > 0]
    if len(C) <= k:
        return C
    tries = [_lloyd(C, weights, _small_plus_plus(C, weights, k, rng)) for _ in range(_TRIES)]
    return min(tries, key=lambda found: found[1])[0]


def _small_plus_plus(C: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    chosen = [rng.choice(len(C), p=weights / weights.sum())]
    d2 = _squares(C, C[chosen])[:, 0]
    while len(chosen) < k:
        mass = weights * d2
        p = mass / mass.sum() if mass.sum() > 0 else np.full(len(C), 1.0 / len(C))
        chosen.append(rng.choice(len(C), p=p))
        d2 = np.minimum(d2, _squares(C, C[chosen[-1:]])[:, 0])
    return C[chosen]


def _lloyd(
    C: np.ndarray, weights: np.ndarray, centers: np.ndarray, steps: int = 20
) -> tuple[np.ndarray, float]:
    """Lloyd steps in memory: centers and weighted inertia; a cluster without members keeps its center."""
    for _ in range(steps):
        members = np.eye(len(centers))[_squares(C, centers).argmin(axis=1)] * weights[:, None]  # (m, k)
        mass = members.sum(axis=0)
        moved = np.where(mass[:, None] > 0, members.T @ C / np.where(mass > 0, mass, 1.0)[:, None], centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    return centers, float(weights @ _squares(C, centers).min(axis=1))


def _squares(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Squared distances (m, k); rounding below zero is cut off."""
    norms = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B)[None, :]
    return np.asarray(np.maximum(norms - 2.0 * A @ B.T, 0.0))
