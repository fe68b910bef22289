"""Tests: progress leaves the solvers as records, to the sinks of one fit and of the process, in order."""

from __future__ import annotations

import numpy as np
import pytest

import daskkernels as dk
from daskkernels import events


@pytest.fixture
def heard():
    """Everything that is reported in this process during one test."""
    found: list[events.Event] = []
    events.sinks.append(found.append)
    yield found
    events.sinks.remove(found.append)


def test_local_sinks_first(heard: list[events.Event]) -> None:
    order: list[str] = []
    events.sinks.append(lambda _: order.append("process"))
    try:
        events.reporter([lambda _: order.append("fit")]).emit(events.StageStarted("s"))
    finally:
        events.sinks.pop()
    assert order == ["fit", "process"]
    assert heard == [events.StageStarted("s")]


def test_a_stage_ends_even_when_it_fails(heard: list[events.Event]) -> None:
    with pytest.raises(KeyError), events.reporter().stage("s", 3):
        raise KeyError
    assert heard[0] == events.StageStarted("s", 3)
    assert isinstance(heard[1], events.StageEnded)
    assert heard[1].seconds >= 0


def test_timings_add_up() -> None:
    timings = events.Timings()
    for event in (events.StageEnded("a", 1.0), events.StageStarted("b"), events.StageEnded("a", 0.5)):
        timings(event)
    assert timings.seconds == {"a": 1.5}


def test_a_fit_reads_like_its_algorithm(heard: list[events.Event]) -> None:
    X = np.random.default_rng(0).normal(size=(3000, 3))
    model = dk.KernelKMeans(4, n_landmarks=30, random_state=0).fit(X)
    stages = [e.stage for e in heard if isinstance(e, events.StageStarted)]
    order = list(dict.fromkeys(stages))
    assert order[:4] == ["bandwidth", "nystrom-landmarks", "nystrom-gram", "nystrom-project"]
    assert set(order[4:]) >= {"kmeans-seed", "kmeans-assign", "kmeans-labels"}
    iterations = [e for e in heard if isinstance(e, events.Iteration)]
    assert [e.iteration for e in iterations] == list(range(1, model.n_iter_ + 1))
    ended = {e.stage for e in heard if isinstance(e, events.StageEnded)}
    assert ended == set(stages)


def test_blocks_are_counted(heard: list[events.Event]) -> None:
    dk.Standardize().fit(np.zeros((5 * 1024, 2)))
    started = next(e for e in heard if isinstance(e, events.StageStarted))
    counts = [e for e in heard if isinstance(e, events.StageProgress)]
    assert started.total == 5
    assert [e.done for e in counts] == [1, 2, 3, 4, 5]
    assert {e.total for e in counts} == {5}


def test_a_failing_sink_is_not_hidden() -> None:
    def broken(event: events.Event) -> None:
        raise RuntimeError("sink")

    events.sinks.append(broken)
    try:
        with pytest.raises(RuntimeError, match="sink"):
            dk.Standardize().fit(np.zeros((3, 2)))
    finally:
        events.sinks.remove(broken)


def test_verbose_draws_bars(capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(2100, 3))
    dk.KernelKMeans(3, n_landmarks=20, random_state=0, verbose=1).fit(X)
    shown = capsys.readouterr()
    assert "nystrom-gram" in shown.err
    assert "kmeans-assign" in shown.err
    assert shown.out == ""
