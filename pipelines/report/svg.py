"""From a matplotlib figure to an inline SVG whose colours follow the page, light or dark.

Figures are drawn with stand-in colours, which become CSS variables in the SVG's text.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from html import escape

import matplotlib as mpl
import matplotlib.colors
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from PIL import Image

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
# XML has no form for these, not even escaped
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# matplotlib only measures letters that its font lacks; the reader's fonts draw them
_NO_GLYPH = r"Glyph \d+ \(|Matplotlib currently does not support \w+ natively"
Colour = tuple[float, float, float, float]
FULL, HALF = 9.2, 4.5  # inches: figures across the page, and two side by side, so that letters come out equal
TALL = 3.2  # inches: the height of pictures that stand beside each other
_DPI = 200  # of the parts that are images
THOUSANDS = StrMethodFormatter("{x:,.0f}")


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


def legend(ax: Axes) -> None:
    """A plain legend above the picture, where it hides nothing."""
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.2}
    labels = ax.get_legend_handles_labels()[1]
    ax.legend(**place, ncols=len(labels), frameon=False, labelcolor=INK, fontsize=8, columnspacing=1.2)


def shortened(text: str, letters: int) -> str:
    """At most so many letters, with a mark where some are missing."""
    return text if len(text) <= letters else f"{text[: letters - 1]}\u2026"


def readable(text: str) -> str:
    """The text with the sign for an unknown letter in place of what no page and no SVG may hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def label(name: str, letters: int) -> str:
    """A name from data for matplotlib: shortened, and with dollars that begin no formula."""
    return shortened(readable(name), letters).replace("$", r"\$")


def category_colours(count: int) -> list[Colour]:
    """One colour a category, readable on white and on near-black; beyond ten the hues are spread evenly."""
    if count <= len(_TEN):
        return [mpl.colors.to_rgba(colour) for colour in _TEN[:count]]
    return [mpl.colormaps["turbo"](0.08 + 0.84 * i / (count - 1)) for i in range(count)]


def inline(figure: Figure, name: str, alt: str, *, few_colours: bool = False) -> str:
    """The figure as an SVG element for a page: `name` keeps its ids apart, `alt` says what it shows.

    With `few_colours` its images have 256, which is a quarter of the size for points and bad for shades.
    """
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NO_GLYPH, UserWarning)
        figure.savefig(buffer, format="svg", transparent=True, dpi=_DPI, metadata=_NO_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    if few_colours:
        text = re.sub(r'data:image/png;base64,([^"]+)', _few_colours, text)
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


def png(image: Image.Image) -> str:
    """An address that holds the image itself."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _few_colours(address: re.Match[str]) -> str:
    """The same embedded image in 256 colours."""
    image = Image.open(io.BytesIO(base64.b64decode(address[1])))
    return png(image.quantize(256, method=Image.Quantize.FASTOCTREE))


def _literal(text: str) -> str:
    """Text for a replacement pattern: neither markup nor back-references."""
    return escape(readable(text)).replace("\\", r"\\")
