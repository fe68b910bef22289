"""Tests: `Standardize`: exact moments, columns without variance, kinds and types."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from tests import oracles
from tests.estimators.rows_in_many_forms import chunked, table

X = table() * [1.0, 10.0, 1e-3, 1.0, 5.0] + [0.0, 1e4, 0.0, -5.0, 1.0]


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_formula(form: str) -> None:
    data = X if form == "numpy" else chunked(X)
    model = dk.Standardize().fit(data)
    expected, mean, variance = oracles.standardized(X)
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.var_, variance, rtol=1e-10)
    np.testing.assert_allclose(np.asarray(model.transform(data)), expected, atol=1e-9)
    assert model.n_samples_seen_ == len(X)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e8, -1e-300])
def test_constant_columns_are_centered_only(value: float) -> None:
    data = np.column_stack([X[:, 0], np.full(len(X), value)])
    model = dk.Standardize().fit(data)
    assert model.scale_[1] == 1.0
    assert np.abs(model.transform(data)[:, 1]).max() <= 1e-13 * abs(value)


@pytest.mark.parametrize(("with_mean", "with_std"), [(True, False), (False, True), (False, False)])
def test_switches(with_mean: bool, with_std: bool) -> None:
    out = dk.Standardize(with_mean=with_mean, with_std=with_std).fit_transform(X)
    expected = (X - X.mean(axis=0) * with_mean) / (X.std(axis=0) if with_std else 1.0)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("stored", ["u1", "i4", "?", "f4", "f2"])
def test_types(stored: str) -> None:
    data = (table() * 10 + 100).clip(0, 200).astype(stored) if stored != "?" else table() > 0
    out = dk.Standardize().fit_transform(data)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, oracles.standardized(data.astype("f8"))[0], atol=2e-6)


def test_weights_repeat_rows() -> None:
    counts = np.random.default_rng(2).integers(0, 3, len(X))
    model, again = dk.Standardize().fit(X, sample_weight=counts), dk.Standardize()
    again.fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(model.mean_, again.mean_, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.var_, again.var_, rtol=1e-10)


def test_lazy_stays_lazy(no_compute: Any) -> None:
    lazy = chunked(X)
    model = dk.Standardize().fit(lazy)
    with no_compute:
        out = model.transform(lazy)
    assert isinstance(out, da.Array)
    np.testing.assert_array_equal(out.compute(), dk.Standardize().fit_transform(X))


def test_in_front_of_clustering() -> None:
    """The bandwidth follows the scaled columns: no column is drowned by the unit of another."""
    scaled = dk.Standardize().fit_transform(chunked(X))
    model = dk.NystromFeatures(n_landmarks=20, random_state=0).fit(scaled)
    assert model.kernel_.bandwidth == pytest.approx(np.sqrt(2 * 5), rel=1e-9)
