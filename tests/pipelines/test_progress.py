"""Sinks of a job: seconds that add up, and lines on stderr."""

from __future__ import annotations

import re
import time

import pytest

from daskkernels import events
from pipelines.progress import ProgressLine, StageClock, listening, stage


def test_seconds_of_inner_stages_are_not_counted_twice() -> None:
    clock = StageClock()
    started = time.perf_counter()
    with listening(clock), stage("outer"):
        time.sleep(0.02)
        for _ in range(2):
            with stage("inner"):
                time.sleep(0.02)
    wall = time.perf_counter() - started
    assert list(clock.seconds) == ["outer", "inner"]
    assert clock.seconds["outer"] >= 0.019
    assert clock.seconds["inner"] >= 0.039
    assert sum(clock.seconds.values()) <= wall
    assert [name for name, _ in clock.timings] == ["outer, the rest", "inner"]


def test_sinks_listen_no_longer_than_asked() -> None:
    before = list(events.sinks)
    with pytest.raises(RuntimeError, match="stop"), listening(StageClock()), stage("a"):
        raise RuntimeError("stop")
    assert events.sinks == before


def play() -> None:
    """What a fit inside a job sends."""
    reporter = events.reporter()
    with stage("fit"), reporter.stage("kmeans-assign", 2):
        reporter.emit(events.StageProgress("kmeans-assign", 1, 2))
        reporter.emit(events.Iteration("kmeans-assign", 1, {"inertia": 2.5}))
        reporter.emit(events.StageProgress("kmeans-assign", 2, 2))


def test_one_line_for_each_stage_of_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(ProgressLine()):
        play()
    out, error = capsys.readouterr()
    assert not out
    assert re.fullmatch(r"fit: 0\.\d\d s\n", error)


def test_verbose_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(ProgressLine(verbose=True)):
        play()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0].strip() for line in lines] == ["kmeans-assign 1", "kmeans-assign", "fit"]
    assert "inertia 2.5" in lines[0]


def test_verbose_says_a_repeated_stage_and_an_iteration_once(capsys: pytest.CaptureFixture[str]) -> None:
    line = ProgressLine(verbose=True)
    line(events.StageStarted("fit"))
    for name, runs in (("seed", 3), ("assign", 2)):
        for run in range(1, runs + 1):
            line(events.StageStarted(name))
            line(events.StageEnded(name, 0.25))
            if name == "assign":
                for shift in (0.5, 0.125):  # two restarts
                    line(events.Iteration(name, run, {"shift": shift, "threshold": 0.1}))
    line(events.StageEnded("fit", 2.0))
    assert capsys.readouterr().err.splitlines() == [
        "  seed: 0.75 s",
        "  assign 1: shift 0.5 0.125, threshold 0.1",
        "  assign 2: shift 0.5 0.125, threshold 0.1",
        "  assign: 0.50 s",
        "fit: 2.00 s",
    ]


def test_a_terminal_sees_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with listening(ProgressLine()):
        play()
    assert "kmeans-assign" in capsys.readouterr().err
