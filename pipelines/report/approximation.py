"""Pictures of the approximation: the spectrum of W with its cut, and the trace error against the rank."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator

from pipelines.report import svg
from pipelines.report.abstract import counted, share
from pipelines.results import ClusterRun

_DOTS = 80  # more eigenvalues than this are a line
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_CLOSE, _DECADES = 3.0, 100.0  # ratios of the largest to the smallest value, for a plain axis and few ticks


def spectrum(run: ClusterRun) -> str:
    """Eigenvalues of W on a logarithmic axis, those kept apart from those cut."""
    values, rank = run.spectrum.eigenvalues, run.spectrum.rank
    index = np.arange(1, len(values) + 1)
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = scaled(svg.axes(figure), values)
    style = {"marker": "o", "markersize": 3, "linewidth": 0} if len(values) <= _DOTS else {"linewidth": 2.2}
    shown = np.where(values > 0, values, np.nan)  # rounding leaves values below zero
    ax.plot(index[:rank], shown[:rank], color=svg.ACCENT, label=f"kept: {rank}", **style)
    if (values[rank:] > 0).any():
        ax.plot(index[rank:], shown[rank:], color=svg.MUTED, label=f"cut: {len(values) - rank}", **style)
        ax.axvline(rank + 0.5, color=svg.WARM, linewidth=1.2, linestyle="--")
    ax.set_xlabel("position")
    ax.set_ylabel("eigenvalue of W")
    svg.legend(ax)
    span = f"from {values[0]:.3g} to {values[-1]:.3g}"
    kept = f"the {rank} largest, down to {values[rank - 1]:.3g}, are kept"
    alt = f"{counted(len(values), 'eigenvalue')} of W {span}; {kept}."
    return svg.inline(figure, "spectrum", alt)


def errors(run: ClusterRun) -> str:
    """Share of the trace that is lost, by the number of features and by the rank of W alone."""
    found = run.spectrum
    index, s = np.arange(1, found.rank + 1), found.n_components
    figure = svg.figure(svg.HALF, svg.TALL)
    ax = scaled(svg.axes(figure), found.errors)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g}%"))
    curves = ((found.rank_errors, svg.MUTED, "directions of W"), (found.errors, svg.ACCENT, "features"))
    for values, colour, label in curves:
        shown = np.where(values > 0, values, np.nan)  # nothing lost has no logarithm
        marker = "." if found.rank == 1 else ""
        ax.plot(index, shown, color=colour, linewidth=1.8, marker=marker, label=label)
    ax.axvline(s, color=svg.WARM, linewidth=1.2, linestyle="--", label=f"kept: {s}")
    if found.errors[s - 1] > 0:
        ax.plot([s], [found.errors[s - 1]], "o", color=svg.WARM, markersize=6)
    ax.set_xlabel("number kept")
    ax.set_ylabel("trace error")
    svg.legend(ax)
    first, made, last = (share(found.errors[number]) for number in (0, s - 1, -1))
    kept = f"{counted(s, 'feature')} lose {made}, all {found.rank} would lose {last}"
    alt = f"The trace error begins at {first} with one feature; {kept}."
    return svg.inline(figure, "errors", alt)


def scaled(ax: Axes, values: np.ndarray) -> Axes:
    """The same axes with a logarithmic height, unless the values are close, and quiet lines across."""
    positive = values[values > 0]
    ratio = positive.max() / positive.min() if positive.size else 1.0
    if ratio > _CLOSE:
        wide = ratio > _DECADES
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 3.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value) if wide else f"{value:g}"))
        ax.minorticks_off()
    ax.grid(axis="y", color=svg.LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def _power(value: float) -> str:
    """A power of ten: 10⁻³."""
    return "10" + str(round(np.log10(value))).translate(_RAISED)
