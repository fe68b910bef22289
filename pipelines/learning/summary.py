"""From a fitted kernel machine to the record of the job.

The numbers are the estimator's own; this only puts them in their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import daskkernels as dk
from daskkernels.estimators.training import n_used
from daskkernels.solvers.kernel_choice import FACTORS
from daskkernels.versions import versions
from pipelines.learning.records import Choice, Epoch, Foreseen, Scores, TrainRun, Trial
from pipelines.learning.saved import names_of
from pipelines.model import AUTO
from pipelines.requests import TrainRequest
from pipelines.summary import describe, known_classes

_CHOICES = (
    ("s", "n_subsamples", "rows of the eigensystem"),
    ("q", "n_directions", "directions"),
    ("m", "batch_size", "rows a batch"),
    ("M", "round_size", "rows predicted in one pass"),
    ("", "step_size", "step"),
    ("\u03b2", "beta", "largest diagonal value"),
    ("\u03bb\u2032", "eigenvalue", "largest eigenvalue"),
)
_LETTERS = (("lam'", "\u03bb\u2032"), ("beta", "\u03b2"), ("M^2", "M\u00b2"))


def summarise(
    request: TrainRequest, data: dk.Dataset, model: Any, test: Scores | None, peaks: dict[str, int]
) -> TrainRun:
    """The record of a finished fit of `model` on the rows of `data`."""
    facts = describe(request.data, data, known_classes(data))
    names = names_of(model)
    found = epochs(model.history_)
    plan = model.plan_
    return TrainRun(
        title=f"A kernel machine for {facts.name}",
        data=facts,
        n_used=n_used(data.n_rows, request.model.validation_fraction),
        classes=None if names is None else tuple(map(str, names)),
        kernel=shown_kernel(model.kernel_),
        trials=trials(plan),
        choices=choices(plan),
        eigenvalues=np.array(plan.eigenvalues),
        n_directions=plan.n_directions,
        epochs=found,
        kept=kept(found),
        halvings=model.n_halvings_,
        test=test,
        plan=foreseen(plan, peaks),
        settings=settings(request, model),
        timings=(),  # the job fills them in when it is over
        command=request.command,
        versions=tuple(versions().items()),
    )


def epochs(history: list[dict[str, float]]) -> tuple[Epoch, ...]:
    """The epochs in their order."""
    return tuple(
        Epoch(
            number=int(figures["epoch"]) + 1,
            seconds=figures["seconds"],
            residual=figures["train_mse"],
            step=figures["step_size"],
            validation_mse=figures.get("validation_mse"),
            validation_error=figures.get("validation_error"),
        )
        for figures in history
    )


def kept(found: tuple[Epoch, ...]) -> int:
    """The epoch with the lowest validation loss, or the last where nothing is validated."""
    losses = [epoch.validation_mse for epoch in found]
    if any(loss is None for loss in losses):
        return found[-1].number
    return found[int(np.argmin(losses))].number


def shown_kernel(kernel: Any) -> str:
    """A kernel in few letters: Gaussian(bandwidth=1.234)."""
    parameters = kernel.get_params() if hasattr(kernel, "get_params") else {}
    shown = [
        f"{name}={value:.5g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parameters.items()
        if name != "factor"  # is in the bandwidth already
    ]
    return f"{type(kernel).__name__}({', '.join(shown)})" if shown else str(kernel)


def trials(plan: Any) -> tuple[Trial, ...]:
    """What the kernel was chosen by, if it was, by family and bandwidth."""
    tried = sorted(plan.trials, key=lambda trial: (type(trial.kernel).__name__, trial.kernel.bandwidth))
    if not tried:
        return ()
    scale = min(trial.kernel.bandwidth for trial in tried) / min(FACTORS)
    return tuple(
        Trial(
            kernel=type(trial.kernel).__name__,
            bandwidth=trial.kernel.bandwidth,
            factor=trial.kernel.bandwidth / scale,
            mse=trial.mse,
            error=trial.error,
            chosen=trial.kernel == plan.kernel,
        )
        for trial in tried
    )


def choices(plan: Any) -> tuple[Choice, ...]:
    """What was chosen, with the reasons that there are."""
    return tuple(
        Choice(letter, name, float(getattr(plan, attribute)), _reason(plan.why.get(attribute, "")))
        for letter, attribute, name in _CHOICES
    )


def _reason(why: str) -> str:
    """The reason in the letters of the mathematics."""
    for plain, letter in _LETTERS:
        why = why.replace(plain, letter)
    return why


def foreseen(plan: Any, peaks: dict[str, int]) -> Foreseen:
    """The plan beside the peak memory of the workers."""
    machine, rounds = plan.machine, plan.rounds
    return Foreseen(
        epoch_seconds=rounds.epoch_seconds,
        workers=f"{machine.workers} x {machine.threads} threads",
        gflops=machine.gflops,
        worker_bytes=rounds.worker_bytes,
        limit_bytes=machine.memory,
        measured_bytes=max(peaks.values(), default=None),
        how=rounds.why["X"],
    )


def settings(request: TrainRequest, model: Any) -> tuple[tuple[str, str], ...]:
    """What was asked for, and what the library made of it."""
    asked, session = request.model, request.session
    rows: list[tuple[str, Any]] = [
        ("estimator", type(model).__name__),
        ("kernel", shown_kernel(model.kernel_)),
        ("chosen by", "trials on a sample" if asked.kernel == AUTO and model.plan_.trials else "the command"),
        ("epochs at most", model.max_epochs),
        ("patience", model.patience),
        ("kept back to validate", asked.validation_fraction or "nothing"),
        ("class weight", asked.class_weight or "every row the same"),
        ("scaled", "to mean 0 and variance 1" if asked.scale else "no"),
        ("seed", asked.seed),
        ("scheduler", session.scheduler),
        ("workers", session.workers or "as found"),
        ("memory limit", session.memory_limit or "the library's choice"),
    ]
    return tuple((name, str(value)) for name, value in rows)
