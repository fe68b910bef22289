"""Layer 6: what a fitted estimator holds, as a table that a model from a file is compared with.

A stranger's model may name any attribute and give it any value; an array of the wrong shape would be an
obscure error deep inside a task, or a wrong answer.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import dask.array as da
import numpy as np

from ..inputs import InputError
from ..kernels import Kernel, Stationary
from .base import DaskEstimator
from .eigenpro import EigenProClassifier, EigenProRegressor
from .falkon import FalkonClassifier, FalkonRegressor
from .kernel_pca import KernelPCA
from .kmeans import KernelKMeans
from .nystrom import LANDMARK_ATTRIBUTES, PROJECTION_ATTRIBUTES, NystromFeatures
from .standardize import Standardize

Sizes = dict[str, int]
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Form:
    """The fitted attributes of a class; the letters are sizes, equal ones must agree."""

    arrays: Mapping[str, str]  # of finite numbers, by their shapes
    sizes: Mapping[str, str] = field(default_factory=dict)  # whole numbers
    others: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    optional: tuple[str, ...] = ()


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _kernel(value: Any) -> bool:
    return isinstance(value, Kernel) and (not isinstance(value, Stationary) or value.resolved)


def _float(value: Any) -> bool:
    return isinstance(value, np.dtype) and value in (np.float32, np.float64)


def _history(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, dict)
        and all(isinstance(name, str) and (v is None or _number(v)) for name, v in entry.items())
        for entry in value
    )


def _labels(value: Any) -> bool:
    """Different labels in ascending order."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufUO":
        return False
    if value.dtype.kind == "O" and len({type(label) for label in value}) > 1:
        return False
    return len(value) > 1 and bool((value[1:] > value[:-1]).all())


def _strings(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and all(isinstance(name, str) for name in value)


_MACHINE = Form(
    arrays={
        "dual_coef_": "n l",
        "subsample_coef_": "s l",
        "subsample_indices_": "s",
        "centers_": "n d",
        "center_": "d",
    },
    others={
        "kernel_": _kernel,
        "dtype_": _float,
        "history_": _history,
        "n_epochs_": _whole,
        "n_halvings_": _whole,
    },
)
_FALKON = Form(
    arrays={"dual_coef_": "m l", "centers_": "m d", "center_indices_": "m"},
    others={"kernel_": _kernel, "dtype_": _float, "history_": _history, "n_iter_": _whole},
    optional=("center_indices_",),
)
FORMS: dict[type[DaskEstimator], Form] = {
    NystromFeatures: Form(
        arrays={
            "landmarks_": "c d",
            "landmark_indices_": "c",
            "centers_": "n d",
            "dual_coef_": "n s",
            "center_": "d",
            "offset_": "s",
            "components_": "c s",
            "eigenvalues_": "c",
            "gram_eigenvalues_": "r",
            "trace_errors_": "r",
            "rank_trace_errors_": "r",
        },
        sizes={"n_components_": "s", "rank_": "r"},
        others={"kernel_": _kernel, "dtype_": _float, "trace_error_": _number, "rank_trace_error_": _number},
        optional=(*LANDMARK_ATTRIBUTES, *PROJECTION_ATTRIBUTES),
    ),
    KernelPCA: Form(
        arrays={
            "centers_": "n d",
            "dual_coef_": "n s",
            "center_": "d",
            "offset_": "s",
            "eigenvalues_": "s",
            "explained_trace_": "s",
        },
        sizes={"n_components_": "s"},
        others={"kernel_": _kernel, "dtype_": _float, "trace_error_": _number, "n_iter_": _whole},
    ),
    KernelKMeans: Form(
        arrays={"cluster_centers_": "k s", "cluster_sizes_": "k", "labels_": "n"},
        others={
            "features_": lambda value: isinstance(value, NystromFeatures),
            "inertia_": _number,
            "n_iter_": _whole,
            "history_": _history,
        },
    ),
    Standardize: Form(arrays={"mean_": "d", "var_": "d", "scale_": "d"}, others={"n_samples_seen_": _whole}),
    EigenProClassifier: Form(_MACHINE.arrays, others={**_MACHINE.others, "classes_": _labels}),
    EigenProRegressor: Form(
        {**_MACHINE.arrays, "intercept_": "l"},
        others={**_MACHINE.others, "_flat": lambda value: isinstance(value, bool)},
    ),
    FalkonClassifier: replace(_FALKON, others={**_FALKON.others, "classes_": _labels}),
    FalkonRegressor: replace(
        _FALKON, others={**_FALKON.others, "_flat": lambda value: isinstance(value, bool)}
    ),
}
_ALL = {"n_features_in_": "d"}
_PARAMETERS: dict[str, Callable[[Any], bool]] = {
    "verbose": lambda value: isinstance(value, int),
    "with_mean": lambda value: isinstance(value, bool),
    "with_std": lambda value: isinstance(value, bool),
    "scratch": lambda value: value is None or isinstance(value, str),
    "dtype": lambda value: value in (None, "float32", "float64") or _float(value),
}


def known(model: DaskEstimator) -> set[str]:
    """The fitted attributes that such an estimator may hold."""
    form = FORMS[type(model)]
    return {*_ALL, *form.arrays, *form.sizes, *form.others, "feature_names_in_"}


def check_whole(model: DaskEstimator) -> None:
    """Compare the fitted attributes, and the parameters that predicting reads, with what they must be.

    Cost: a look at every value that is in memory. Raises InputError naming the attribute.
    """
    form, found, sizes = FORMS[type(model)], vars(model), Sizes()
    for name in known(model) - set(form.optional) - {"feature_names_in_"}:
        if name not in found:
            raise InputError(f"{type(model).__name__} has no {name}")
    for name, right in _PARAMETERS.items():
        _demand(name not in found or right(found[name]), model, name)
    for name, letter in {**_ALL, **form.sizes}.items():
        _demand(_whole(found[name]) and sizes.setdefault(letter, found[name]) == found[name], model, name)
    for name, right in form.others.items():
        _demand(right(found[name]), model, name)
    for name, letters in form.arrays.items():
        if found.get(name) is not None or name not in form.optional:
            _check_array(model, name, letters.split(), sizes)
    if "feature_names_in_" in found:
        names = found["feature_names_in_"]
        _demand(_strings(names) and len(names) == sizes["d"], model, "feature_names_in_")
    _check_together(model, sizes)


def _check_array(model: DaskEstimator, name: str, letters: list[str], sizes: Sizes) -> None:
    """A numpy or dask array of finite numbers whose sizes agree with those of the others."""
    array = getattr(model, name)
    _demand(isinstance(array, np.ndarray | da.Array) and array.dtype.kind in "biuf", model, name)
    shape = tuple(int(size) for size in array.shape)
    fits = len(shape) == len(letters)
    for letter, size in zip(letters, shape, strict=False):
        fits = fits and size > 0 and sizes.setdefault(letter, size) == size
    if not fits:
        wanted = ", ".join(f"{letter}={sizes[letter]}" if letter in sizes else letter for letter in letters)
        raise InputError(f"{name} of {type(model).__name__} is {shape}: wanted ({wanted})")
    _demand(not isinstance(array, np.ndarray) or bool(np.isfinite(array).all()), model, name)


def _check_together(model: DaskEstimator, sizes: Sizes) -> None:
    """What several attributes must agree on."""
    found = vars(model)
    if isinstance(model, NystromFeatures):
        kinds = (LANDMARK_ATTRIBUTES, PROJECTION_ATTRIBUTES)
        there = [sum(name in found for name in names) for names in kinds]
        _demand(there in ([len(kinds[0]), 0], [0, len(kinds[1])]), model, "landmarks_")
        for name in {*kinds[0], *kinds[1]} - {"landmark_indices_"}:  # None for landmarks that are no rows
            _demand(found.get(name, name) is not None, model, name)
    if isinstance(model, KernelKMeans):
        check_whole(model.features_)
        agree = (model.features_.n_features_in_, model.features_.n_components_) == (sizes["d"], sizes["s"])
        _demand(agree, model, "features_")
        _demand(found["labels_"].dtype.kind == "i", model, "labels_")
    if isinstance(model, EigenProClassifier | FalkonClassifier):
        _demand(len(found["classes_"]) == sizes["l"], model, "classes_")
    if isinstance(model, EigenProRegressor):
        _demand(sizes["l"] == 1 or not found["_flat"], model, "intercept_")
    if isinstance(model, FalkonClassifier | FalkonRegressor):
        _demand(found["dual_coef_"].dtype.kind == "f", model, "dual_coef_")
        _demand(sizes["l"] == 1 or not found.get("_flat", False), model, "dual_coef_")
        for name in ("dual_coef_", "centers_"):
            _demand(isinstance(found[name], np.ndarray), model, name)
    if isinstance(model, Standardize):
        _demand(bool((found["scale_"] > 0).all()), model, "scale_")
    if isinstance(model, EigenProClassifier | EigenProRegressor):
        rows = found["subsample_indices_"]
        inside = isinstance(rows, np.ndarray) and rows.dtype.kind in "iu"
        _demand(inside and rows.min() >= 0 and rows.max() < sizes["n"], model, "subsample_indices_")
        floats = all(found[name].dtype.kind == "f" for name in ("dual_coef_", "subsample_coef_"))
        _demand(floats, model, "dual_coef_")


def _demand(right: bool, model: DaskEstimator, name: str) -> None:
    if not right:
        value = vars(model).get(name)
        raise InputError(f"{name} of {type(model).__name__} can not be {reprlib.repr(value)}")
