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


def test_clocks_that_heard_the_same_are_two() -> None:
    outer, inner = StageClock(), StageClock()
    with listening(outer):
        with listening(inner), stage("a"):
            pass
        with stage("b"):
            pass
    assert list(inner.seconds) == ["a"]
    assert list(outer.seconds) == ["a", "b"]


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


def test_an_epoch_is_a_line_and_a_smaller_step_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    figures = {"epoch": 0, "seconds": 1.5, "train_mse": 0.25, "rows_per_second": 2e3, "step_size": 8.0}
    with listening(ProgressLine()), stage("fit"):
        for step in (8.0, 4.0):
            events.reporter().emit(events.Iteration("eigenpro-epoch", 0, figures | {"step_size": step}))
        judged = {"validation_mse": 0.5, "validation_error": 0.125}
        events.reporter().emit(events.Iteration("eigenpro-epoch", 1, figures | judged))
    assert capsys.readouterr().err.splitlines()[:3] == [
        "  epoch 1: training residual 0.25, 1.5 s, 2,000 rows/s",
        "  epoch 1: training residual 0.25, 1.5 s, 2,000 rows/s, the residual grew: step 8 -> 4",
        "  epoch 1: training residual 0.25, validation MSE 0.5, validation error 12.50%, 1.5 s, 2,000 rows/s",
    ]
