"""Tests of the timings: turns, warm-up, preparation, and the check against the calibration."""

from __future__ import annotations

import time

import pytest

from pipelines.bench import timing
from pipelines.bench.timing import Yardstick


@pytest.fixture(autouse=True)
def _no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """The objects of a whole test session take a while."""
    monkeypatch.setattr(timing.gc, "collect", lambda: 0)


@pytest.mark.parametrize(("rate", "quiet"), [(100.0, True), (91.0, True), (111.0, False), (60.0, False)])
def test_a_busy_machine_is_not_judged(rate: float, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "sgemm", lambda *_: [rate] * 5)
    yardstick = Yardstick(2, calibration=100.0)
    with yardstick.watch("x") as may_judge:
        pass
    assert may_judge() is quiet
    assert ("refused" in " ".join(yardstick.notes())) is not quiet
    assert yardstick.checks == {"before x": rate, "after x": rate}


def test_a_machine_that_becomes_busy_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([100.0, 60.0])
    monkeypatch.setattr(timing, "sgemm", lambda *_: [next(rates)] * 5)
    yardstick = Yardstick(2, calibration=100.0)
    yardstick.pause = 0.0
    assert not yardstick.race("x", lambda: None).judged
    assert "(after x 60)" in " ".join(yardstick.notes())


def test_sides_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "sgemm", lambda *_: [100.0])
    yardstick, order = Yardstick(1, quick=True), list[str]()
    yardstick.repeats = 3
    found = yardstick.race(
        "x",
        lambda: order.append("a"),
        lambda: order.append("b") or time.sleep(0.002),
        lambda: order.append("."),
    )
    assert "".join(order) == ".a.b" * 4  # the first turn is a warm-up
    assert (len(found.samples.ours), len(found.samples.peer)) == (3, 3)
    assert min(found.samples.peer) >= 0.002
    assert found.samples.times > 1
    assert not found.judged


def test_one_side_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "sgemm", lambda *_: [100.0])
    found = Yardstick(1, quick=True).race("x", lambda: None)
    assert (found.samples.peer, found.samples.peer_median) == ((), None)
