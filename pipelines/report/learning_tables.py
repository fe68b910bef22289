"""Tables about a training: the figures at the top, the choices with their reasons, the plan."""

from __future__ import annotations

from html import escape

from daskkernels.units import show_bytes, show_seconds
from pipelines.learning.records import Choice, TrainRun
from pipelines.report import tables
from pipelines.report.abstract import share
from pipelines.report.layout import note

_WHOLE = 1e6  # numbers below that are written out


def tiles(run: TrainRun) -> str:
    """The few numbers that matter, large."""
    last, test = run.kept_epoch, run.test
    stopped = "the last was kept" if run.kept == len(run.epochs) else f"number {run.kept} was kept"
    numbers = [
        ("test error", _share(test and test.error), "wrong classes, of rows not trained on"),
        ("test MSE", _short(test and test.mse), "mean squared error of rows not trained on"),
        ("R\u00b2", _short(test and test.r2), "of the test rows, 1 is exact, 0 is their mean"),
        ("validation error", _share(last.validation_error), "wrong classes, of rows kept back"),
        ("validation MSE", None if run.classes else _short(last.validation_mse), "of rows kept back"),
        ("training residual", _short(last.residual), "mean square, as the rows were met"),
        ("epochs", str(len(run.epochs)), stopped),
        ("halvings", str(run.halvings) if run.halvings else None, "of the step, as the residual grew"),
        ("time", f"{run.seconds:.1f} s", "all stages, before this page was drawn"),
    ]
    return tables.large(numbers)


def _share(value: float | None) -> str | None:
    return None if value is None else share(value).replace("under ", "&lt;")


def _short(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}"


def choices(run: TrainRun) -> str:
    """What was chosen before the training, and why."""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("choice", "", "value", "why"))
    body = "".join(_choice(choice) for choice in run.choices)
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="plan choices">{table}</table></div>'


def _choice(choice: Choice) -> str:
    """One row."""
    value = choice.value
    shown = f"{value:,.0f}" if float(value).is_integer() and value < _WHOLE else f"{value:.5g}"
    cells = f"<td>{escape(choice.letter)}</td><td>{shown}</td><td>{escape(choice.why)}</td>"
    return f'<tr><th scope="row">{escape(choice.name)}</th>{cells}</tr>'


def plan(run: TrainRun) -> str:
    """An epoch and the memory, as planned and as measured."""
    facts = run.plan
    seconds = sum(epoch.seconds for epoch in run.epochs) / len(run.epochs)
    measured = None if facts.measured_bytes is None else show_bytes(facts.measured_bytes)
    rows = (
        ("an epoch", show_seconds(facts.epoch_seconds), show_seconds(seconds)),
        ("memory of a worker", show_bytes(facts.worker_bytes), measured),
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "planned", "measured"))
    body = "".join(
        f'<tr><th scope="row">{name}</th><td>{before}</td><td>{after or "&ndash;"}</td></tr>'
        for name, before, after in rows
    )
    said = (
        f"Planned for {facts.gflops:.0f} GFLOP/s on {facts.workers}; the epochs are their mean. "
        f"The rows are {facts.how}. "
    )
    limit = show_bytes(facts.limit_bytes)
    said += (
        "This system does not keep the memory peak of a process: it was not measured."
        if measured is None
        else f"Memory is the highest of any worker since it started; {limit} were allowed."
    )
    table = f'<table class="plan"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div><div class="scroll">{table}</div>{note(said)}</div>'
