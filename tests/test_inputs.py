"""Tests: the door: what is a table, where its rows live during a fit, scratch that goes away, weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import daskkernels as dk
from daskkernels import events, inputs
from daskkernels.grid import Grid
from daskkernels.inputs import InputError, lazy_rows, open_input, resident_rows, weight_rows
from daskkernels.plan import Machine, PlanError
from daskkernels.runtime import LocalRuntime
from daskkernels.scratch import Scratch

SILENT = events.reporter()
X = np.random.default_rng(0).normal(size=(3000, 4))


class Tiny(LocalRuntime):
    """A machine with next to no memory for data, in this process or said not to be."""

    def __init__(self, in_process: bool = True) -> None:
        super().__init__()
        self._in_process = in_process

    @property
    def machine(self) -> Machine:
        return Machine(memory=1, base=0, in_process=self._in_process)


def dense(rows: Any) -> np.ndarray:
    return LocalRuntime().collect(rows, reporter=SILENT, stage="test")


def lazy() -> da.Array:
    return da.from_array(X, chunks=(700, 3)) + 0.0


def test_kinds() -> None:
    assert open_input(X).kind == "numpy"
    assert open_input(lazy()).kind == "dask"
    assert open_input(lazy()).shape == X.shape
    assert open_input(X).grid == open_input(lazy()).grid == Grid.canonical(3000, 4, 8)


def test_nothing_computes_at_the_door(no_compute: Any) -> None:
    table = lazy()
    with no_compute:
        source = open_input(table)
        rows = lazy_rows(source, LocalRuntime())
    np.testing.assert_array_equal(dense(rows), X)


def test_unknown_lengths_are_resolved_without_changing_the_input() -> None:
    table = da.from_array(X, chunks=(700, -1))
    masked = table[da.from_array(np.arange(3000) % 3 > 0, chunks=700)]
    source = open_input(masked)
    assert source.shape == (2000, 4)
    assert np.isnan(masked.shape[0])
    np.testing.assert_array_equal(dense(lazy_rows(source, LocalRuntime())), X[np.arange(3000) % 3 > 0])


def test_datasets_are_streamed(tmp_path: Path) -> None:
    data = dk.write_dataset(tmp_path / "d.zarr", X)
    for table in (data, data.X):
        source = open_input(table)
        assert source.residence(LocalRuntime().machine) == "store"
        rows = lazy_rows(source, LocalRuntime())
        assert not rows.graph, "a read from a store must run inside the task that uses it"
        np.testing.assert_array_equal(dense(rows), X)
    assert open_input(data.X + 1).residence(LocalRuntime().machine) == "memory"


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (np.zeros(3), InputError, r"shape \(3,\)"),
        (np.zeros((2, 2, 2)), InputError, "two dimensions"),
        (np.array([["a", "b"]]), TypeError, "dtype <U1"),
        (np.array([[1j]]), TypeError, "complex"),
        (np.array([[np.datetime64("2020-01-01")]]), TypeError, "real numbers"),
        (sp.eye_array(3).tocsr(), TypeError, "sparse"),
        (da.zeros(3), InputError, r"shape \(3,\)"),
        (da.zeros((0, 3)), InputError, "0 sample"),
        (da.zeros((3, 0)), InputError, "0 feature"),
        (da.zeros((3, 2), dtype=complex), TypeError, "complex"),
        ("text", TypeError, "dtype str"),
        (None, TypeError, "NoneType"),
    ],
    ids=repr,
)
def test_what_is_no_table(bad: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_input(bad)


def test_rows_stay_where_they_are_when_they_can(tmp_path: Path) -> None:
    for source in (open_input(X), open_input(dk.write_dataset(tmp_path / "d.zarr", X))):
        rows = resident_rows(source, Tiny(), SILENT, Scratch(None))
        assert not rows.graph


def test_lazy_rows_are_computed_once() -> None:
    calls: list[int] = []

    def noted(block: np.ndarray) -> np.ndarray:
        calls.append(len(block))
        return block

    table = da.from_array(X, chunks=(1000, -1)).map_blocks(noted, meta=np.empty((0, 0)))
    rows = resident_rows(open_input(table), LocalRuntime(), SILENT, Scratch(None))
    for _ in range(3):
        np.testing.assert_array_equal(dense(rows), X)
    assert calls == [1000] * 3


@pytest.mark.parametrize("form", ["dask", "numpy on a cluster"])
def test_lazy_rows_that_do_not_fit_are_spooled(form: str, tmp_path: Path) -> None:
    source = open_input(lazy() if form == "dask" else X)
    runtime = Tiny(in_process=form == "dask")
    with pytest.raises(PlanError, match=r"93.8 KiB.*dk.write_dataset.*scratch="):
        resident_rows(source, runtime, SILENT, Scratch(None))
    with Scratch(str(tmp_path)) as scratch:
        rows = resident_rows(source, runtime, SILENT, scratch)
        np.testing.assert_array_equal(dense(rows), X)
        assert not rows.graph
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_scratch_goes_away_after_an_error(tmp_path: Path) -> None:
    def spool_and_fail() -> None:
        with Scratch(str(tmp_path / "new" / "folder")) as scratch:
            scratch.spool(lazy_rows(open_input(lazy()), LocalRuntime()), LocalRuntime(), SILENT)
            raise KeyError

    with pytest.raises(KeyError):
        spool_and_fail()
    assert not any(p.is_file() for p in tmp_path.rglob("*"))


def test_scratch_may_be_any_filesystem() -> None:
    with Scratch("memory://spool") as scratch:
        rows = lazy_rows(open_input(lazy()), LocalRuntime())
        np.testing.assert_array_equal(dense(scratch.spool(rows, LocalRuntime(), SILENT)), X)


def test_unused_scratch_leaves_no_trace(tmp_path: Path) -> None:
    with Scratch(str(tmp_path / "never")):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "weights",
    [
        np.arange(3000),
        np.arange(3000).tolist(),
        da.from_array(np.arange(3000), chunks=70),
        pd.Series(np.arange(3000), index=np.arange(3000)[::-1]),
        np.arange(3000, dtype="f4"),
    ],
    ids=["numpy", "list", "dask", "pandas", "float32"],
)
def test_weights(weights: Any) -> None:
    rows = weight_rows(weights, Grid(3000, 1024), LocalRuntime())
    found = dense(rows)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.arange(3000))


def test_a_number_weighs_every_row() -> None:
    np.testing.assert_array_equal(dense(weight_rows(2, Grid(5, 1024), LocalRuntime())), np.full(5, 2.0))
    assert weight_rows(None, Grid(5, 1024), LocalRuntime()).nodes[0].value is None


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, 2.0], r"expected \(3,\)"),
        (np.ones((3, 1)), r"shape \(3, 1\)"),
        ([1, np.nan, 1], "row 1"),
        ([1, 1, -1], "negative at row 2"),
        ([0, 0, 0], "zero for every row"),
    ],
)
def test_bad_weights(bad: Any, message: str) -> None:
    for form in (bad, da.from_array(np.asarray(bad))):
        with pytest.raises(InputError, match=message):
            weight_rows(form, Grid(3, 1024), LocalRuntime())


def test_kind_in_is_kind_out() -> None:
    here, lazy = LocalRuntime(), da.from_array(X, chunks=(7, -1))
    for given, kind in ((X, np.ndarray), (lazy, da.Array)):
        source = open_input(given)
        back = inputs.give_back(lazy_rows(source, here), source, here, SILENT, "s")
        assert isinstance(back, kind)
        np.testing.assert_array_equal(np.asarray(back), X)
    assert back.chunks[0] == lazy.chunks[0], "a result can be put beside its input"


def test_input_is_frozen() -> None:
    source = open_input(X)
    assert replace(source, kind="dask").kind == "dask"
    with pytest.raises(AttributeError):
        source.kind = "dask"  # type: ignore[misc]
