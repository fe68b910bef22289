"""Runs made of numbers that were not measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pipelines.bench.records import Row
from pipelines.bench.result_file import Run

MACHINE = {"cpu": "a processor", "cores": 2, "memory GiB": 16.0, "BLAS": "openblas 1", "threads": 2}


@pytest.fixture
def made_run() -> Callable[..., Run]:
    """`made_run(rows, sgemm=100.0, ...)`: a run of these rows."""

    def make(
        *rows: Row, sgemm: float = 100.0, quick: bool = False, complete: bool = True, **machine: object
    ) -> Run:
        return Run(
            date="2026-01-01T00:00:00+00:00",
            command="python -m pipelines bench",
            quick=quick,
            complete=complete,
            data="digits",
            versions={"numpy": "2"},
            machine={**MACHINE, **machine},
            sgemm=sgemm,
            checks={"before features": sgemm},
            rows=rows,
            notes=("a note",),
        )

    return make
