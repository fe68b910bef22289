"""Layer 7: what the papers compare with, kept apart from the product: not saved, not tuned, for comparisons.

Loaded when `daskkernels.baselines` is named; workers never do.
"""

from .eigenpro1 import EigenPro1Classifier
from .fourier import RandomFourierFeatures
from .fourier_kmeans import RandomFourierKMeans
from .kernel_kmeans import ExactKernelKMeans
from .sgd import KernelSGDClassifier
from .spectral import NystromSpectralClustering
from .two_step import TwoStepKernelKMeans

__all__ = [
    "EigenPro1Classifier",
    "ExactKernelKMeans",
    "KernelSGDClassifier",
    "NystromSpectralClustering",
    "RandomFourierFeatures",
    "RandomFourierKMeans",
    "TwoStepKernelKMeans",
]
