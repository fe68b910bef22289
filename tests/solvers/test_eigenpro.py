"""Tests: rounds of any size give the printed algorithm's weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
import daskkernels.solvers.eigenpro as solver
from daskkernels import events
from daskkernels.block.order import Order
from daskkernels.block.targets import OneHot
from daskkernels.grid import Grid
from daskkernels.kernels import as_kernel
from daskkernels.solvers.decision import decision_rows
from daskkernels.solvers.eigenpro import Training, train
from daskkernels.solvers.eigenpro_problem import start_weights
from tests import oracles, oracles_eigenpro
from tests.solvers.problems import (
    F8,
    HERE,
    KERNELS,
    Listener,
    N,
    X,
    Y,
    alpha_of,
    assert_equal_to_the_reference,
    problem_of,
    reference,
    trained,
)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=7)
@given(
    m=st.integers(1, 40),
    batches=st.integers(1, 30),
    strip=st.integers(1, 60),
    group=st.integers(1, 9),
    tile=st.sampled_from([16, 37, 90]),
    kept=st.integers(0, 30),
    tiles=st.sampled_from([None, "f8"]),
)
def test_rounds_are_exact(
    name: str, m: int, batches: int, strip: int, group: int, tile: int, kept: int, tiles: str | None
) -> None:
    """Any round, batch (dividing n or not), strip, group, block and share of rows, kernel values kept or not:
    the printed algorithm.
    """
    batches = max(batches, -(-12 // m))
    q = 3 if name == "function" else 5
    problem = problem_of(
        name,
        m=m,
        q=q,
        M=m * batches,
        strip=max(strip, m * batches // 6),
        group=group,
        tile=tile,
        used=N - kept,
        kept=tiles,
    )
    training = trained(problem)
    assert training.halvings == 0
    assert_equal_to_the_reference(problem, training, name, reference(problem, name, 2))


@pytest.mark.parametrize("q", [1, 2, 6])
def test_directions(q: int) -> None:
    """q = 1: D = 0, plain stochastic gradient descent."""
    problem = problem_of(q=q, M=35)
    training = trained(problem, epochs=3)
    assert_equal_to_the_reference(problem, training, "gaussian", reference(problem, "gaussian", 3))


@pytest.mark.parametrize("n", [2, 3, 10, 31, 33])
def test_few_rows_and_long_batches(n: int) -> None:
    """A batch longer than all rows, a round longer than all rows."""
    for m, M in ((1, 1), (2, 4), (n, n), (100, 100), (3, 300)):
        problem = problem_of(data=X[:n], y=Y[:n], m=min(m, n), M=M, q=1)
        training = trained(problem)
        expected = reference(problem, "gaussian", 2, Y[:n])
        np.testing.assert_allclose(alpha_of(training), expected.alpha, rtol=1e-9, atol=1e-12)


def test_classes_that_count_less() -> None:
    codes = (X[:, 0] > 0).astype(int)
    weights = np.array([1.0, 0.3])
    problem = problem_of(y=codes, encode=OneHot(2, weights))
    expected = reference(
        problem, "gaussian", 2, oracles_eigenpro.one_hot(codes, 2), row_weights=weights[codes]
    )
    assert_equal_to_the_reference(problem, trained(problem), "gaussian", expected)


def test_classes_that_count_less_with_kept_values() -> None:
    codes, weights = (X[:, 0] > 0).astype(int), np.array([1.0, 0.3])
    one, other = (problem_of(y=codes, encode=OneHot(2, weights), kept=kept) for kept in (None, "f8"))
    np.testing.assert_allclose(alpha_of(trained(one)), alpha_of(trained(other)), rtol=1e-9)


def test_kept_values_of_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rounding is 4e-6 a value, and is reported; they are given up where it could be seen."""
    exact, rounded = (trained(problem_of(kept=kept), epochs=3) for kept in ("f8", "uint16"))
    assert 0 < np.abs(alpha_of(exact) - alpha_of(rounded)).max() < 1e-2
    for figures in rounded.history:
        assert 0 < figures["rounding"] < 0.01 * (Y**2).mean() ** 0.5
        assert figures["gflops"] > 0
    monkeypatch.setattr(solver, "MOST_ROUNDING", 1e-9)
    exact_then = trained(problem_of(kept="uint16"), epochs=3)
    assert ["rounding" in figures for figures in exact_then.history] == [True, False, False]


def test_every_row_is_met_once_an_epoch() -> None:
    """With k(x, z) = [x = z] and X(m) = m / 2, one epoch sets alpha to y / 2, the next to 3 y / 4."""
    data = np.arange(N, dtype="f8")[:, None]
    KERNELS["identity"] = (as_kernel(lambda A, B: (A == B.T) * 1.0), lambda A, B: (A == B.T) * 1.0)
    for m, M in ((7, 28), (1, 13), (40, 40), (90, 90)):
        problem = problem_of("identity", data=data, m=m, M=M, q=1)
        half = replace(problem.spectrum.step, beta=1.0, eigenvalue=1.0 / 1e12, safety=0.25)
        problem = replace(problem, spectrum=replace(problem.spectrum, step=half))
        for epochs in (1, 2):
            training = trained(problem, epochs=epochs)
            np.testing.assert_allclose(alpha_of(training), Y * (1 - 0.5**epochs), rtol=1e-6)
            assert training.history[-1]["train_mse"] == pytest.approx((Y**2).mean() * 0.25 ** (epochs - 1))
    del KERNELS["identity"]


def test_orders_of_epochs_differ() -> None:
    """The weights after two epochs in one order are others."""
    problem = problem_of()
    training = Training(start_weights(problem), problem.spectrum.step)
    train(problem, training, lambda epoch: Order(N, N, 11, 100), 2, None, None, Listener().around)
    assert not np.allclose(alpha_of(training), alpha_of(trained(problem)), rtol=1e-3)


@pytest.mark.parametrize("patience", [1, 2, None])
def test_patience(patience: int | None) -> None:
    """Stops after that many epochs without a better loss, with the best weights."""
    losses = iter([5.0, 3.0, 3.0, 4.0, 1.0, 2.0])
    kept: list[np.ndarray] = []

    def validate(weights: Any) -> dict[str, float]:
        kept.append(HERE.collect(weights.alpha, reporter=events.reporter(), stage="t"))
        return {"validation_mse": next(losses)}

    training = trained(problem_of(), epochs=6, validate=validate, patience=patience)
    assert len(training.history) == {1: 3, 2: 4, None: 6}[patience]
    np.testing.assert_array_equal(alpha_of(training), kept[4 if patience is None else 1])


def test_weights_are_given_up_and_saved() -> None:
    """All weights but the last and the best are discarded; saved after every group."""
    listener = Listener()
    training = trained(problem_of(M=14, group=2), epochs=2, around=listener.around)
    groups = -(-N // 28)
    assert listener.saved == ([False] * (groups - 1) + [True]) * 2
    assert len(listener.released) == 2 * groups
    assert all(rows is not training.weights.alpha for rows in listener.released)
    iterations = [e for e in listener.events if isinstance(e, events.Iteration)]
    assert [e.figures["epoch"] for e in iterations] == [0, 1]


def test_predictions_of_any_rows() -> None:
    """finish(K(X, centers) weights), both sides in blocks."""
    grid = Grid(N, 16)
    rows, centers, W = (HERE.place_rows(a, grid) for a in (X + 0.1, X, Y))
    made = decision_rows(dk.Gaussian(1.5), F8, None, rows, centers, W, lambda f: f + 1, 2, "f8")
    found = HERE.collect(made, reporter=events.reporter(), stage="t")
    np.testing.assert_allclose(found, oracles.gaussian(X + 0.1, X, 1.5) @ Y + 1, rtol=1e-9)
