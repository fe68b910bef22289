"""Tests: labelled arrays as plain ones, and what is said of those that are none."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import daskkernels as dk
from daskkernels.frames import feature_names

X = np.random.default_rng(0).normal(size=(20, 3))


def test_names_of_a_labelled_array() -> None:
    assert feature_names(xr.DataArray(X, dims=("row", "c"), coords={"c": ["a", "b", "c"]})) == ("a", "b", "c")
    assert feature_names(xr.DataArray(X)) is None
    assert feature_names(xr.Variable(("row", "c"), X)) is None
    assert feature_names(X) is None


@pytest.mark.parametrize("names", [["a", "b"], ["data", "b", "c"], []])
def test_an_xarray_dataset_is_told_what_is_wanted(names: list[str]) -> None:
    table = xr.Dataset(dict.fromkeys(names, (("row", "column"), X)))
    for model in (dk.KernelKMeans(1), dk.Standardize()):
        with pytest.raises(TypeError, match=r"DataArray is wanted, got Dataset: take one of its variables"):
            model.fit(table)
