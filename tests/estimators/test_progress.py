"""Tests: `verbose=1` draws bars where they can be drawn over, and writes few whole lines into logs."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.estimators import progress
from daskkernels.estimators.progress import ProgressBar
from daskkernels.events import FitStarted, Iteration, StageEnded, StageProgress, StageStarted

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(1500, 3)), RNG.integers(3, size=1500)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def eigenpro() -> dk.EigenProClassifier:
    return dk.EigenProClassifier(max_epochs=2, round_size=500, n_subsamples=200, random_state=0, verbose=1)


def last_states(text: str) -> list[str]:
    """The lines as they stay on the screen."""
    return [line.split("\r")[-1] for line in text.split("\n") if line.strip("\r ")]


def test_epochs_have_one_bar() -> None:
    with redirect_stderr(Terminal()) as terminal:
        eigenpro().fit(X, Y, validation=(X[:200], Y[:200]))
    bars = last_states(terminal.getvalue())
    (bar,) = (line for line in bars if line.startswith("eigenpro:"))
    for part in ("100%", "epoch=2/2", "residual=", "validation=", "error="):
        assert part in bar
    assert re.search(r"round=(\d)/\1", bar)
    assert bars[-1] == bar


def test_iterations_have_one_bar() -> None:
    with redirect_stderr(Terminal()) as terminal:
        model = dk.KernelKMeans(3, n_landmarks=30, random_state=0, verbose=1).fit(X)
    (bar,) = (line for line in last_states(terminal.getvalue()) if line.startswith("kmeans-assign"))
    assert f"iteration={model.n_iter_}" in bar
    assert "shift=" in bar


def test_a_log_holds_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    eigenpro().fit(X, Y, validation=(X[:200], Y[:200]))
    shown = capsys.readouterr().err
    assert "\r" not in shown
    assert "\x1b" not in shown
    lines = shown.splitlines()
    assert lines[0] == "EigenProClassifier: 1500 rows of 3 columns"
    assert lines[-1].startswith("epoch 2/2: residual ")
    in_all = [line for line in lines if line.endswith(" s in all")]
    stages = [line.split(":")[0] for line in lines if line not in in_all]
    assert len(stages) == len(set(stages)), "a line a stage, and one more where it came several times"
    assert [line for line in in_all if re.fullmatch(r"eigenpro-predict: \d times, \d+\.\d\d s in all", line)]


def test_a_log_of_a_long_stage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    bar = ProgressBar()
    bar(FitStarted("f", "E", {"rows": 10, "columns": 2}))
    bar(StageStarted("s", 600))
    for done in range(600):
        now[0] += 0.1
        bar(StageProgress("s", done, 600))
    bar(StageEnded("s", 60.0))
    for number in range(600):
        now[0] += 0.1
        bar(StageStarted("i", 1))
        bar(StageEnded("i", 0.1))
        bar(Iteration("i", number, {"shift": 1.0}))
    bar.close()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) <= 2 * 60 / progress.LINE_SECONDS + 5
    assert lines[-1] == "i iteration 599: shift 1"


def test_nothing_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    dk.EigenProClassifier(max_epochs=1, random_state=0).fit(X, Y).predict(X)
    dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(X)
    assert capsys.readouterr() == ("", "")
