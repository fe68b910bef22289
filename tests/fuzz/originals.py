"""Tests: whole datasets and models to be altered, small, one of each kind, with the answers they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline

import daskkernels as dk

N, D = 200, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)).astype("f4")
NEW = RNG.normal(size=(7, D)).astype("f4")
LABELS = np.array(["low", "mid", "top"])[RNG.integers(0, 3, N)]
METHODS = ("predict", "decision_function", "transform")


@dataclass(frozen=True)
class Original:
    """A whole dataset or model on disk, and how to get all its answers from a (mutated) copy."""

    name: str
    path: Path
    answers: Callable[[Path], list[Any]]


def originals(folder: Path) -> list[Original]:
    """Write all of them below the folder."""
    datasets = _datasets(folder)
    data = dk.open_dataset(datasets["labels"])
    found = [Original(name, path, dataset_answers) for name, path in datasets.items()]
    for name, model in _models(data).items():
        path = folder / f"model-{name}.zarr"
        dk.save(model, path)
        found.append(Original(name, path, lambda copy: model_answers(copy, data)))
    return found


def _datasets(folder: Path) -> dict[str, Path]:
    integers, targets = (X * 9).astype("i2"), np.c_[X[:, 0], X[:, 1]].astype("f8")
    made: dict[str, dict[str, Any]] = {
        "labels": {"X": X, "y": LABELS, "feature_names": ["a", "b", "c"], "source": {"from": "here"}},
        "targets": {"X": X.astype("f8"), "y": targets},
        "codes": {"X": integers, "y": RNG.integers(-3, 3, N)},
        "images": {"X": np.tile(integers.astype("u1"), 4), "feature_shape": (3, 4)},
    }
    for name, options in made.items():
        dk.write_dataset(folder / f"{name}.zarr", **options, chunk_rows=64)
    return {name: folder / f"{name}.zarr" for name in made}


def _models(data: dk.Dataset) -> dict[str, Any]:
    few: dict[str, Any] = {"max_epochs": 1, "random_state": 0}
    nystrom: dict[str, Any] = {"n_landmarks": 12, "random_state": 0}
    scaled = make_pipeline(dk.Standardize(), dk.EigenProClassifier("gaussian", **few))
    return {
        "by reference": dk.EigenProClassifier(**few).fit(data.X, data.y),
        "classifier": dk.EigenProClassifier(dk.Matern(2.0, nu=2.5), **few).fit(X, LABELS),
        "regressor": dk.EigenProRegressor(dtype="float64", **few).fit(X, X[:, 0] ** 2),
        "outputs": dk.EigenProRegressor(**few).fit(X, X[:, :2]),
        "clusters": dk.KernelKMeans(3, tol=1.0, **nystrom).fit(X),
        "lazy clusters": dk.KernelKMeans(2, tol=1.0, **nystrom).fit(data.X),
        "features": dk.NystromFeatures("polynomial", landmarks=X[:9]).fit(X),
        "scale": dk.Standardize().fit(X),
        "pipeline": scaled.fit(X, LABELS),
    }


def dataset_answers(path: Path) -> list[Any]:
    """Everything a dataset says, all of it read."""
    data = dk.open_dataset(path, verify=True)
    y = None if data.y is None else data.y.compute()
    facts = (data.n_rows, data.n_features, data.classes, data.feature_names, data.feature_shape, data.source)
    return [data.X.compute(), y, data.features[3:70], *facts]


def model_answers(path: Path, data: dk.Dataset) -> list[Any]:
    """What the model says about new rows, and what it says it is."""
    model = dk.load(path, data=data)
    found: list[Any] = [getattr(model, method)(NEW) for method in METHODS if hasattr(model, method)]
    labels = getattr(model, "labels_", None)
    if labels is not None:
        found.append(np.asarray(labels))
    return [*found, type(model).__name__, repr(model)]


def same(left: list[Any], right: list[Any]) -> bool:
    """Equal to the last bit, types included."""
    if len(left) != len(right):
        return False
    for one, other in zip(left, right, strict=True):
        if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
            if type(one) is not type(other) or one.dtype != other.dtype or not np.array_equal(one, other):
                return False
        elif type(one) is not type(other) or one != other:
            return False
    return True
