"""Kernel machines for data larger than memory, in an ordinary Dask session."""

from . import block, metrics, plan
from .block import kernel_block, kernel_matvec
from .estimators import KernelKMeans, NystromFeatures, Standardize
from .kernels import Cauchy, Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial
from .runtime import register as _register
from .session import connect, find_cluster
from .store import Dataset, open_dataset, write_dataset
from .versions import __version__, show_versions

_register(find_cluster)

__all__ = [
    "Cauchy",
    "Cosine",
    "Dataset",
    "Gaussian",
    "KernelKMeans",
    "Laplacian",
    "Linear",
    "Matern",
    "NystromFeatures",
    "Polynomial",
    "Standardize",
    "__version__",
    "block",
    "connect",
    "kernel_block",
    "kernel_matvec",
    "metrics",
    "open_dataset",
    "plan",
    "show_versions",
    "write_dataset",
]
