"""Layer 6: the progress of `verbose=1`, a sink of events: bars in terminals and notebooks, lines in logs."""

from __future__ import annotations

import sys
import time
from typing import Any

from tqdm.auto import tqdm

from ..events import Event, FitStarted, Iteration, Planned, StageEnded, StageProgress, StageStarted

LINE_SECONDS = 5.0  # between lines about what goes on, in a log
EPOCH, ROUND = "eigenpro-epoch", "eigenpro-round"
SHOWN = {  # of an iteration's figures
    "train_mse": "residual",
    "validation_mse": "validation",
    "validation_error": "error",
    "shift": "shift",
    "threshold": "threshold",
}


class ProgressBar:
    """On standard error: bars where they can be drawn over, else a line a stage and one every few seconds."""

    def __init__(self) -> None:
        drawn = sys.stderr.isatty() or any(kind.__module__ == "tqdm.notebook" for kind in tqdm.__mro__)
        self._display: _Bars | _Lines = _Bars() if drawn else _Lines()

    def __call__(self, event: Event) -> None:
        self._display(event)

    def close(self) -> None:
        """Leave what is shown as it is."""
        self._display.close()


class _Bars:
    """One tqdm bar a stage; a stage that comes again, as in an iteration, goes on with its bar. Epochs have
    one bar together, which counts rows.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""
        self._plan: Planned | None = None  # of epochs, once they have begun
        self._done = 0.0  # rows of the epochs, after the last group of rounds
        self._figures = {"epoch": "", "round": ""}  # in the order they are shown in

    def __call__(self, event: Event) -> None:
        if self._plan is not None:
            self._train(event, self._plan)
        elif isinstance(event, StageStarted):
            self._start(event)
        elif isinstance(event, StageProgress) and event.stage == self._stage:
            self._bar.update(event.done - self._bar.n)
        elif isinstance(event, StageEnded) and event.stage == self._stage:
            self._bar.refresh()
        elif isinstance(event, Iteration) and event.stage == self._stage:
            self._bar.set_postfix(iteration=event.iteration, **_shown(event.figures), refresh=False)
        elif isinstance(event, Planned) and "epochs" in event.figures:
            self._start_epochs(event)

    def _start(self, event: StageStarted) -> None:
        if event.stage == self._stage and self._bar is not None:
            self._bar.n = 0
            return
        self.close()
        self._stage = event.stage
        self._bar = tqdm(total=event.total, desc=event.stage, unit="block")

    def _start_epochs(self, event: Planned) -> None:
        self.close()
        self._plan, rows = event, event.figures["epoch_rows"]
        self._done = event.figures["epochs_before"] * rows
        total = event.figures["epochs"] * rows
        self._bar = tqdm(total=total, initial=self._done, desc="eigenpro", unit="row", unit_scale=True)

    def _train(self, event: Event, plan: Planned) -> None:
        rows = plan.figures["epoch_rows"]
        if isinstance(event, StageProgress) and event.stage in plan.stages and event.total:
            group = min(plan.figures["group_rows"], rows - self._done % rows)
            self._move(self._done + group * event.done / event.total)
        elif isinstance(event, Iteration) and event.stage == ROUND:
            epoch = event.figures["epoch"]
            self._done = epoch * rows + event.figures["rows"]
            self._figures |= {"epoch": f"{epoch + 1:.0f}/{plan.figures['epochs']:.0f}"}
            self._figures |= {"round": f"{event.iteration}/{plan.figures['rounds']:.0f}"}
            self._figures |= _shown(event.figures)
            self._bar.set_postfix(self._figures, refresh=False)
            self._move(self._done)
        elif isinstance(event, Iteration) and event.stage == EPOCH:
            self._figures |= _shown(event.figures)

    def _move(self, rows: float) -> None:
        if rows > self._bar.n:
            self._bar.update(rows - self._bar.n)

    def close(self) -> None:
        """Leave the last bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class _Lines:
    """A line when a stage is over for the first time; one every few seconds about what goes on."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}  # how often each stage was over, and its seconds in all
        self._written = 0.0
        self._last = ""  # about an iteration, not written yet
        self._of = {"epochs": 0.0, "rounds": 0.0}

    def __call__(self, event: Event) -> None:
        if isinstance(event, FitStarted):
            sizes = event.figures
            self._write(f"{event.estimator}: {sizes['rows']:.0f} rows of {sizes['columns']:.0f} columns")
        elif isinstance(event, Planned):
            self._of |= event.figures
        elif isinstance(event, StageProgress) and event.stage not in self._times:
            self._now_and_then(f"{event.stage}: {event.done} of {event.total} blocks")
        elif isinstance(event, StageEnded):
            times = self._times.setdefault(event.stage, [0, 0.0])
            times[0] += 1
            times[1] += event.seconds
            if times[0] == 1:
                self._write(f"{event.stage}: {event.seconds:.2f} s")
        elif isinstance(event, Iteration):
            self._iteration(event)

    def _iteration(self, event: Iteration) -> None:
        figures = ", ".join(f"{name} {value}" for name, value in _shown(event.figures).items())
        epochs, rounds = f"{self._of['epochs']:.0f}", f"{self._of['rounds']:.0f}"
        if event.stage == ROUND:
            epoch = int(event.figures["epoch"]) + 1
            self._now_and_then(f"epoch {epoch}/{epochs}, round {event.iteration}/{rounds}: {figures}")
            return
        name = f"epoch {event.iteration + 1}/{epochs}" if event.stage == EPOCH else ""
        self._last = f"{name or f'{event.stage} iteration {event.iteration}'}: {figures}"
        if self._now_and_then(self._last):
            self._last = ""

    def _now_and_then(self, line: str) -> bool:
        if time.monotonic() - self._written < LINE_SECONDS:
            return False
        self._write(line)
        return True

    def _write(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
        self._written = time.monotonic()

    def close(self) -> None:
        """Write how it ended."""
        for stage, (count, seconds) in self._times.items():
            if count > 1:
                self._write(f"{stage}: {count:.0f} times, {seconds:.2f} s in all")
        self._times.clear()
        if self._last:
            self._write(self._last)
            self._last = ""


def _shown(figures: dict[str, float]) -> dict[str, str]:
    return {shown: f"{figures[name]:.3g}" for name, shown in SHOWN.items() if name in figures}
