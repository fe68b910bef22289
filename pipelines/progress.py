"""How a job shows what it does: two sinks for the library's events, one that adds up and one that draws.

A job opens stages of its own with `stage`; the library's stages nest inside them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from tqdm import tqdm

from daskkernels import events

_REDRAW_SECONDS = 0.1
_EPOCH = "eigenpro-epoch"


def stage(name: str) -> AbstractContextManager[None]:
    """A stage of the job itself."""
    return events.reporter().stage(name)


@contextmanager
def listening(*sinks: events.Sink) -> Iterator[None]:
    """Let the sinks hear every event of this process, and only for as long as this lasts."""
    events.sinks.extend(sinks)
    try:
        yield
    finally:
        for sink in sinks:
            events.sinks.remove(sink)


@dataclass(eq=False)  # two that heard the same are two
class StageClock:
    """Seconds of each stage without the stages inside it, so that they add up to the whole."""

    seconds: dict[str, float] = field(default_factory=dict)  # in the order the stages first began
    _outer: set[str] = field(default_factory=set)  # stages that had others inside
    _open: list[tuple[str, list[float]]] = field(default_factory=list)  # name, seconds of the stages inside

    def __call__(self, event: events.Event) -> None:
        """Take in one event."""
        if isinstance(event, events.StageStarted):
            self.seconds.setdefault(event.stage, 0.0)
            self._open.append((event.stage, []))
        elif isinstance(event, events.StageEnded):
            name, inside = self._open.pop()
            self.seconds[name] += event.seconds - sum(inside)
            if self._open:
                self._open[-1][1].append(event.seconds)
                self._outer.add(self._open[-1][0])

    @property
    def timings(self) -> tuple[tuple[str, float], ...]:
        """Stages and seconds; a stage that had others inside is what was left of it."""
        return tuple(
            (f"{name}, the rest" if name in self._outer else name, seconds)
            for name, seconds in self.seconds.items()
        )


@dataclass
class ProgressLine:
    """One moving line on stderr for each stage of the job, and one that stays when it is over."""

    verbose: bool = False  # the library's stages and the iterations stay too
    _open: list[str] = field(default_factory=list)  # stages that run, the job's own first
    _title: str = ""
    _ended: list[events.StageEnded] = field(
        default_factory=list
    )  # one stage, as often as it ran, not yet said
    _iterations: list[events.Iteration] = field(default_factory=list)  # one of each restart, not yet said
    _drawn: float = 0.0
    _step: float = 0.0  # of the epoch before
    _bar: tqdm = field(default_factory=lambda: tqdm(disable=True))

    def __call__(self, event: events.Event) -> None:
        """Draw one event."""
        self._say_iteration(event)
        if isinstance(event, events.StageStarted):
            self._start(event)
        elif isinstance(event, events.StageProgress):
            self._bar.n, self._bar.total = event.done, event.total
            self._draw()
        elif isinstance(event, events.Iteration):
            self._iteration(event)
        elif isinstance(event, events.StageEnded):
            self._end(event)

    def _start(self, event: events.StageStarted) -> None:
        """A new line, or the same line for a stage inside."""
        self._say_ended(event.stage)
        self._open.append(event.stage)
        if len(self._open) == 1:
            self._bar = _line(event)
            return
        self._bar.n, self._bar.total = 0, event.total
        title = f"{self._open[0]}: {event.stage}"
        if title != self._title:  # an iteration begins the same stage again and keeps its figures
            self._bar.set_postfix_str("", refresh=False)
            self._bar.set_description_str(title, refresh=False)
            self._title = title
        self._draw()

    def _iteration(self, event: events.Iteration) -> None:
        """The iteration's figures at the end of the line or, if asked for, on a line that stays."""
        if event.stage == _EPOCH:  # takes long, so that its figures are worth a line
            say(f"  {epoch_line(event.figures, self._step)}")
            self._step = event.figures.get("step_size", 0.0)
        elif self.verbose:
            self._iterations.append(event)
        else:
            self._bar.set_postfix_str(f"iteration {event.iteration}, {_figures([event])}", refresh=False)
            self._draw()

    def _say_iteration(self, event: events.Event) -> None:
        """One line for an iteration of all restarts, once an event says that it is over."""
        said = self._iterations
        if not said:
            return
        first = said[0]
        same = isinstance(event, events.Iteration) and event.stage == first.stage
        if same and event.iteration == first.iteration:
            return
        say(f"{'  ' * max(len(self._open), 1)}{first.stage} {first.iteration}: {_figures(said)}")
        said.clear()

    def _say_ended(self, next_stage: str = "") -> None:
        """One line for a stage inside, with the seconds of all its runs, once another one follows."""
        said = self._ended
        if said and said[0].stage != next_stage:
            seconds = sum(event.seconds for event in said)
            say(f"{'  ' * max(len(self._open), 1)}{said[0].stage}: {seconds:.2f} s")
            said.clear()

    def _draw(self) -> None:
        """Move the line, unless it moved just now: a short iteration must not wait for the terminal."""
        now = time.monotonic()
        if now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self._bar.refresh()

    def _end(self, event: events.StageEnded) -> None:
        """Say how long the stage took; with the job's own stage the moving line goes."""
        self._say_ended(event.stage if len(self._open) > 1 else "")
        self._open.pop()
        if not self._open:
            self._bar.close()
            say(f"{event.stage}: {event.seconds:.2f} s")
        elif self.verbose:
            self._ended.append(event)


def _figures(iterations: list[events.Iteration]) -> str:
    """The figures of an iteration; one that differs among the restarts is given for each."""
    names = iterations[0].figures
    values = {name: dict.fromkeys(f"{event.figures[name]:.4g}" for event in iterations) for name in names}
    return ", ".join(f"{name} {' '.join(found)}" for name, found in values.items())


def epoch_line(figures: dict[str, float], step_before: float = 0.0) -> str:
    """An epoch in one line; a step that was made smaller is said."""
    said = [f"training residual {figures['train_mse']:.4g}"]
    if "validation_mse" in figures:
        said.append(f"validation MSE {figures['validation_mse']:.4g}")
    if "validation_error" in figures:
        said.append(f"validation error {figures['validation_error']:.2%}")
    said.append(f"{figures['seconds']:.1f} s, {figures['rows_per_second']:,.0f} rows/s")
    if figures["step_size"] < step_before:
        said.append(f"the residual grew: step {step_before:.4g} -> {figures['step_size']:.4g}")
    return f"epoch {int(figures['epoch']) + 1}: {', '.join(said)}"


def _line(event: events.StageStarted) -> tqdm:
    """A line that moves only where somebody watches, and leaves no trace."""
    return tqdm(
        total=event.total,
        desc=event.stage,
        leave=False,
        file=sys.stderr,
        disable=not sys.stderr.isatty(),
        dynamic_ncols=True,
        bar_format="{desc} {percentage:3.0f}%|{bar:20}| {elapsed}{postfix}",
    )


def say(text: str) -> None:
    """A line on stderr above the moving one."""
    tqdm.write(text, file=sys.stderr)
