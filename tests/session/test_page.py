"""Tests: the page of running fits, looked at in a real browser while fits run, and where it is served."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from daskkernels import events
from daskkernels.session.page import FitsPage, add_page, page_link, whole_page
from tests.pipelines.page import Page

from .browser import CHROMIUM, Browser
from .test_by_hand import LIBRARY, started, written

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(3000, 4)), RNG.integers(3, size=3000)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to look at pages with")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with dk.connect("threads", threads_per_worker=2, memory_limit="3GiB") as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def fetched(address: str) -> tuple[str, Any]:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read().decode(), answer.headers


def newest(link: str) -> dict[str, Any]:
    return dict(json.loads(fetched(f"{link}/state.json")[0])["fits"][0])


@contextmanager
def held(stage: str, iteration: int, fit: Any) -> Iterator[None]:
    """Run a fit in a thread, and hold it in this iteration during the block."""
    reached, on = threading.Event(), threading.Event()

    def hold(event: events.Event) -> None:
        if isinstance(event, events.Iteration) and (event.stage, event.iteration) == (stage, iteration):
            reached.set()
            on.wait(60)

    events.sinks.append(hold)
    thread = threading.Thread(target=fit)
    thread.start()
    try:
        assert reached.wait(60)
        yield
    finally:
        on.set()
        thread.join(60)
        events.sinks.remove(hold)


@needs_browser
def test_a_running_eigenpro_fit(client: Client, browser: Browser, tmp_path: Path) -> None:
    model = dk.EigenProClassifier(max_epochs=4, round_size=1000, n_subsamples=200, random_state=0)
    browser.open(page_link(client))
    with held("eigenpro-epoch", 1, lambda: model.fit(X, Y, validation=(X[:300], Y[:300]))):
        browser.wait_for("document.body.innerText.includes('Validation error')")
        browser.wait_for("document.querySelectorAll('svg circle').length >= 5")
        text = browser.text()
        for part in ("EigenProClassifier", "Running", "1 running", "3\u2009000 rows, 4 columns", "of 4"):
            assert part in text
        for part in ("Time left", "at most", "rows/s", "GFLOP/s", "Read from storage", "Training residual"):
            assert part in text
        assert "Memory of the fullest worker" in text
        assert "limit 3.00 GiB" in text
        assert "planned" in text
        residual, error = browser.value("[...document.querySelectorAll('svg')].map(s => s.ariaLabel)")
        assert "training" in residual
        assert "validation" in residual
        assert error.startswith("Validation error: wrong")
        width = browser.value("document.querySelector('.bar > i').style.width")
        assert 40 <= float(width.rstrip("%")) <= 60, "two of four epochs"
        browser.photograph(tmp_path / "light.png")
        browser.open(page_link(client), dark=True)
        browser.wait_for("document.querySelector('svg')")
        dark = browser.value("getComputedStyle(document.body).backgroundColor")
        assert max(map(int, dark.strip("rgb()").split(","))) < 60
    browser.wait_for("document.querySelector('.badge').textContent === 'Done'")
    assert "4 of 4 epochs" in browser.text()
    assert browser.messages == []
    assert (tmp_path / "light.png").stat().st_size > 10_000


@needs_browser
def test_a_running_clustering(client: Client, browser: Browser) -> None:
    model = dk.KernelKMeans(5, n_landmarks=50, random_state=0)
    browser.open(page_link(client), width=420)
    with held("kmeans-assign", 3, lambda: model.fit(X)):
        browser.wait_for(
            "document.querySelector('.where')?.textContent.includes('Iteration 3 of at most 100')"
        )
        first = browser.value("document.querySelector('article').innerText")
        for part in ("KernelKMeans", "Running", "Squared shift", "stops below", "Movement of the centers"):
            assert part in first
        wide = "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 420)"
        assert browser.value(f"{wide}.map(e => e.outerHTML.slice(0, 200))") == []
        assert browser.value("document.querySelector('article svg polyline').points.length") == 3
        browser.value("document.querySelector('article details').open = true")
    browser.wait_for("document.querySelector('.badge').textContent === 'Done'")
    assert browser.value("document.querySelector('article details').open"), "what was opened stays open"
    assert f"{model.n_iter_} iterations" in browser.text()
    assert "nystrom-gram" in browser.text()
    assert browser.messages == []


@needs_browser
def test_names_are_text(client: Client, browser: Browser) -> None:
    bad = "<img src=x onerror=document.title='hurt'>"
    record = {"fit": "evil", "estimator": bad, "event": "fit-started", "time": 0.0}
    figures = {"rows": 1, "columns": 1, "bytes": 8}
    client.log_event("daskkernels", record | {"figures": figures, "client": "nobody"})
    client.log_event(
        "daskkernels", record | {"event": "fit-ended", "outcome": "failed", "message": f"E: {bad}"}
    )
    browser.open(page_link(client))
    browser.wait_for("document.querySelector('h2')")
    assert browser.value("document.querySelector('h2').textContent") == bad
    assert browser.value("document.querySelector('.message').textContent") == f"E: {bad}"
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert "1 column," in browser.text()


@needs_browser
def test_a_tab_of_the_dashboard(client: Client, browser: Browser) -> None:
    pytest.importorskip("bokeh", reason="the dashboard needs bokeh")
    browser.open(client.dashboard_link)
    browser.wait_for("document.querySelector('a[href=daskkernels]')")
    browser.value("document.querySelector('a[href=daskkernels]').click()")
    browser.wait_for("document.querySelector('h1')?.textContent === 'Fits'")
    browser.value("document.querySelector('#dashboard').click()")
    browser.wait_for("location.pathname === '/status'")


def test_the_page_stands_alone() -> None:
    text, policy = whole_page()
    page = Page(text)
    assert "script" in page.tags
    assert page.values("src") == []
    assert set(page.values("href")) == {"data:,", "status", "daskkernels/state.json"}
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "unsafe" not in policy


def test_foreign_events_do_no_harm(client: Client) -> None:
    record = {"fit": "foreign", "event": "fit-started", "time": float("nan"), "figures": {}}
    client.log_event("daskkernels", record)
    client.log_event("daskkernels", record | {"time": 0.0, "figures": {"rows": [1], "bytes": float("inf")}})
    fit = newest(page_link(client))
    assert (fit["fit"], fit["sizes"]) == ("foreign", {})


def test_no_store_and_any_prefix(client: Client) -> None:
    link = page_link(client)
    for address in (link, f"{link}/", link.replace("/daskkernels", "/some/prefix/daskkernels")):
        text, headers = fetched(address)
        assert text == whole_page()[0]
        assert headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert json.loads(fetched(f"{address.rstrip('/')}/state.json")[0])["workers"] == 1


def test_the_link_is_written_once_a_connection(capsys: pytest.CaptureFixture[str]) -> None:
    with dk.connect("threads") as first, dk.connect(first.scheduler.address) as second:
        assert capsys.readouterr().err.count("Running fits: http://") == 2
        assert page_link(first).rpartition(":")[2] == page_link(second).rpartition(":")[2]
        plugins = first.cluster.scheduler.plugins
        assert sum(isinstance(plugin, FitsPage) for plugin in plugins.values()) == 1


def test_without_a_dashboard() -> None:
    """Bokeh is missing or not wanted: the small web server runs in any case."""
    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        Client(cluster) as client,
    ):
        dk.Standardize().fit(X)
        assert add_page(client)
        port = cluster.scheduler.http_server.port
        fit = newest(f"http://127.0.0.1:{port}/daskkernels")
        assert (fit["estimator"], fit["outcome"], fit["sizes"]["rows"]) == ("Standardize", "done", 3000)


def test_a_scheduler_started_by_hand(tmp_path: Path) -> None:
    """In another process, under a prefix: with this library there is a page, and a lost client is noticed."""
    file = tmp_path / "scheduler" / "address.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
    process = started(
        file.parent, "scheduler", *options, "--dashboard-prefix", "pre", "--scheduler-file", str(file)
    )
    try:
        address = written(file, process)
        with dk.connect(address) as client:
            port = client.scheduler_info()["services"]["dashboard"]
            link = f"http://127.0.0.1:{port}/pre/daskkernels"
            record = {"fit": "f", "estimator": "E", "event": "fit-started", "time": 0.0, "figures": {}}
            client.log_event("daskkernels", record | {"client": client.id})
            assert newest(link)["outcome"] == "running"
        with dk.connect(address):
            assert newest(link)["outcome"] == "lost"
    finally:
        process.terminate()
        process.wait(20)


def test_a_scheduler_without_the_library(tmp_path: Path) -> None:
    """No page and no error; its log of events is there all the same."""
    stub = tmp_path / "stub" / "daskkernels"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("raise ModuleNotFoundError('no daskkernels here')")
    file = tmp_path / "address.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    command += ["--no-dashboard", "--scheduler-file", str(file)]
    with (tmp_path / "log").open("wb") as log:
        environment = os.environ | {"PYTHONPATH": str(stub.parent)}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        assert stub.parent != LIBRARY
        with Client(written(file, process), set_as_default=False) as client:  # connect refuses it
            assert not add_page(client)
            from daskkernels.session.forward import Forwarder

            sink = Forwarder(client)
            sink(events.FitStarted("f", "E", {}))
            sink(events.FitEnded("f", "done"))
            found = [record["event"] for _, record in client.get_events("daskkernels")]
            assert found == ["fit-started", "fit-ended"]
    finally:
        process.terminate()
        process.wait(20)
