"""Tests: `connect`: workers, threads and limits as asked for, by default within the machine."""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np
import psutil
import pytest
from dask.system import cpu_count
from distributed import Client
from distributed.security import Security
from distributed.system import MEMORY_LIMIT
from threadpoolctl import threadpool_info, threadpool_limits

import daskkernels as dk
from daskkernels.runtime import active_runtime
from daskkernels.session import ClusterRuntime, find_cluster

CORES = cpu_count()
LOCAL = ("127.0.0.1", "::1")
SIZES = ("n_workers", "threads_per_worker", "memory_limit")


def workers(client: Client) -> list[dict[str, Any]]:
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def test_threads(capsys: pytest.CaptureFixture[str]) -> None:
    with dk.connect("threads", threads_per_worker=2, memory_limit="1GiB") as client:
        (worker,) = workers(client)
        assert worker["nthreads"] == 2
        assert worker["memory_limit"] == 2**30
        assert client.run(os.getpid) == {next(iter(client.run(os.getpid))): os.getpid()}
        assert isinstance(find_cluster(), ClusterRuntime)
        shown = capsys.readouterr()
        assert "Dask dashboard: http://" in shown.err
        assert shown.out == ""
    assert find_cluster() is None


def test_threads_by_default_use_every_core_once() -> None:
    with dk.connect("threads") as client:
        assert sum(w["nthreads"] for w in workers(client)) == CORES


def test_processes() -> None:
    with dk.connect("local", n_workers=1, memory_limit="700MiB") as client:
        (worker,) = workers(client)
        assert worker["nthreads"] <= CORES
        assert worker["memory_limit"] == 700 * 2**20
        assert os.getpid() not in client.run(os.getpid).values()
        machine = ClusterRuntime(client).machine
        assert (machine.workers, machine.memory) == (1, 700 * 2**20)
        assert not machine.in_process


def test_an_address_is_joined_and_left_running(client_processes: Client) -> None:
    address = client_processes.scheduler.address
    with dk.connect(address) as client:
        assert client.scheduler.address == address
        assert find_cluster().client is client  # type: ignore[union-attr]
    assert client_processes.submit(sum, [1, 2]).result() == 3


def test_scratch_is_the_default_of_every_fit(tmp_path: Path) -> None:
    with dk.connect("threads", scratch=tmp_path):
        assert active_runtime().scratch == str(tmp_path)
        model = dk.KernelKMeans(2, n_landmarks=10, random_state=0)
        model.fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert active_runtime().scratch != str(tmp_path), "it belongs to the client"
    assert not list(tmp_path.iterdir())


def listening() -> set[tuple[str, int]]:
    """Addresses on which this process and its children wait for connections."""
    me = psutil.Process()
    found = [c for process in (me, *me.children(recursive=True)) for c in process.net_connections("tcp")]
    return {(c.laddr.ip, c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN}


@pytest.mark.parametrize("address", ["local", "threads"])
def test_nothing_can_be_reached_from_elsewhere(address: str) -> None:
    before = listening()
    with dk.connect(address, n_workers=1):
        opened = listening() - before
    assert opened
    assert {ip for ip, _ in opened} <= set(LOCAL)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address alone")
def test_a_host_of_ones_own() -> None:
    with dk.connect("local", n_workers=1, host="127.0.0.2") as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.2:")
        assert client.dashboard_link.startswith("http://127.0.0.2:")
        (worker,) = client.scheduler_info(n_workers=-1)["workers"]
        assert worker.startswith("tcp://127.0.0.2:")


def test_more_threads_than_cores_are_said() -> None:
    with pytest.warns(
        dk.errors.OversubscribedWarning, match=f"n_workers={CORES + 1} .* on {CORES} cores"
    ) as said:
        client = dk.connect("threads", n_workers=CORES + 1)
    assert said[0].filename == __file__
    with client:
        assert [w["nthreads"] for w in workers(client)] == [1] * (CORES + 1)
        assert sum(w["memory_limit"] for w in workers(client)) <= MEMORY_LIMIT


def test_one_worker_of_one_thread_has_all_the_memory() -> None:
    with dk.connect("threads", threads_per_worker=1) as client:
        (worker,) = workers(client)
        assert worker["memory_limit"] == pytest.approx(MEMORY_LIMIT, rel=0.01)


def blas_threads() -> int:
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def allow_two() -> None:
    threadpool_limits(2, user_api="blas")


def test_one_blas_thread_before_the_first_fit(client_processes: Client) -> None:
    plugin = "daskkernels-one-blas-thread"
    if client_processes.run_on_scheduler(lambda dask_scheduler: plugin in dask_scheduler.worker_plugins):
        client_processes.unregister_worker_plugin(plugin)
    client_processes.run(allow_two)
    assert set(client_processes.run(blas_threads).values()) == {2}
    with dk.connect(client_processes.scheduler.address) as client:
        assert set(client.run(blas_threads).values()) == {1}


@pytest.mark.parametrize("option", [{"host": "0.0.0.0"}, {"security": Security()}])
def test_threads_open_no_port(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(option))}.*opens no port"):
        dk.connect("threads", **option)


@pytest.mark.parametrize("bad", ["cuda:0", "", "localhost:8786", "processes"])
def test_unknown_addresses(bad: str) -> None:
    with pytest.raises(ValueError, match=r"wanted 'local', 'threads'"):
        dk.connect(bad)


@pytest.mark.parametrize("option", [*SIZES, "host", "dashboard_address"])
def test_foreign_workers_cannot_be_configured(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option}.*tcp://127.0.0.1:1.*not by connect"):
        dk.connect("tcp://127.0.0.1:1", **{option: 1 if option in SIZES else "h:1"})


@pytest.mark.parametrize("bad", [None, 3, b"local", ["local"]])
def test_an_address_is_text(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"address=.*wanted 'local'"):
        dk.connect(bad)


@pytest.mark.parametrize(
    ("option", "kind", "wanted"),
    [
        ({"n_workers": 1.5}, TypeError, "a whole number of at least 1"),
        ({"n_workers": "2"}, TypeError, "a whole number of at least 1"),
        ({"n_workers": True}, TypeError, "a whole number of at least 1"),
        ({"n_workers": 0}, ValueError, "a whole number of at least 1"),
        ({"threads_per_worker": 2.0}, TypeError, "a whole number of at least 1"),
        ({"memory_limit": -5}, ValueError, "bytes"),
        ({"memory_limit": float("nan")}, ValueError, "bytes"),
        ({"memory_limit": "-5GB"}, ValueError, "bytes"),
        ({"memory_limit": "much"}, ValueError, "bytes"),
        ({"memory_limit": True}, TypeError, "bytes"),
        ({"memory_limit": [1]}, TypeError, "bytes"),
        ({"scratch": 3}, TypeError, "a folder"),
        ({"scratch": b"x"}, TypeError, "a folder"),
        ({"host": 3}, TypeError, "an address"),
        ({"dashboard_address": None}, TypeError, "a port"),
        ({"dashboard_address": False}, TypeError, "a port"),
        ({"dashboard_address": -1}, ValueError, "a port"),
        ({"dashboard_address": 10**5}, ValueError, "a port"),
        ({"dashboard_address": "localhost:x"}, ValueError, "a port"),
        ({"dashboard_address": ""}, ValueError, "a port"),
        ({"security": True}, TypeError, "a distributed.Security"),
    ],
)
def test_arguments_are_checked_before_anything_starts(
    option: dict[str, Any], kind: type[Exception], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[dk.connect.__module__], "ON_THIS_MACHINE", {})
    ((name, value),) = option.items()
    with pytest.raises(kind, match=re.escape(f"{name}={value!r}: wanted {wanted}")):
        dk.connect("threads", **option)


@pytest.mark.parametrize("address", [0, np.int64(0), "0", ":0"])
def test_a_port_of_the_dashboard(address: Any) -> None:
    before = listening()
    with dk.connect("threads", dashboard_address=address):
        assert {ip for ip, _ in listening() - before} <= set(LOCAL)


def test_what_was_started_goes_where_a_later_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[dk.connect.__module__]
    made: list[Client] = []

    def fail(client: Client) -> None:
        made.append(client)
        raise OSError("no page")

    monkeypatch.setattr(module, "page_link", fail)
    with pytest.raises(OSError, match="no page"):
        dk.connect("threads")
    (client,) = made
    assert (client.status, client.cluster.status.name) == ("closed", "closed")
    assert find_cluster() is None


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait of ten seconds is cut short here."""
    module = sys.modules[dk.connect.__module__]
    monkeypatch.setattr(
        module, "Client", lambda address, **_: Client(address, timeout="300ms", set_as_default=False)
    )
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        dk.connect("tcp://127.0.0.1:1")


def test_collecting_a_closed_client_closes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage is collected anywhere: closing the cluster there waited for ever for its own lock."""
    client = dk.connect("threads")
    cluster = client.cluster
    client.close()
    closed: list[object] = []
    monkeypatch.setattr(type(cluster), "close", lambda self, *_, **__: closed.append(self))
    client.close()
    client.__del__()
    del client
    gc.collect()
    assert closed == []


def test_threads_are_never_given_up() -> None:
    """After minutes in which the computer was asleep, a worker of this process is still there."""
    ttl = "distributed.scheduler.worker-ttl"
    with dask.config.set({ttl: "5 minutes"}), dk.connect("threads", n_workers=1) as client:
        assert client.cluster.scheduler.worker_ttl is None
        assert dask.config.get(ttl) == "5 minutes"
