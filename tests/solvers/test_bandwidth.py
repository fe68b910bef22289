"""Tests: data-driven bandwidths by their formulas; equal rows get a fallback and a warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels import events
from daskkernels.grid import Grid
from daskkernels.kernels import as_kernel
from daskkernels.linalg import NumericalWarning
from daskkernels.rowblocks import absent
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.bandwidth import moments, resolve_kernel
from tests import oracles

X = np.random.default_rng(0).normal(size=(2500, 3)) * [1.0, 3.0, 0.1] + 5.0
HERE, SILENT = LocalRuntime(), events.reporter()


def resolved(kernel: Any, data: np.ndarray, weights: np.ndarray | None = None, seed: int = 0) -> Any:
    grid = Grid(len(data), 1024)
    w = absent(grid) if weights is None else HERE.place_rows(weights, grid)
    rows, rng = HERE.place_rows(data, grid), np.random.default_rng(seed)
    return resolve_kernel(as_kernel(kernel), rows, w, HERE, SILENT, rng)


@pytest.mark.parametrize("make", [dk.Gaussian, dk.Laplacian, dk.Cauchy, dk.Matern])
@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_mean(make: Any, factor: float) -> None:
    kernel = resolved(make("mean", factor=factor), X)
    assert kernel.bandwidth == pytest.approx(oracles.mean_bandwidth(X, factor), rel=1e-12)
    assert kernel.resolved
    assert kernel.factor == 1.0


def test_median_of_all_rows_of_a_small_table() -> None:
    kernel = resolved(dk.Laplacian("median", factor=2.0), X[:700])
    assert kernel.bandwidth == pytest.approx(oracles.median_bandwidth(X[:700], 2.0), rel=1e-9)


def test_median_of_a_sample() -> None:
    first, again, other = (resolved(dk.Gaussian("median"), X, seed=s).bandwidth for s in (1, 1, 2))
    assert first == again != other
    assert first == pytest.approx(oracles.median_bandwidth(X), rel=0.1)


def test_far_from_zero() -> None:
    for rule in ("mean", "median"):
        near, far = (resolved(dk.Gaussian(rule), data).bandwidth for data in (X, X + 1e6))
        assert far == pytest.approx(near, rel=1e-7)


def test_weights_repeat_rows() -> None:
    counts = np.random.default_rng(1).integers(0, 3, len(X))
    kernel = resolved(dk.Gaussian("mean"), X, counts.astype("f8"))
    assert kernel.bandwidth == pytest.approx(oracles.mean_bandwidth(np.repeat(X, counts, axis=0)), rel=1e-11)


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_equal_rows(rule: str) -> None:
    with pytest.warns(NumericalWarning, match="all rows are equal"):
        assert resolved(dk.Gaussian(rule), np.full((20, 3), 7.0)).bandwidth == 1.0


def test_a_median_of_zero_is_not_taken() -> None:
    """More than half of the pairs are equal: the median distance is 0, the rows are not all equal."""
    data = np.zeros((100, 2))
    data[:20, 0] = 3.0
    assert resolved(dk.Gaussian("median"), data).bandwidth == pytest.approx(3.0)


@pytest.mark.parametrize("kernel", [dk.Gaussian(2.0), "linear", dk.Cosine(), oracles.linear])
def test_nothing_to_resolve(kernel: Any) -> None:
    assert resolved(kernel, X) is not None
    assert resolved(as_kernel(kernel), X) == as_kernel(kernel)


def test_one_row() -> None:
    with pytest.warns(NumericalWarning, match="all rows are equal"):
        assert resolved("gaussian", X[:1]).bandwidth == 1.0


def test_moments_of_all_blocks() -> None:
    grid = Grid(len(X), 1024)
    found = moments(HERE.place_rows(X, grid), absent(grid), HERE, SILENT, stage="s")
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.variance, X.var(axis=0), rtol=1e-12)
