"""Bench: the records of a run and the table that is printed: asked, measured, share, verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One line of the table. `share` is measured / asked: 1 or more passes (less, where less is better)."""

    bench: str
    what: str
    asked: float
    measured: float
    unit: str
    less_is_better: bool = False
    judged: bool = True  # False: the machine was busy, or the sizes were reduced
    details: dict[str, float | str | list[float]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        return self.measured / self.asked if self.asked else float("nan")

    @property
    def reached(self) -> bool:
        return self.share <= 1 if self.less_is_better else self.share >= 1

    @property
    def verdict(self) -> str:
        if not self.judged:
            return "not judged"
        return "reached" if self.reached else "MISSED"


def table(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The rows as aligned text, then the notes."""
    head = ("bench", "what", "asked", "measured", "share", "verdict")
    cells = [head]
    for r in rows:
        sign = "<=" if r.less_is_better else ">="
        asked, measured = f"{sign} {r.asked:.4g} {r.unit}", f"{r.measured:.4g} {r.unit}"
        cells.append((r.bench, r.what, asked, measured, f"{100 * r.share:.0f} %", r.verdict))
    widths = [max(len(row[j]) for row in cells) for j in range(len(head))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join([*lines, *notes])


def write_json(path: Path, rows: Sequence[Row], notes: Sequence[str]) -> None:
    """All of it for later comparison, raw timings included."""
    records = [asdict(r) | {"share": r.share, "verdict": r.verdict} for r in rows]
    path.write_text(json.dumps({"rows": records, "notes": list(notes)}, indent=1) + "\n", encoding="utf-8")
