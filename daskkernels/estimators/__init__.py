"""Layer 6: scikit-learn estimators: parameters in, fitted attributes out; all work is done by the solvers."""

from .eigenpro import EigenProClassifier, EigenProRegressor
from .falkon import FalkonClassifier, FalkonRegressor
from .kernel_pca import KernelPCA
from .kmeans import KernelKMeans
from .nystrom import NystromFeatures
from .standardize import Standardize

__all__ = [
    "EigenProClassifier",
    "EigenProRegressor",
    "FalkonClassifier",
    "FalkonRegressor",
    "KernelKMeans",
    "KernelPCA",
    "NystromFeatures",
    "Standardize",
]
