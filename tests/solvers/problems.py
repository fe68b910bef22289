"""Tests: small problems for the EigenPro solver, set up by dense formulas, and what it should answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels import events
from daskkernels.block.eigenpro import Preconditioner, Step
from daskkernels.block.order import Order
from daskkernels.block.targets import Centered
from daskkernels.block.tiles import prepare
from daskkernels.grid import Grid
from daskkernels.kernels import as_kernel
from daskkernels.rowblocks import RowBlocks
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.decision import kept_stripes
from daskkernels.solvers.eigenpro import Surroundings, Training, train
from daskkernels.solvers.eigenpro_problem import Problem, start_weights
from daskkernels.solvers.spectrum import Spectrum
from tests import oracles, oracles_eigenpro

F8 = np.dtype("f8")
N, S, L = 90, 24, 2
HERE = LocalRuntime()
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.c_[np.sin(X[:, 0]), rng.normal(size=N)]
INDICES = np.r_[0, np.sort(rng.choice(np.arange(1, N), S - 1, replace=False))]
KERNELS: dict[str, tuple[Any, Callable[..., np.ndarray]]] = {
    "gaussian": (dk.Gaussian(1.5), lambda A, B: oracles.gaussian(A, B, 1.5)),
    "laplacian": (dk.Laplacian(2.0), lambda A, B: oracles.laplacian(A, B, 2.0)),
    "cauchy": (dk.Cauchy(2.0), lambda A, B: oracles.cauchy(A, B, 2.0)),
    "matern": (dk.Matern(2.0), lambda A, B: oracles.matern(A, B, 2.0)),
    "polynomial": (dk.Polynomial(2), lambda A, B: oracles.polynomial(A, B, 2)),
    "function": (as_kernel(oracles.linear), oracles.linear),
}


def orders(n: int, used: int | None = None) -> Callable[[int], Order]:
    return lambda epoch: Order(n, used or n, 11, 100 + epoch)


def spectrum_of(name: str, data: np.ndarray, m: int, q: int, used: int, safety: float) -> Spectrum:
    """Everything by the dense formulas, on all rows."""
    kernel, dense = KERNELS[name]
    K = dense(data, data)
    indices = INDICES[len(data) > INDICES]
    sigma, V = oracles_eigenpro.eigenpairs(K[np.ix_(indices, indices)])
    D = oracles_eigenpro.damping(sigma, q)
    K_P = oracles_eigenpro.preconditioned(K, K[:, indices], V, D)
    step = Step(float(K_P.diagonal().max()), oracles_eigenpro.largest_eigenvalue(K_P), safety)
    preconditioner = Preconditioner(prepare(kernel, data[indices], F8), V[:, : q - 1], D)
    return Spectrum(indices, preconditioner, step, m, sigma, used, 0, q, step.eigenvalue, 1.0)


def problem_of(
    name: str = "gaussian",
    *,
    data: np.ndarray = X,
    y: np.ndarray = Y,
    encode: Any = None,
    m: int = 7,
    q: int = 5,
    used: int | None = None,
    safety: float = 0.9,
    M: int = 28,
    strip: int = 10,
    group: int = 2,
    tile: int = 32,
    kept: str | None = None,
) -> Problem:
    grid = Grid(len(data), tile)
    spectrum = spectrum_of(name, data, m, q, used or len(data), safety)
    rows, kernel = HERE.place_rows(data, grid), KERNELS[name][0]
    stripes = None
    if kept is not None:
        place = HERE.place(spectrum.preconditioner)
        stored = np.dtype(kept)
        stripes = kept_stripes(rows, kernel, F8, stored, spectrum.center, place, HERE, events.reporter())
    return Problem(
        rows,
        HERE.place_rows(y, grid),
        Centered(np.zeros(L)) if encode is None else encode,
        kernel,
        F8,
        spectrum,
        HERE.place(spectrum.preconditioner),
        M,
        strip,
        group,
        stripes=stripes,
        rounded=kept == "uint16",
        settles=False,
    )


class Listener:
    """Everything a fit says and does with its weights."""

    def __init__(self) -> None:
        self.released: list[RowBlocks] = []
        self.saved: list[bool] = []
        self.events: list[events.Event] = []
        self.around = Surroundings(
            HERE,
            events.reporter([self.events.append]),
            lambda rows: rows,
            self.released.append,
            lambda training, over: self.saved.append(over),
        )


def trained(
    problem: Problem, epochs: int = 2, around: Surroundings | None = None, **options: Any
) -> Training:
    training = Training(start_weights(problem), problem.spectrum.step)
    given_options = {"validate": None, "patience": None, **options}
    n, used = problem.X.shape[0], problem.spectrum.n_used
    train(problem, training, orders(n, used), epochs, around=around or Listener().around, **given_options)
    return training


def alpha_of(training: Training) -> np.ndarray:
    return HERE.collect(training.kept.alpha, reporter=events.reporter(), stage="t")


def reference(problem: Problem, name: str, epochs: int, Y: np.ndarray = Y, **options: Any) -> Any:
    s, n = problem.spectrum, problem.X.shape[0]
    data = HERE.collect(problem.X, reporter=events.reporter(), stage="t")
    rows = [orders(n, s.n_used)(e).rows(0, s.n_used) for e in range(epochs)]
    return oracles_eigenpro.eigenpro(
        KERNELS[name][1](data, data),
        Y,
        s.indices,
        s.preconditioner.vectors,
        s.preconditioner.damping,
        oracles_eigenpro.batches(rows, s.batch_size),
        s.step.size,
        **options,
    )


def assert_equal_to_the_reference(problem: Problem, training: Training, name: str, expected: Any) -> None:
    rtol = 1e-6 if name in ("laplacian", "matern") else 1e-9  # the root of a distance of 1e-16 is 1e-8
    gamma = problem.spectrum.preconditioner.gamma(training.kept.c)
    for found, wanted in ((alpha_of(training), expected.alpha), (gamma, expected.gamma)):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max())
    total = sum(h["train_mse"] for h in training.history) * problem.spectrum.n_used * L
    assert total == pytest.approx(expected.residuals.sum(), rel=rtol)
