"""Tests: hazards, section I, Zarr stores: what is missing, torn, stale or partial, seen from a fit."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client
from sklearn.metrics import adjusted_rand_score

import daskkernels as dk
from daskkernels.store import ArrayWriter
from tests.hazards.forms import blobs, cluster

X = blobs(1003)


def learned(X: Any, **options: Any) -> dk.EigenProRegressor:
    target = blobs(1003)[:, 0] ** 2
    return dk.EigenProRegressor(dtype="float64", random_state=0, **options.pop("model", {})).fit(
        X, target, **options
    )


@pytest.mark.parametrize("chunk_rows", [100, 1003, 1])
def test_a_partial_last_chunk_adds_no_rows(chunk_rows: int, tmp_path: Path) -> None:
    """xarray#2225: 1003 rows in chunks of 100: no padding in labels, means or batches."""
    data = dk.write_dataset(tmp_path / "d.zarr", X[:203] if chunk_rows == 1 else X, chunk_rows=chunk_rows)
    rows = X[: data.n_rows]
    scale = dk.Standardize().fit(data.X)
    assert scale.n_samples_seen_ == len(rows)
    np.testing.assert_allclose(scale.mean_, rows.mean(axis=0), rtol=1e-12)
    model = cluster(data.X)
    assert model.labels_.shape == (len(rows),)
    assert model.cluster_sizes_.sum() == len(rows)
    assert adjusted_rand_score(model.labels_.compute(), cluster(rows).labels_) == 1.0


def test_a_fit_on_a_store_with_a_hole_says_so(tmp_path: Path) -> None:
    """zarr#486: a missing chunk reads as zeros. It is found even when it goes away after the opening."""
    data = dk.write_dataset(tmp_path / "d.zarr", X, chunk_rows=100)
    (tmp_path / "d.zarr/X/c/7/0").unlink()
    with pytest.raises(dk.errors.MissingChunkError, match="X/c/7/0"):
        cluster(data.X)


@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_unaligned_writes_are_never_torn(scheduler: str, tmp_path: Path) -> None:
    """dask#12583: dask chunks of 100 into Zarr chunks of 350 were corrupt in 20 of 20 runs."""
    lazy = da.from_array(X, chunks=(100, -1))
    with dask.config.set(scheduler=scheduler):
        for run in range(20):
            data = dk.write_dataset(tmp_path / f"{run}.zarr", lazy, chunk_rows=350)
            np.testing.assert_array_equal(data.features[:], X)


def test_predictions_are_written_aligned_or_not_at_all(tmp_path: Path) -> None:
    """xarray#8371: region writes that share an edge chunk lose data."""
    labels = cluster(X).predict(X)
    writer = ArrayWriter.create(tmp_path / "p.zarr", "labels", labels.shape, labels.dtype, 100)
    with pytest.raises(dk.errors.AlignmentError, match="multiple"):
        writer.write(50, labels[50:150])
    with pytest.raises(dk.errors.AlignmentError, match="multiple"):
        writer.write(900, labels[900:1001])
    for start in range(0, 1003, 100):
        writer.write(start, labels[start : start + 100])
    np.testing.assert_array_equal(writer.finish()[:], labels)


def test_consolidated_metadata_of_another_program(tmp_path: Path) -> None:
    """zarr#776, #2206: an array grown after consolidating, one never consolidated, and garbage."""
    group = zarr.create_group(tmp_path / "g.zarr")
    array = group.create_array("X", shape=(800, 8), chunks=(100, 8), dtype="f8")
    array[:] = X[:800]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidating is not in the Zarr 3 specification: it says so
        zarr.consolidate_metadata(tmp_path / "g.zarr")
    grown = zarr.open_array(tmp_path / "g.zarr", path="X", mode="r+")
    grown.append(X[800:])
    model = dk.Standardize().fit(zarr.open_array(tmp_path / "g.zarr", path="X", mode="r"))
    assert model.n_samples_seen_ == 1003
    (tmp_path / "g.zarr/zarr.json").write_text("garbage")
    with pytest.raises(dk.errors.StoreError, match=r"zarr\.json"):
        dk.open_dataset(tmp_path / "g.zarr")


@pytest.mark.timeout(60)
def test_workers_started_after_reading(tmp_path: Path, client_processes: Client) -> None:
    """zarr#199, bcolz#301: a fork after compressor threads have started hangs. Ours are spawned."""
    data = dk.write_dataset(tmp_path / "d.zarr", X, chunk_rows=100)
    np.testing.assert_array_equal(data.X.compute(scheduler="threads"), X)
    assert adjusted_rand_score(cluster(data.X).labels_.compute(), cluster(X).labels_) == 1.0


@pytest.mark.parametrize("damage", ["torn", "cut", "gone", "unfinished"])
def test_a_torn_checkpoint_gives_way_to_the_one_before(damage: str, tmp_path: Path) -> None:
    """EigenPro, dask-ml: no checkpoints at all. The newest whole one counts, and the end is the same."""
    whole = learned(X, model={"max_epochs": 4})
    learned(X, model={"max_epochs": 2}, checkpoint=tmp_path / "c")
    slots = [tmp_path / "c/0", tmp_path / "c/1"]
    newest = max(slots, key=lambda slot: (slot / "zarr.json").stat().st_mtime_ns)
    spoil(newest, damage)
    again = learned(X, model={"max_epochs": 4}, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
    assert [entry["epoch"] for entry in again.history_] == [0, 1, 2, 3]


def spoil(slot: Path, damage: str) -> None:
    """What a kill, or a disk, leaves of a checkpoint."""
    document = slot / "zarr.json"
    if damage == "torn":
        document.write_text(document.read_text()[:200])
    elif damage == "unfinished":
        document.write_text(document.read_text().replace('"complete": true', '"complete": false'))
    elif damage == "gone":
        shutil.rmtree(slot)
    else:
        chunk = next(path for path in sorted(slot.rglob("c/*")) if path.is_file() or path.is_dir())
        file = chunk if chunk.is_file() else next(path for path in chunk.rglob("*") if path.is_file())
        file.write_bytes(file.read_bytes()[:-3])
