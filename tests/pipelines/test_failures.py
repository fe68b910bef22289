"""Exit codes and one-line messages."""

from __future__ import annotations

import pytest

from daskkernels.errors import DivergenceError
from daskkernels.plan import PlanError
from pipelines.failures import InputError, Interrupted, exit_code, one_line

killed = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no"), 2),
        (ValueError("no"), 2),
        (TypeError("no"), 2),
        (PlanError("too large"), 2),
        (MemoryError(), 1),
        (OSError("disk full"), 1),
        (RuntimeError("no"), 1),
        (DivergenceError("grew"), 1),
        (Interrupted("interrupted; go on"), 130),
        (killed("no"), 1),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("a defect"), None),
    ],
)
def test_codes(error: BaseException, code: int | None) -> None:
    assert exit_code(error) == code


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("a\n  b"), "a b"),
        (MemoryError(), "MemoryError"),
        (KeyboardInterrupt(), "interrupted"),
        (Interrupted("interrupted; go on"), "interrupted; go on"),
        (
            killed("x"),
            "x (a worker was lost, perhaps for want of memory: see --memory-limit and the dashboard)",
        ),
    ],
)
def test_lines(error: BaseException, line: str) -> None:
    assert one_line(error) == line
