"""Models from strangers: what does not fit together is refused by the loading, by its name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.errors import DigestError, MetadataError, ModelError
from tests.fuzz.signing import sign

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).astype("f4")
Y = np.where(X[:, 1] > 0, "up", "down")
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    few: dict[str, Any] = {"max_epochs": 1, "random_state": 0}
    models = {
        "classifier": dk.EigenProClassifier(**few).fit(X, Y),
        "regressor": dk.EigenProRegressor(**few).fit(X, X[:, 0]),
        "clusters": dk.KernelKMeans(3, n_landmarks=12, random_state=0).fit(X),
        "scale": dk.Standardize().fit(X),
    }
    for name, model in models.items():
        dk.save(model, folder / name)
    return folder


def altered(saved: Path, folder: Path, name: str, change: Change) -> Path:
    """A copy whose record is changed and signed again."""
    shutil.copytree(saved / name, folder / name)
    document = json.loads((folder / name / "zarr.json").read_text())
    change(document["attributes"]["daskkernels"]["model"])
    (folder / name / "zarr.json").write_text(json.dumps(document))
    sign(folder / name)
    return folder / name


def fitted(**values: Any) -> Change:
    return lambda record: record["fitted"].update(values)


def parameters(**values: Any) -> Change:
    return lambda record: record["parameters"].update(values)


def without(name: str) -> Change:
    return lambda record: record["fitted"].pop(name)


POLYNOMIAL = {"kernel": "Polynomial", "fields": {"degree": 10**9}}
REFUSED: list[tuple[str, Change, str]] = [
    ("classifier", without("dual_coef_"), "no dual_coef_"),
    ("classifier", fitted(dual_coef_="hello"), "dual_coef_.*'hello'"),
    (
        "classifier",
        fitted(dual_coef_={"array": "subsample_indices-2"}),
        r"dual_coef_.*is \(60,\): wanted \(n",
    ),
    ("classifier", fitted(n_features_in_=4), r"centers_.*\(60, 3\): wanted \(n=60, d=4\)"),
    ("classifier", fitted(n_features_in_=10**400), "n_features_in_"),
    ("classifier", fitted(kernel_={"kernel": "Gaussian", "fields": {"bandwidth": "mean"}}), "kernel_"),
    ("classifier", fitted(kernel_={"kernel": "Gaussian", "fields": {"bandwidth": 10**400}}), "bandwidth"),
    ("classifier", fitted(kernel_=POLYNOMIAL), "degree=1000000000"),
    ("classifier", fitted(dtype_={"dtype": "|O"}), "not a type"),
    ("classifier", fitted(dtype_={"dtype": "V1000000000000"}), "not a type"),
    ("classifier", fitted(classes_={"strings": ["a"], "dtype": "<U3"}), "classes_"),
    ("classifier", fitted(classes_={"strings": ["b", "a"], "dtype": "<U3"}), "classes_"),
    ("classifier", fitted(classes_={"strings": ["a", "b"], "dtype": "<U400000000"}), "not strings"),
    ("classifier", fitted(classes_={"values": [10**30], "shape": [1], "dtype": "<i8"}), "OverflowError"),
    ("classifier", fitted(_open=3), "no fitted attribute '_open'"),
    ("classifier", fitted(plan_=3), "no fitted attribute 'plan_'"),
    ("classifier", parameters(kernel__bandwidth=3), "no parameter"),
    ("classifier", parameters(verbose="loud"), "verbose"),
    ("classifier", parameters(kernel=[[]]), "a bare list"),
    ("regressor", fitted(_flat="no"), "_flat"),
    ("regressor", fitted(subsample_indices_={"values": [[]], "shape": [0], "dtype": "<i8"}), "subsample_ind"),
    ("regressor", fitted(subsample_indices_={"list": [1]}), "subsample_indices_"),
    ("clusters", fitted(features_=3), "features_"),
    ("clusters", fitted(cluster_centers_={"array": "landmarks-0"}), "features_|cluster_sizes_"),
    ("clusters", lambda record: record["fitted"]["features_"]["fitted"].pop("components_"), "no components_"),
    ("scale", parameters(with_mean="yes"), "with_mean"),
    ("scale", parameters(dtype="int8"), "dtype"),
    ("scale", fitted(scale_={"array": "nothing"}), "not among its arrays"),
    ("scale", lambda record: record.update(pipeline=[]), "steps of a pipeline"),
    ("scale", lambda record: record.update(pipeline=[["a__b", dict(record)]]), "steps of a pipeline"),
    ("scale", lambda record: record.update(estimator="os.system"), "unknown estimator"),
]


@pytest.mark.parametrize(("name", "change", "match"), REFUSED)
def test_refused_by_name(saved: Path, tmp_path: Path, name: str, change: Change, match: str) -> None:
    path = altered(saved, tmp_path, name, change)
    with pytest.raises(ModelError, match=match):
        dk.load(path)


def test_chunk_files_of_a_model_that_were_exchanged(saved: Path, tmp_path: Path) -> None:
    """Both are sound and of the same size: the scaled rows were wrong, in silence."""
    shutil.copytree(saved / "scale", tmp_path / "m")
    mean, scale = tmp_path / "m/mean-0/c/0", tmp_path / "m/scale-2/c/0"
    first, second = mean.read_bytes(), scale.read_bytes()
    mean.write_bytes(second)
    scale.write_bytes(first)
    with pytest.raises(DigestError, match="exchanged"):
        dk.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("names", "match"), [(["a", "a"], "different names"), (["a", "b"], "must transform"), ([], "different")]
)
def test_pipelines_that_are_none(saved: Path, tmp_path: Path, names: list[str], match: str) -> None:
    def change(record: dict[str, Any]) -> None:
        record["pipeline"] = [[name, dict(record)] for name in names]

    with pytest.raises(ModelError, match=match):
        dk.load(altered(saved, tmp_path, "classifier", change))


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    model = dk.Standardize().fit(X)
    model.mean_[1] = np.nan
    dk.save(model, tmp_path / "m")
    with pytest.raises(ModelError, match="mean_"):
        dk.load(tmp_path / "m")


@pytest.mark.parametrize("name", ["A" * 5000, "../X", "/etc", "X/../..", "", ".hidden", 3])
def test_names_of_arrays_that_are_none(saved: Path, tmp_path: Path, name: Any) -> None:
    shutil.copytree(saved / "scale", tmp_path / "m")
    document = json.loads((tmp_path / "m/zarr.json").read_text())
    document["attributes"]["daskkernels"]["arrays"].append(name)
    (tmp_path / "m/zarr.json").write_text(json.dumps(document))
    with pytest.raises(MetadataError, match="arrays must be a list of plain names") as caught:
        dk.load(tmp_path / "m")
    assert len(str(caught.value)) < 1000
