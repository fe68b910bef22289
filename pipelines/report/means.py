"""The clusters in input space: the mean of each as an image where rows are images, else in a heat map.

What rows are is read from the data set, never guessed from the number of columns.
"""

from __future__ import annotations

from html import escape

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from pipelines.report import svg
from pipelines.report.abstract import counted
from pipelines.results import ClusterRun, Means

MOST_IMAGES = 100
_ACROSS = 10  # images in a row
_PIXELS = 128  # of an image's longer side; more do not show
_NAMED_COLUMNS, _NAMED_CLUSTERS = 60, 40
_COLUMNS, _CLUSTERS = 16, 20  # up to so many a number fits into each cell
DEVIATIONS = 2.0  # of a column: full colour
_BELOW, _ABOVE, _DENSEST = "#3486cf", "#ee8529", 0.75  # numbers can be read on them, on any page


def are_images(shape: tuple[int, ...] | None) -> bool:
    """Whether rows of this shape can be shown: grey or red, green, blue."""
    return shape is not None and (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3)))


def images(run: ClusterRun, means: Means) -> str:
    """A grid of pictures, all on one scale of brightness, of the largest clusters where there are many."""
    sizes, levels = run.cluster_sizes, _levels(means.values)
    chosen = np.sort(np.argsort(-sizes, kind="stable")[:MOST_IMAGES])
    shape = run.data.feature_shape or ()
    pictures = "".join(_image(run, int(i), levels[i].reshape(shape)) for i in chosen)
    columns = -(-len(chosen) // -(-len(chosen) // _ACROSS))  # rows of equal length
    return f'<div class="images" style="--columns: {columns}">{pictures}</div>'


def _levels(values: np.ndarray) -> np.ndarray:
    """Means (k, columns) as bytes, from the smallest value of all to the largest."""
    low, high = np.nanmin(values), np.nanmax(values)
    scaled = (np.nan_to_num(values, nan=low) - low) / max(high - low, np.finfo(float).tiny)
    return np.round(255 * scaled).astype(np.uint8)


def _image(run: ClusterRun, cluster: int, pixels: np.ndarray) -> str:
    """One mean, its size and what it mostly is."""
    rows = int(run.cluster_sizes[cluster])
    said = [f"{rows:,} rows", *_mostly(run, cluster)]
    if rows == 0:
        picture = '<div class="empty"></div>'
    else:
        height, width = pixels.shape[:2]
        alt = f"Mean of cluster {cluster}, {', '.join(said)}, as an image of {height} x {width}"
        picture = f'<img src="{svg.png(_drawn(pixels))}" alt="{escape(alt)}">'
    caption = f"<b>{cluster}</b> {'<br>'.join(map(escape, said))}"
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"


def _mostly(run: ClusterRun, cluster: int) -> list[str]:
    """The largest class of a cluster, where classes are known."""
    counts = None if run.contingency is None else run.contingency[cluster]
    if counts is None or run.data.classes is None or not counts.any():
        return []
    name = svg.shortened(run.data.classes[int(counts.argmax())], 16)
    return [f"{counts.max() / counts.sum():.0%} class {name}"]


def _drawn(pixels: np.ndarray) -> Image.Image:
    """The image, of a large one every few pixels."""
    step = -(-max(pixels.shape[:2]) // _PIXELS)
    small = pixels[::step, ::step]
    return Image.fromarray(small[..., 0] if small.shape[2:] == (1,) else small)


def heat_map(run: ClusterRun, means: Means) -> str:
    """Clusters down, columns across: how far each mean is from that of all rows, in standard deviations."""
    z = standardised(run, means)
    height = 1.1 + 0.24 * min(max(len(z), 3), 30)
    figure = svg.figure(svg.FULL, height)
    ax = svg.axes(figure)
    limits = {"vmin": -DEVIATIONS, "vmax": DEVIATIONS}
    drawn = ax.imshow(z, cmap=_colours(), aspect="auto", interpolation="nearest", rasterized=True, **limits)
    _name_cells(ax, run)
    if len(z) <= _CLUSTERS and z.shape[1] <= _COLUMNS:
        _write_cells(ax, means.values)
    bar = figure.colorbar(drawn, ax=ax, pad=0.01, aspect=5 * height, ticks=[-DEVIATIONS, 0, DEVIATIONS])
    bar.outline.set_edgecolor(svg.LINE)
    bar.solids.set_rasterized(True)
    bar.ax.tick_params(colors=svg.MUTED, labelsize=8)
    bar.set_label("standard deviations", color=svg.MUTED, fontsize=8.5)
    return svg.inline(figure, "means", _alt(run, z))


def standardised(run: ClusterRun, means: Means) -> np.ndarray:
    """(mean of the cluster - mean of all rows) / deviation of the column (k, columns)."""
    weights = run.cluster_sizes[:, None] / run.cluster_sizes.sum()
    differences = means.values - np.where(weights > 0, weights * means.values, 0.0).sum(axis=0)
    return differences / np.where(means.deviations > 0, means.deviations, 1.0)


def _colours() -> mpl.colors.Colormap:
    """From one colour over nothing, which shows the page, to another."""
    stops = ((0.0, _BELOW, _DENSEST), (0.5, _BELOW, 0.0), (0.5, _ABOVE, 0.0), (1.0, _ABOVE, _DENSEST))
    colours = [(place, mpl.colors.to_rgba(colour, alpha)) for place, colour, alpha in stops]
    return mpl.colors.LinearSegmentedColormap.from_list("means", colours)


def _write_cells(ax: Axes, values: np.ndarray) -> None:
    """The means themselves."""
    for (cluster, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            ax.text(column, cluster, f"{value:.3g}", color=svg.INK, fontsize=8, ha="center", va="center")


def _name_cells(ax: Axes, run: ClusterRun) -> None:
    """Numbers of clusters and names of columns, where they can be read."""
    k, d = len(run.cluster_sizes), run.data.n_features
    ax.set_ylabel("cluster")
    if k <= _NAMED_CLUSTERS:
        ax.set_yticks(range(0, k, -(-k // 30)))
    if d > _NAMED_COLUMNS:
        ax.set_xlabel("column")
        return
    names = [svg.label(name, 18) for name in run.data.feature_names or map(str, range(d))]
    upright = sum(map(len, names)) > 110
    ax.set_xticks(range(d), names, rotation=90 if upright else 0)
    if run.data.feature_names is None:
        ax.set_xlabel("column")


def _alt(run: ClusterRun, z: np.ndarray) -> str:
    """The picture in words: where a cluster is farthest from the rest."""
    k, d = z.shape
    cluster, column = np.unravel_index(int(np.nanargmax(np.abs(z))), z.shape)
    name = run.data.feature_names[column] if run.data.feature_names else str(column)
    most = f"the largest is {z[cluster, column]:+.1f}, cluster {cluster} in column {name}"
    sizes = f"{counted(k, 'cluster')} in {counted(d, 'column')}"
    return f"Heat map of the means of {sizes}, in standard deviations; {most}."
