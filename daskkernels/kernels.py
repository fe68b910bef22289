"""Layer 1: kernel functions as frozen values. A kernel is one matrix product and one elementwise map, done in
place on a tile.

To add a kernel: write its class here, name it in `KERNELS`, and add it to the list of the kernel tests.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, ClassVar, Literal

from .xp import Array, at_least_zero, at_most_zero, mapped, module_of

Product = Literal["distance", "inner", "cosine"]
DATA_DRIVEN = ("mean", "median")
MAX_DEGREE, MAX_LOG = 1000, 709.7  # multiplications of a tile; whole numbers may be beyond float64


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive definite function k(x, z), evaluated as `tile_map(coefficient * product(x, z))`.

    `product` is |x - z|^2 ("distance"), x.z ("inner") or x.z / (|x| |z|) ("cosine").
    """

    product: ClassVar[Product]
    has_scale: ClassVar[bool] = True  # whether distances matter in units of the coefficient

    def coefficient(self, n_features: int) -> float:
        """The factor folded into the matrix product, so that the map has less to do."""
        return 1.0

    @abstractmethod
    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        """Turn scaled products into kernel values, in place; `scratch` is a tile that may be spoiled."""

    def needs_scratch(self) -> bool:
        """Whether `tile_map` needs a second tile."""
        return False

    def diagonal(self, squared_norms: Array, n_features: int) -> Array:
        """k(x, x) for each row from |x|^2, exactly, not from a tile of rounded distances. Shape (n,)."""
        return module_of(squared_norms).ones_like(squared_norms)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, for scikit-learn's nested parameters."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __sklearn_clone__(self) -> Kernel:
        return self  # frozen: sharing is safe


@dataclass(frozen=True)
class Stationary(Kernel):
    """A kernel of the distance alone; `bandwidth` is a number > 0, "mean" or "median" (times `factor`)."""

    bandwidth: float | str = "mean"
    factor: float = field(default=1.0, kw_only=True)
    product: ClassVar[Product] = "distance"

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            if self.bandwidth not in DATA_DRIVEN:
                raise ValueError(f"bandwidth={self.bandwidth!r}: wanted a number > 0, 'mean' or 'median'")
        else:
            _check_positive("bandwidth", self.bandwidth)
            if not 1e-150 < float(self.bandwidth) < 1e150:
                raise ValueError(f"bandwidth={self.bandwidth!r}: its square is not a float64 number")
            if self.factor != 1.0:
                raise ValueError(f"factor={self.factor!r}: it multiplies 'mean' or 'median', not a number")
        _check_positive("factor", self.factor)

    @property
    def resolved(self) -> bool:
        """Whether the bandwidth is a number."""
        return not isinstance(self.bandwidth, str)

    def with_scale(self, scale: float) -> Stationary:
        """The kernel with a data-driven bandwidth replaced by `factor * scale`."""
        return replace(self, bandwidth=float(self.factor * scale), factor=1.0)

    def inverse_square(self) -> float:
        """1 / bandwidth^2."""
        if isinstance(self.bandwidth, str):
            raise ValueError(f"bandwidth={self.bandwidth!r} needs data: fit, or pass a number")  # noqa: TRY004
        return 1.0 / float(self.bandwidth) ** 2

    def coefficient(self, n_features: int) -> float:
        return self.inverse_square()


@dataclass(frozen=True)
class Gaussian(Stationary):
    """k(x, z) = exp(-|x - z|^2 / (2 s^2)), s = `bandwidth`.

    Parameters
    ----------
    bandwidth : a number > 0; "mean", the root mean squared distance of all pairs of rows (one exact pass);
        or "median", the median distance in a seeded sample of 1000 rows.
    factor : multiplies a bandwidth that comes from the data.

    >>> Gaussian(5.0).coefficient(10)
    -0.02
    """

    def coefficient(self, n_features: int) -> float:
        return -0.5 * self.inverse_square()

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        return mapped("exp", at_most_zero(tile))  # a narrow kernel blows up what rounding left above 0


@dataclass(frozen=True)
class Laplacian(Stationary):
    """k(x, z) = exp(-|x - z| / s) with the Euclidean norm, s = `bandwidth`; parameters as in `Gaussian`.

    scikit-learn's "laplacian" takes the 1-norm instead.
    """

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        return mapped("exp", mapped("negative", _root(tile)))


@dataclass(frozen=True)
class Cauchy(Stationary):
    """k(x, z) = 1 / (1 + |x - z|^2 / s^2), s = `bandwidth`; parameters as in `Gaussian`."""

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        tile = at_least_zero(tile)
        tile += 1.0
        return mapped("reciprocal", tile)


@dataclass(frozen=True)
class Matern(Stationary):
    """Matérn kernel of smoothness `nu`, r = |x - z| / s; `bandwidth` s and `factor` as in `Gaussian`.

    nu = 1.5: (1 + a) exp(-a), a = sqrt(3) r; nu = 2.5: (1 + a + a^2 / 3) exp(-a), a = sqrt(5) r.
    """

    nu: float = field(default=1.5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (1.5, 2.5):
            raise ValueError(f"nu={self.nu!r}: wanted 1.5 or 2.5 (nu=0.5 is Laplacian, nu=inf is Gaussian)")

    def coefficient(self, n_features: int) -> float:
        return 2.0 * self.nu * self.inverse_square()

    def needs_scratch(self) -> bool:
        return True

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        if self.nu == 1.5:
            tile = _root(tile)
            decay = _copied(tile, scratch)
        else:
            decay = _root(_copied(tile, scratch))
            tile /= 3.0
            tile += decay
        tile += 1.0
        tile *= mapped("exp", mapped("negative", decay))
        return tile


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, z) = (gamma x.z + coef0)^degree; `gamma=None` means 1 / n_features."""

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0
    product: ClassVar[Product] = "inner"

    def __post_init__(self) -> None:
        whole = isinstance(self.degree, Real) and not isinstance(self.degree, bool) and self.degree % 1 == 0
        if not whole or not 1 <= self.degree <= MAX_DEGREE:
            raise ValueError(f"degree={self.degree!r}: wanted a whole number from 1 to {MAX_DEGREE}")
        _check_positive("gamma", 1.0 if self.gamma is None else self.gamma)
        if self.coef0 != 0 and not _is_positive(self.coef0):
            raise ValueError(f"coef0={self.coef0!r}: wanted a number >= 0, else k is not positive definite")

    def coefficient(self, n_features: int) -> float:
        return 1.0 / n_features if self.gamma is None else float(self.gamma)

    def needs_scratch(self) -> bool:
        return self.degree > 1

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        tile += float(self.coef0)
        if self.degree > 1:  # repeated products: `power` takes 20 times as long per element
            base = _copied(tile, scratch)
            for _ in range(int(self.degree) - 1):
                tile *= base
        return tile

    def diagonal(self, squared_norms: Array, n_features: int) -> Array:
        return (self.coefficient(n_features) * squared_norms + self.coef0) ** int(self.degree)


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, z) = x.z."""

    product: ClassVar[Product] = "inner"

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        return tile

    def diagonal(self, squared_norms: Array, n_features: int) -> Array:
        return squared_norms


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, z) = x.z / (|x| |z|); 0 where a row is zero."""

    product: ClassVar[Product] = "cosine"

    def tile_map(self, tile: Array, scratch: Array | None = None) -> Array:
        return tile

    def diagonal(self, squared_norms: Array, n_features: int) -> Array:
        return (squared_norms > 0).astype(squared_norms.dtype)


@dataclass(frozen=True)
class CallableKernel:
    """A user's own function f(X, Z) -> (n, m), called on tiles of at most 1024 rows in the compute type."""

    function: Callable[[Array, Array], Array]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The function, for scikit-learn's nested parameters."""
        return {"function": self.function}

    def __sklearn_clone__(self) -> CallableKernel:
        return self


AnyKernel = Kernel | CallableKernel
KERNELS: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "cauchy": Cauchy,
    "matern": Matern,
    "polynomial": Polynomial,
    "linear": Linear,
    "cosine": Cosine,
}


def as_kernel(kernel: object) -> AnyKernel:
    """A kernel object from a kernel, one of the short names in `KERNELS`, or a function f(X, Z) -> (n, m).

    Raises ValueError for an unknown name and TypeError for anything else.
    """
    if isinstance(kernel, Kernel | CallableKernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise ValueError(f"kernel={kernel!r}: wanted one of {', '.join(KERNELS)}, or an object")
        return KERNELS[kernel]()
    if callable(kernel) and not isinstance(kernel, type):
        return CallableKernel(kernel)
    raise TypeError(
        f"kernel={kernel!r}: wanted a kernel object such as Gaussian(2.0), a name, or a function f(X, Z)"
    )


def has_unit_diagonal(kernel: AnyKernel) -> bool:
    """Whether k(x, x) = 1 for every x, by the kernel's form."""
    return isinstance(kernel, Kernel) and kernel.product == "distance"


def _is_positive(value: Any) -> bool:
    return bool(isinstance(value, Real) and value > 0 and math.log(value) < MAX_LOG)  # type: ignore[operator]


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not _is_positive(value):
        raise ValueError(f"{name}={value!r}: wanted a positive number")


def _root(tile: Array) -> Array:
    """sqrt(max(tile, 0)): rounding makes some squared distances slightly negative."""
    return mapped("sqrt", at_least_zero(tile))


def _copied(tile: Array, scratch: Array | None) -> Array:
    """A copy of the tile, in the scratch tile where one is given."""
    if scratch is None:
        return tile + 0.0
    scratch[...] = tile
    return scratch
