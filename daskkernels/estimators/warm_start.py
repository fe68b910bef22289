"""Layer 6: `warm_start`: going on with a fit that is over, on the same data and with the same parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import InputError
from ..rowblocks import from_dask
from ..solvers.eigenpro import Training
from ..solvers.eigenpro_problem import Weights
from .base import Work
from .checkpoint import plain_state, set_plain_state
from .identity import Origin


@dataclass(frozen=True)
class FitSoFar(Origin):
    """Where a fit ended: all but alpha, which is the fitted attribute `dual_coef_`."""

    state: dict[str, Any]
    c: np.ndarray

    @classmethod
    def of(cls, training: Training, weights: Weights, origin: Origin) -> FitSoFar:
        """The end of a fit that keeps these weights."""
        state = plain_state(training)
        return cls(origin.entropy, origin.round_size, origin.identity, state, np.asarray(weights.c))

    def restore(self, training: Training, identity: str, dual_coef: Any, work: Work) -> None:
        """Bring a new training to that end. Raises InputError where it is another fit."""
        if identity != self.identity:
            raise InputError(
                "warm_start=True goes on with the fit before, but the data, the targets or a parameter has "
                "changed: fit with warm_start=False"
            )
        grid = training.weights.alpha.grid
        if isinstance(dual_coef, np.ndarray):
            alpha = work.runtime.place_rows(dual_coef, grid)
        else:
            alpha = from_dask(dual_coef, grid)
        set_plain_state(training, self.state)
        training.weights = Weights(alpha, self.c)
        training.best = training.weights if training.history else None
        training.since = 0
