"""Tests: a disk that is full, of scratch and of checkpoints: a clear error, and nothing that looks whole."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from daskkernels import plan
from daskkernels.errors import DiskFullError
from daskkernels.session.runtime import scratch_of
from daskkernels.store import ArrayWriter
from tests.faults.fits import classifier, clusters, table
from tests.faults.strikes import nothing_left, striking

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int = 0) -> None:
    """Leave only so many bytes."""
    usage = os.statvfs(folder)
    (folder / "filler").write_bytes(bytes(max(0, usage.f_bavail * usage.f_bsize - leave)))


@pytest.fixture
def no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that have no memory for rows: what is lazy or the client's goes to scratch."""
    monkeypatch.setattr(plan, "X_SHARE", 0.0)


@pytest.mark.usefixtures("no_room")
@pytest.mark.parametrize("lazy", [True, False], ids=["written by workers", "written by the client"])
@pytest.mark.parametrize("make", [clusters, classifier])
def test_rows_do_not_fit_in_scratch(client: Client, disk: Path, make: Any, lazy: bool) -> None:
    X, y = table()
    fill(disk, 200_000)  # of the 384 kB that X takes
    scratch_of[client] = str(disk)
    rows = da.from_array(X, chunks=(700, -1)) + 0.0 if lazy else X
    with pytest.raises(
        DiskFullError, match=rf"scratch {disk}: no space left .* are free\).*give scratch= on"
    ):
        make().fit(rows, y)
    (disk / "filler").unlink()
    nothing_left(client, disk)
    make().fit(rows, y)


def test_weights_do_not_fit_in_scratch(client: Client, pair: LocalCluster, data: Any, disk: Path) -> None:
    scratch_of[client] = str(disk)
    fill(disk, 300_000)  # the weights of one group, not of two
    with pytest.raises(DiskFullError, match=rf"scratch {disk}: no space left"):
        classifier().fit(data.X, data.y)
    (disk / "filler").unlink()
    nothing_left(client, disk)


def test_a_checkpoint_does_not_fit(
    client: Client, pair: LocalCluster, data: Any, same: Any, disk: Path
) -> None:
    """The one before stays whole, and the fit goes on from there."""
    checkpoint = disk / "c"
    with (
        striking(pair, "eigenpro-solve", "processing", lambda _: fill(disk), 8),
        pytest.raises(DiskFullError, match=rf"checkpoint {checkpoint}: no space.*holds 1 whole.*resume=True"),
    ):
        classifier().fit(data.X, data.y, checkpoint=checkpoint)
    (disk / "filler").unlink()
    same("classifier", classifier().fit(data.X, data.y, checkpoint=checkpoint, resume=True))


@pytest.mark.usefixtures("no_room")
def test_a_full_disk_where_none_can_be_mounted(
    client: Client, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: ArrayWriter, start: int, block: np.ndarray) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ArrayWriter, "write", full)
    with pytest.raises(DiskFullError, match=rf"scratch {scratch}: no space left"):
        clusters().fit(table()[0])


def test_a_dataset_that_did_not_fit_does_not_open(client: Client, disk: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30_000, 8))
    with pytest.raises(OSError, match="No space left"):
        dk.write_dataset(disk / "d.zarr", da.from_array(X, chunks=(1000, -1)))
    with pytest.raises(dk.errors.StoreError, match=r"not written to its end|no dataset at"):
        dk.open_dataset(disk / "d.zarr")
