"""Pictures of a training: its curves by epoch, the kernels that were tried, the spectrum that was damped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from pipelines.learning.records import TrainRun, Trial
from pipelines.report import svg
from pipelines.report.abstract import counted, share
from pipelines.report.approximation import scaled

_DOTS = 30  # more epochs than this are a line
_LINE = {"linewidth": 1.8, "markersize": 4}


def residuals(run: TrainRun) -> str:
    """Mean squares by epoch, on a logarithmic axis."""
    found = [epoch.residual for epoch in run.epochs]
    judged = [epoch.validation_mse for epoch in run.epochs if epoch.validation_mse is not None]
    tested = None if run.test is None else run.test.mse
    every = np.array([*found, *judged, *([] if tested is None else [tested])])
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = _by_epoch(scaled(svg.axes(figure), every), run)
    _curve(ax, run, found, svg.ACCENT, "training")
    if judged:
        _curve(ax, run, judged, svg.WARM, "validation")
        _ring(ax, run.kept, judged[run.kept - 1])
    if tested is not None:
        ax.axhline(tested, color=svg.MUTED, linewidth=1.2, linestyle="--", label=f"test: {tested:.3g}")
    ax.set_ylabel("mean squared residual")
    svg.legend(ax)
    span = f"from {found[0]:.3g} to {found[-1]:.3g}"
    alt = f"Over {counted(len(found), 'epoch')} the training residual goes {span}"
    if judged:
        alt += f", the validation residual from {judged[0]:.3g} to {judged[-1]:.3g}"
    return svg.inline(figure, "residuals", f"{alt}.")


def errors(run: TrainRun) -> str:
    """Share of wrong classes by epoch, and of the test."""
    judged = [epoch.validation_error or 0.0 for epoch in run.epochs]
    tested = None if run.test is None else run.test.error
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = _by_epoch(svg.axes(figure), run)
    _curve(ax, run, judged, svg.WARM, "validation")
    _ring(ax, run.kept, judged[run.kept - 1])
    if tested is not None:
        ax.axhline(tested, color=svg.MUTED, linewidth=1.2, linestyle="--", label=f"test: {share(tested)}")
    ax.set_ylim(0, max(*judged, tested or 0.0, 1e-6) * 1.15)
    _per_cent(ax)
    ax.set_ylabel("wrong classes")
    ax.grid(axis="y", color=svg.LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    svg.legend(ax)
    alt = f"The validation error goes from {share(judged[0])} to {share(judged[-1])}"
    alt += "" if tested is None else f"; the test error is {share(tested)}"
    return svg.inline(figure, "validation-errors", f"{alt}.")


def trials(run: TrainRun) -> str:
    """Errors against the bandwidth, one line a family, the chosen kernel marked."""
    classes = run.trials[0].error is not None
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = scaled(svg.axes(figure), np.array([_height(trial) for trial in run.trials]))
    families = sorted({trial.kernel for trial in run.trials})
    for family, colour in zip(families, (svg.ACCENT, svg.WARM), strict=False):
        tried = [trial for trial in run.trials if trial.kernel == family]
        heights = [_height(trial) for trial in tried]
        ax.plot([trial.factor for trial in tried], heights, "o-", color=colour, label=family, **_LINE)
    for trial in run.trials:
        if trial.chosen:
            _ring(ax, trial.factor, _height(trial), "chosen")
    ax.set_xscale("log")
    factors = sorted({round(trial.factor, 6) for trial in run.trials})
    ax.set_xticks(factors, [f"{factor:g}" for factor in factors])
    ax.xaxis.set_minor_locator(NullLocator())
    if classes:
        _per_cent(ax)
    ax.set_xlabel("bandwidth, in root mean squared distances")
    ax.set_ylabel("wrong classes" if classes else "mean squared error")
    svg.legend(ax)
    best = next((trial for trial in run.trials if trial.chosen), run.trials[0])
    height = share(_height(best)) if classes else f"{_height(best):.3g}"
    alt = f"{counted(len(run.trials), 'trial')}; chosen is {best.kernel} at {best.factor:.3g}, with {height}"
    return svg.inline(figure, "trials", f"{alt}.")


def spectrum(run: TrainRun) -> str:
    """The leading eigenvalues, those that are damped apart from the others, and what is left of them."""
    values, q = run.eigenvalues, run.n_directions
    index, shown = np.arange(1, len(values) + 1), np.where(values > 0, values, np.nan)
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = scaled(svg.axes(figure), values)
    style = {"linewidth": 2.2, "marker": "." if len(values) == 1 else ""}
    if q > 1:
        ax.plot(index[:q], shown[:q], color=svg.ACCENT, label=f"damped: {q - 1}", **style)
        ax.hlines(shown[q - 1], 1, q, color=svg.ACCENT, linewidth=1.2, linestyle=":")
    if len(values) > q:
        ax.plot(index[q - 1 :], shown[q - 1 :], color=svg.MUTED, label="as they are", **style)
    ax.axvline(q, color=svg.WARM, linewidth=1.2, linestyle="--", label=f"q = {q}")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.set_xlabel("position")
    ax.set_ylabel("eigenvalue of K / s")
    svg.legend(ax)
    span = f"from {values[0]:.3g} to {values[-1]:.3g}"
    alt = f"The {len(values)} leading eigenvalues of the subsample's kernel, {span}; q is {q}."
    return svg.inline(figure, "damped-spectrum", alt)


def _by_epoch(ax: Axes, run: TrainRun) -> Axes:
    """The same axes with epochs across."""
    ax.set_xlabel("epoch")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlim(0.5, len(run.epochs) + 0.5)
    return ax


def _curve(ax: Axes, run: TrainRun, values: Sequence[float], colour: str, label: str) -> None:
    """A value an epoch."""
    shown = [value if value > 0 or ax.get_yscale() == "linear" else np.nan for value in values]
    marker = "o-" if len(values) <= _DOTS else "-"
    ax.plot([epoch.number for epoch in run.epochs], shown, marker, color=colour, label=label, **_LINE)


def _ring(ax: Axes, x: float, y: float, label: str = "kept") -> None:
    """A mark around what was taken."""
    place = {"linewidth": 0, "marker": "o", "markersize": 11, "markerfacecolor": "none"}
    ax.plot([x], [y], markeredgecolor=svg.INK, markeredgewidth=1.2, label=label, **place)


def _per_cent(ax: Axes) -> None:
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))


def _height(trial: Trial) -> float:
    """What trials are compared by."""
    return trial.mse if trial.error is None else trial.error
