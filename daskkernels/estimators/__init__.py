"""Layer 6: scikit-learn estimators: parameters in, fitted attributes out; all work is done by the solvers."""

from .kmeans import KernelKMeans
from .nystrom import NystromFeatures
from .standardize import Standardize

__all__ = ["KernelKMeans", "NystromFeatures", "Standardize"]
