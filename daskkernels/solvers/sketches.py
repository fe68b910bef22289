"""Layer 4: rank-restricted features from C = K Pi, Pi (n, c) any tall matrix: random projections [K Table 2],
or the basis of kernel PCA.

K is streamed on both sides. B = K (Pi Z V_s): features are products with weights of all rows of X.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import sketches as block
from ..block.sketches import PROJECTIONS, Sketch
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel
from ..rounds import grouped
from ..rowblocks import RowBlocks, made
from ..rows import Total, map_rows, reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import Array, to_host
from .nystrom import Approximation
from .products import kernel_product

__all__ = ["PROJECTIONS", "RowsFit", "RowsMap", "fit_rows", "mapped_rows", "middle", "sketch_of", "sketched"]
MIDDLE_ROWS = 1000
STAGE, PROJECT = "sketch-product", "nystrom-project"
Hold = Callable[[RowBlocks], RowBlocks]


@dataclass(frozen=True)
class RowsMap:
    """Features as products with all rows: B(x) = k(x, X) weights - offset."""

    kernel: AnyKernel
    dtype: np.dtype[np.floating]
    center: Array  # (d,) what is subtracted from the rows of both sides
    rows: RowBlocks  # X (n, d)
    weights: RowBlocks  # (n, s) float64, on the grid of X
    offset: Array | None = None  # (s,)


@dataclass(frozen=True)
class RowsFit(Approximation):
    """An approximation of K with its map, and Q (c, s) with weights = Pi Q."""

    map: RowsMap
    components: Array


def sketch_of(kind: str, n_columns: int, n_rows: int, rng: np.random.Generator) -> Sketch:
    """A projection of this kind with c columns; those of the Hadamard matrix without repetition."""
    keys = (int(rng.integers(2**63)), int(rng.integers(2**63)))
    if kind != "srht":
        return Sketch(kind, n_columns, keys)
    size = 1 << max(0, n_rows - 1).bit_length()  # n', the next power of 2
    return Sketch(kind, n_columns, keys, np.sort(rng.choice(size, n_columns, replace=False)))


def sketched(sketch: Sketch, weights: RowBlocks) -> RowBlocks:
    """Pi (n, c) of a projection by blocks, made where it is used; diag(w)^(1/2) Pi for weighted rows."""
    rows = partial(block.sketch_rows, sketch=sketch)
    return made(rows, weights.grid, weights, columns=sketch.n_columns, dtype=np.float64)


def middle(rows: RowBlocks, runtime: Runtime, reporter: Reporter, rng: np.random.Generator) -> np.ndarray:
    """The median (d,) of 1000 seeded rows, what distances are taken around: rows far away do not move it."""
    n = rows.grid.n_rows
    chosen = np.sort(rng.choice(n, min(n, MIDDLE_ROWS), replace=False))
    total = take_rows(rows, chosen, stage="nystrom-landmarks")
    (sample,), _ = runtime.run([total], reporter=reporter, stage="nystrom-landmarks")
    check_sample(sample, chosen)
    return np.asarray(np.median(to_host(sample).astype(np.float64), axis=0))


def product_with_rows(
    features: RowsMap, X: RowBlocks, P: RowBlocks, *, stage: str, out: object = np.float64
) -> RowBlocks:
    """K(X, rows) P (n, c) in float64, lazily. Cost 2 n m (d + c)."""
    return kernel_product(
        features.kernel,
        features.dtype,
        features.center,
        X,
        features.rows,
        P,
        stage=stage,
        finish=partial(block.as_features, offset=None, dtype=np.dtype(np.float64)),
        columns=P.columns,
        out=out,
    )


def fit_rows(
    start: RowsMap,
    weights: RowBlocks,
    *,
    rank: int | None,
    n_components: int | None,
    hold: Hold,
    runtime: Runtime,
    reporter: Reporter,
) -> RowsFit:
    """W = Pi^T K Pi, G = Z^T C^T C Z and Q = Z V_s of C = K Pi, where Pi are the weights of `start`.

    One product n^2 (d + c), whose blocks are not kept. Raises NonFiniteError, DegenerateMatrixError.
    """
    P = start.weights
    C = product_with_rows(start, start.rows, P, stage=STAGE)
    merge = C.grid.block_rows // P.grid.block_rows
    share = reduce_rows(
        block.sketch_part,
        C,
        grouped(P, merge),
        grouped(weights, merge),
        combine=block.merge_sketch,
        stage=STAGE,
    )
    traces = traced(start, weights)
    (part, *sums), _ = runtime.run([share, *traces], reporter=reporter, stage=STAGE)
    trace = sums[0] if sums else part.weight
    return restricted_fit(start, part, trace, rank, n_components, hold, runtime)


def traced(features: RowsMap, weights: RowBlocks) -> list[Total]:
    """What has to be reduced for tr(K): nothing where k(x, x) = 1."""
    if block.knows_trace(features.kernel):
        return []
    function = partial(block.trace_part, kernel=features.kernel, dtype=features.dtype)
    return [reduce_rows(function, features.rows, weights, combine=sum, stage=STAGE)]


def restricted_fit(
    start: RowsMap,
    part: block.SketchPart,
    trace: float,
    rank: int | None,
    n_components: int | None,
    hold: Hold,
    runtime: Runtime,
    mean: Array | None = None,
) -> RowsFit:
    """The fit that follows from the small matrices; `mean` (c,) of the rows of K Pi, where K was centered."""
    found = block.restricted(part, rank, float(np.finfo(start.dtype).eps))
    kept = found.inverse.rank
    s = kept if n_components is None else min(n_components, kept)
    Q = found.inverse.root @ found.vectors[:, :s]
    P = start.weights
    weights = hold(
        map_rows(block.times, P, operands=[runtime.place(Q)], stage="sketch-weights", columns=s, dtype="f8")
    )
    features = RowsMap(
        start.kernel, start.dtype, start.center, start.rows, weights, None if mean is None else mean @ Q
    )
    values, diagonal = found.values, found.gram.diagonal()
    return RowsFit(found.inverse.eigenvalues, values, diagonal, kept, s, trace, features, Q)


def mapped_rows(X: RowBlocks, features: RowsMap) -> RowBlocks:
    """B = K(X, rows) weights - offset (m, s) for any rows, lazily. Cost 2 m n (d + s)."""
    offset = None if features.offset is None else to_host(features.offset)
    return kernel_product(
        features.kernel,
        features.dtype,
        features.center,
        X,
        features.rows,
        features.weights,
        stage=PROJECT,
        finish=partial(block.as_features, offset=offset, dtype=features.dtype),
        columns=features.weights.columns,
        out=features.dtype,
    )
