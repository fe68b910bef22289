"""Layer 2: what one block of rows says about its clusters, exact in float64: sums and numbers of members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..finite import check_rows
from ..xp import Array, like, module_of, to_host
from .sized import Sized
from .workspace import borrowed

_ROWS = 256  # rows converted to float64 at a time


@dataclass(frozen=True)
class MemberSums(Sized):
    """The clusters (m,) that occur, ascending, the number of their members (m,) and its sums (m, d)."""

    clusters: np.ndarray
    rows: np.ndarray
    sums: Array

    @property
    def means(self) -> np.ndarray:
        """Mean (m, d) of the members of each."""
        return np.asarray(to_host(self.sums) / self.rows[:, None])


def member_sums(X: Array, labels: Array) -> MemberSums:
    """The clusters of a block X (b, d) whose rows belong to `labels` (b,). Cost 2 b d min(256, m).

    Raises NonFiniteError naming the row.
    """
    xp, n = module_of(X), X.shape[0]
    clusters, places = np.unique(to_host(labels), return_inverse=True)
    sums = xp.zeros((len(clusters), X.shape[1]))
    with borrowed("members", (min(_ROWS, n), X.shape[1]), np.float64, X) as buffer:
        for start in range(0, n, _ROWS):
            rows = buffer[: min(_ROWS, n - start)]
            rows[...] = X[start : start + _ROWS]
            if X.dtype.kind == "f":
                with np.errstate(over="ignore", invalid="ignore"):
                    check_rows(rows.sum(axis=1), start)
            here, place = np.unique(places[start : start + _ROWS], return_inverse=True)
            members = np.zeros((len(here), len(rows)))
            members[place, np.arange(len(rows))] = 1.0
            sums[here] += like(members, X) @ rows
    return MemberSums(clusters.astype(np.int64), np.bincount(places), sums)


def merge_member_sums(parts: Sequence[MemberSums]) -> MemberSums:
    """The clusters of all the rows together, added up in order."""
    clusters = np.unique(np.concatenate([part.clusters for part in parts]))
    shape = (len(clusters), parts[0].sums.shape[1])
    rows, sums = np.zeros(len(clusters), np.int64), module_of(parts[0].sums).zeros(shape)
    for part in parts:
        at = np.searchsorted(clusters, part.clusters)
        rows[at] += part.rows
        sums[at] += part.sums
    return MemberSums(clusters, rows, sums)
