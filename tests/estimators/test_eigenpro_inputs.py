"""Tests: what EigenPro takes and gives back: kinds of X and y, labels, kernels, lazy results, bad values."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import daskkernels as dk
from daskkernels.errors import InputError, NonFiniteError, NumericalWarning
from daskkernels.kernels import KERNELS
from tests import oracles
from tests.hazards.forms import FORMS, blobs, chunked, dense, zarr_array

X = blobs(500)
CODES = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.7]))  # 0, 1, 2
NUMBERS = np.sin(X[:, 0]) + 0.1 * X[:, 1]


def classifier(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"random_state": 0, "max_epochs": 2, "n_subsamples": 50, **options})


def regressor(**options: Any) -> dk.EigenProRegressor:
    return dk.EigenProRegressor(**{"random_state": 0, "max_epochs": 2, "n_subsamples": 50, **options})


CLASSES = classifier().fit(X, CODES)
VALUES = regressor().fit(X, NUMBERS)


@pytest.mark.parametrize("form", FORMS)
def test_every_container_of_rows_gives_the_same(form: str) -> None:
    """numpy in, numpy out; lazy in, lazy out with the input's chunks."""
    data = FORMS[form](X)
    model = classifier().fit(data, CODES)
    np.testing.assert_array_equal(model.dual_coef_, CLASSES.dual_coef_)
    lazy = "dask" in form or form == "zarr"
    for method in ("predict", "decision_function"):
        out = getattr(model, method)(FORMS[form](X))
        assert isinstance(out, da.Array if lazy else np.ndarray)
        np.testing.assert_array_equal(dense(out), getattr(CLASSES, method)(X))
        if lazy and hasattr(data, "chunks") and form != "zarr" and not np.isnan(data.chunks[0]).any():
            assert out.chunks[0] == data.chunks[0]


LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "series": pd.Series,
    "nullable": lambda y: pd.Series(y).astype("Int64"),
    "strings": lambda y: np.array(["low", "mid", "top"])[y],
    "objects": lambda y: np.array(["low", "mid", "top"], object)[y],
    "category": lambda y: pd.Series(np.array(["low", "mid", "top"])[y]).astype("category"),
    "big-endian": lambda y: y.astype(">i4"),
    "floats": lambda y: y * 1.0,
    "gaps": lambda y: np.array([-7, 3, 1000])[y],
    "small": lambda y: y.astype("u1"),
    "dask": lambda y: chunked(y, 90),
    "dask strings": lambda y: chunked(np.array(["low", "mid", "top"])[y], 90),
    "dask objects": lambda y: chunked(np.array(["low", "mid", "top"], object)[y], 90),
    "dask gaps": lambda y: chunked(np.array([-7, 3, 1000])[y], 77),
    "dask series": lambda y: dask.dataframe.from_pandas(pd.Series(y), npartitions=3),
    "dask, unknown": lambda y: chunked(np.r_[y, y], 90)[chunked(np.arange(1000) < 500, 90)],
    "zarr": zarr_array,
    "xarray": xr.DataArray,
    "xarray over dask": lambda y: xr.DataArray(chunked(y, 90)),
}


@pytest.mark.parametrize("form", LABELS)
def test_every_form_of_labels_gives_the_same(form: str) -> None:
    """Sorted, the labels mean the same classes: the same weights, and predictions in their own type."""
    y = LABELS[form](CODES) if form != "zarr" else zarr_array(CODES[:, None])[:, 0]
    model = classifier().fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, CLASSES.dual_coef_)
    found = model.predict(X)
    assert found.dtype.kind == model.classes_.dtype.kind
    np.testing.assert_array_equal(np.searchsorted(model.classes_, found), CLASSES.predict(X))
    assert model.score(X, dense(y)) > 0.9


@pytest.mark.parametrize("lazy", [False, True])
def test_bools_and_two_classes(lazy: bool) -> None:
    y = CODES == 1
    model = classifier().fit(X, chunked(y, 90) if lazy else y)
    assert model.classes_.tolist() == [False, True]
    f = model.decision_function(X)
    assert f.shape == (500,)
    np.testing.assert_array_equal(model.predict(X), f > 0)
    np.testing.assert_array_equal(model.dual_coef_, classifier().fit(X, y.astype(int)).dual_coef_)


TARGETS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "series": pd.Series,
    "objects": lambda y: y.astype(object),
    "big-endian": lambda y: y.astype(">f8"),
    "dask": lambda y: chunked(y, 90),
    "dask series": lambda y: dask.dataframe.from_pandas(pd.Series(y), npartitions=3),
    "xarray": xr.DataArray,
    "xarray over dask": lambda y: xr.DataArray(chunked(y, 90)),
}


@pytest.mark.parametrize("form", TARGETS)
def test_every_form_of_targets_gives_the_same(form: str) -> None:
    model = regressor().fit(X, TARGETS[form](NUMBERS))
    np.testing.assert_array_equal(model.dual_coef_, VALUES.dual_coef_)
    np.testing.assert_array_equal(model.predict(X), VALUES.predict(X))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "?"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("columns", [None, 1, 3])
def test_predictions_have_the_shape_of_the_targets(dtype: str, lazy: bool, columns: int | None) -> None:
    """(n,) to (n,), (n, 1) to (n, 1), (n, 3) to (n, 3); whatever the type, lazy or not."""
    y = (CODES if columns is None else np.repeat(CODES[:, None], columns, axis=1)).astype(dtype)
    model = regressor(max_epochs=1).fit(X, da.from_array(y, chunks=(90, *y.shape[1:])) if lazy else y)
    assert model.predict(X).shape == y.shape
    assert dense(model.predict(chunked(X, 200))).shape == y.shape


@pytest.mark.parametrize(
    "kernel", [*KERNELS, dk.Matern(2.0, nu=2.5), lambda A, B: oracles.gaussian(A, B, 4.0)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_kernel(kernel: Any, dtype: str) -> None:
    """The training residual falls and stays below that of predicting zero."""
    model = classifier(kernel=kernel, max_epochs=4).fit(X.astype(dtype), CODES)
    assert dense(model.predict(X)).shape == (500,)
    assert model.history_[-1]["train_mse"] < 1 / 3
    assert model.score(X, CODES) > 0.75
    assert model.n_halvings_ == 0


def test_lazy_predictions_stay_lazy(no_compute: Any) -> None:
    """Nothing computes until it is asked for; only what is asked for."""
    lazy = chunked(X, (100, 150, 250))
    with no_compute:
        outs = [CLASSES.predict(lazy), CLASSES.decision_function(lazy), VALUES.predict(lazy)]
    assert [out.shape for out in outs] == [(500,), (500, 3), (500,)]
    for out in outs:
        assert out.chunks[0] == (100, 150, 250)
        assert dense(out).dtype == out.dtype
    np.testing.assert_array_equal(outs[0][120:130].compute(), CLASSES.predict(X)[120:130])


def test_a_shy_kernel_is_not_called_early(no_compute: Any) -> None:
    """Building a prediction never calls the kernel, as graph builders do to guess a type."""

    def shy(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        assert len(A)
        assert len(B)
        return oracles.gaussian(A, B, 4.0)

    model = classifier(kernel=shy, max_epochs=1).fit(chunked(X, 100), chunked(CODES, 100))
    with no_compute:
        out = model.predict(chunked(X, 100))
    assert dense(out).shape == (500,)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("kernel", ["laplacian", dk.Gaussian(4.0), dk.Linear()], ids=repr)
def test_bad_rows_are_named(value: float, lazy: bool, kernel: Any) -> None:
    spoiled = X.copy()
    spoiled[321, 5] = value
    data = chunked(spoiled, 70) if lazy else spoiled
    for model, y in ((classifier(kernel=kernel), CODES), (regressor(kernel=kernel), NUMBERS)):
        with pytest.raises(NonFiniteError, match=r"X.*row 321\b"):
            model.fit(data, y)
    for model in (CLASSES, VALUES):
        with pytest.raises(NonFiniteError, match=r"X.*row 321\b"):
            dense(model.predict(data))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("columns", [None, 2])
def test_bad_targets_are_named(value: float, lazy: bool, columns: int | None) -> None:
    spoiled = NUMBERS.copy() if columns is None else np.c_[NUMBERS, NUMBERS]
    spoiled[321] = value
    with pytest.raises(NonFiniteError, match=r"y.*row 321\b"):
        regressor().fit(X, chunked(spoiled, 70) if lazy else spoiled)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("bad", [np.nan, None], ids=["nan", "None"])
@pytest.mark.parametrize("kind", ["f8", "O"])
def test_missing_labels_are_named(bad: Any, lazy: bool, kind: str) -> None:
    y = CODES.astype("f8") if kind == "f8" else np.array(["low", "mid", "top"], object)[CODES]
    y[321] = bad
    with pytest.raises(ValueError, match=r"(?s)y.*\b321\b"):
        classifier().fit(X, chunked(y, 70) if lazy else y)


def test_equal_rows_are_learned_as_far_as_possible() -> None:
    with pytest.warns(NumericalWarning, match="all rows are equal"):
        model = regressor(max_epochs=5).fit(np.ones((60, 3)), np.arange(60.0))
    assert np.isfinite(model.predict(np.ones((2, 3)))).all()  # contradictory targets have no interpolation
    with pytest.warns(NumericalWarning, match="all rows are equal"):
        assert classifier().fit(np.ones((60, 3)), np.arange(60) % 2).predict(np.ones((2, 3))).shape == (2,)
    model = regressor().fit(X, np.full(500, 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1)


@pytest.mark.parametrize("seed", [0, None, "RandomState"])
def test_global_generators_are_left_alone(seed: Any) -> None:
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    before, before_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    state = np.random.RandomState(0) if seed == "RandomState" else seed
    classifier(random_state=state, validation_fraction=0.1).fit(chunked(X, 90), CODES).predict(X)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert random.getstate() == before_python


def test_a_generator_moves_on() -> None:
    for make in (np.random.RandomState, np.random.default_rng):
        model = classifier(random_state=make(11), max_epochs=1)
        first = model.fit(X, CODES).subsample_indices_.copy()
        assert not np.array_equal(first, model.fit(X, CODES).subsample_indices_)
        again = classifier(random_state=make(11), max_epochs=1).fit(X, CODES)
        np.testing.assert_array_equal(again.subsample_indices_, first)


def test_validation_is_checked_at_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the eigensystem, by name."""
    monkeypatch.setattr("daskkernels.estimators.eigenpro_base.measure_spectrum", None)
    for bad in (
        (X[:5],),
        X,
        (X[:5], CODES[:4]),
        (X[:5], ["else"] * 5),
        (X[:5, :3], CODES[:5]),
        (X[:5], None),
    ):
        with pytest.raises((InputError, ValueError, TypeError), match=r"validation|features|target y"):
            classifier().fit(X, CODES, validation=bad)
    with pytest.raises(InputError, match="validation"):
        classifier(validation_fraction=0.1).fit(X, CODES, validation=(X, CODES))
    with pytest.raises(InputError, match="validation"):
        regressor().fit(X, NUMBERS, validation=(X[:5], np.full(5, np.nan)))
