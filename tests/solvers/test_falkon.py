"""Tests: the iterations of FALKON against dense conjugate gradients in float64, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daskkernels import Gaussian
from daskkernels.block.targets import Centered
from daskkernels.events import Iteration, reporter
from daskkernels.grid import Grid
from daskkernels.linalg import NumericalWarning
from daskkernels.rowblocks import absent
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.falkon import Iterates, Prepared, Problem, iterate, start
from daskkernels.solvers.falkon_predict import validator
from tests import oracles, oracles_falkon

RNG = np.random.default_rng(0)
N, M = 2500, 60
X = RNG.normal(size=(N, 3))
Z = X[:M]
Y = np.stack([np.sin(X[:, 0]), 100 * X[:, 1] ** 2, RNG.normal(size=N)], axis=1)
W = RNG.integers(0, 4, N).astype(float)
W[:M] += 1
PENALTY = 1e-4
K, K_MM = oracles.gaussian(X, Z, 1.5), oracles.gaussian(Z, Z, 1.5)
RUNTIME = LocalRuntime()
GRID = Grid.canonical(N, 3, 8)


def prepared(weights: np.ndarray | None = None, keep: bool = False, **options: Any) -> Prepared:
    settings = {"y": Y, "dtype": np.dtype("f8"), "penalty": PENALTY, "kernel": Gaussian(1.5), **options}
    problem = Problem(
        RUNTIME.place_rows(X, GRID),
        RUNTIME.place_rows(settings["y"], GRID),
        absent(GRID) if weights is None else RUNTIME.place_rows(weights, GRID),
        Centered(np.zeros(settings["y"].shape[1])),
        settings["kernel"],
        settings["dtype"],
        Z,
        settings["penalty"],
    )
    of_centers = None if weights is None else weights[:M]
    return start(problem, of_centers, keep=keep, runtime=RUNTIME, reporter=reporter())


def run(ready: Prepared, **options: Any) -> Iterates:
    state = options.pop("state", None) or Iterates.of(ready)
    settings: dict[str, Any] = {"max_iter": 12, "tol": 0.0, "patience": None, "validate": None}
    settings |= {"after": lambda: None, **options}
    iterate(ready, state, **settings)
    return state


@pytest.mark.parametrize("weights", [None, W], ids=["rows", "weighted"])
@pytest.mark.parametrize("keep", [False, True])
def test_the_iterates_are_those_of_the_paper(weights: np.ndarray | None, keep: bool) -> None:
    """And the squared error that is reported, without a pass, is that of the predictions."""
    ready = prepared(weights, keep)
    T, A = oracles_falkon.factors(K_MM, PENALTY, 1e-13, None if weights is None else weights[:M])
    path = oracles_falkon.conjugate_gradients(K, T, A, Y, PENALTY, 12, weights)
    w = np.ones(N) if weights is None else weights
    seen: list[np.ndarray] = []
    state = Iterates.of(ready)
    run(ready, state=state, after=lambda: seen.append(ready.preconditioner.weights(state.b)))
    for a, expected, figures in zip(seen, path, state.history, strict=True):
        np.testing.assert_allclose(K @ a, K @ expected, atol=1e-7 * np.abs(Y).max())
        mse = (w[:, None] * (K @ expected - Y) ** 2).sum() / w.sum() / 3
        assert figures["train_mse"] == pytest.approx(mse, rel=1e-6)


@pytest.mark.parametrize("weights", [None, W], ids=["rows", "weighted"])
def test_they_end_at_the_exact_solution(weights: np.ndarray | None) -> None:
    ready = prepared(weights)
    state = run(ready, max_iter=200, tol=1e-9)
    assert state.iteration < 100
    assert state.history[-1]["residual"] <= 1e-9
    expected = oracles_falkon.exact(K, K_MM, Y, PENALTY, weights)
    np.testing.assert_allclose(K @ ready.preconditioner.weights(state.b), expected, atol=1e-5)


def test_every_column_stops_by_itself() -> None:
    """A column is what it is alone, though another takes longer."""
    together = run(prepared(), max_iter=50, tol=1e-3)
    alone = [run(prepared(y=Y[:, [j]]), max_iter=50, tol=1e-3) for j in range(3)]
    assert len({state.iteration for state in alone}) > 1
    assert together.iteration == max(state.iteration for state in alone)
    further = run(prepared(), max_iter=50, tol=1e-4)
    for j, state in enumerate(alone):
        off = np.linalg.norm(together.b[:, j] - state.b[:, 0])
        assert off < 0.1 * np.linalg.norm(further.b[:, j] - state.b[:, 0])


def test_columns_of_zeros_take_no_iterations() -> None:
    state = run(prepared(y=np.zeros((N, 2))))
    assert state.iteration == 0
    assert not state.b.any()
    half = run(prepared(y=np.c_[Y[:, 0], np.zeros(N)]))
    assert half.b[:, 0].any()
    assert not half.b[:, 1].any()


def test_validation_keeps_the_best_and_runs_out_of_patience() -> None:
    """Noise is learned by and by: the loss on other rows falls, then rises."""
    noisy = np.sin(X[:, :1]) + 2.0 * RNG.normal(size=(N, 1))
    ready = prepared(y=noisy, penalty=1e-12)
    rows = RNG.normal(size=(1200, 3))
    grid = Grid.canonical(1200, 3, 8)
    blocks = RUNTIME.place_rows(rows, grid), RUNTIME.place_rows(np.sin(rows[:, :1]), grid)
    validate, kept = validator(ready, *blocks)
    assert kept == []
    state = run(ready, validate=validate, max_iter=60, patience=4)
    losses = [figures["validation_mse"] for figures in state.history]
    best = int(np.argmin(losses))
    assert state.iteration == best + 5 < 60
    assert state.kept is not state.b
    f = oracles.gaussian(rows, Z, 1.5) @ ready.preconditioner.weights(state.kept)
    assert min(losses) == pytest.approx(((f - np.sin(rows[:, :1])) ** 2).mean(), rel=1e-9)


def test_iterations_are_told() -> None:
    heard: list[Any] = []
    ready = prepared()
    told = Prepared(**{**vars(ready), "reporter": reporter([heard.append])})
    state = run(told, max_iter=3)
    events = [event for event in heard if isinstance(event, Iteration)]
    assert [(e.stage, e.iteration) for e in events] == [("falkon-pass", i) for i in (1, 2, 3)]
    assert events[-1].figures == state.history[-1]


def test_rounding_is_told_from_convergence() -> None:
    """A matrix that is not positive: no step can be made."""
    ready = prepared()
    turned = Prepared(**{**vars(ready), "weight": -ready.weight, "rhs": -ready.rhs})
    with pytest.warns(NumericalWarning, match="dtype='float64'"):
        state = run(turned)
    assert not state.b.any()
