"""Layer 4: Nyström features in two passes [K Alg. 2 and 3]: Gram matrix of the whitened columns, then the
features.

Columns C = K[:, landmarks] are kept between the passes only where the plan says that they fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..block import nystrom as block
from ..block.tiles import RightOperand, prepare
from ..events import Reporter
from ..finite import check_sample
from ..kernels import AnyKernel
from ..linalg import top_eigenpairs
from ..rowblocks import RowBlocks
from ..rows import Total, map_reduce_rows, map_rows, reduce_rows, take_rows
from ..runtime import Runtime
from ..xp import Array, to_host

PROJECT = "nystrom-project"
BLOCKS_AHEAD = 4  # made while the eigensystem of W is computed: about as long as that takes


@dataclass(frozen=True)
class NystromMap:
    """The features as a function of a row: B(x) = k(x, landmarks) Q."""

    kernel: AnyKernel
    landmarks: Array  # (c, d)
    components: Array  # Q (c, s), float64
    dtype: np.dtype[np.floating]

    def right(self) -> RightOperand:
        """The landmarks made ready for the tile engine."""
        return prepare(self.kernel, self.landmarks, self.dtype)


@dataclass(frozen=True)
class Approximation:
    """What is known of B B^T = (C W_l^{-1} C^T)_s as an approximation of K."""

    eigenvalues: Array  # of W (c,), descending
    gram_eigenvalues: Array  # of G (rank,), descending: the eigenvalues of the approximated K
    gram_diagonal: Array  # of G (rank,): what each eigenvalue of W adds to the trace of the approximation
    rank: int
    n_components: int  # s
    trace: float

    def trace_error(self, restricted: bool = True) -> float:
        """(tr K - tr of the approximation) / tr K, with or without the restriction to s components."""
        return float(
            self.trace_errors()[self.n_components - 1] if restricted else self.rank_trace_errors()[-1]
        )

    def trace_errors(self) -> np.ndarray:
        """The trace error (rank,) for every number of components: entry j for the j + 1 best ones."""
        return self._errors(self.gram_eigenvalues)

    def rank_trace_errors(self) -> np.ndarray:
        """The unrestricted trace error (rank,) for every rank: entry j for j + 1 eigenvalues of W.

        R of a lower rank is the first columns of R, so that the trace of its approximation is known already.
        """
        return self._errors(self.gram_diagonal)

    def _errors(self, parts: Array) -> np.ndarray:
        if self.trace <= 0:
            return np.zeros(self.rank)
        errors = (self.trace - np.cumsum(to_host(parts))) / self.trace
        return np.asarray(np.maximum(0.0, errors))  # below 0 by rounding only


@dataclass(frozen=True)
class NystromFit(Approximation):
    """A fitted map with what is known about its quality."""

    map: NystromMap
    columns: RowBlocks | None  # C where it was kept


def choose_landmarks(
    rows: RowBlocks, count: int, runtime: Runtime, reporter: Reporter, rng: np.random.Generator
) -> tuple[np.ndarray, Array]:
    """Numbers (c,) and values (c, d) of `count` distinct rows, drawn uniformly, in ascending order."""
    indices = np.sort(rng.choice(rows.grid.n_rows, count, replace=False))
    (landmarks,), _ = runtime.run(
        [take_rows(rows, indices, stage="nystrom-landmarks")], reporter=reporter, stage="nystrom-landmarks"
    )
    check_sample(landmarks, indices)
    return indices, landmarks


def fit_nystrom(
    rows: RowBlocks,
    kernel: AnyKernel,
    landmarks: Array,
    *,
    rank: int,
    n_components: int | None,
    dtype: np.dtype[np.floating],
    keep_columns: bool,
    runtime: Runtime,
    reporter: Reporter,
    weights: RowBlocks,
) -> NystromFit:
    """Pass one: W, its restricted inverse root, G = sum_b R_b^T R_b, and Q = U_l diag(lam_l)^(-1/2) V_s.

    At most `rank` eigenvalues above rounding are kept; `n_components` None keeps as many features.
    Cost n c d + n c l + n l^2. Raises NonFiniteError (with the row) and DegenerateMatrixError.
    """
    right = runtime.place(prepare(kernel, landmarks, dtype))
    whitening = runtime.defer("nystrom-eigensystem", block.whiten, kernel, landmarks, rank, dtype)
    merge: dict[str, Any] = {"combine": block.merge_gram, "stage": "nystrom-gram"}
    keep: list[RowBlocks] = []
    if keep_columns:
        made, total = map_reduce_rows(
            block.columns,
            block.gram_of_columns,
            rows,
            weights,
            make_operands=[right],
            share_operands=[right, whitening],
            kept="nystrom-columns",
            columns=len(landmarks),
            dtype=dtype,
            ahead=BLOCKS_AHEAD,
            **merge,
        )
        keep = [made]
    else:
        total = reduce_rows(block.gram, rows, weights, operands=[right, whitening], **merge)
    wanted = [total, Total(whitening.node.key, whitening.graph)]
    (part, whitened), kept = runtime.run(wanted, keep, reporter=reporter, stage="nystrom-gram")
    inverse = whitened.inverse
    gram_values, V = top_eigenpairs(part.gram)
    s = inverse.rank if n_components is None else min(n_components, inverse.rank)
    found = NystromMap(kernel, landmarks, inverse.root @ V[:, :s], dtype)
    columns = kept[0] if kept else None
    diagonal = part.gram.diagonal()
    return NystromFit(inverse.eigenvalues, gram_values, diagonal, inverse.rank, s, part.trace, found, columns)


def feature_rows(
    rows: RowBlocks,
    features: NystromMap,
    runtime: Runtime,
    *,
    columns: RowBlocks | None = None,
    merge: int = 1,
    stage: str = PROJECT,
    of_columns: Callable[..., Array] = block.features_of_columns,
    of_rows: Callable[..., Array] = block.features,
) -> RowBlocks:
    """Pass two, lazily: B = C Q (n, s) from kept columns, or from the rows themselves.

    `of_columns(C_b, Q)` and `of_rows(X_b, landmarks, Q)` make it of a block.
    """
    components = runtime.place(features.components)
    make = partial(
        map_rows,
        stage=stage,
        columns=features.components.shape[1],
        dtype=features.dtype,
        merge=merge,
    )
    if columns is not None:
        return make(of_columns, columns, operands=[components])
    return make(of_rows, rows, operands=[runtime.place(features.right()), components])
