"""Found by newcomers and breakers: plans, pages, logs, and places where nothing may be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import daskkernels as dk
from daskkernels import events
from daskkernels.errors import InputError
from daskkernels.plan import Machine
from daskkernels.store import ExistsError

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4)).astype("f4")
Y = (X[:, 0] > 0).astype(np.int64)


# --- plans -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [dk.KernelKMeans, lambda _: dk.NystromFeatures(n_landmarks=50)])
def test_more_rows_than_a_process_holds(make: Any) -> None:
    """Labels of lazy rows stay with the workers."""
    machine = Machine(workers=1, threads=1, memory=2**31)
    rows = da.zeros((10**9, 10), chunks=(10**6, 10), dtype="f4")
    plan = make(3).plan(rows, machine=machine)
    assert plan.worker_bytes < machine.memory


@pytest.mark.parametrize("machine", ["4GiB", 5, {}])
def test_machines_are_records(machine: Any) -> None:
    for model in (
        dk.KernelKMeans(2),
        dk.NystromFeatures(),
        dk.KernelPCA(2),
        dk.EigenProClassifier(),
        dk.FalkonClassifier(),
    ):
        with pytest.raises(InputError, match=r"machine=.*wanted a daskkernels\.plan\.Machine"):
            model.plan(X, machine=machine)


@pytest.mark.parametrize("given", [{"workers": 1.5}, {"threads": True}, {"workers": 0}])
def test_workers_are_counted(given: Any) -> None:
    with pytest.raises(ValueError, match="wanted a number above 0"):
        Machine(**given)


def test_sizes_that_nobody_can_count() -> None:
    for model in (dk.KernelKMeans(2, n_init=10**30), dk.EigenProClassifier(max_epochs=10**400)):
        with pytest.raises(InputError, match=r"=1000.*wanted a number that can be counted to"):
            model.fit(X, Y)


def test_the_plan_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for k-means, with its iterations; one of EigenPro before its longest stage, one of its epochs."""
    told: list[events.Planned] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.Planned):
            told.append(event)

    monkeypatch.setattr(events, "sinks", [note])
    dk.KernelKMeans(3, n_landmarks=40, random_state=0).fit(X)
    (plan,) = told
    assert plan.figures["iterations"] == 100
    told.clear()
    dk.EigenProClassifier(max_epochs=1, random_state=0).fit(X, Y)
    assert ["epochs" in plan.figures for plan in told] == [False, True]


# --- places ------------------------------------------------------------------------------------------------
def test_a_model_does_not_replace_a_dataset(tmp_path: Path) -> None:
    data = dk.write_dataset(tmp_path / "d.zarr", X, Y)
    model = dk.KernelKMeans(2, n_landmarks=20, random_state=0).fit(data.X)
    with pytest.raises(ExistsError, match="not replaced, as it is not a model, but a dataset"):
        dk.save(model, tmp_path / "d.zarr", overwrite=True)
    assert dk.open_dataset(tmp_path / "d.zarr", verify=True).n_rows == 600
    dk.save(model, tmp_path / "m.zarr")
    with pytest.raises(ExistsError, match=r"the model .* exists"):
        dk.save(model, tmp_path / "m.zarr")
    dk.save(model, tmp_path / "m.zarr", overwrite=True)
    with pytest.raises(ExistsError, match="not a dataset, but a model"):
        dk.write_dataset(tmp_path / "m.zarr", X, overwrite=True)


@pytest.mark.parametrize("inner", ["", "x"])
@pytest.mark.parametrize("make", [dk.EigenProClassifier, dk.FalkonClassifier])
def test_no_checkpoint_in_a_dataset(make: Any, inner: str, tmp_path: Path) -> None:
    """Said before anything is computed, and nothing is left there."""
    dk.write_dataset(tmp_path / "d.zarr", X, Y)
    with pytest.raises(InputError, match="lies inside the Zarr array or group"):
        make().fit("not even looked at", Y, checkpoint=tmp_path / "d.zarr" / inner)
    assert {child.name for child in (tmp_path / "d.zarr").iterdir()} == {"X", "y", "zarr.json"}


# --- kernels -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", [pd.DataFrame, np.ma.masked_array])
def test_kernel_values_of_other_kinds(form: Any) -> None:
    with pytest.raises(ValueError, match=r"kernel function returned a .*, wanted a plain array"):
        dk.NystromFeatures(lambda A, B: form(A @ B.T), n_landmarks=20).fit(X)


def test_an_automatic_kernel_is_for_eigenpro() -> None:
    with pytest.raises(InputError, match="kernel='auto' is chosen for models that interpolate"):
        dk.FalkonClassifier(kernel="auto").fit(X, Y)


# --- words -------------------------------------------------------------------------------------------------
def test_many_classes_of_lazy_labels_are_no_regression() -> None:
    """scikit-learn was shown the classes in place of the labels, and warned."""
    labels = da.from_array(np.arange(600) % 26, chunks=200)
    dk.FalkonClassifier(n_centers=50, random_state=0).fit(da.from_array(X, chunks=(200, -1)), labels)


def test_a_log_says_what_a_stage_took_in_all(capsys: pytest.CaptureFixture[str]) -> None:
    model = dk.KernelKMeans(3, n_landmarks=40, random_state=0, verbose=1).fit(X)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "kmeans-assign: " in line][-1:]
    assert line.startswith(f"kmeans-assign: {model.n_iter_} times, ")
