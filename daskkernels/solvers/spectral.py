"""Layer 4: spectral clustering's embedding with Nyström columns in three passes [Fowlkes et al. 2004].

Column sums, then degrees with the Gram matrix, then the rows of the eigenvectors. Equal to the one-shot
method A + A^(-1/2) B B^T A^(-1/2), and more accurate: no inverse of a normalised A is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..block import nystrom
from ..block import spectral as block
from ..block.tiles import prepare
from ..events import Reporter
from ..kernels import AnyKernel
from ..linalg import top_eigenpairs
from ..rowblocks import RowBlocks
from ..rows import Total, map_reduce_rows, reduce_rows
from ..runtime import Runtime
from ..xp import Array, to_host
from .nystrom import NystromMap, feature_rows

STAGE = "spectral-degrees"


@dataclass(frozen=True)
class SpectralFit:
    """The embedding as a function of a row: k(x, landmarks) components, scaled to length 1."""

    map: NystromMap
    eigenvalues: Array  # (rank,) of D^(-1/2) K~ D^(-1/2), descending
    rank: int  # eigenvalues of W that were kept
    n_floored: int
    columns: RowBlocks | None  # C where it was kept


def fit_spectral(
    rows: RowBlocks,
    kernel: AnyKernel,
    landmarks: Array,
    *,
    n_vectors: int,
    dtype: np.dtype[np.floating],
    keep_columns: bool,
    runtime: Runtime,
    reporter: Reporter,
) -> SpectralFit:
    """v = R^T 1; d = R v and G = R^T diag(1/d) R = Q L Q^T; components U diag(lam)^(-1/2) Q_k L_k^(-1/2).

    R R^T = C W^+ C^T with all eigenvalues of W above rounding. Cost n c d, then n c l + n l^2.
    Raises NonFiniteError (with the row) and DegenerateMatrixError.
    """
    right = runtime.place(prepare(kernel, landmarks, dtype))
    whitening = runtime.defer("nystrom-eigensystem", nystrom.whiten, kernel, landmarks, len(landmarks), dtype)
    keep: list[RowBlocks] = []
    if keep_columns:
        made, total = map_reduce_rows(
            nystrom.columns,
            block.sums_of_columns,
            rows,
            combine=sum,
            stage="spectral-columns",
            kept="nystrom-columns",
            columns=len(landmarks),
            dtype=dtype,
            make_operands=[right],
            share_operands=[],
        )
        keep = [made]
    else:
        total = reduce_rows(block.column_sums, rows, operands=[right], combine=sum, stage="spectral-columns")
    wanted = [total, Total(whitening.node.key, whitening.graph)]
    (sums, whitened), kept = runtime.run(wanted, keep, reporter=reporter, stage="spectral-columns")
    root = whitened.inverse.root  # (c, l) float64
    operands = [right, runtime.place(whitened.root), runtime.place(root.T @ to_host(sums))]
    pass_two = partial(reduce_rows, operands=operands, combine=block.merge_parts, stage=STAGE)
    total = pass_two(block.degrees_of_columns, kept[0], rows) if kept else pass_two(block.degrees, rows)
    (part,), _ = runtime.run([total], reporter=reporter, stage=STAGE)
    values, Q = top_eigenpairs(to_host(part.gram))
    usable = int((values[:n_vectors] > float(np.finfo(dtype).eps) * values[0]).sum())
    components = root @ (Q[:, :usable] / np.sqrt(values[:usable]))
    found = NystromMap(kernel, landmarks, components, dtype)
    return SpectralFit(found, values, whitened.inverse.rank, part.n_floored, kept[0] if kept else None)


def embedding_rows(
    rows: RowBlocks,
    embedding: NystromMap,
    runtime: Runtime,
    *,
    columns: RowBlocks | None = None,
    merge: int = 1,
) -> RowBlocks:
    """Pass three, lazily: the rows of V (n, k) scaled to length 1, from kept columns or from the rows."""
    return feature_rows(
        rows,
        embedding,
        runtime,
        columns=columns,
        merge=merge,
        stage="spectral-embedding",
        of_columns=block.directions_of_columns,
        of_rows=block.directions,
    )
