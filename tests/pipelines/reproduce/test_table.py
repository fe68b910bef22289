"""Tests: the CSV of an experiment keeps what was measured, whatever ended the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.failures import InputError
from pipelines.reproduce.job import experiment
from pipelines.reproduce.table import Table

FIGURE5 = experiment("figure5")
CELL = {"data": "pendigits", "method": "nystrom", "multiple": 3, "seed": 0}
VALUES = {"c": 30, "columns": 74.0, "features": 0.25}


def test_what_is_added_is_there_after_opening_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table = Table(path, FIGURE5)
    assert not table.has(CELL)
    table.add(CELL, VALUES)
    for one in (table, Table(path, FIGURE5)):
        assert one.has(CELL)
        assert not one.has({**CELL, "seed": 1})
        assert one.rows().to_dict("records") == [{**CELL, **VALUES}]


@pytest.mark.parametrize(("column", "value"), [("multiple", 3.0), ("seed", 0.0)])
def test_numbers_are_compared_as_numbers(tmp_path: Path, column: str, value: Any) -> None:
    """pandas reads a column as floats once one of its values is missing or has a point."""
    table = Table(tmp_path / "t.csv", FIGURE5)
    table.add(CELL, VALUES)
    assert Table(table.path, FIGURE5).has({**CELL, column: value})


def test_a_line_that_was_cut_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table = Table(path, FIGURE5)
    table.add(CELL, VALUES)
    table.add({**CELL, "seed": 1}, VALUES)
    path.write_text(path.read_text()[:-4])
    again = Table(path, FIGURE5)
    assert again.has(CELL)
    assert not again.has({**CELL, "seed": 1})
    again.add({**CELL, "seed": 1}, VALUES)
    assert len(again.rows()) == 2


def test_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    Table(path, FIGURE5).add(CELL, VALUES)
    with pytest.raises(InputError, match="another version; choose another --out"):
        Table(path, replace(FIGURE5, values=("c", "columns")))
