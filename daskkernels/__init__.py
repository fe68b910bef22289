"""Kernel machines for data larger than memory, in an ordinary Dask session."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import block, errors, metrics, plan
from .block import kernel_block, kernel_matvec
from .kernels import Cauchy, Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial
from .runtime import register as _register
from .session import connect, find_cluster
from .store import Dataset, open_dataset, write_dataset
from .versions import __version__, show_versions

if TYPE_CHECKING:
    from . import baselines
    from .estimators import (
        EigenProClassifier,
        EigenProRegressor,
        FalkonClassifier,
        FalkonRegressor,
        KernelKMeans,
        KernelPCA,
        NystromFeatures,
        Standardize,
    )
    from .models import load, save

_register(find_cluster)

__all__ = [
    "Cauchy",
    "Cosine",
    "Dataset",
    "EigenProClassifier",
    "EigenProRegressor",
    "FalkonClassifier",
    "FalkonRegressor",
    "Gaussian",
    "KernelKMeans",
    "KernelPCA",
    "Laplacian",
    "Linear",
    "Matern",
    "NystromFeatures",
    "Polynomial",
    "Standardize",
    "__version__",
    "baselines",
    "block",
    "connect",
    "errors",
    "kernel_block",
    "kernel_matvec",
    "load",
    "metrics",
    "open_dataset",
    "plan",
    "save",
    "show_versions",
    "write_dataset",
]

_ESTIMATORS = (
    "EigenProClassifier",
    "EigenProRegressor",
    "FalkonClassifier",
    "FalkonRegressor",
    "KernelKMeans",
    "KernelPCA",
    "NystromFeatures",
    "Standardize",
)
_MODELS = ("load", "save")


def __getattr__(name: str) -> Any:
    """Estimators are loaded when they are named: workers never do, and scikit-learn is 50 MB of a process."""
    if name in _ESTIMATORS:
        from . import estimators

        return getattr(estimators, name)
    if name in _MODELS:
        from . import models

        return getattr(models, name)
    if name == "baselines":
        return import_module("daskkernels.baselines")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_ESTIMATORS) | set(_MODELS) | {"baselines"})
