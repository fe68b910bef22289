"""Tests: an experiment is measured once, goes on after an interrupt, and leaves CSV, plot and verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main
from pipelines.reproduce import job
from pipelines.reproduce.arguments import ReproduceRequest
from pipelines.reproduce.experiments import maps_nmi


def request(folder: Path) -> ReproduceRequest:
    return ReproduceRequest(("figure4",), folder, folder / "data", None, quick=True, quiet=True, command="it")


@pytest.fixture
def few(monkeypatch: Any) -> list[dict[str, Any]]:
    """Figure 4 on shipped data, Nyström features alone, two sizes; returns the cells."""
    cells = [
        {"data": "pendigits", "method": "nystrom", "rule": rule, "multiple": 3, "seed": 0}
        for rule in ("k", "sqrt(kc)")
    ]
    chosen = replace(maps_nmi.EXPERIMENT, cells=lambda quick: cells, claims=lambda rows: [])
    monkeypatch.setattr(job, "experiment", lambda name: chosen)
    return cells


def test_results_are_written_once(tmp_path: Path, few: Any, monkeypatch: Any) -> None:
    assert job.reproduce(request(tmp_path)) == ""
    csv = (tmp_path / "figure4-quick.csv").read_text()
    assert csv.count("\n") == 1 + len(few)
    assert all(0.5 < float(line.split(",")[7]) < 0.8 for line in csv.splitlines()[1:])  # published: .68
    assert (tmp_path / "figure4-quick.svg").stat().st_size > 5000
    verdict = (tmp_path / "figure4-quick.md").read_text()
    assert "Command: `it`" in verdict
    assert "daskkernels" in verdict
    monkeypatch.setattr(maps_nmi, "clustered", None)  # nothing is measured again
    job.reproduce(request(tmp_path))
    assert (tmp_path / "figure4-quick.csv").read_text() == csv


def test_it_goes_on_after_an_interrupt(tmp_path: Path, few: Any, monkeypatch: Any) -> None:
    chosen, measured = job.experiment("figure4"), []

    def interrupted(cell: Any, sources: Any) -> Any:
        measured.append(cell)
        if len(measured) == 2:
            raise KeyboardInterrupt
        return {"c": 30, "s": 10, "nmi": 0.5, "seconds": 1.0}

    monkeypatch.setattr(job, "experiment", lambda name: replace(chosen, measure=interrupted))
    with pytest.raises(KeyboardInterrupt):
        job.reproduce(request(tmp_path))
    job.reproduce(request(tmp_path))
    assert measured == [few[0], few[1], few[1]]


def test_command_line(capsys: Any, tmp_path: Path) -> None:
    assert main(["reproduce", "--help"]) == 0
    assert "eigenpro-readme" in capsys.readouterr().out
    assert main(["reproduce", "figure9", "--out", str(tmp_path)]) == 2
    assert main(["reproduce", "figure2", "--out", str(tmp_path), "--raw", str(tmp_path), "-q"]) == 2
    assert "--raw" in capsys.readouterr().err
