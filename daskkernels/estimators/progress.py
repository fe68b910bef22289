"""Layer 6: the progress bar of `verbose=1`, a sink of events."""

from __future__ import annotations

from typing import Any

from tqdm.auto import tqdm

from ..events import Event, Iteration, StageEnded, StageProgress, StageStarted


class ProgressBar:
    """One tqdm bar a stage on standard error; a stage that comes again, as in an iteration, goes on with its
    bar.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageStarted):
            self._start(event)
        elif isinstance(event, StageProgress) and event.stage == self._stage:
            self._bar.update(event.done - self._bar.n)
        elif isinstance(event, StageEnded) and event.stage == self._stage:
            self._bar.refresh()
        elif isinstance(event, Iteration) and event.stage == self._stage:
            figures = {name: f"{value:.3g}" for name, value in event.figures.items()}
            self._bar.set_postfix(iteration=event.iteration, **figures, refresh=False)

    def _start(self, event: StageStarted) -> None:
        if event.stage == self._stage and self._bar is not None:
            self._bar.n = 0
            return
        self.close()
        self._stage = event.stage
        self._bar = tqdm(total=event.total, desc=event.stage, unit="block")

    def close(self) -> None:
        """Leave the last bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
