"""Tests: every kernel against its formula, on numpy and strict arrays, and what kernel objects refuse."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from sklearn.base import clone

import daskkernels as dk
from daskkernels.kernels import KERNELS, AnyKernel, CallableKernel, Kernel, as_kernel, has_unit_diagonal
from tests import oracles

Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]

# A new kernel needs a line here: test_every_kernel_is_listed.
CASES: list[tuple[Kernel, Formula]] = [
    (dk.Gaussian(3.0), lambda X, Z: oracles.gaussian(X, Z, 3.0)),
    (dk.Laplacian(3.0), lambda X, Z: oracles.laplacian(X, Z, 3.0)),
    (dk.Cauchy(3.0), lambda X, Z: oracles.cauchy(X, Z, 3.0)),
    (dk.Matern(3.0), lambda X, Z: oracles.matern(X, Z, 3.0, 1.5)),
    (dk.Matern(3.0, nu=2.5), lambda X, Z: oracles.matern(X, Z, 3.0, 2.5)),
    (dk.Polynomial(), lambda X, Z: oracles.polynomial(X, Z)),
    (dk.Polynomial(1, 0.5, 0.0), lambda X, Z: oracles.polynomial(X, Z, 1, 0.5, 0.0)),
    (dk.Polynomial(4, 0.1, 2.0), lambda X, Z: oracles.polynomial(X, Z, 4, 0.1, 2.0)),
    (dk.Linear(), oracles.linear),
    (dk.Cosine(), oracles.cosine),
]
IDS = [repr(kernel) for kernel, _ in CASES]
every_kernel = pytest.mark.parametrize(("kernel", "formula"), CASES, ids=IDS)
stationary = pytest.mark.parametrize(("kernel", "formula"), CASES[:5], ids=IDS[:5])
TOLERANCE = {"f4": 2e-5, "f8": 1e-12}  # of the largest value

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(70, 7)), rng.normal(size=(40, 7))


def assert_close(K: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    assert K.shape == expected.shape
    assert np.abs(K - expected).max() <= tolerance * np.abs(expected).max()


def test_every_kernel_is_listed() -> None:
    assert {type(kernel) for kernel, _ in CASES} == set(KERNELS.values())


@every_kernel
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_formula(kernel: Kernel, formula: Formula, dtype: str) -> None:
    A, B = X.astype(dtype), Z.astype(dtype)
    K = dk.kernel_block(kernel, A, B)
    assert K.dtype == dtype
    assert_close(K, formula(A, B), TOLERANCE[dtype])


@stationary
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_offsets_cancel(kernel: Kernel, formula: Formula, offset: float, dtype: str) -> None:
    """Spread 1 at an offset of 1e4: uncentered float32 squares are 1e9, with an error of 64."""
    A, B = (X + offset).astype(dtype), (Z + offset).astype(dtype)
    assert_close(dk.kernel_block(kernel, A, B), formula(A, B), TOLERANCE[dtype] if dtype == "f4" else 1e-11)


@every_kernel
@pytest.mark.parametrize("stored", ["u1", "i2", "i8", "?", "f2", ">f8", ">f4"])
def test_stored_types(kernel: Kernel, formula: Formula, stored: str) -> None:
    scale = {"u1": 3, "i2": 3, "i8": 3}.get(stored, 1)
    A, B = (np.abs(M * scale).astype(stored) if stored != "?" else M > 0 for M in (X, Z))
    K = dk.kernel_block(kernel, A, B)
    assert K.dtype == np.dtype("f8" if stored == ">f8" else "f4")
    equal_rows = stored == "?" and isinstance(kernel, dk.Laplacian)  # a root makes 1e-7 of rounding 3e-4
    assert_close(K, formula(A.astype("f8"), B.astype("f8")), 1e-3 if equal_rows else TOLERANCE["f4"])


def test_wider_types_than_float64() -> None:
    A = X.astype(np.longdouble)
    K = dk.kernel_block(dk.Gaussian(3.0), A, Z)
    assert K.dtype == np.float64
    assert_close(K, oracles.gaussian(X, Z, 3.0), TOLERANCE["f8"])


@every_kernel
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_diagonal(kernel: Kernel, formula: Formula, dtype: str) -> None:
    A = X.astype(dtype)
    K = dk.kernel_block(kernel, A)
    np.testing.assert_array_equal(K, K.T)
    expected = np.array([formula(x[None], x[None])[0, 0] for x in A])
    if has_unit_diagonal(kernel):
        np.testing.assert_array_equal(np.diag(K), np.ones(len(A)))
    np.testing.assert_allclose(np.diag(K), expected, rtol=1e-6 if dtype == "f4" else 1e-14)
    assert_close(K, formula(A, A), TOLERANCE[dtype])


@every_kernel
def test_diagonal_from_norms(kernel: Kernel, formula: Formula) -> None:
    expected = np.array([formula(x[None], x[None])[0, 0] for x in X])
    np.testing.assert_allclose(kernel.diagonal((X**2).sum(axis=1), X.shape[1]), expected, rtol=1e-13)


@every_kernel
@pytest.mark.parametrize("with_scratch", [False, True])
def test_maps_on_strict_arrays(kernel: Kernel, formula: Formula, with_scratch: bool) -> None:
    """The elementwise map needs nothing but the array API; the tile may be changed or replaced."""
    products = {
        "distance": oracles.squared_distances,
        "inner": oracles.linear,
        "cosine": oracles.cosine,
    }[kernel.product](X, Z)
    scratch = strict.zeros(products.shape, dtype=strict.float64) if with_scratch else None
    tile = kernel.tile_map(strict.asarray(kernel.coefficient(X.shape[1]) * products), scratch)
    assert_close(np.asarray(tile), formula(X, Z), 1e-13)


@every_kernel
def test_maps_write_in_place(kernel: Kernel, formula: Formula) -> None:
    tile, scratch = np.full((3, 4), 0.5, "f4"), np.empty((3, 4), "f4")
    assert kernel.tile_map(tile, scratch) is tile
    assert tile.dtype == np.float32
    fresh = kernel.tile_map(np.full((3, 4), 0.5, "f4"), None)
    np.testing.assert_array_equal(fresh, tile)


@pytest.mark.parametrize(("kernel", "formula"), CASES[1:2] + CASES[3:5])
def test_slightly_negative_distances(kernel: Kernel, formula: Formula) -> None:
    np.testing.assert_allclose(kernel.tile_map(np.array([[-1e-7]])), [[1.0]], rtol=1e-6)


def test_zero_rows_have_cosine_zero() -> None:
    A = np.array([[0.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(dk.kernel_block("cosine", A), [[0, 0], [0, 1]])


@every_kernel
def test_kernels_are_values(kernel: Kernel, formula: Formula) -> None:
    same = type(kernel)(**kernel.get_params())
    assert (same, hash(same)) == (kernel, hash(kernel))
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert clone(kernel) is kernel
    with pytest.raises(AttributeError):
        kernel.bandwidth = 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (dk.Gaussian, {"bandwidth": 0.0}, "bandwidth=0.0"),
        (dk.Gaussian, {"bandwidth": -1}, "bandwidth=-1"),
        (dk.Laplacian, {"bandwidth": math.nan}, "bandwidth=nan"),
        (dk.Laplacian, {"bandwidth": math.inf}, "bandwidth=inf"),
        (dk.Cauchy, {"bandwidth": "mode"}, "'mode'.*'mean' or 'median'"),
        (dk.Cauchy, {"bandwidth": True}, "bandwidth=True"),
        (dk.Gaussian, {"bandwidth": None}, "bandwidth=None"),
        (dk.Matern, {"factor": 0}, "factor=0"),
        (dk.Matern, {"nu": 0.5}, "nu=0.5.*Laplacian"),
        (dk.Polynomial, {"degree": 0}, "degree=0"),
        (dk.Polynomial, {"degree": 2.5}, "degree=2.5"),
        (dk.Polynomial, {"degree": True}, "degree=True"),
        (dk.Polynomial, {"degree": "two"}, "degree='two'"),
        (dk.Polynomial, {"degree": math.nan}, "degree=nan"),
        (dk.Polynomial, {"degree": math.inf}, "degree=inf"),
        (dk.Polynomial, {"degree": None}, "degree=None"),
        (dk.Polynomial, {"gamma": 0.0}, "gamma=0.0"),
        (dk.Polynomial, {"coef0": -0.1}, "coef0=-0.1"),
        (dk.Polynomial, {"coef0": math.nan}, "coef0=nan"),
    ],
)
def test_refused_parameters(make: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_numpy_numbers_are_numbers() -> None:
    assert dk.Gaussian(np.float32(2.0)).coefficient(1) == -0.125
    assert dk.Gaussian(np.int64(2)).coefficient(1) == -0.125
    assert dk.Polynomial(np.int64(2)).coefficient(4) == 0.25


def test_unresolved_bandwidths() -> None:
    kernel = dk.Gaussian("mean", factor=0.5)
    assert not kernel.resolved
    with pytest.raises(ValueError, match="bandwidth='mean' needs data"):
        kernel.coefficient(3)
    with pytest.raises(ValueError, match="needs data"):
        dk.kernel_block(kernel, X, Z)
    assert kernel.with_scale(4.0) == dk.Gaussian(2.0)
    assert dk.Matern("median", factor=2.0, nu=2.5).with_scale(3.0) == dk.Matern(6.0, nu=2.5)


@pytest.mark.parametrize("name", KERNELS)
def test_names(name: str) -> None:
    assert as_kernel(name) == KERNELS[name]()


def test_as_kernel() -> None:
    kernel: AnyKernel = dk.Gaussian(1.0)
    assert as_kernel(kernel) is kernel
    made = as_kernel(oracles.linear)
    assert isinstance(made, CallableKernel)
    assert as_kernel(made) is made
    assert made.get_params() == {"function": oracles.linear}
    assert not has_unit_diagonal(made)


@pytest.mark.parametrize("bad", [3, None, [1, 2], dk.Gaussian, object()])
def test_what_is_no_kernel(bad: object) -> None:
    with pytest.raises(TypeError, match="kernel="):
        as_kernel(bad)


@pytest.mark.parametrize("bad", ["rbf", "Gaussian", "", "precomputed"])
def test_unknown_names(bad: str) -> None:
    with pytest.raises(ValueError, match="wanted one of gaussian, laplacian"):
        as_kernel(bad)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "kernel", [dk.Gaussian(1.0), dk.Laplacian(0.1), dk.Matern(0.1), dk.Matern(0.1, nu=2.5)]
)
def test_no_value_is_subnormal(kernel: dk.kernels.Kernel, dtype: str) -> None:
    """Products with such numbers take many times as long."""
    Z = np.linspace(0.0, 100.0, 4001)[:, None]
    K = dk.kernel_block(kernel, np.zeros((1, 1)), Z, dtype=dtype)[0]
    least = np.finfo(dtype).smallest_normal
    assert K[K > 0].min() >= least
    assert (K == 0).any()
    assert K[K > 0].min() < 1e6 * least  # no others were cut off
