"""Datasets with a y to learn from, and models that know the names of their classes, saved and opened.

A model that was trained on scaled rows is a pipeline of the scaling and the kernel machine.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import daskkernels as dk
from daskkernels.errors import ModelError, StoreError
from daskkernels.models import centers_path
from pipelines.failures import InputError
from pipelines.requests import PredictRequest

_MACHINES = (dk.EigenProClassifier, dk.EigenProRegressor)


def labelled(path: str, what: str) -> dk.Dataset:
    """The dataset, opened; raises InputError unless it has a y."""
    data = dk.open_dataset(path)
    if data.y is None:
        raise InputError(f"{path} holds no y {what}: write it with dk.write_dataset(path, X, y)")
    return data


def named(model: Any, classes: tuple[Any, ...] | None) -> Any:
    """The model, fitted to codes, made to predict the names that the codes stand for."""
    if classes is not None:
        model.classes_ = np.array(classes)[model.classes_]
    return model


def machine(model: Any) -> Any:
    """The kernel machine of a model."""
    return model[-1] if isinstance(model, Pipeline) else model


def coded(model: Any) -> Any:
    """The same model, made to predict codes 0, 1, ... of its classes: numbers can be stored."""
    if not names_of(model):
        return model
    last = copy(machine(model))
    last.classes_ = np.arange(len(last.classes_), dtype=np.int32)
    return Pipeline([*model.steps[:-1], ("machine", last)]) if isinstance(model, Pipeline) else last


def names_of(model: Any) -> list[Any] | None:
    """The names of its classes, or None for a regressor."""
    classes = getattr(machine(model), "classes_", None)
    return None if classes is None else classes.tolist()


def opened(request: PredictRequest) -> Any:
    """The model, ready to predict; raises InputError, ModelError and other StoreErrors, each on one line."""
    recorded = centers_path(request.model)
    if request.centers and recorded is None:
        raise InputError(f"--centers {request.centers}: {request.model} holds its own centers, leave it out")
    if recorded and not request.centers and _kind_of(recorded) not in ("", _kind_of(request.model)):
        raise InputError(  # a stranger's model must not send requests to where it likes
            f"{request.model} needs the dataset it was trained on, {recorded}: give its place with --centers"
        )
    place = request.centers or recorded
    try:
        model = dk.load(request.model, data=None if place is None else dk.open_dataset(place))
    except ModelError:
        raise
    except StoreError as error:
        if request.centers or recorded is None or str(recorded) not in str(error):
            raise
        raise InputError(
            f"{request.model} needs the dataset it was trained on: {error} (give its place with --centers)"
        ) from error
    if not isinstance(machine(model), _MACHINES):
        wanted = " or ".join(kind.__name__ for kind in _MACHINES)
        raise InputError(f"{request.model} is a {type(machine(model)).__name__}: wanted an {wanted}")
    return model


def check_columns(model: Any, path: str, data: dk.Dataset) -> None:
    """Raise InputError unless the rows are as wide as those that the model was trained on."""
    wanted = (model[0] if isinstance(model, Pipeline) else model).n_features_in_
    if data.n_features != wanted:
        raise InputError(f"{path} has {data.n_features} columns: the model was trained on {wanted}")


def _kind_of(address: str) -> str:
    """The protocol and host of a URL, empty for a folder."""
    scheme, found, rest = address.partition("://")
    return scheme + found + rest.partition("/")[0] if found else ""
