"""From a request to the library's objects: the kernel and the estimator.

Only what the user gave is passed on: everything else stays the library's choice, and so do the checks.
"""

from __future__ import annotations

from dataclasses import fields

import daskkernels as dk
from daskkernels.kernels import KERNELS, AnyKernel, as_kernel
from pipelines.failures import InputError
from pipelines.requests import ModelRequest


def kernel(request: ModelRequest) -> AnyKernel:
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
