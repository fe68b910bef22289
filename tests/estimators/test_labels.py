"""Tests: y as users hold it: series, categories, objects, nullable types, frames, xarray; what is no y."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr
from sklearn.exceptions import DataConversionWarning

import daskkernels as dk
from daskkernels.errors import InputError, NonFiniteError
from tests.hazards.forms import dense

N = 240
X = np.random.default_rng(0).normal(size=(N, 4))
LAZY = da.from_array(X, chunks=(70, 4))
CODES = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
NAMES = np.array(["low", "mid", "top"])[CODES]
SHUFFLED = np.random.default_rng(1).permutation(N)


def classifier(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"random_state": 0, "max_epochs": 1, "n_subsamples": 30, **options})


def regressor(**options: Any) -> dk.EigenProRegressor:
    return dk.EigenProRegressor(**{"random_state": 0, "max_epochs": 1, "n_subsamples": 30, **options})


CLASSES, VALUES = classifier().fit(X, CODES), regressor().fit(X, CODES)


def lazy(y: Any) -> Any:
    return dd.from_pandas(y, npartitions=3)


def unordered(values: Any) -> pd.Categorical:
    return pd.Categorical(values, categories=["top", "unused", "low", "mid"], ordered=True)


STRINGS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: NAMES,
    "list": NAMES.tolist,
    "objects": lambda: NAMES.astype(object),
    "numpy's strings": lambda: NAMES.astype(np.dtypes.StringDType()),
    "series": lambda: pd.Series(NAMES),
    "series of objects": lambda: pd.Series(NAMES, dtype=object),
    "series with an index": lambda: pd.Series(NAMES, index=SHUFFLED),
    "string": lambda: pd.Series(NAMES, dtype="string"),
    "arrow": lambda: pd.Series(NAMES, dtype="string[pyarrow]"),
    "index": lambda: pd.Index(NAMES),
    "category": lambda: pd.Series(NAMES, dtype="category"),
    "categorical": lambda: pd.Categorical(NAMES),
    "unused category": lambda: unordered(NAMES),
    "dask": lambda: da.from_array(NAMES, chunks=70),
    "dask objects": lambda: da.from_array(NAMES.astype(object), chunks=70),
    "dask series": lambda: lazy(pd.Series(NAMES)),
    "dask string": lambda: lazy(pd.Series(NAMES, dtype="string")),
    "dask, known categories": lambda: lazy(pd.Series(NAMES, dtype="category")),
    "dask, unknown categories": lambda: lazy(pd.Series(NAMES)).astype("category"),
    "dask, unused category": lambda: lazy(pd.Series(unordered(NAMES))),
    "xarray": lambda: xr.DataArray(NAMES),
    "xarray over dask": lambda: xr.DataArray(da.from_array(NAMES, chunks=70)),
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "series with an index": lambda: pd.Series(CODES, index=SHUFFLED),
    "Int64": lambda: pd.Series(CODES, dtype="Int64"),
    "Int64 array": lambda: pd.array(CODES, dtype="Int64"),
    "Float64": lambda: pd.Series(CODES, dtype="Float64"),
    "objects": lambda: CODES.astype(object),
    "category": lambda: pd.Series(CODES, dtype="category"),
    "arrow": lambda: pd.Series(CODES, dtype="int64[pyarrow]"),
    "sparse series": lambda: pd.Series(CODES, dtype=pd.SparseDtype(int)),
    "dask series": lambda: lazy(pd.Series(CODES)),
    "dask Int64": lambda: lazy(pd.Series(CODES, dtype="Int64")),
    "dask Float64": lambda: lazy(pd.Series(CODES, dtype="Float64")),
    "dask category": lambda: lazy(pd.Series(CODES, dtype="category")),
    "dask objects": lambda: da.from_array(CODES.astype(object), chunks=70),
    "xarray": lambda: xr.DataArray(CODES),
}
BOOLS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: CODES > 0,
    "objects": lambda: (CODES > 0).astype(object),
    "boolean": lambda: pd.Series(CODES > 0, dtype="boolean"),
    "category": lambda: pd.Series(CODES > 0, dtype="category"),
    "dask boolean": lambda: lazy(pd.Series(CODES > 0, dtype="boolean")),
    "dask category": lambda: lazy(pd.Series(CODES > 0, dtype="category")),
}


@pytest.mark.parametrize("form", STRINGS)
def test_strings(form: str) -> None:
    """The classes are the strings that occur, sorted; predictions are strings."""
    y = STRINGS[form]()
    model = classifier().fit(X, y, validation=(X, y))
    assert model.classes_.tolist() == ["low", "mid", "top"]
    assert model.classes_.dtype.kind in "OU"
    for rows in (X, LAZY):
        found = dense(model.predict(rows))
        assert found.dtype == model.classes_.dtype
        np.testing.assert_array_equal(found, np.array(["low", "mid", "top"])[CLASSES.predict(X)])
        assert model.score(rows, y) == CLASSES.score(X, CODES)
    assert model.history_[-1]["validation_error"] == pytest.approx(1 - model.score(X, y))


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers(form: str) -> None:
    """Labels and targets by their position, whatever their index."""
    y = NUMBERS[form]()
    model = classifier().fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.classes_.dtype.kind in "if"
    np.testing.assert_array_equal(model.predict(X), CLASSES.predict(X))
    assert model.score(LAZY, y) == CLASSES.score(X, CODES)
    values = regressor().fit(X, y, validation=(X, y))
    np.testing.assert_array_equal(values.predict(X), VALUES.predict(X))
    assert values.score(LAZY, y) == VALUES.score(X, CODES)


@pytest.mark.parametrize("form", BOOLS)
def test_bools(form: str) -> None:
    y = BOOLS[form]()
    model = classifier().fit(X, y)
    assert model.classes_.dtype == bool
    assert model.predict(X).dtype == bool
    assert model.score(LAZY, y) > 0.9
    assert regressor().fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("wrap", [lambda y: y, lazy], ids=["pandas", "dask"])
def test_frames_of_targets(wrap: Any) -> None:
    one = wrap(pd.DataFrame({"y": CODES}))
    two = wrap(pd.DataFrame({"y": CODES, "z": pd.Series(CODES, dtype="Int64")}))
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = classifier().fit(X, one)
    np.testing.assert_array_equal(model.predict(X), CLASSES.predict(X))
    with pytest.raises(ValueError, match=r"y (has shape|should be a 1d array).*\(240, 2\)"):
        classifier().fit(X, two)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        assert classifier().fit(X, wrap(pd.DataFrame({"y": pd.Categorical(NAMES)}))).classes_[0] == "low"
    for frame, columns in ((one, 1), (two, 2)):
        values = regressor().fit(X, frame)
        assert values.predict(X).shape == (N, columns)
        np.testing.assert_allclose(values.predict(X)[:, -1], VALUES.predict(X), atol=1e-12)
        assert values.score(LAZY, frame) == pytest.approx(VALUES.score(X, CODES))


HOLED = ["string", "str", "category", "object", "Int64", "Float64", "boolean", "int64[pyarrow]"]


@pytest.mark.parametrize("dtype", HOLED)
@pytest.mark.parametrize("wrap", [lambda y: y, lazy], ids=["pandas", "dask"])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_missing_labels_are_named(make: Any, dtype: str, wrap: Any) -> None:
    """NA, NaN or None: the row, for fit, score and validation."""
    text = dtype in ("string", "str", "category", "object")
    values = (NAMES if text else CODES > 0 if dtype == "boolean" else CODES).astype(object)
    values[123] = None
    y = wrap(pd.Series(values).astype(dtype))
    message = r"y has no value.*row 123\b.*fill it in, or drop"
    with pytest.raises(NonFiniteError, match=message):
        make().fit(X, y)
    model = CLASSES if make is classifier else VALUES
    with pytest.raises(ValueError, match=r"\b123\b|NaN"):
        model.score(X, y)


REFUSED: dict[str, Any] = {
    "complex": CODES.astype(complex),
    "datetime64": CODES.astype("M8[s]"),
    "timedelta64": CODES.astype("m8[s]"),
    "bytes": NAMES.astype("S3"),
    "records": np.zeros(N, dtype=[("a", "i8")]),
}


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("form", ["numpy", "dask", "xarray", "series", "dask series"])
def test_other_types_are_refused(make: Any, kind: str, form: str, no_compute: Any) -> None:
    """With the type received and what is wanted; lazily, before anything is computed."""
    if kind == "records" and form != "numpy":
        form = "dask"
    if kind == "bytes" and "series" in form:
        form = "dask"
    wraps: dict[str, Callable[[Any], Any]] = {
        "numpy": lambda y: y,
        "dask": lambda y: da.from_array(y, chunks=70),
        "xarray": xr.DataArray,
        "series": pd.Series,
        "dask series": lambda y: lazy(pd.Series(y)),
    }
    y = wraps[form](REFUSED[kind])
    with no_compute, pytest.raises(InputError, match=r"y has dtype .*: wanted labels .*or numbers"):
        make().fit(X, y)
    with no_compute, pytest.raises(InputError, match="y has dtype"):
        (CLASSES if make is classifier else VALUES).score(X, y)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_masked_and_sparse_targets_are_refused(make: Any, no_compute: Any) -> None:
    masked = np.ma.masked_array(CODES, CODES > 1)
    for y in (masked, da.from_array(masked, chunks=70)):
        with no_compute, pytest.raises(TypeError, match=r"y is a masked array: fill"):
            make().fit(X, y)
    for sparse in (sp.csr_array(CODES[:, None]), da.from_array(CODES[:, None]).map_blocks(sp.csr_matrix)):
        with pytest.raises(TypeError, match="y is sparse"):
            make().fit(X, sparse)


@pytest.mark.parametrize("wrap", [lambda y: y, lazy], ids=["pandas", "dask"])
@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(CODES, unit="D", utc=True),
        pd.period_range("2020", periods=N, freq="D"),
        pd.Categorical(pd.to_datetime(CODES, unit="D")),
    ],
    ids=["zone", "period", "category"],
)
def test_dates_are_refused(values: Any, wrap: Any) -> None:
    for make in (classifier, regressor):
        with pytest.raises(ValueError, match=r"Timestamp|Period|datetime64"):
            make().fit(X, wrap(pd.Series(values)))


@pytest.mark.parametrize("form", ["numpy", "dask", "in other blocks", "list"])
def test_mixed_labels_are_refused(form: str) -> None:
    mixed = np.where(CODES > 0, NAMES.astype(object), 7)
    n, y = N, mixed
    if form == "in other blocks":  # of the canonical grid
        n, mixed = 3000, np.r_[["low", "mid"] * 750, [1, 2] * 750]
        y = da.from_array(np.array(["low", "mid"] * 750 + [1, 2] * 750, object), chunks=700)
    elif form != "numpy":
        y = da.from_array(mixed, chunks=70) if form == "dask" else mixed.tolist()
    with pytest.raises(ValueError, match=r"y holds .*(int, str|numbers and strings).*of one type"):
        classifier().fit(np.resize(X, (n, 4)), y)


def test_text_is_no_number() -> None:
    for y in (NAMES, da.from_array(NAMES, chunks=70), lazy(pd.Series(NAMES, dtype="category"))):
        with pytest.raises(ValueError, match=r"y has dtype .*: wanted numbers .*'(low|mid|top)'"):
            regressor().fit(X, y)


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize(
    "short",
    [pd.Series(CODES[:150]), lazy(pd.Series(CODES[:150])), xr.DataArray(CODES[:150]), pd.array(CODES[:150])],
    ids=["series", "dask series", "xarray", "array"],
)
def test_lengths_that_differ(make: Any, short: Any) -> None:
    frame = pd.DataFrame(X)
    for rows in (X, frame, lazy(frame)):
        with pytest.raises(InputError, match="X has 240 rows, but y has 150"):
            make().fit(rows, short)


def test_labels_of_another_type_are_no_classes() -> None:
    """In validation: by name, not numpy's error about comparing them."""
    for y in (NAMES, da.from_array(NAMES, chunks=70)):
        with pytest.raises(InputError, match=r"validation: y is '\w+' at row 0"):
            classifier().fit(X, CODES, validation=(X, y))
    with pytest.raises(InputError, match="validation: y is 0 at row"):
        classifier().fit(X, NAMES, validation=(X, np.zeros(N, int)))
