"""Layer 6: checkpoints of FALKON: the vectors of its iterations, M x l, after every one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..solvers.falkon import Iterates
from ..store import open_array, write_array
from .checkpoint import Slots
from .identity import Origin

_PLAIN = ("iteration", "history", "best_loss", "since")


class FalkonCheckpoint(Slots):
    """Saves a fit, and finds what an earlier run of the same fit has saved."""

    arrays = ("b", "r", "p", "best")

    def _holds(self) -> str:
        return f"{self._state.get('iteration', 0)} iterations"

    def save(self, state: Iterates, origin: Origin) -> None:
        """Write where the iterations are."""
        held: dict[str, np.ndarray] = {"b": state.b, "r": state.r, "p": state.p}
        if state.best is not None:
            held["best"] = state.best

        def write_arrays(url: str) -> list[str]:
            for name, values in held.items():
                write_array(url, name, values)
            return list(held)

        plain: dict[str, Any] = {name: getattr(state, name) for name in _PLAIN}
        plain["judged"] = state.best is not None
        self._write(origin, plain, write_arrays)

    def restore(self, state: Iterates, identity: str) -> None:
        """Bring a new fit to where the saved one was. Raises InputError when it is another fit."""
        saved = self._same_fit(identity)
        if saved is None:
            return
        for name in _PLAIN:
            setattr(state, name, saved.state[name])
        for name in ("b", "r", "p", "best") if saved.state["judged"] else ("b", "r", "p"):
            array = open_array(saved.url, name)
            setattr(state, name, np.asarray(array[0 : len(array)]))
