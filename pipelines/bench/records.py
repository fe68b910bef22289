"""Bench: the records of a run. A row is one figure with its raw samples, a limit what the machine can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

ALLOWANCE = 0.10  # of a timing: what the machine itself may differ by between two runs
SCORE_ALLOWANCE = 0.01  # of a figure that does not depend on the machine's speed


@dataclass(frozen=True)
class Unit:
    """Of samples: whether less is better, and the words for a change."""

    less_is_better: bool
    worse: str
    better: str
    allowance: float = ALLOWANCE
    of_machine: bool = True  # another machine has other figures


UNITS = {
    "s": Unit(True, "slower", "faster"),
    "GFLOP/s": Unit(False, "slower", "faster"),
    "GB/s": Unit(False, "slower", "faster"),
    "MiB": Unit(True, "larger", "smaller", of_machine=False),
    "reads": Unit(True, "more", "fewer", 0.0, of_machine=False),
    "NMI": Unit(False, "worse", "better", SCORE_ALLOWANCE, of_machine=False),
}


@dataclass(frozen=True)
class Samples:
    """Everything measured of ours and, in turns with it, of the peer; the unit is one of `UNITS`."""

    unit: str
    ours: tuple[float, ...]
    peer: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """Of ours."""
        return float(np.median(self.ours))

    @property
    def peer_median(self) -> float | None:
        """Of the peer, where there is one."""
        return float(np.median(self.peer)) if self.peer else None

    @property
    def times(self) -> float:
        """How many times as long the peer takes."""
        return float(np.median(self.peer) / np.median(self.ours))


@dataclass(frozen=True)
class Limit:
    """What the machine could do and what a row reached of it, in one unit."""

    name: str
    rate: float
    reached: float
    unit: str

    @property
    def share(self) -> float:
        """reached / rate."""
        return self.reached / self.rate


@dataclass(frozen=True)
class Row:
    """One line of the table, under a `name` that stays. `asked` None: a fact, nothing is asked of it."""

    bench: str
    name: str
    what: str
    measured: float
    unit: str
    samples: Samples
    asked: float | None = None
    less_is_better: bool = False  # of `measured` against `asked`
    judged: bool = True  # False: the machine was busy, or the sizes were reduced
    limits: tuple[Limit, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether it is what was asked, or better."""
        if self.asked is None:
            return True
        return self.measured <= self.asked if self.less_is_better else self.measured >= self.asked

    @property
    def verdict(self) -> str:
        """In one word."""
        if not self.judged:
            return "not judged"
        if self.asked is None:
            return "-"
        return "reached" if self.reached else "MISSED"


HEAD = ("row", "measured", "asked", "verdict", "ours, peer", "of the machine", "what")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, one cell a column of `HEAD`."""
    sign = "<=" if row.less_is_better else ">="
    asked = "-" if row.asked is None else f"{sign} {row.asked:.4g}"
    samples, peer = row.samples, row.samples.peer_median
    shares = ", ".join(f"{limit.name} {limit.share:.0%}" for limit in row.limits)
    return (
        row.name,
        f"{row.measured:.3g} {row.unit}",
        asked,
        row.verdict,
        f"{samples.median:.3g}{'' if peer is None else f', {peer:.3g}'} {samples.unit}",
        shares or "-",
        row.what,
    )
