"""Top layer: what is known of the last fits from their events alone: plain arithmetic, on the scheduler."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .fit_state import FitState
from .records import understood

MOST_FITS = 20


class Fits:
    """The last fits, oldest first. Records come from anywhere: what is not one of ours is left out."""

    def __init__(self) -> None:
        self._fits: OrderedDict[str, FitState] = OrderedDict()
        self._workers = 0

    def record(self, record: Any, now: float) -> None:
        """Take one record that arrived `now`, by the clock of the scheduler."""
        found = understood(record)
        if found is None:
            return
        name = found["fit"]
        if found["event"] == "fit-started":
            self._fits[name] = FitState(found, now)
            self._make_room()
        elif name in self._fits:
            self._fits[name].record(found)

    def lose(self, client: str, now: float) -> None:
        """The client is gone, and with it the loops of its fits."""
        for fit in self._fits.values():
            if fit.client == client and fit.outcome == "running":
                fit.end("lost", "the client left before the fit was over", fit.clock(now))

    def note_memory(self, used: int, limit: int, workers: int) -> None:
        """Bytes of the fullest worker now, and its limit (0: none)."""
        self._workers = workers
        for fit in self._fits.values():
            if fit.outcome == "running":
                fit.note_memory(used, limit)

    def shown(self, now: float) -> dict[str, Any]:
        """All of it as JSON, the newest fit first."""
        fits = [fit.shown(now) for fit in reversed(self._fits.values())]
        return {"now": now, "workers": self._workers, "fits": fits}

    def _make_room(self) -> None:
        """Fits that are over go first."""
        while len(self._fits) > MOST_FITS:
            over = [name for name, fit in self._fits.items() if fit.outcome != "running"]
            del self._fits[(over or list(self._fits))[0]]
