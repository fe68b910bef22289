"""Saved models: every method gives the same again, only our classes are made, what is altered is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.store import ModelError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype("f4")
Y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NEW = RNG.normal(size=(20, 4)).astype("f4")


def fitted() -> dict[str, Any]:
    numbers = np.c_[X[:, 0], X[:, 1] ** 2]
    return {
        "classifier": dk.EigenProClassifier(kernel=dk.Cauchy(2.0), max_epochs=1, random_state=0).fit(X, Y),
        "regressor": dk.EigenProRegressor(max_epochs=1, random_state=0).fit(X, numbers),
        "plain": dk.EigenProRegressor(n_directions=1, max_epochs=1, random_state=0).fit(X, numbers[:, 0]),
        "centers": dk.FalkonClassifier(n_centers=40, random_state=0).fit(X, Y),
        "ridge": dk.FalkonRegressor(n_centers=40, random_state=0).fit(X, numbers),
        "one ridge": dk.FalkonRegressor(n_centers=40, random_state=0).fit(X, numbers[:, 0]),
        "features": dk.NystromFeatures(n_landmarks=30, random_state=0).fit(X),
        "clusters": dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(X),
        "scale": dk.Standardize().fit(X),
    }


MODELS = fitted()
METHODS = ("predict", "decision_function", "transform")


@pytest.mark.parametrize("name", MODELS)
def test_every_method_matches(tmp_path: Path, name: str) -> None:
    model = MODELS[name]
    dk.save(model, tmp_path / "m.zarr")
    again = dk.load(tmp_path / "m.zarr")
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    for method in METHODS:
        if hasattr(model, method):
            np.testing.assert_array_equal(
                getattr(again, method)(NEW), getattr(model, method)(NEW), strict=True
            )


def test_centers_of_a_dataset_are_kept_by_reference(tmp_path: Path) -> None:
    data = dk.write_dataset(tmp_path / "d.zarr", X, Y)
    other = dk.write_dataset(tmp_path / "o.zarr", X + 1, Y)
    model = dk.EigenProClassifier(max_epochs=1, random_state=0).fit(data.X, data.y)
    dk.save(model, tmp_path / "m.zarr")
    with pytest.raises(ModelError, match=r"rows of .*d\.zarr: pass data="):
        dk.load(tmp_path / "m.zarr")
    with pytest.raises(ModelError, match="another digest"):
        dk.load(tmp_path / "m.zarr", data=other)
    again = dk.load(tmp_path / "m.zarr", data=data)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_overwrite_and_strangers(tmp_path: Path) -> None:
    path = tmp_path / "m.zarr"
    dk.save(MODELS["scale"], path)
    with pytest.raises(dk.errors.ExistsError, match="overwrite=True"):
        dk.save(MODELS["scale"], path)
    dk.save(MODELS["features"], path, overwrite=True)
    assert type(dk.load(path)) is dk.NystromFeatures
    with pytest.raises(dk.errors.NotADatasetError, match="is a model, wanted a dataset"):
        dk.open_dataset(path)
    dk.write_dataset(tmp_path / "d.zarr", X)
    with pytest.raises(dk.errors.NotADatasetError, match="is a dataset, wanted a model"):
        dk.load(tmp_path / "d.zarr")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (object(), "not an estimator"),
        (dk.Standardize(), "not fitted"),
        (
            dk.NystromFeatures(
                kernel=lambda A, B: np.exp(-((A[:, None] - B) ** 2).sum(-1)), n_landmarks=9
            ).fit(X),
            "can not be saved without pickle",
        ),
    ],
)
def test_what_cannot_be_saved(tmp_path: Path, model: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        dk.save(model, tmp_path / "m.zarr")
    assert not (tmp_path / "m.zarr").exists()


def test_altered_metadata_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.zarr"
    dk.save(MODELS["classifier"], path)
    document = json.loads((path / "zarr.json").read_text())
    document["attributes"]["daskkernels"]["model"]["estimator"] = "os.system"
    (path / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(dk.errors.DigestError):
        dk.load(path)


def test_auto_kernel_is_chosen_by_trials() -> None:
    model = dk.EigenProClassifier(kernel="auto", max_epochs=2, random_state=0).fit(X, Y)
    trials = model.plan_.trials
    assert len(trials) == 16
    best = min(trials, key=lambda trial: trial.rank)
    assert model.kernel_ == best.kernel == model.plan_.kernel
    assert (model.predict(X) == Y).mean() > 0.9


def test_resumed_fit_is_the_uninterrupted_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"random_state": 0, "dtype": "float64", "validation_fraction": 0.1}
    whole = dk.EigenProClassifier(max_epochs=4, **options).fit(X, Y)
    dk.EigenProClassifier(max_epochs=2, **options).fit(X, Y, checkpoint=tmp_path / "c")
    with pytest.raises(dk.errors.InputError, match="pass resume=True"):
        dk.EigenProClassifier(max_epochs=4, **options).fit(X, Y, checkpoint=tmp_path / "c")
    with pytest.raises(dk.errors.InputError, match="another fit"):
        dk.EigenProClassifier(max_epochs=4, **options).fit(X[::-1], Y, checkpoint=tmp_path / "c", resume=True)
    again = dk.EigenProClassifier(max_epochs=4, **options).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(again.subsample_coef_, whole.subsample_coef_)
    assert [entry["epoch"] for entry in again.history_] == [entry["epoch"] for entry in whole.history_]
