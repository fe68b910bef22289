"""Tests: workers killed with -9 at every stage of a fit, one or all: the answer is the undisturbed one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from daskkernels.errors import WorkersLostError
from daskkernels.session import runtime
from tests.faults.fits import FITS, table
from tests.faults.strikes import all_up, eventually, kill, kill_all, striking

pytestmark = pytest.mark.timeout(90)

SLOW = pytest.mark.slow  # more of a kind
ONE = [
    pytest.param("clusters", "bandwidth", "processing", 2, marks=SLOW),
    ("clusters", "operand", "memory", 3),  # the landmarks
    ("clusters", "nystrom-gram", "processing", 2),
    ("clusters", "nystrom-project", "memory", 1),
    pytest.param("clusters", "kmeans-seed", "processing", 3, marks=SLOW),
    ("clusters", "kmeans-assign", "processing", 1),
    pytest.param("clusters", "kmeans-labels", "memory", 1, marks=SLOW),
    pytest.param("classifier", "rows-persist", "memory", 3, marks=SLOW),
    ("classifier", "eigenpro-spectrum", "processing", 1),
    ("classifier", "eigenpro-predict", "processing", 9),
    ("classifier", "eigenpro-solve", "processing", 2),
    ("classifier", "eigenpro-update", "memory", 2),  # the weights
    ("classifier", "rows-spool", "processing", 2),
    pytest.param("classifier", "eigenpro-validate", "processing", 5, marks=SLOW),
    ("keeping", "eigenpro-tiles", "processing", 2),
    ("keeping", "eigenpro-solve", "processing", 3),
]
ALL = [
    ("clusters", "nystrom-gram", "processing", 2),
    ("clusters", "kmeans-assign", "processing", 1),
    ("classifier", "eigenpro-update", "memory", 2),
    ("classifier", "eigenpro-weights", "processing", 1),
    ("keeping", "eigenpro-predict", "processing", 20),
]


@pytest.mark.parametrize(("name", "stage", "state", "nth"), ONE)
def test_one_is_killed(
    client: Client, pair: LocalCluster, data: Any, same: Any, name: str, stage: str, state: str, nth: int
) -> None:
    with striking(pair, stage, state, kill(pair), nth):
        model = FITS[name][0]().fit(data.X, data.y)
    same(name, model)


def fitted_or_told(client: Client, fit: Callable[[], Any]) -> Any:
    """The model. Nannies give up workers that die while they start: told so, we fit again."""
    try:
        return fit()
    except WorkersLostError as error:
        if "no worker has been there" not in str(error):
            raise
    eventually(lambda: all_up(client), "the workers are not up", 60.0)
    return fit()


@pytest.mark.parametrize(("name", "stage", "state", "nth"), ALL)
def test_all_are_killed(
    client: Client, pair: LocalCluster, data: Any, same: Any, name: str, stage: str, state: str, nth: int
) -> None:
    with striking(pair, stage, state, kill_all(pair), nth):
        model = fitted_or_told(client, lambda: FITS[name][0]().fit(data.X, data.y))
    same(name, model)


@pytest.mark.parametrize("name", ["clusters", "classifier"])
def test_rows_of_the_client(client: Client, pair: LocalCluster, same: Any, name: str) -> None:
    """numpy input is held by the workers alone, but can be sent again."""
    stage = {"clusters": "kmeans-assign", "classifier": "eigenpro-solve"}[name]
    with striking(pair, stage, "processing", kill_all(pair)):
        model = fitted_or_told(client, lambda: FITS[name][0]().fit(*table()))
    same(name, model)


def test_more_rows_than_can_be_sent_again(
    client: Client, pair: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "LASTING_BYTES", 1000)
    with (
        striking(pair, "kmeans-seed", "processing", kill_all(pair)),
        pytest.raises(WorkersLostError, match=r"exist nowhere else, .*from a store \(dk.write"),
    ):
        FITS["clusters"][0]().fit(table()[0])


@pytest.mark.parametrize("name", ["clusters", "classifier"])
def test_large_operands(
    client: Client, pair: LocalCluster, data: Any, same: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Landmarks, centers and rows of a round above 4 MB do not ride in the graph."""
    monkeypatch.setattr(runtime, "LITERAL_BYTES", 0)
    stage = {"clusters": "kmeans-assign", "classifier": "eigenpro-update"}[name]
    with striking(pair, stage, "processing", kill_all(pair)):
        model = FITS[name][0]().fit(data.X, data.y)
    same(name, model)


def test_the_client_restarts_them(client: Client, pair: LocalCluster, data: Any, tmp_path: Path) -> None:
    """`client.restart()` makes the scheduler forget everything; a checkpoint is still there."""
    cases: dict[str, tuple[str, int, dict[str, Any]]] = {
        "clusters": ("kmeans-seed", 3, {}),
        "classifier": ("eigenpro-solve", 8, {"checkpoint": tmp_path / "c"}),
    }
    for name, (stage, nth, options) in cases.items():
        restarting = Restarting(client)
        with (
            striking(pair, stage, "processing", restarting, nth),
            pytest.raises(WorkersLostError, match=r"was restarted or closed during the fit.*fit again"),
        ):
            FITS[name][0]().fit(data.X, data.y, **options)
        restarting.thread.join(60)
        eventually(lambda: all_up(client), "the workers are not up", 60.0)
    again = FITS["classifier"][0]().fit(data.X, data.y, checkpoint=tmp_path / "c", resume=True)
    assert again.n_epochs_ == 2


class Restarting:
    """A blow: somebody restarts the cluster, in another thread."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.thread = threading.Thread(target=client.restart, kwargs={"wait_for_workers": False})

    def __call__(self, _worker: str) -> None:
        self.thread.start()
