"""Layer 4: which landmarks a Nyström method takes: rows drawn uniformly or by scores, or k-means centers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..block import sampling as block
from ..block.draw import uniforms
from ..events import Reporter
from ..finite import check_sample
from ..grid import BLOCK_BYTES, Grid
from ..kernels import AnyKernel
from ..rowblocks import RowBlocks, absent
from ..rows import map_rows, reduce_rows, take_rows, taken_rows
from ..runtime import Runtime
from ..xp import Array, like, to_host
from .kmeans import fit_kmeans
from .nystrom import choose_landmarks, fit_nystrom

SAMPLINGS = ("uniform", "leverage", "rls", "kmeans")
EXACT_ROWS = 1024  # up to which leverage scores are those of the matrix itself
SAMPLE_ROWS, SAMPLE_A_CENTER = 10_000, 10  # of the sample for k-means: at least, and for each center
KMEANS_ITERATIONS = 10
STAGE = "nystrom-landmarks"


@dataclass(frozen=True)
class _Choice:
    """What every way of choosing works with."""

    rows: RowBlocks
    kernel: AnyKernel
    count: int
    dtype: np.dtype[np.floating]
    runtime: Runtime
    reporter: Reporter
    rng: np.random.Generator

    def reduced(self, function: Callable[..., Any], combine: Callable[..., Any], *operands: Any) -> Any:
        """One pass over all rows with these small values."""
        placed = [self.runtime.place(value) for value in operands]
        total = reduce_rows(function, self.rows, combine=combine, stage=STAGE, operands=placed, numbered=True)
        (value,), _ = self.runtime.run([total], reporter=self.reporter, stage=STAGE)
        return value

    def taken(self, indices: np.ndarray) -> Array:
        """The rows with these numbers. Raises NonFiniteError."""
        total = take_rows(self.rows, indices, stage=STAGE)
        (values,), _ = self.runtime.run([total], reporter=self.reporter, stage=STAGE)
        check_sample(values, indices)
        return values

    def key(self) -> int:
        """A key of a stream of draws."""
        return int(self.rng.integers(2**63))


def choose_rows(
    sampling: str,
    rows: RowBlocks,
    kernel: AnyKernel,
    count: int,
    *,
    dtype: np.dtype[np.floating],
    runtime: Runtime,
    reporter: Reporter,
    rng: np.random.Generator,
    directions: int | None = None,
) -> tuple[np.ndarray | None, Array]:
    """Numbers (c,), ascending, and values (c, d) of `count` landmarks; no numbers where they are not rows.

    "uniform": distinct rows, each as likely as any other. One partial read.
    "leverage": rows drawn one after another in proportion to their leverage |row i of V_s|^2, and drawn
        again where they are there already; s = `directions`, by default a quarter of `count`. Up to 1024
        rows V_s are the eigenvectors of K. Beyond, they are those of a first Nyström approximation by `count`
        uniform rows: a row that no uniform landmark resembles has almost no leverage in it and is missed.
        Cost of two passes, n c (2 d + 2 c).
    "rls": ridge leverage scores by recursion over halves of the data, in float64. Cost 2 n c (d + c), and
        log2(n / c) passes, each over half as many rows; the small ones in memory.
    "kmeans": centers, in `dtype`, of ten iterations of k-means in the space of the rows, from uniform rows
        of a sample of m = max(10 000, 10 c) rows. Cost 40 m c d.

    Raises NonFiniteError (with the row).

    References
    ----------
    Wang, Gittens, Mahoney, JMLR 20(12), 2019, Table 2. Musco, Musco, "Recursive sampling for the Nyström
    method", NIPS 2017. Zhang, Tsang, Kwok, "Improved Nyström low-rank approximation", ICML 2008 (k-means).
    """
    choice = _Choice(rows, kernel, count, dtype, runtime, reporter, rng)
    if sampling == "kmeans":
        return None, _centers(choice)
    if sampling == "uniform":
        return choose_landmarks(rows, count, runtime, reporter, rng)
    if count >= rows.grid.n_rows:
        indices = np.arange(rows.grid.n_rows)
    elif sampling == "leverage":
        indices = _by_leverage(choice, -(-count // 4) if directions is None else directions)
    else:
        indices = _by_ridge(choice)
    return indices, choice.taken(indices)


def _by_leverage(choice: _Choice, s: int) -> np.ndarray:
    """Distinct rows drawn by their leverage in the leading s directions of K, or of what stands for K."""
    rows, n, count, key = choice.rows, choice.rows.grid.n_rows, choice.count, choice.key()
    if n <= EXACT_ROWS:
        scores = block.exact_leverage(choice.kernel, choice.taken(np.arange(n)), s)
        drawn = block.race(scores + block.FLOOR, np.arange(n), uniforms(key, 0, n), count)
        return np.sort(drawn.rows)
    _, landmarks = choose_landmarks(rows, count, choice.runtime, choice.reporter, choice.rng)
    first = fit_nystrom(
        rows,
        choice.kernel,
        landmarks,
        rank=count,
        n_components=min(s, count),
        dtype=choice.dtype,
        keep_columns=False,
        runtime=choice.runtime,
        reporter=choice.reporter,
        weights=absent(rows.grid),
    )
    found = to_host(first.gram_eigenvalues)[: first.map.components.shape[1]]
    sure = found > np.finfo(choice.dtype).eps * first.trace  # smaller ones are rounding
    scaled = first.map.components[:, sure] / like(np.sqrt(found[sure]), first.map.components)
    function = partial(block.leverage_race, key=key, count=count)
    drawn = choice.reduced(function, partial(block.merge_race, count=count), first.map.right(), scaled)
    return np.sort(drawn.rows)


def _by_ridge(choice: _Choice) -> np.ndarray:
    """Distinct rows by ridge leverage scores; a level's sample says the scores of the next, larger one."""
    n, count = choice.rows.grid.n_rows, choice.count
    most = min(n, max(8, count))
    log = math.log(most)
    k = math.ceil(most / (4 * log))
    sizes = [n]
    for _ in range(max(1, math.ceil(math.log2(n / most)))):
        sizes.append(-(-sizes[-1] // 2))
    order = choice.key()
    levels = [block.Level(size, n, most, order, (choice.key(), choice.key()), log) for size in sizes]
    levels[0] = replace(levels[0], most=count, oversampling=0.0)
    X, numbers, sample = _held(choice, levels)
    weights = np.ones(len(sample))
    for level in levels[-2::-1]:
        ridge = block.ridge_of(choice.kernel, sample, weights, min(k, len(sample)))
        if level.size <= len(X):
            mine = level.has(numbers)
            part = block.scored_part(X[mine], numbers[mine], ridge, level)
        else:
            merge = partial(block.merge_level, count=level.most)
            part = choice.reduced(partial(block.level_part, level=level), merge, ridge)
        indices, weights = _sample_of(part, level, k)
        if level.size < n:
            sample = choice.taken(indices)
    return indices


def _held(choice: _Choice, levels: list[block.Level]) -> tuple[Array, np.ndarray, Array]:
    """The rows of the largest level that fits in memory, with their numbers, and those of the smallest."""
    row_bytes = (choice.rows.columns or 1) * choice.rows.dtype.itemsize
    fitting = [level for level in levels[1:] if level.size * row_bytes <= BLOCK_BYTES]
    level = fitting[0] if fitting else levels[-1]
    X, numbers = choice.reduced(partial(block.level_rows, level=level), block.merge_level_rows)
    return X, numbers, X[levels[-1].has(numbers)]


def _sample_of(part: block.LevelPart, level: block.Level, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of the rows that a level hands on, ascending, and their weights 1 / sqrt(p)."""
    if level.oversampling and k < part.count <= 4 * level.most:
        return part.rows, np.sqrt(part.inverse)
    drawn = part.racers.first(min(level.most, level.size))
    weights = np.sqrt(drawn.total / (len(drawn.rows) * drawn.weights))
    order = np.argsort(drawn.rows)
    return drawn.rows[order], np.maximum(1.0, weights)[order]


def _centers(choice: _Choice) -> Array:
    """Centers (c, d) of k-means on sampled rows, in the type of the computation."""
    n, count = choice.rows.grid.n_rows, choice.count
    indices = np.sort(choice.rng.choice(n, min(n, max(SAMPLE_ROWS, SAMPLE_A_CENTER * count)), replace=False))
    sample = _sampled_rows(choice, indices)
    first = np.sort(choice.rng.choice(len(indices), count, replace=False))
    done = iter(range(1, KMEANS_ITERATIONS))
    found = fit_kmeans(
        sample,
        absent(sample.grid),
        count,
        init=to_host(choice.taken(indices[first])).astype(np.float64),
        seeds=[],
        max_iter=KMEANS_ITERATIONS,
        tol=0.0,
        runtime=choice.runtime,
        reporter=choice.reporter,
        stop=lambda _centers: next(done, None) is None,
    )
    choice.runtime.release(sample)
    choice.runtime.release(found.labels)
    return found.centers.astype(choice.dtype)


def _sampled_rows(choice: _Choice, indices: np.ndarray) -> RowBlocks:
    """Rows with these ascending numbers as row blocks in the type of the computation, held by the workers."""
    rows, dtype, d = choice.rows, choice.dtype, choice.rows.columns or 1
    grid = Grid.canonical(len(indices), d, dtype.itemsize)
    taken = taken_rows(rows, indices, grid, stage=f"{STAGE}-sample")
    offsets = choice.runtime.place_rows(indices - np.arange(len(indices)), grid)
    cast = partial(block.cast_sample, dtype=dtype)
    made = map_rows(cast, taken, offsets, stage=STAGE, columns=d, dtype=dtype)
    return choice.runtime.run([], [made], reporter=choice.reporter, stage=STAGE)[1][0]
