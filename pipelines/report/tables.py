"""Tables of the report as HTML: label and value pairs, the figures at the top, clusters against classes.

Every text that comes from data is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import numpy as np

from pipelines.results import ClusterRun

_MOST = 40  # rows and columns of the cross table; more cannot be read


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """A two-column table."""
    body = "".join(f'<tr><th scope="row">{escape(k)}</th><td>{escape(v)}</td></tr>' for k, v in rows)
    return f'<table class="pairs"><tbody>{body}</tbody></table>'


def tiles(run: ClusterRun) -> str:
    """The few numbers that matter, large."""
    scores = run.scores
    numbers = [
        ("NMI", _number(scores.nmi), "agreement with the classes, 0 to 1, geometric mean"),
        ("ARI", _number(scores.ari), "adjusted Rand index, 1 is equal, 0 is chance"),
        ("inertia", f"{scores.inertia:,.4g}", "sum of squared distances to the centers"),
        ("trace error", f"{scores.trace_error:.2%}", "of the kernel matrix, lost by the approximation"),
        ("iterations", str(scores.n_iter), "of k-means"),
        ("time", f"{run.seconds:.1f} s", "all stages"),
    ]
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{value}</dd><dd class='note'>{note}</dd></div>"
        for name, value, note in numbers
        if value is not None
    )
    return f'<dl class="tiles">{cells}</dl>'


def cross(run: ClusterRun) -> str:
    """Clusters against classes: counts, shaded by the share of the cluster's rows."""
    if run.contingency is None or run.data.classes is None:
        return ""
    counts = run.contingency
    order = np.lexsort((-counts.sum(axis=1), counts.argmax(axis=1)))[:_MOST]  # clusters of one class together
    columns = range(min(counts.shape[1], _MOST))
    names = ["cluster", "rows", "largest share", *(run.data.classes[c] for c in columns)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(_cross_row(int(cluster), counts[cluster], columns) for cluster in order)
    about = (
        f"Rows of each cluster (down) in each known class (across), shaded by share.{_left_out(counts.shape)}"
    )
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<p class="note">{about}</p><div class="scroll"><table class="cross">{rows}</table></div>'


def _cross_row(cluster: int, counts: np.ndarray, columns: range) -> str:
    """One cluster."""
    total = max(int(counts.sum()), 1)
    cells = "".join(_cross_cell(int(counts[column]), total) for column in columns)
    sums = f'<td class="sum">{counts.sum():,}</td><td>{counts.max() / total:.0%}</td>'
    return f'<tr><th scope="row">{cluster}</th>{sums}{cells}</tr>'


def _cross_cell(count: int, total: int) -> str:
    """One count; nothing to see where it is zero."""
    if count == 0:
        return '<td class="zero">0</td>'
    return f'<td style="--share:{100 * count / total:.0f}%">{count:,}</td>'


def _left_out(shape: tuple[int, ...]) -> str:
    """A sentence about what does not fit, or nothing."""
    if max(shape) <= _MOST:
        return ""
    return f" The first {_MOST} of {shape[0]} clusters and {shape[1]} classes are shown."


def _number(value: float | None) -> str | None:
    """Three digits, or None when there is nothing to show."""
    return None if value is None else f"{value:.3f}"
