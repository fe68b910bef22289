"""Tests: EigenPro 1 in rounds against its sequential algorithm, gradient descent, and where they meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import events
from daskkernels.baselines import EigenPro1Classifier, KernelSGDClassifier
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.eigenpro import Training
from daskkernels.solvers.eigenpro1 import LongProblem, lengthened
from tests import oracles, oracles_baselines, oracles_eigenpro
from tests.estimators.rows_in_many_forms import chunked, dense, row_cuts, stored
from tests.solvers import problems
from tests.solvers.problems import HERE, KERNELS, N, X, Y, orders, problem_of, trained

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(1100, 3))  # two blocks
LABELS = np.array(["a", "b", "c"])[np.digitize(ROWS[:, 0] * ROWS[:, 1], [-0.3, 0.3])]


def long_problem(**options: Any) -> LongProblem:
    problem = problem_of(**options)
    held = lengthened(problem, lambda E: HERE.run([], [E], reporter=events.reporter(), stage="t")[1][0],
                      HERE, events.reporter())  # fmt: skip
    assert isinstance(held, LongProblem)
    return held


def alpha_of(problem: LongProblem, training: Training) -> np.ndarray:
    """The weights of all rows."""
    alpha, indices, gamma = problem.predicting(training.kept, HERE)
    assert indices.size == gamma.size == 0
    return HERE.collect(alpha, reporter=events.reporter(), stage="t")


def batches(problem: LongProblem, epochs: int) -> list[np.ndarray]:
    rows = [orders(N)(epoch).rows(0, N) for epoch in range(epochs)]
    return oracles_eigenpro.batches(rows, problem.spectrum.batch_size)


def sequential(problem: LongProblem, name: str, q: int, epochs: int) -> oracles_baselines.Model:
    """The algorithm as it is printed, E and D from dense matrices."""
    K, indices = KERNELS[name][1](X, X), problem.spectrum.indices
    E, g = oracles_baselines.long_eigenvectors(K[:, indices], K[np.ix_(indices, indices)], 2 * q)
    order, step = batches(problem, epochs), problem.spectrum.step.size
    return oracles_baselines.eigenpro1(K, Y, E[:, : q - 1], 1.0 - g[q - 1] / g[: q - 1], order, step)


@pytest.mark.parametrize("name", ["gaussian", "cauchy", "laplacian"])
@settings(max_examples=6)
@given(
    m=st.integers(1, 40),
    rounds=st.integers(1, 20),
    strip=st.integers(1, 60),
    group=st.integers(1, 9),
    tile=st.sampled_from([16, 37, 90]),
    q=st.integers(2, 8),
)
def test_rounds_are_exact(name: str, m: int, rounds: int, strip: int, group: int, tile: int, q: int) -> None:
    """Any round, batch (dividing n or not), strip, group and block: the sequential algorithm."""
    M = m * max(rounds, -(-12 // m))
    problem = long_problem(name=name, m=m, q=q, M=M, strip=max(strip, M // 6), group=group, tile=tile)
    training = trained(problem)
    assert training.halvings == 0
    wanted = sequential(problem, name, q, 2)
    rtol = 1e-7 if name == "laplacian" else 1e-9  # the root of a distance of 1e-16 is 1e-8
    np.testing.assert_allclose(
        alpha_of(problem, training), wanted.alpha, rtol=0, atol=rtol * np.abs(wanted.alpha).max()
    )
    total = sum(h["train_mse"] for h in training.history) * Y.size
    assert total == pytest.approx(wanted.residuals.sum(), rel=rtol)


def test_eigenvectors_are_orthonormal() -> None:
    problem = long_problem(q=6)
    E = HERE.collect(problem.directions, reporter=events.reporter(), stage="t")
    np.testing.assert_allclose(E.T @ E, np.eye(5), atol=1e-10)
    assert (np.diff(problem.spectrum.preconditioner.damping) < 0).all()


def test_every_batch_touches_all_rows() -> None:
    """One batch of seven: without E all other weights would be zero."""
    problem = long_problem(m=7, M=14)
    after = sequential(problem, "gaussian", 5, 1)
    K = KERNELS["gaussian"][1](X, X)
    plain = oracles_eigenpro.eigenpro(K, Y, problem.spectrum.indices, np.eye(24), np.zeros(0),
                                      batches(problem, 1), problem.spectrum.step.size)  # fmt: skip
    assert np.abs(after.alpha - plain.alpha).max() > 0.01 * np.abs(plain.alpha).max()


def test_a_whole_subsample_is_eigenpro_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """s = n: E are the eigenvectors of K, and V D V^T K_t^T g of EigenPro 2 is E D E_t^T g (a = 1)."""
    monkeypatch.setattr(problems, "INDICES", np.arange(N))
    q, K = 5, KERNELS["gaussian"][1](X, X)
    problem = long_problem(q=q)
    sigma, V = oracles_eigenpro.eigenpairs(K)
    second = oracles_eigenpro.eigenpro(
        K,
        Y,
        np.arange(N),
        V,
        oracles_eigenpro.damping(sigma, q, power=1.0),
        batches(problem, 2),
        problem.spectrum.step.size,
    )
    found = alpha_of(problem, trained(problem))
    wanted = second.alpha + second.gamma
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_one_direction_is_plain_gradient_descent() -> None:
    """Both estimators, and both against the bare loop."""
    options: dict[str, Any] = {
        "kernel": dk.Gaussian(1.0),
        "max_epochs": 2,
        "batch_size": 5,
        "random_state": 0,
    }
    first = EigenPro1Classifier(n_directions=1, step_size=1.0, **options).fit(ROWS, LABELS)
    plain = KernelSGDClassifier(step_size=1.0, keep_kernel=False, **options).fit(ROWS, LABELS)
    np.testing.assert_allclose(first.dual_coef_, plain.dual_coef_, rtol=0, atol=1e-12)
    assert plain.plan_.n_directions == 1
    assert not plain.subsample_coef_.any()
    assert first.subsample_coef_.shape == (0, 3)


def test_plain_gradient_descent_against_the_loop() -> None:
    problem = problem_of(q=1, m=5, M=20)
    K = KERNELS["gaussian"][1](X, X)
    alpha = np.zeros_like(Y)
    for epoch in range(2):
        rows = orders(N)(epoch).rows(0, N)
        for start in range(0, N, 5):
            batch = rows[start : start + 5]
            alpha[batch] -= problem.spectrum.step.size(5) / 5 * (K[batch] @ alpha - Y[batch])
    np.testing.assert_allclose(problems.alpha_of(trained(problem)), alpha, atol=1e-12)


def test_learns_and_predicts() -> None:
    """Weights of all rows predict; labels come back in their own type; a smaller residual than without E."""
    options: dict[str, Any] = {
        "kernel": dk.Gaussian(1.0),
        "max_epochs": 4,
        "random_state": 0,
        "n_subsamples": 200,
    }
    model = EigenPro1Classifier(**options).fit(ROWS, LABELS, validation=(ROWS[:50], LABELS[:50]))
    f = oracles.gaussian(ROWS, ROWS, 1.0) @ model.dual_coef_
    np.testing.assert_allclose(model.decision_function(ROWS), f, atol=1e-7)
    assert (model.predict(ROWS) == model.classes_[f.argmax(axis=1)]).all()
    assert model.score(ROWS, LABELS) > 0.95
    assert model.history_[-1]["validation_mse"] < model.history_[0]["validation_mse"]
    plain = KernelSGDClassifier(**options).fit(ROWS, LABELS)
    assert model.history_[-1]["train_mse"] < plain.history_[-1]["train_mse"]


def KERNELS_DENSE(A: np.ndarray) -> np.ndarray:
    return np.exp(-((A[:, None] - A) ** 2).sum(axis=2) / 2)


def answers(data: Any, labels: Any) -> dict[str, Any]:
    model = EigenPro1Classifier("gaussian", 150, max_epochs=2, random_state=0)
    fitted = model.fit(data, labels)
    return {"alpha": dense(fitted.dual_coef_), "decisions": dense(fitted.decision_function(ROWS[:99]))}


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    with dask.config.set(scheduler="sync"):
        return answers(ROWS, LABELS)


@given(row_cuts(1100))
@settings(max_examples=3)
def test_any_chunks(expected: dict[str, Any], rows: tuple[int, ...]) -> None:
    found = answers(chunked(ROWS, rows), dask.array.from_array(LABELS, chunks=500))
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("storage", ["memory", "scratch", "recomputed"])
def test_storage(
    expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch, storage: str, tmp_path: Path
) -> None:
    """E kept, spooled, or computed in every round."""
    monkeypatch.setattr("daskkernels.estimators.base.residence", lambda *a, **k: storage)
    monkeypatch.setattr(LocalRuntime, "scratch", str(tmp_path) if storage == "scratch" else None)
    found = answers(stored(ROWS, tmp_path), LABELS)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_workers(expected: dict[str, Any], client_threads: Any, form: str) -> None:
    data = ROWS if form == "numpy" else chunked(ROWS, 500)
    found = answers(data, LABELS)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-9)


def test_class_weights() -> None:
    """Errors in the class that counts more become fewer."""
    options: dict[str, Any] = {
        "kernel": dk.Gaussian(1.0),
        "max_epochs": 1,
        "random_state": 0,
        "n_subsamples": 200,
    }
    even = EigenPro1Classifier(**options).fit(ROWS, LABELS)
    odd = EigenPro1Classifier(class_weight={"a": 1.0, "b": 0.01, "c": 1.0}, **options).fit(ROWS, LABELS)
    assert (odd.predict(ROWS) == "b").sum() < (even.predict(ROWS) == "b").sum()
