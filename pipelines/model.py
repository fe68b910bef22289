"""From a request to the library's objects: the kernel and the estimator.

Only what the user gave is passed on: everything else stays the library's choice, and so do the checks.
"""

from __future__ import annotations

from dataclasses import fields

import daskkernels as dk
from daskkernels.kernels import KERNELS, AnyKernel, as_kernel
from pipelines.failures import InputError
from pipelines.requests import LearnRequest, ModelRequest

AUTO = "auto"


def kernel(request: ModelRequest | LearnRequest) -> AnyKernel:
    """The kernel object; raises ValueError for an unknown name, or a bad or meaningless bandwidth."""
    plain = as_kernel(request.kernel)
    given = {"bandwidth": request.bandwidth, "factor": request.factor}
    given = {name: value for name, value in given.items() if value is not None}
    known = {field.name for field in fields(KERNELS[request.kernel])}
    for name in given:
        if name not in known:
            raise InputError(f"the {request.kernel} kernel has no {name}: leave out --{name}")
    return type(plain)(**given)


def estimator(request: ModelRequest) -> dk.KernelKMeans:
    """The estimator, not fitted."""
    given = {"n_landmarks": request.landmarks, "n_components": request.components}
    return dk.KernelKMeans(
        n_clusters=request.clusters,
        kernel=kernel(request),
        n_init=request.n_init,
        random_state=request.seed,
        **{name: value for name, value in given.items() if value is not None},
    )


def learner(request: LearnRequest, *, classes: bool) -> dk.EigenProClassifier | dk.EigenProRegressor:
    """The kernel machine, not fitted; for classes or for numbers."""
    given = {
        "max_epochs": request.epochs,
        "patience": request.patience,
        "validation_fraction": request.validation_fraction,
        "class_weight": request.class_weight,
    }
    given = {name: value for name, value in given.items() if value is not None}
    shared = {"kernel": _kernel_or_auto(request), "random_state": request.seed, **given}
    if classes:
        return dk.EigenProClassifier(**shared)
    if request.class_weight is not None:
        raise InputError(f"--class-weight {request.class_weight}: the data holds numbers, not classes")
    return dk.EigenProRegressor(**shared)


def _kernel_or_auto(request: LearnRequest) -> AnyKernel | str:
    """The kernel object, or "auto" where it is to be chosen by trials."""
    if request.kernel != AUTO:
        return kernel(request)
    for name in ("bandwidth", "factor"):
        if getattr(request, name) is not None:
            raise InputError(f"--kernel auto chooses its bandwidth: leave out --{name}, or name a kernel")
    return AUTO
