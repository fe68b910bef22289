"""Layer 2: EigenPro 1 on row blocks [Ma, Belkin 2017]: every batch changes the weights of all rows, along
n-long eigenvectors E (n, p).

The weights are kept as alpha + E D c: a batch changes alpha at its own rows, and c by (X/m) E_t^T g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..xp import Array, module_of
from .eigenpro import Batch, Preconditioner, Share, Solved, Step, updated
from .eigenpro import solve_round as solve_plain
from .order import Stretch
from .products import product


def directions(X: Array, preconditioner: Preconditioner, dtype: np.dtype[np.floating]) -> Array:
    """E_b (b, p), the rows of the eigenvectors, in the type of the products. Cost 2 b s (d + p)."""
    E: Array = preconditioner.projections(X).astype(dtype)
    return E


def share_of_round(
    block: tuple[Array, Array],
    y: Array,
    weights: Array,
    before: Sequence[tuple[Stretch, Solved]],
    batch: Batch,
    after: Stretch,
    *,
    start: int,
) -> Share:
    """K(S, X_b) [alpha_b, E_b] (M, l + p), and the rows picked for `after`. Cost 2 b M (d + l + p)."""
    X, E = block
    weights = updated(weights, before, start=start)
    local, _ = after.within(start, start + len(X))
    both = module_of(X).concatenate([weights.astype(E.dtype), E], axis=1)
    return Share(product(X, both, batch.right), X[local], y[local])


def solve_round(
    share: Share,
    batch: Batch,
    strips: Sequence[tuple[Array, Array]],
    before: Solved | Array,
    preconditioner: Preconditioner,
    step: Step,
    m: int,
) -> Solved:
    """g = F + K(S, X) E D c + K(S_j, S_<j) dalpha - y;  dalpha_j = -(X/m) g;  c += (X/m) E_j^T g."""
    outputs = batch.targets.shape[1]
    own = replace(share, predictions=share.predictions[:, :outputs])
    seen = share.predictions[:, outputs:]
    return solve_plain(own, batch, strips, before, preconditioner, step, m, seen)


def spread(alpha: Array, E: Array, weights: Array) -> Array:
    """alpha + E D c of a block (b, l): what predictions take."""
    return alpha + E @ weights
