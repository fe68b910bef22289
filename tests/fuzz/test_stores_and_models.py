"""Ten thousand mutated stores and models: refused by name or right, nothing outside is read or run.

Each process has its own time, memory and audit hook, so that a hang or a crash is one failed test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE, ALL, PART = 500, 10_000, 950


def run(folder: Path, first: int, count: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The failures and the number of cases of each outcome."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.runner"]
    done = subprocess.run(
        [*command, str(folder), str(first), str(count)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process ended with {done.returncode}: {done.stderr[-3000:]}"
    return lines[:-1], lines[-1]["totals"]


def told(failures: list[dict[str, Any]]) -> str:
    return "\n\n".join("\n".join(f"{k}: {v}" for k, v in failure.items()) for failure in failures[:5])


def test_five_hundred(tmp_path: Path) -> None:
    failures, totals = run(tmp_path, 0, SUITE)
    assert not failures, told(failures)
    assert sum(totals.values()) == SUITE
    for outcome in ("DigestError", "BlockReadError", "ModelError", "the same", "opened"):
        assert totals.get(outcome), f"no case was {outcome}: {totals}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SUITE, ALL, PART))
def test_all(tmp_path: Path, first: int) -> None:
    failures, totals = run(tmp_path, first, PART)
    assert not failures, told(failures)
    assert sum(totals.values()) == PART
