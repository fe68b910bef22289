"""Saved pipelines of the library's estimators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import daskkernels as dk
from daskkernels.models import centers_path

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(60, 3)) * [1.0, 50.0, 0.1]).astype("f4")
Y = np.where(X[:, 1] > 0, "up", "down")


def test_a_pipeline_comes_back(tmp_path: Path) -> None:
    model = make_pipeline(dk.Standardize(), dk.EigenProClassifier("gaussian", max_epochs=1, random_state=0))
    dk.save(model.fit(X, Y), tmp_path / "m.zarr")
    loaded = dk.load(tmp_path / "m.zarr")
    assert [name for name, _ in loaded.steps] == ["standardize", "eigenproclassifier"]
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert centers_path(tmp_path / "m.zarr") is None


def test_a_step_of_another_kind_is_refused(tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), dk.EigenProClassifier("gaussian", max_epochs=1)).fit(X, Y)
    with pytest.raises(dk.errors.ModelError, match="StandardScaler is not an estimator of daskkernels"):
        dk.save(model, tmp_path / "m.zarr")
    with pytest.raises(dk.errors.ModelError, match="Standardize is not fitted"):
        dk.save(make_pipeline(dk.Standardize()), tmp_path / "m.zarr")


def test_where_the_centers_were(tmp_path: Path) -> None:
    dk.write_dataset(tmp_path / "data.zarr", X, Y)
    data = dk.open_dataset(tmp_path / "data.zarr")
    model = dk.EigenProClassifier("gaussian", max_epochs=1, random_state=0).fit(data.X, data.y)
    dk.save(model, tmp_path / "m.zarr")
    assert centers_path(tmp_path / "m.zarr") == str(tmp_path / "data.zarr")
    assert len(model.plan_.eigenvalues) >= model.plan_.n_directions
    assert list(model.plan_.eigenvalues) == sorted(model.plan_.eigenvalues, reverse=True)
