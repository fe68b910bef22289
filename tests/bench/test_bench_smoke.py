"""Tests: the benches themselves, at toy size: they run, count right, and refuse to judge a busy machine."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from tests.bench import inputs, timing
from tests.bench.__main__ import main
from tests.bench.records import Row, table


@pytest.mark.parametrize("name", ["matvec", "features", "clustering"])
def test_every_bench_runs(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    assert main(["--quick", "--only", name, "--json", str(out), "--threads", "1"]) == 0
    printed = capsys.readouterr().out
    assert "not judged" in printed
    assert "MISSED" not in printed
    record = json.loads(out.read_text())
    assert all(row["bench"] == name and np.isfinite(row["measured"]) for row in record["rows"])


@pytest.mark.slow
def test_the_memory_bench_runs() -> None:
    assert main(["--quick", "--only", "memory", "--threads", "1"]) == 0


def test_a_miss_is_said() -> None:
    rows = [Row("b", "speed", 2.0, 1.5, "times"), Row("b", "memory", 100, 120, "MiB", less_is_better=True)]
    assert [r.verdict for r in rows] == ["MISSED", "MISSED"]
    rows = [Row("b", "speed", 2.0, 2.5, "times"), Row("b", "memory", 100, 90, "MiB", less_is_better=True)]
    assert [r.verdict for r in rows] == ["reached", "reached"]
    assert "125 %" in table(rows)


@pytest.mark.parametrize(("rate", "quiet"), [(100.0, True), (91.0, True), (111.0, False), (60.0, False)])
def test_a_busy_machine_is_not_judged(rate: float, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "sgemm", lambda *_: [rate] * 5)
    yardstick = timing.Yardstick(2, calibration=100.0)
    with yardstick.watch("x") as verdict:
        pass
    assert verdict() is quiet
    assert ("refused" in " ".join(yardstick.notes())) is not quiet


def test_timings_alternate() -> None:
    order: list[str] = []
    a, b = timing.alternate(
        lambda: order.append("a"), lambda: order.append("b") or time.sleep(0.001), repeats=3
    )
    assert "".join(order) == "abababab"
    assert len(a) == len(b) == 3
    assert min(b) >= 0.001


def test_the_stand_in_looks_like_digits(tmp_path: Path) -> None:
    data = inputs.digits(500, tmp_path / "absent.npz")
    assert data.X.shape == (500, 784)
    assert data.X.dtype == np.float32
    assert (data.X.min(), data.X.max() <= 255) == (0, True)
    assert 0.3 < (data.X == 0).mean() < 0.9
    assert "stand-in" in data.source
