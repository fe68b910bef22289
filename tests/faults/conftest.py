"""Fixtures of the faults: two worker processes with nannies, data in a store, and the undisturbed answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from daskkernels.session.runtime import scratch_of
from tests.conftest import NO_DASHBOARD, PATIENT
from tests.faults.fits import FITS, table
from tests.faults.strikes import N_WORKERS, all_up, eventually, nothing_left

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture(scope="session")
def pair() -> Iterator[LocalCluster]:
    with (
        dask.config.set(
            {
                "distributed.worker.multiprocessing-method": "spawn",
                "distributed.deploy.lost-worker-timeout": "60s",  # two start at once
                **PATIENT,
            }
        ),
        LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GiB",
            dashboard_address=":0",
            scheduler_kwargs=NO_DASHBOARD,
            silence_logs=30,
        ) as cluster,
    ):
        yield cluster


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def client(pair: LocalCluster, scratch: Path, request: pytest.FixtureRequest) -> Iterator[Client]:
    """The default scheduler of one test, whose workers are up; nothing may be left on it afterwards."""
    with Client(pair) as client:
        scratch_of[client] = str(scratch)
        eventually(lambda: all_up(client), "the workers are not up", 60.0)
        failed = request.session.testsfailed
        yield client
        if request.session.testsfailed == failed:  # else the traceback holds what is left
            nothing_left(client, scratch)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> dk.store.Dataset:
    return dk.write_dataset(tmp_path_factory.mktemp("faults") / "d.zarr", *table())


@pytest.fixture(scope="session")
def undisturbed(data: dk.store.Dataset) -> dict[str, dict[str, np.ndarray]]:
    """The answer of every fit, without any cluster."""
    found: dict[str, dict[str, np.ndarray]] = {}
    with dask.config.set(scheduler="sync"):
        for name, (make, answer) in FITS.items():
            found[name] = answer(make().fit(data.X, data.y))
    return found


@pytest.fixture
def same(undisturbed: Any) -> Any:
    """`same(name, model)`: bit for bit the undisturbed answer."""

    def check(name: str, model: Any) -> None:
        for key, value in FITS[name][1](model).items():
            np.testing.assert_array_equal(value, undisturbed[name][key], err_msg=key, strict=True)

    return check
