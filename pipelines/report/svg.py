"""From a matplotlib figure to an inline SVG whose colours follow the page, light or dark.

Figures are drawn with stand-in colours, which become CSS variables in the SVG's text.
"""

from __future__ import annotations

import io
import re
from html import escape

import matplotlib as mpl
import matplotlib.colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Stand-ins: near-black tones that no palette uses. The page's style sheet gives the variables their values.
INK, MUTED, LINE, PAPER, ACCENT, WARM = "#010203", "#010204", "#010205", "#010206", "#010207", "#010208"
_VARIABLES = {INK: "ink", MUTED: "muted", LINE: "line", PAPER: "paper", ACCENT: "accent", WARM: "warm"}

_STYLE = {
    "svg.fonttype": "none",  # text stays text: it can be read out, searched and takes the page's font
    "svg.hashsalt": "daskkernels",  # same figure, same file
    "font.family": "DejaVu Sans",
    "font.size": 9,
}
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_TEN = (
    *("#3486cf", "#ee8529", "#3da463", "#e04f4c", "#9872cd"),
    *("#a56f5d", "#e480c2", "#8a929b", "#b4ae2f", "#2ab3c4"),
)
Colour = tuple[float, float, float, float]
FULL, HALF = 9.2, 4.5  # inches: figures across the page, and two side by side, so that letters come out equal


def axes(figure: Figure, position: tuple[int, int, int] = (1, 1, 1)) -> Axes:
    """Plain axes: two thin spines, quiet ticks, no fill."""
    ax = figure.add_subplot(*position)
    ax.set_facecolor("none")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(LINE)
    ax.tick_params(colors=MUTED, length=3, width=0.8, labelsize=8, which="both")
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set(color=MUTED, fontsize=8.5)
    ax.title.set(color=INK, fontsize=10)
    return ax


def figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, kept away from matplotlib's global state."""
    return Figure(figsize=(width, height), layout="constrained")


def category_colours(count: int) -> list[Colour]:
    """One colour a category, readable on white and on near-black; beyond ten the hues are spread evenly."""
    if count <= len(_TEN):
        return [mpl.colors.to_rgba(colour) for colour in _TEN[:count]]
    return [mpl.colormaps["turbo"](0.08 + 0.84 * i / (count - 1)) for i in range(count)]


def inline(figure: Figure, name: str, alt: str) -> str:
    """The figure as an SVG element for a page: `name` keeps its ids apart, `alt` says what it shows."""
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", transparent=True, dpi=160, metadata=_NO_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, f"var(--{variable})")
    inches = figure.get_size_inches()[0]
    label = f'role="img" aria-labelledby="{name}-alt" style="--inches: {inches:.1f}"'
    return re.sub(
        r"<svg([^>]*)>", rf'<svg {label}\1><title id="{name}-alt">{_literal(alt)}</title>', text, count=1
    )


def _literal(text: str) -> str:
    """Text for a replacement pattern: neither markup nor back-references."""
    return escape(text).replace("\\", r"\\")
