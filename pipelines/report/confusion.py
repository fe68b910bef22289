"""The table of true against predicted classes of the test rows."""

from __future__ import annotations

from html import escape

import numpy as np

from pipelines.learning.records import TrainRun
from pipelines.report import tables
from pipelines.report.abstract import share
from pipelines.report.svg import shortened


def table(run: TrainRun) -> str:
    """Counts by class, shaded by the share of the class's rows; of many classes those with most rows."""
    test = run.test
    if test is None or test.confusion is None or run.classes is None or test.data.classes is None:
        return ""
    counts = test.confusion
    rows = tables.largest(counts.sum(axis=1))
    columns = tables.largest(counts.sum(axis=0))
    known = {name: code for code, name in enumerate(run.classes)}
    right = [known.get(name, -1) for name in test.data.classes]
    body = "".join(_row(test.data.classes[row], counts[row], columns, right[row]) for row in rows)
    about = "Test rows of each class (down) by the class they were given (across), shaded by share. "
    about += _most_confused(counts, test.data.classes, run.classes, right)
    about += tables.left_out(counts.shape, "classes")
    return tables.matrix(("class", "rows", "error"), [run.classes[i] for i in columns], body, about)


def _row(name: str, counts: np.ndarray, columns: np.ndarray, right: int) -> str:
    """One class; what is wrong is in another colour."""
    total = int(counts.sum())
    correct = int(counts[right]) if right >= 0 else 0
    cells = "".join(
        tables.cell(int(counts[column]), max(total, 1), "" if column == right else "wrong")
        for column in columns
    )
    wrong = share(1 - correct / total) if total else "&ndash;"
    sums = f'<td class="sum">{total:,}</td><td>{wrong}</td>'
    return f'<tr><th scope="row" title="{escape(name)}">{escape(shortened(name, 24))}</th>{sums}{cells}</tr>'


def _most_confused(
    counts: np.ndarray, true: tuple[str, ...], known: tuple[str, ...], right: list[int]
) -> str:
    """A sentence about the two classes that were taken for each other most often."""
    wrong = counts.copy()
    for row, column in enumerate(right):
        if column >= 0:
            wrong[row, column] = 0
    if not wrong.any():
        return "None is wrong."
    row, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
    names = (shortened(name, 24) for name in (true[row], known[column]))
    return escape("Most often, {} was taken for {}: {:,} rows.".format(*names, wrong[row, column]))
