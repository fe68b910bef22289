"""Top layer: fitted estimators as Zarr groups, no pickle: a stranger's model is opened without running code.

Only the library's own estimators and kernels are made, only their own parameters and fitted attributes are
set, and the metadata is covered by a digest as in datasets.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from sklearn.pipeline import Pipeline

from . import estimators
from .estimators.base import DaskEstimator
from .estimators.fitted import check_whole, known
from .grid import Grid
from .kernels import KERNELS, Kernel
from .store import (
    Dataset,
    ModelError,
    Reader,
    StoreError,
    complete_group,
    open_dataset,
    open_group,
    reader_of,
    to_dask,
    whole_array,
    write_array,
    writing_group,
)

KIND = "model"
NOT_KEPT = ("plan_",)  # measured on the machine of the fit
PRIVATE = ("_flat",)
_PLAIN = (bool, int, str, type(None))
MAX_TEXT = 2**28  # bytes of an array of strings: the width is a number in a file that may be a stranger's


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a fitted estimator, or a scikit-learn Pipeline of such, as a Zarr group: parameters and small
    attributes as JSON, arrays as arrays.

    Parameters
    ----------
    model : the fitted estimator.
    path : a folder or fsspec URL.
    overwrite : whether a model at `path` is replaced; nothing else is.

    Centers that are rows of a dataset are kept by reference: its path and digest. Other lazy arrays are
    written by the workers. `plan_` and the state of a random generator are not kept.

    Raises ModelError (another class, a kernel that is a function, not fitted), ExistsError.
    """
    for step in [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]:
        if type(step).__module__.startswith(f"{__package__}.baselines."):
            raise ModelError(f"{type(step).__name__} is a baseline: baselines are not saved")
        if type(step) not in [getattr(estimators, name) for name in estimators.__all__]:
            raise ModelError(f"{type(step).__name__} is not an estimator of daskkernels: it can not be saved")
        if not any(name.endswith("_") for name in vars(step)):
            raise ModelError(f"{type(step).__name__} is not fitted: call fit before save")
    with writing_group(path, overwrite, KIND) as url:
        encoder = _Encoder(url)
        record = encoder.pipeline(model) if isinstance(model, Pipeline) else encoder.estimator(model)
        complete_group(url, {"kind": KIND, "model": record, "arrays": encoder.names}, encoder.names)


def load(path: str | os.PathLike[str], data: Dataset | str | None = None) -> Any:
    """The estimator that was saved, ready to predict.

    Parameters
    ----------
    path : a folder or fsspec URL.
    data : the dataset whose rows are its centers, or its path; where it holds them itself, None.

    Raises ModelError (not a model, an unknown class or attribute, other data), DigestError, MetadataError.
    """
    url, attributes = open_group(path, KIND)
    dataset = open_dataset(data) if isinstance(data, str | os.PathLike) else data
    decoder = _Decoder(url, dataset, attributes.get("arrays"))
    try:
        return decoder.model(attributes["model"])
    except StoreError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ModelError(f"{url} does not describe a model: {type(error).__name__} {error}") from error


def centers_path(path: str | os.PathLike[str]) -> str | None:
    """Where the dataset was whose rows are the centers of a saved model; None where the model holds its own.

    Raises ModelError, NotADatasetError, DigestError.
    """
    url, attributes = open_group(path, KIND)
    try:
        record = attributes["model"]
        steps = [step for _, step in record.get("pipeline", [[None, record]])]
        centers = [step["fitted"].get("centers_") for step in steps]
        paths = [str(found["reference"]["path"]) for found in centers if found and "reference" in found]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ModelError(f"{url} does not describe a model: {type(error).__name__} {error}") from error
    return paths[0] if paths else None


class _Encoder:
    """Values as JSON; arrays are written into the group and named."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.names: list[str] = []

    def pipeline(self, model: Pipeline) -> dict[str, Any]:
        """The steps with their names."""
        return {"pipeline": [[name, self.estimator(step)] for name, step in model.steps]}

    def estimator(self, model: DaskEstimator) -> dict[str, Any]:
        """Class, parameters and fitted attributes."""
        fitted = {
            name: value
            for name, value in vars(model).items()
            if (name.endswith("_") or name in PRIVATE) and name not in NOT_KEPT
        }
        return {
            "estimator": type(model).__name__,
            "parameters": {k: self.value(v, k) for k, v in model.get_params(deep=False).items()},
            "fitted": {name: self.value(value, name) for name, value in fitted.items()},
        }

    def value(self, value: Any, name: str) -> Any:
        """One value. Raises ModelError for what has no form here."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, _PLAIN):
            return value
        for kinds, encode in self._forms():
            if isinstance(value, kinds):
                return encode(value, name)
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"dtype": np.dtype(value).str}
        raise ModelError(f"{name} is a {type(value).__name__}, which can not be saved without pickle")

    def _forms(self) -> tuple[tuple[Any, Callable[[Any, str], Any]], ...]:
        return (
            (float, lambda v, _: v if math.isfinite(v) else {"float": str(v)}),
            (np.dtype, lambda v, _: {"dtype": v.str}),
            (list | tuple, lambda v, n: {"list": [self.value(item, n) for item in v]}),
            (dict, lambda v, n: {"items": [[self.value(k, n), self.value(w, n)] for k, w in v.items()]}),
            (Kernel, lambda v, n: {"kernel": type(v).__name__, "fields": self._fields(v, n)}),
            (DaskEstimator, lambda v, _: self.estimator(v)),
            (np.random.RandomState | np.random.Generator, lambda *_: None),
            (da.Array, self._lazy),
            (np.ndarray, self._array),
        )

    def _fields(self, kernel: Kernel, name: str) -> dict[str, Any]:
        return {field: self.value(value, name) for field, value in kernel.get_params().items()}

    def _lazy(self, array: da.Array, name: str) -> Any:
        reader = reader_of(array)
        if reader is not None and name == "centers_":
            return {"reference": {"path": reader.url, "digest": open_dataset(reader.url).digest}}
        key = self._key(name)
        write_array(self._url, key, array)
        return {"array": key, "lazy": True}

    def _array(self, array: np.ndarray, name: str) -> Any:
        if array.dtype.kind in "UO":
            return {"strings": [self.value(item, name) for item in array.tolist()], "dtype": array.dtype.str}
        if array.ndim == 0 or 0 in array.shape:
            return {"values": array.tolist(), "shape": list(array.shape), "dtype": array.dtype.str}
        key = self._key(name)
        write_array(self._url, key, array)
        return {"array": key}

    def _key(self, name: str) -> str:
        key = f"{name.strip('_')}-{len(self.names)}"
        self.names.append(key)
        return key


class _Decoder:
    """The way back; makes nothing but the library's estimators, kernels and plain values."""

    def __init__(self, url: str, data: Dataset | None, names: Any) -> None:
        self._url, self._data, self._names = url, data, names

    def model(self, record: dict[str, Any]) -> Any:
        """An estimator, or a pipeline of some. Raises ModelError."""
        if "pipeline" not in record:
            return self._whole(record)
        steps = [(str(name), self._whole(step)) for name, step in record["pipeline"]]
        names = [name for name, _ in steps]
        if not steps or len(set(names)) < len(names) or any("__" in name for name in names):
            raise ModelError(f"{self._url}: the steps of a pipeline need different names, got {names}")
        if not all(hasattr(step, "transform") for _, step in steps[:-1]):
            raise ModelError(f"{self._url}: all but the last step of a pipeline must transform")
        return Pipeline(steps)

    def _whole(self, record: dict[str, Any]) -> DaskEstimator:
        """An estimator all of whose attributes are there and fit together. Raises InputError."""
        model = self.estimator(record)
        check_whole(model)
        return model

    def estimator(self, record: dict[str, Any]) -> DaskEstimator:
        """An estimator with its fitted attributes. Raises ModelError."""
        name = record["estimator"]
        if name not in estimators.__all__:
            raise ModelError(f"{self._url} holds an unknown estimator {reprlib.repr(name)}")
        model: DaskEstimator = getattr(estimators, name)()
        parameters = {key: self.value(value) for key, value in record["parameters"].items()}
        unknown = sorted(set(parameters) - set(model.get_params(deep=False)))
        if unknown:
            raise ModelError(f"{self._url}: {name} has no parameter {unknown[0]!r}")
        model.set_params(**parameters)
        allowed = known(model)
        for key, value in record["fitted"].items():
            if key not in allowed:
                raise ModelError(f"{self._url}: {name} has no fitted attribute {reprlib.repr(key)}")
            setattr(model, key, self.value(value))
        return model

    def value(self, value: Any) -> Any:
        """One value. Raises ModelError for an unknown form."""
        if isinstance(value, (*_PLAIN, float)):
            return value
        if not isinstance(value, dict):
            raise ModelError(f"{self._url} holds a bare {type(value).__name__}: lists are written by name")
        form = next(iter(value), None)
        if form == "estimator":
            return self.estimator(value)
        decode = self._forms().get(str(form))
        if decode is None:
            raise ModelError(f"{self._url} holds a value of an unknown form {reprlib.repr(form)}")
        return decode(value)

    def _forms(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "float": lambda v: float(v["float"]),
            "dtype": lambda v: _dtype(v["dtype"], "biuf"),
            "list": lambda v: [self.value(item) for item in v["list"]],
            "items": lambda v: {self.value(k): self.value(w) for k, w in v["items"]},
            "kernel": self._kernel,
            "strings": lambda v: _strings(v["strings"], _dtype(v["dtype"], "UO")),
            "values": lambda v: np.array(v["values"], dtype=_dtype(v["dtype"], "biuf")).reshape(v["shape"]),
            "reference": self._reference,
            "array": self._array,
        }

    def _kernel(self, value: dict[str, Any]) -> Kernel:
        known = {kernel.__name__: kernel for kernel in KERNELS.values()}
        if value["kernel"] not in known:
            raise ModelError(f"{self._url} holds an unknown kernel {reprlib.repr(value['kernel'])}")
        return known[value["kernel"]](**{name: self.value(field) for name, field in value["fields"].items()})

    def _reference(self, value: dict[str, Any]) -> Any:
        path, digest = value["reference"]["path"], value["reference"]["digest"]
        if self._data is None:
            raise ModelError(f"the centers of {self._url} are the rows of {path}: pass data= that dataset")
        if self._data.digest != digest:
            raise ModelError(
                f"the centers of {self._url} are the rows of {path}: the dataset {self._data.path} has "
                "another digest"
            )
        return self._data.X

    def _array(self, value: dict[str, Any]) -> Any:
        if value["array"] not in (self._names or ()):
            raise ModelError(f"{self._url}: {reprlib.repr(value['array'])} is not among its arrays")
        reader: Reader = whole_array(self._url, value["array"])
        if not value.get("lazy"):
            return reader[0 : len(reader)]
        width = int(np.prod(reader.shape[1:]))
        return to_dask(reader, Grid.canonical(len(reader), width, reader.dtype.itemsize).row_chunks)


def _dtype(value: Any, kinds: str) -> np.dtype[Any]:
    """A type by its short name. Raises ModelError for another, and for what numpy would build."""
    if not isinstance(value, str) or len(value) > 12 or (found := np.dtype(value)).kind not in kinds:
        raise ModelError(f"{reprlib.repr(value)} is not a type that a model can hold")
    return found


def _strings(items: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of strings, or of plain objects. Raises ModelError."""
    plain = all(isinstance(item, _PLAIN if dtype.kind == "O" else str) for item in items)
    if not isinstance(items, list) or not plain or len(items) * dtype.itemsize > MAX_TEXT:
        raise ModelError(f"{reprlib.repr(items)} are not strings of type {dtype}")
    return np.array(items, dtype=dtype)
