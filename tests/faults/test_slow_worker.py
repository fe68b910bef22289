"""Tests: a worker that stands still, for a while or for good."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, LocalCluster

from tests.faults.fits import FITS
from tests.faults.strikes import stop, striking

pytestmark = pytest.mark.timeout(90)
CASES = [("clusters", "nystrom-gram", 2), ("classifier", "eigenpro-solve", 3)]


@pytest.mark.parametrize(("name", "stage", "nth"), CASES)
def test_a_worker_pauses_for_seconds(
    client: Client, pair: LocalCluster, data: Any, same: Any, name: str, stage: str, nth: int
) -> None:
    with striking(pair, stage, "processing", stop(pair, 3.0), nth):
        model = FITS[name][0]().fit(data.X, data.y)
    same(name, model)


@pytest.mark.parametrize(("name", "stage", "nth"), CASES)
def test_a_worker_stops_for_good(
    client: Client,
    pair: LocalCluster,
    data: Any,
    same: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    stage: str,
    nth: int,
) -> None:
    """The scheduler looks every `worker-ttl` (5 minutes) who was silent that long; here it looks at once."""
    monkeypatch.setattr(pair.scheduler, "worker_ttl", 1.0)
    halt, loop = stop(pair, None), pair.scheduler.loop

    def blow(worker: str) -> None:
        halt(worker)
        loop.call_later(7.0, lambda: loop.add_callback(pair.scheduler.check_worker_ttl))

    with striking(pair, stage, "processing", blow, nth):
        model = FITS[name][0]().fit(data.X, data.y)
    same(name, model)
