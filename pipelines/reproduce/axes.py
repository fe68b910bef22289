"""Axes and legends that the plots of the experiments share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def logarithmic(axes: Axes, *, x: Iterable[float] | bool = False, y: bool = False) -> None:
    """Logarithmic axes with plain numbers, at 1, 2 and 5 times 10^i, or for x at the values given."""
    from matplotlib.ticker import NullLocator

    if x is not False:
        axes.set_xscale("log")
        _plain(axes.xaxis)
    if not isinstance(x, bool):
        values = sorted(set(x))
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.xaxis.set_minor_locator(NullLocator())
    if y:
        axes.set_yscale("log")
        _plain(axes.yaxis)


def _plain(axis: Axis) -> None:
    """Numbers as people write them, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def published(axes: Axes) -> None:
    """An entry in the legend for the crosses."""
    axes.plot([], [], "kx", label="published")


def legend_below(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """One legend under all panels, where it covers nothing: that of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize="small")
