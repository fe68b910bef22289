"""Tests: the events of a fit reach the scheduler, cost the fit nothing and never stop it."""

from __future__ import annotations

import json
import time
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client

import daskkernels as dk
from daskkernels import events
from daskkernels.session import forward, page
from daskkernels.session.forward import Forwarder

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3000, 4)), RNG.integers(3, size=3000)


@pytest.fixture
def client(client_threads: Client) -> Client:
    return client_threads


def records(client: Client) -> list[dict[str, Any]]:
    """Those of the last fit."""
    found = [dict(record) for _, record in client.get_events("daskkernels")]
    return [record for record in found if record["fit"] == found[-1]["fit"]]


def test_a_clustering_as_the_scheduler_sees_it(client: Client) -> None:
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(X)
    found = records(client)
    assert [found[0]["event"], found[-1]["event"]] == ["fit-started", "fit-ended"]
    assert {record["estimator"] for record in found} == {"KernelKMeans"}
    assert found[0]["figures"] == {"rows": 3000, "columns": 4, "bytes": X.nbytes}
    assert found[0]["client"] == client.id
    assert found[-1]["outcome"] == "done"
    (planned,) = (record for record in found if record["event"] == "planned")
    assert planned["figures"]["worker_bytes"] == model.plan_.worker_bytes
    assert planned["figures"]["seconds"] > 0
    assert planned["stages"]["kmeans-assign"]["rows"] == 3000
    iterations = [record["iteration"] for record in found if record["event"] == "iteration"]
    assert iterations == list(range(1, model.n_iter_ + 1))
    started = [record["stage"] for record in found if record["event"] == "stage-started"]
    assert sorted(started) == sorted(r["stage"] for r in found if r["event"] == "stage-ended")
    assert [record["time"] for record in found] == sorted(record["time"] for record in found)
    json.dumps(found, allow_nan=False)


def test_epochs_and_rounds(client: Client) -> None:
    model = dk.EigenProClassifier(max_epochs=2, round_size=1000, n_subsamples=200, random_state=0)
    model.fit(X, Y, validation=(X[:300], Y[:300]))
    found = records(client)
    before, planned = (record["figures"] for record in found if record["event"] == "planned")
    assert "epochs" not in before  # of the whole fit, while it is set up
    assert planned["epochs"] == 2
    assert planned["epoch_rows"] == 3000
    assert planned["flops"] == pytest.approx(2 * model.plan_.rounds.epoch_flops)
    rounds = [r for r in found if r["event"] == "iteration" and r["stage"] == "eigenpro-round"]
    assert rounds[-1]["figures"]["epoch"] == 1
    assert rounds[-1]["figures"]["rows"] == 3000
    assert rounds[-1]["iteration"] == planned["rounds"]
    epochs = [r for r in found if r["event"] == "iteration" and r["stage"] == "eigenpro-epoch"]
    assert [e["figures"]["train_mse"] for e in epochs] == [h["train_mse"] for h in model.history_]
    assert all("validation_error" in epoch["figures"] for epoch in epochs)


def test_rounds_add_up_to_their_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round a graph: the residuals of the rounds, weighed by their rows, are the epoch's."""
    monkeypatch.setattr("daskkernels.plan_rounds.GROUP_ROUNDS", 1)
    heard: list[events.Event] = []
    events.sinks.append(heard.append)
    try:
        model = dk.EigenProRegressor(max_epochs=1, round_size=1000, n_subsamples=200, random_state=0)
        model.fit(X, X.sum(1))
    finally:
        events.sinks.remove(heard.append)
    rounds = [e for e in heard if isinstance(e, events.Iteration) and e.stage == "eigenpro-round"]
    assert len(rounds) >= 3
    done = [0.0, *(e.figures["rows"] for e in rounds)]
    total = sum(np.diff(done) * [e.figures["train_mse"] for e in rounds])
    assert total / 3000 == pytest.approx(model.history_[0]["train_mse"])
    assert all(e.figures["rows_per_second"] > 0 for e in rounds)


def test_failures_are_marked(client: Client) -> None:
    bad = X.copy()
    bad[17, 1] = np.nan
    with pytest.raises(ValueError, match="17"):
        dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(bad)
    last = records(client)[-1]
    assert (last["event"], last["outcome"]) == ("fit-ended", "failed")
    assert "17" in last["message"]


def test_interrupts_are_marked(client: Client) -> None:
    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.Iteration):
            raise KeyboardInterrupt

    events.sinks.append(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(X)
    finally:
        events.sinks.remove(interrupt)
    assert records(client)[-1]["outcome"] == "interrupted"


def test_predictions_are_no_fits(client: Client) -> None:
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(X)
    before = len(client.get_events("daskkernels"))
    model.predict(X)
    assert len(client.get_events("daskkernels")) == before


def test_progress_is_thinned(client: Client) -> None:
    sink = Forwarder(client)
    sink(events.FitStarted("thinned", "E"))
    sink(events.StageStarted("s", 5000))
    for done in range(5000):
        sink(events.StageProgress("s", done, 5000))
    for number in range(50):
        sink(events.Iteration("s", number, {"a": float("nan"), "b": np.float32(0.5)}))  # type: ignore[dict-item]
    sink(events.FitEnded("thinned", "done"))
    found = records(client)
    assert found[-1]["event"] == "fit-ended"
    assert sum(record["event"] == "stage-progress" for record in found) < 20
    iterations = [record for record in found if record["event"] == "iteration"]
    assert [record["iteration"] for record in iterations] == list(range(50))
    assert iterations[0]["figures"] == {"a": None, "b": 0.5}


def test_a_scheduler_without_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may not have this library, or an older one: events go one by one."""
    monkeypatch.setattr(forward, "add_page", lambda _client: False)
    dk.Standardize().fit(X)
    assert [record["event"] for record in records(client)][0::100] == ["fit-started"]
    assert records(client)[-1]["outcome"] == "done"


def test_a_refused_page_is_no_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_plugin: Any) -> None:
        raise ModuleNotFoundError("No module named 'daskkernels'")

    monkeypatch.setattr(client, "register_plugin", refuse)
    page._has_page.pop(client, None)
    assert not page.add_page(client)
    assert page.page_link(client) == ""


def test_a_client_that_is_gone() -> None:
    client = dk.connect("threads")
    sink = Forwarder(client)
    client.close()
    before = time.monotonic()
    sink(events.FitStarted("gone", "E"))
    for number in range(5000):
        sink(events.Iteration("s", number))
    sink(events.FitEnded("gone", "done"))
    assert time.monotonic() - before < forward.LAST_SECONDS + 2


def test_a_scheduler_that_does_not_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit goes on, and waits once, shortly."""

    async def fail(_self: Forwarder, _records: Any) -> None:
        raise OSError("connection lost")

    monkeypatch.setattr(Forwarder, "_deliver", fail)
    before = len(client.get_events("daskkernels"))
    dk.Standardize().fit(X)
    assert len(client.get_events("daskkernels")) == before


def test_without_a_client_nobody_is_told() -> None:
    with dask.config.set(scheduler="sync"):
        from daskkernels.runtime import active_runtime

        assert active_runtime().listeners() == ()
