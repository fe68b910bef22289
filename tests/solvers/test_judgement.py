"""Tests: divergence is noticed and undone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daskkernels.kernels import as_kernel
from daskkernels.solvers.judgement import DivergenceError, Judge, Window, settled
from tests import oracles
from tests.solvers.problems import (
    KERNELS,
    L,
    alpha_of,
    problem_of,
    trained,
)

rng = np.random.default_rng(0)
LONG_N = 2600
LONG_X = rng.normal(size=(LONG_N, 3))
LONG_Y = np.c_[np.sin(LONG_X[:, 0]), np.cos(LONG_X[:, 1])]


@pytest.mark.parametrize("factor", [20.0, 1e6])
@pytest.mark.parametrize("group", [1, 30])
def test_a_step_that_is_too_long_is_halved(factor: float, group: int) -> None:
    """Noticed, the epoch begun anew, and the fit ends as well as one with a good step."""
    problem = problem_of(
        data=LONG_X, y=LONG_Y, m=40, M=400, strip=400, group=group, tile=1024, safety=0.9 * factor
    )
    training = trained(problem, epochs=3)
    assert 0.9 * factor / 2**training.halvings == training.step.safety <= 2.5
    assert np.isfinite(alpha_of(training)).all()
    good = trained(problem_of(data=LONG_X, y=LONG_Y, m=40, M=400, strip=400, tile=1024), epochs=3)
    assert good.halvings == 0
    assert training.history[-1]["train_mse"] < 3 * good.history[-1]["train_mse"]
    assert training.history[-1]["step_size"] == pytest.approx(training.step.size(40))
    other = trained(replace(problem, rounds_a_group=7), epochs=3)  # judged by rows, not by graphs
    np.testing.assert_allclose(alpha_of(training), alpha_of(other), rtol=1e-6)


def test_one_row_of_a_heavy_tail_is_not_divergence() -> None:
    """One target of 1e6 moves the predictions of all others until they have been met again."""
    y = LONG_Y.copy()
    y[1234] = 1e6
    for targets in (y, np.random.default_rng(3).standard_cauchy((LONG_N, L))):
        problem = problem_of(data=LONG_X, y=targets, m=40, M=400, strip=400, tile=1024)
        training = trained(problem, epochs=4)
        assert training.halvings == 0
        assert np.isfinite(alpha_of(training)).all()


def test_judged_by_rows() -> None:
    """Whatever the groups, the same batches give the same judgement; infinity is seen at once."""
    judge = Judge.of(n=16_000, m=100, critical=400.0)
    fine, blown = np.c_[np.full(40, 50.0), np.full(40, 100.0)], np.c_[np.full(40, 1e9), np.full(40, 100.0)]
    assert judge.batches == 20
    assert judge.after(Window(), fine, last=False) == Window(largest=2000.0)
    part = judge.after(Window(), fine[:7], last=False)
    assert part == Window(350.0, 700.0, 7)
    assert part is not None
    assert judge.after(part, fine[7:], last=False) == Window(largest=2000.0)
    assert judge.after(Window(), fine[:7], last=True) == Window(largest=700.0)
    assert judge.after(Window(), blown, last=False) is None
    assert judge.after(Window(), blown[:3], last=False) is not None
    assert judge.after(Window(), blown[:3], last=True) is None
    assert judge.after(Window(), np.array([[np.nan, 1.0]]), last=False) is None
    assert judge.after(Window(), np.zeros((40, 2)), last=True) == Window()  # all targets 0


def test_the_step_settles_where_no_more_is_learned() -> None:
    """The same rows with other targets can not be learned: the step falls, and predictions come to rest."""
    data, noise = np.repeat(LONG_X[:650], 4, axis=0), np.random.default_rng(1).normal(size=(LONG_N, L))
    problem = problem_of(data=data, y=noise, m=40, M=400, strip=400, tile=1024)
    steps = [h["step_size"] for h in trained(problem, epochs=8).history]
    assert len(set(steps)) == 1
    settling = trained(replace(problem, settles=True), epochs=8)
    steps = [h["step_size"] for h in settling.history]
    assert steps[-1] < steps[0] / 3
    assert sorted(steps, reverse=True) == steps
    assert settling.history[-1]["train_mse"] < trained(problem, epochs=8).history[-1]["train_mse"]
    assert settling.halvings == 1, "the first epoch is worse than no model, and begun anew"
    falling = [{"train_mse": 1.0}, {"train_mse": 0.9}]
    assert not settled(falling, 1.0)
    assert settled([*falling, {"train_mse": 0.89}], 1.0)
    assert not settled([*falling, {"train_mse": 0.89}], 1e9)


def test_no_step_is_short_enough_for_a_kernel_that_is_not_positive() -> None:
    KERNELS["negative"] = (as_kernel(lambda A, B: -oracles.gaussian(A, B, 1.5)), KERNELS["gaussian"][1])
    problem = problem_of("negative", data=LONG_X, y=LONG_Y, m=40, M=400, strip=400, tile=1024)
    del KERNELS["negative"]
    with pytest.raises(DivergenceError, match="positive definite"):
        trained(problem, epochs=200)
