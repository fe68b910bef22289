"""Tables of the report as HTML: label and value pairs, the figures at the top, classes, the plan.

Every text that comes from data is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from daskkernels.units import show_bytes
from pipelines.report.abstract import share
from pipelines.report.svg import shortened
from pipelines.results import ClusterRun, PlanFacts, Step

_MOST = 40  # rows and columns of the cross table; more cannot be read
_UPRIGHT = 14  # more columns than this have their names upright, and small figures on paper


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
        ("silhouette", _number(run.silhouette), "mean of a sample, -1 to 1, in feature space"),
        ("inertia", _short(scores.inertia), "sum of squared distances to the centers"),
        (
            "trace error",
            share(scores.trace_error).replace("under ", "&lt;"),
            "of the kernel matrix, lost by the approximation",
        ),
        ("iterations", str(scores.n_iter), "of k-means"),
        ("time", f"{run.seconds:.1f} s", "all stages, before this page was drawn"),
    ]
    return large(numbers)


def large(numbers: Iterable[tuple[str, str | None, str]]) -> str:
    """Name, value and note of each number; one that is not known is left out."""
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
    rows = largest(counts.sum(axis=1))
    columns = largest(counts[rows].sum(axis=0))
    shown = counts[np.ix_(rows, columns)]
    rows = rows[np.lexsort((-counts[rows].sum(axis=1), shown.argmax(axis=1)))]  # those of one class together
    body = "".join(_cross_row(int(cluster), counts[cluster], columns) for cluster in rows)
    about = "Rows of each cluster (down) in each known class (across), shaded by share."
    about += left_out(counts.shape, "clusters")
    return matrix(("cluster", "rows", "largest share"), [run.data.classes[i] for i in columns], body, about)


def matrix(head: Iterable[str], names: Sequence[str], body: str, about: str) -> str:
    """A table of counts: its first heads, the names of its columns, its rows as HTML, and a sentence."""
    heads = "".join(f'<th scope="col">{name}</th>' for name in head) + "".join(map(_class_name, names))
    kind = "cross many" if len(names) > _UPRIGHT else "cross"
    table = f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody>"
    return f'<p class="note">{about}</p><div class="scroll"><table class="{kind}">{table}</table></div>'


def largest(counts: np.ndarray) -> np.ndarray:
    """The numbers of the largest groups, ascending."""
    return np.sort(np.argsort(-counts, kind="stable")[:_MOST])


def _class_name(name: str) -> str:
    """A head cell; a long name is cut, and whole where the mouse rests."""
    return f'<th scope="col" title="{escape(name)}"><span>{escape(shortened(name, 24))}</span></th>'


def _cross_row(cluster: int, counts: np.ndarray, columns: np.ndarray) -> str:
    """One cluster."""
    total = max(int(counts.sum()), 1)
    cells = "".join(cell(int(counts[column]), total) for column in columns)
    sums = f'<td class="sum">{counts.sum():,}</td><td>{counts.max() / total:.0%}</td>'
    return f'<tr><th scope="row">{cluster}</th>{sums}{cells}</tr>'


def cell(count: int, total: int, kind: str = "") -> str:
    """One count; nothing to see where it is zero."""
    if count == 0:
        return '<td class="zero">0</td>'
    attribute = f' class="{kind}"' if kind else ""
    return f'<td{attribute} style="--share:{100 * count / total:.0f}%">{count:,}</td>'


def left_out(shape: tuple[int, ...], rows: str) -> str:
    """A sentence about what does not fit, or nothing."""
    if max(shape) <= _MOST:
        return ""
    return f" The {_MOST} largest of {shape[0]} {rows} and {shape[1]} classes are shown."


def plan(facts: PlanFacts) -> str:
    """Seconds and memory as planned and as measured; a dash for what is not known."""
    names = ["step", "passes planned", "planned", "measured"]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(_plan_row(step) for step in facts.steps)
    sums = (
        sum(step.predicted or 0.0 for step in facts.steps),
        sum(step.measured or 0.0 for step in facts.steps),
    )
    body += f'<tr class="total"><th scope="row">fit</th><td></td>{_cells(*map(_seconds, sums))}</tr>'
    peaks = (facts.worker_bytes, facts.measured_bytes)
    memory = _cells(*(None if peak is None else show_bytes(peak) for peak in peaks))
    body += f'<tr><th scope="row">memory of a worker</th><td></td>{memory}</tr>'
    table = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<div class="scroll"><table class="plan">{table}</table></div>'


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f} s"


def _plan_row(step: Step) -> str:
    """One step."""
    passes = None if step.passes is None else f"{step.passes:.3g}"
    seconds = _cells(passes, _seconds(step.predicted), _seconds(step.measured))
    return f'<tr><th scope="row">{escape(step.name)}</th>{seconds}</tr>'


def _cells(*values: str | None) -> str:
    """Cells of a row."""
    return "".join(f"<td>{'&ndash;' if value is None else value}</td>" for value in values)


def _short(value: float) -> str:
    """A number of any size in few letters."""
    return f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:.3g}"


def _number(value: float | None) -> str | None:
    """Three digits, or None when there is nothing to show."""
    return None if value is None else f"{value:.3f}"
