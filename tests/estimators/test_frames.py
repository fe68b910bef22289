"""Tests: data frames and labelled arrays as X, in every estimator: names, types, lengths that are unknown."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import daskkernels as dk
from daskkernels.errors import InputError, NonFiniteError

N, NAMES = 240, ["a", "b", "c", "d"]
X = np.random.default_rng(0).normal(size=(N, 4))
FRAME = pd.DataFrame(X, columns=NAMES)
Y = (X[:, 0] > 0).astype(int)

LEARNERS: dict[str, Callable[[], Any]] = {
    "features": lambda: dk.NystromFeatures(n_landmarks=20, random_state=0),
    "k-means": lambda: dk.KernelKMeans(3, n_landmarks=20, random_state=0),
    "standardize": dk.Standardize,
    "classifier": lambda: dk.EigenProClassifier(random_state=0, max_epochs=1, n_subsamples=30),
    "regressor": lambda: dk.EigenProRegressor(random_state=0, max_epochs=1, n_subsamples=30),
}
TRANSFORMERS = ["features", "k-means", "standardize"]
every = pytest.mark.parametrize("name", LEARNERS)


def lazy(frame: Any, parts: int = 4) -> Any:
    return dd.from_pandas(frame, npartitions=parts)


def fitted(name: str, data: Any, y: Any = Y) -> Any:
    return LEARNERS[name]().fit(data, y)


def answer(model: Any, data: Any) -> Any:
    return model.predict(data) if hasattr(model, "predict") else model.transform(data)


def dense(x: Any) -> np.ndarray:
    return np.asarray(x.compute() if hasattr(x, "compute") else x)


MIXED = FRAME.assign(a=(FRAME.a * 10).astype("i1"), b=FRAME.b > 0, c=FRAME.c.astype("f4"))
KINDS: dict[str, pd.DataFrame] = {
    "floats": FRAME,
    "mixed": MIXED,
    "nullable floats": FRAME.astype("Float64"),
    "nullable integers": (FRAME * 10).round().astype("Int64"),
    "nullable bools": FRAME.assign(a=pd.Series(Y > 0, dtype="boolean")),
    "one nullable": FRAME.astype({"b": "Float64"}),
    "float32": FRAME.astype("f4"),
    "nullable float32": FRAME.astype("Float32"),
    "arrow": FRAME.astype("double[pyarrow]"),
    "categories that are numbers": FRAME.assign(a=pd.Categorical(Y + 0.5)),
}


@every
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_its_numbers(name: str, kind: str) -> None:
    """Whatever the types of its columns, lazy or not; a pandas frame gives numpy, a dask one a dask array."""
    frame = KINDS[kind]
    model = fitted(name, frame)
    expected = answer(model, frame)
    assert isinstance(expected, np.ndarray)
    other = fitted(name, lazy(frame))
    out = answer(other, lazy(frame))
    assert isinstance(out, da.Array)
    assert out.shape == expected.shape
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(dense(out), expected)
    assert list(other.feature_names_in_) == list(model.feature_names_in_) == NAMES


@every
def test_filtered_frames_leave_empty_partitions(name: str) -> None:
    """`ddf[ddf.x > 7]`: unknown lengths, of which some are 0, on X and on y."""
    frame = FRAME.assign(x=np.arange(N) // 10, y=np.arange(N) % 2)
    frame_lazy = lazy(frame, 6)
    rows, plain = frame_lazy[frame_lazy.x > 7], frame[frame.x > 7]
    assert [len(part) for part in dask.compute(*rows.to_delayed())].count(0) == 2
    model, expected = fitted(name, rows[NAMES], rows.y), fitted(name, plain[NAMES], plain.y)
    out = answer(model, rows[NAMES])
    np.testing.assert_array_equal(dense(out), answer(expected, plain[NAMES]))
    assert not np.isnan(out.shape[0])


@every
def test_frames_without_rows(name: str) -> None:
    frame = lazy(FRAME)
    with pytest.raises(InputError, match="0 sample"):
        fitted(name, frame[frame.a > 1e9])


CALLS: list[int] = []


def noted(part: Any) -> Any:
    CALLS.append(len(part))
    return part


def source(form: str, known: bool) -> tuple[Any, Any]:
    """X and y of one lazy frame or array of four parts, which notes each part that is computed."""
    CALLS.clear()
    if form == "frame":
        whole = lazy(FRAME.assign(y=Y)).map_partitions(noted, meta=FRAME.assign(y=Y).iloc[:0])
        rows = whole if known else whole[whole.a > -0.5]
        return rows[NAMES], rows.y
    whole = da.from_array(X, chunks=(60, -1)).map_blocks(noted, meta=np.empty((0, 0)))
    rows = whole if known else whole[whole[:, 0] > -0.5]
    return rows, (rows[:, 0] > 0).astype(int)


def times() -> float:
    """How often the source was computed since the last call."""
    found = len(CALLS) / 4
    CALLS.clear()
    return found


@pytest.mark.parametrize("form", ["frame", "array"])
@pytest.mark.parametrize("known", [True, False])
@every
def test_how_often_the_source_is_computed(name: str, form: str, known: bool) -> None:
    """Once for X, once for y, and once for all lengths that are unknown; not for every epoch."""
    data, y = source(form, known)
    lengths = 1 if form == "frame" or not known else 0
    supervised = name in ("classifier", "regressor")
    model = LEARNERS[name]().set_params(**({"max_epochs": 3} if supervised else {}))
    with dask.config.set(scheduler="sync"):
        model.fit(data, y)
        assert times() == lengths + 1 + supervised
        out = answer(model, data)
        assert times() == lengths
        out.compute()
        assert times() == 1 + supervised  # the centers of a kernel machine are rows of the source too
        if not supervised:
            model.fit_transform(data).compute()
            assert times() == lengths + 2
        else:
            model.score(data, y)
            assert times() == lengths + 3
            model.fit(data, y, validation=(data, y))
            assert times() == 2 * (lengths + 2)


@pytest.mark.parametrize("form", ["frame", "array"])
def test_weights_are_computed_once(form: str) -> None:
    data, _ = source(form, known=False)
    weights = data["a"] ** 2 if form == "frame" else data[:, 0] ** 2
    with dask.config.set(scheduler="sync"):
        LEARNERS["k-means"]().fit(data, sample_weight=weights)
    assert times() == 3


@every
@pytest.mark.parametrize("wrap", [lambda f: f, lazy], ids=["pandas", "dask"])
def test_columns_must_be_those_of_fit(name: str, wrap: Any) -> None:
    """In scikit-learn's words, before anything is computed."""
    model = fitted(name, wrap(FRAME))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense(answer(model, wrap(FRAME)))
    refuse = {
        "must be in the same order": FRAME[NAMES[::-1]],
        "(?s)yet now missing:.*- d": FRAME[NAMES[:3]],
        "(?s)unseen at fit time:.*- e": FRAME.assign(e=1.0),
        "(?s)unseen at fit time:.*- z.*yet now missing:.*- a": FRAME.rename(columns={"a": "z"}),
    }
    for message, other in refuse.items():
        with pytest.raises(ValueError, match=message):
            answer(model, wrap(other))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        answer(model, X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        answer(fitted(name, X), wrap(FRAME))


@every
def test_wrong_columns_are_found_before_lengths(name: str, no_compute: Any) -> None:
    model, frame, array = fitted(name, FRAME), lazy(FRAME), da.from_array(X, chunks=(60, -1))
    few = array[array[:, 0] > 0][:, :3]
    with no_compute, pytest.raises(ValueError, match="feature names"):
        answer(model, frame[frame.a > 0][NAMES[::-1]])
    with no_compute, pytest.warns(UserWarning, match="names"), pytest.raises(ValueError, match="3 features"):
        answer(model, few)


BAD = {
    "text": FRAME.assign(b="x"),
    "category": FRAME.assign(b=pd.Categorical(["x"] * N)),
    "datetime64": FRAME.assign(b=pd.Timestamp("2020-01-01")),
    "timedelta64": FRAME.assign(b=pd.Timedelta("1s")),
}


@pytest.mark.parametrize("name", ["standardize", "classifier"])
@pytest.mark.parametrize("kind", BAD)
def test_columns_that_are_no_numbers(name: str, kind: str) -> None:
    """By name; scikit-learn's own message for text in memory names the value."""
    with pytest.raises(TypeError, match=r"column 'b' of X is .*: encode it as numbers, or drop it"):
        fitted(name, lazy(BAD[kind]))
    message = "could not convert string to float: 'x'" if kind == "text" else "column 'b' of X is"
    with pytest.raises((TypeError, ValueError), match=message):
        fitted(name, BAD[kind])


def test_sparse_columns() -> None:
    with pytest.raises(TypeError, match=r"column 'a' of X is sparse.*to_dense"):
        dk.Standardize().fit(FRAME.astype(pd.SparseDtype(float)))


@every
@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]", "f8"])
@pytest.mark.parametrize("wrap", [lambda f: f, lazy], ids=["pandas", "dask"])
def test_missing_values_are_named(name: str, dtype: str, wrap: Any) -> None:
    holed = FRAME.astype(dtype)
    holed.iloc[123, 2] = None
    with pytest.raises(NonFiniteError, match=r"X.*row 123\b"):
        fitted(name, wrap(holed))


@every
@pytest.mark.parametrize("kind", ["c16", "M8[s]", "m8[s]"])
@pytest.mark.parametrize(
    "wrap",
    [lambda a: a, lambda a: da.from_array(a, chunks=60), xr.DataArray],
    ids=["numpy", "dask", "xarray"],
)
@pytest.mark.filterwarnings("ignore:Converting non-nanosecond:UserWarning")
def test_what_is_no_real_number_is_refused(name: str, kind: str, wrap: Any) -> None:
    bad = wrap((X * 100).astype(kind))
    with pytest.raises((TypeError, ValueError), match=r"Complex data|dtype (complex|datetime|timedelta)"):
        fitted(name, bad)
    model = fitted(name, X)
    with pytest.raises((TypeError, ValueError), match=r"Complex data|dtype (complex|datetime|timedelta)"):
        answer(model, bad)


@every
@pytest.mark.parametrize("backing", ["numpy", "dask"])
def test_labelled_arrays(name: str, backing: str) -> None:
    """A DataArray over numpy is numpy, over dask is dask; names of columns are those of its coordinates."""
    values = X if backing == "numpy" else da.from_array(X, chunks=(70, 2))
    plain, named = xr.DataArray(values), xr.DataArray(values, dims=("row", "of"), coords={"of": NAMES})
    expected, model = fitted(name, X), fitted(name, plain, xr.DataArray(Y))
    out = answer(model, plain)
    assert isinstance(out, np.ndarray if backing == "numpy" else da.Array)
    np.testing.assert_array_equal(dense(out), answer(expected, X))
    assert not hasattr(model, "feature_names_in_")
    model = fitted(name, named)
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(dense(answer(model, named)), answer(expected, X))
    answer(model, FRAME)
    with pytest.raises(ValueError, match="same order"):
        answer(model, named[:, ::-1])
    numbered = xr.DataArray(values, dims=("row", "of"), coords={"of": [1, 2, 3, 4]})
    assert not hasattr(fitted(name, numbered), "feature_names_in_")


def test_a_dataset_of_xarray_is_no_table() -> None:
    with pytest.raises(TypeError, match="DataArray is wanted"):
        dk.Standardize().fit(xr.Dataset({"a": ("row", X[:, 0])}))


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("form", ["numpy", "pandas"])
def test_output_as_pandas(name: str, form: str) -> None:
    data = X if form == "numpy" else FRAME.set_index(np.arange(N)[::-1])
    model = LEARNERS[name]().set_output(transform="pandas")
    for out in (model.fit(data).transform(data), model.fit_transform(data)):
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert list(out.index) == list(range(N) if form == "numpy" else data.index)


def test_dask_dataframe_comes_with_the_users_frames() -> None:
    """A fit on numpy does not import it (pandas and xarray: dask.array does, where they are installed)."""
    program = (
        "import sys, numpy as np, daskkernels as dk\n"
        "X = np.arange(40.0).reshape(20, 2)\n"
        "dk.EigenProClassifier(max_epochs=1).fit(X, np.arange(20) % 2).predict(X)\n"
        "assert 'dask.dataframe' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
