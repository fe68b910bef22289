"""What an experiment is, and what it finds. Cells are flat records, so that a CSV file holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from pipelines.reproduce.sources import Sources

Cell = dict[str, Any]
"""What identifies a measurement: the values of an experiment's `key`, texts and numbers."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or of ours), and what was measured about it."""

    text: str
    holds: bool | None  # None: not decided by what was measured, or only partly
    evidence: str

    @property
    def verdict(self) -> str:
        """One word."""
        return {True: "holds", False: "does not hold", None: "open"}[self.holds]


def near(text: str, off: Mapping[str, float], most: float, form: str, of: str = "") -> Claim:
    """Whether what was measured is within `most` of what was published; `off` is ours less theirs by place.

    What is NaN was not measured. `form` writes a difference, `of` says what there is a number of.
    """
    known = {place: by for place, by in off.items() if by == by}
    far = ", ".join(f"{place} {by:{form}}" for place, by in known.items() if abs(by) > most)
    count = sum(abs(by) <= most for by in known.values())
    others = f"; the others (ours less theirs): {far}" if far else ""
    return Claim(text, not far, f"{count} of {len(known)}{of}{others}")


@dataclass(frozen=True)
class Experiment:
    """One figure or table: `cells(quick)` says what to measure, `measure` does one and returns its values.

    `claims(rows)` judges and `draw(rows, figure)` plots all rows measured so far; `key` are the columns of a
    cell, `values` those that `measure` returns. `alt` says in words what the plot shows; `table(rows)` is
    Markdown that stands in the verdict, where there is one.
    """

    name: str
    title: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    cells: Callable[[bool], list[Cell]]
    measure: Callable[[Cell, Sources], Mapping[str, Any]]
    claims: Callable[[pd.DataFrame], list[Claim]]
    draw: Callable[[pd.DataFrame, Figure], None]
    alt: str
    table: Callable[[pd.DataFrame], str] | None = None
