"""Layer 6: the parameters of `NystromFeatures`, checked, and the plan that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import plan as planning
from .. import plan_clustering as clustering
from ..block.tiles import compute_dtype
from ..inputs import Input, InputError
from ..kernels import Stationary
from ..runtime import active_runtime
from .base import kernel_of, machine_of, positive_int
from .sketches import RowsFeatures, is_projection, sampling_of

AUTO_LANDMARKS = 400


class NystromParameters(RowsFeatures):
    """The sizes of a fit as numbers."""

    def __init__(
        self,
        kernel: Any = "gaussian",
        n_landmarks: int | str = "auto",
        rank: int | str | None = "auto",
        n_components: int | str = "auto",
        landmarks: Any = None,
        dtype: Any = None,
        scratch: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
        sampling: str = "uniform",
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.rank = rank
        self.n_components = n_components
        self.landmarks = landmarks
        self.dtype = dtype
        self.scratch = scratch
        self.random_state = random_state
        self.verbose = verbose
        self.sampling = sampling

    def plan(self, X: Any, y: Any = None, machine: planning.Machine | None = None) -> planning.Plan:
        """What fit and transform of X will cost on the active scheduler's workers, without running anything.
        Prints as a table. `machine` describes other workers than those at hand.
        """
        source = self._described(X)
        runtime = active_runtime()
        machine = machine_of(machine)
        spools = self._scratch_url(runtime) is not None
        kept = source.kind == "numpy"
        return clustering.plan_features(self._task(source, machine), machine, spools, kept)

    def _task(self, source: Input, machine: planning.Machine, k: int = 0, n_init: int = 1) -> clustering.Task:
        """The sizes of this fit as the planner wants them; checks the parameters that are sizes."""
        n, d = source.shape
        sampling = sampling_of(self.sampling, self.landmarks is not None)
        if self.landmarks is not None:
            self._given_landmarks(d)
        c = self._landmark_count(n)
        rank = self._rank(c)
        s = (
            rank
            if self.n_components == "auto"
            else min(rank, positive_int("n_components", self.n_components))
        )
        itemsize = source.array.dtype.itemsize
        kernel = kernel_of(self.kernel)
        return clustering.Task(
            n=n,
            d=d,
            stored=itemsize,
            width=self._dtype(source).itemsize,
            c=c,
            rank=rank,
            s=s,
            k=k,
            n_init=n_init,
            moments_pass=isinstance(kernel, Stationary) and not kernel.resolved,
            residence=source.residence(machine),
            sampling=sampling,
            projected=is_projection(sampling),
            fetched=source.kind == "numpy",
        )

    def _beside(self, n: int) -> int:
        projected = is_projection(sampling_of(self.sampling, self.landmarks is not None))
        return self._landmark_count(n) if projected else 0

    @property
    def _fitted_beside(self) -> int:
        return len(self.eigenvalues_) if hasattr(self, "centers_") else 0

    def _dtype(self, source: Input) -> np.dtype[np.floating]:
        return compute_dtype(source.array.dtype, self.dtype)

    def _landmark_count(self, n: int) -> int:
        if self.landmarks is not None:
            return len(self.landmarks)
        return (
            min(n, AUTO_LANDMARKS)
            if self.n_landmarks == "auto"
            else positive_int("n_landmarks", self.n_landmarks, n, "rows")
        )

    def _rank(self, c: int) -> int:
        """The largest rank that is kept, as a number."""
        if self.rank is None:
            return c
        if self.rank == "auto":
            wanted = 0 if self.n_components == "auto" else positive_int("n_components", self.n_components)
            return max(-(-c // 2), min(c, wanted))
        return positive_int("rank", self.rank, c, "landmarks")

    def _given_landmarks(self, d: int) -> np.ndarray:
        """The parameter `landmarks` as an array (c, d). Raises InputError."""
        landmarks = np.array(self.landmarks, order="C")
        if landmarks.ndim != 2 or landmarks.shape[1] != d or len(landmarks) == 0:
            raise InputError(f"landmarks have shape {landmarks.shape}: wanted (c, {d}), like rows of X")
        if landmarks.dtype.kind not in "biuf" or not np.isfinite(landmarks).all():
            raise InputError("landmarks hold values that are not finite numbers")
        return landmarks
