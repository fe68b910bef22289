"""A tidy CSV file that grows by a row for each cell, so that a run that was killed goes on where it was."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pipelines.failures import InputError
from pipelines.reproduce.records import Cell, Experiment


class Table:
    """The rows of one experiment on disk."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path, self.key = path, experiment.key
        self.columns = [*experiment.key, *experiment.values]
        if path.exists():
            self._drop_cut_line()
            head = path.read_text().partition("\n")[0].split(",")
            if head != self.columns:
                raise InputError(
                    f"{path}: its columns are {', '.join(head)}, wanted {', '.join(self.columns)}: it comes "
                    "from another version; choose another --out"
                )
        else:
            path.write_text(",".join(self.columns) + "\n")
        self._done = {self._identity(row) for row in self.rows().to_dict("records")}

    def rows(self) -> pd.DataFrame:
        """All rows so far."""
        return pd.read_csv(self.path, keep_default_na=True)

    def has(self, cell: Cell) -> bool:
        """Whether the cell was measured."""
        return self._identity(cell) in self._done

    def add(self, cell: Cell, values: Mapping[str, Any]) -> None:
        """Write one row, at once."""
        row = {**cell, **values}
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([row[name] for name in self.columns])
        self._done.add(self._identity(cell))

    def _identity(self, row: Mapping[Any, Any]) -> tuple[str, ...]:
        """The key columns as texts that a round trip through the file does not change."""
        return tuple(_text(row[name]) for name in self.key)

    def _drop_cut_line(self) -> None:
        """A kill in the middle of a write leaves a last line without an end: that cell is measured again."""
        text = self.path.read_text()
        if text and not text.endswith("\n"):
            self.path.write_text(text[: text.rfind("\n") + 1])


def _text(value: Any) -> str:
    """1 and 1.0 are one value."""
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return str(value)
