"""Tests: shares of a round, its batches solved exactly against the reference, weights, diagonals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels.block import eigenpro as block
from daskkernels.block.order import Order, Stretch
from daskkernels.block.targets import Centered, OneHot
from daskkernels.block.tiles import prepare
from daskkernels.finite import NonFiniteError
from daskkernels.kernels import as_kernel
from tests import oracles, oracles_eigenpro

F8 = np.dtype("f8")
N, S, L = 80, 20, 3
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 4))
Y = rng.normal(size=(N, L))
INDICES = np.sort(rng.choice(N, S, replace=False))
ENCODE = Centered(np.zeros(L))
KERNELS: dict[str, tuple[Any, Callable[..., np.ndarray]]] = {
    "laplacian": (dk.Laplacian(2.0), lambda A, B: oracles.laplacian(A, B, 2.0)),
    "gaussian": (dk.Gaussian(2.0), lambda A, B: oracles.gaussian(A, B, 2.0)),
    "polynomial": (dk.Polynomial(2), lambda A, B: oracles.polynomial(A, B, 2)),
    "function": (as_kernel(oracles.linear), oracles.linear),
}


def setup(name: str, q: int = 6) -> tuple[block.Preconditioner, np.ndarray, np.ndarray]:
    """P_q of the library, the dense K (n, n), and V (s, q - 1)."""
    kernel, dense = KERNELS[name]
    K = dense(X, X)
    sigma, V = oracles_eigenpro.eigenpairs(K[np.ix_(INDICES, INDICES)])
    V, D = V[:, : q - 1], oracles_eigenpro.damping(sigma, q)
    return block.Preconditioner(prepare(kernel, X[INDICES], F8), V, D), K, V


def stretches(n: int, round_size: int, key: int = 3) -> list[Stretch]:
    order = Order(n, n, 1, key)
    return [Stretch(order, at, min(round_size, n - at)) for at in range(0, n, round_size)]


def strips_of(
    batch: block.Batch, cuts: list[int], p: block.Preconditioner
) -> list[tuple[np.ndarray, np.ndarray]]:
    at = [0, *sorted({c for c in cuts if 0 < c < len(batch.rows)}), len(batch.rows)]
    return [block.local_strip(batch, a, b, p) for a, b in pairwise(at)]


def epoch(name: str, round_size: int, m: int, cuts: list[int], blocks: list[int], q: int = 6) -> Any:
    """One epoch in this process, with the blocks and the strips cut as asked: alpha, gamma, residuals."""
    p, _, _ = setup(name, q)
    kernel, step = KERNELS[name][0], block.Step(1.0, 0.05, 0.3)
    rounds = stretches(N, round_size)
    bounds = [0, *sorted({b for b in blocks if 0 < b < N}), N]
    zero, done, state = np.zeros((N, L)), [], np.zeros((q - 1, L))
    first = rounds[0].order.rows(0, rounds[0].count)
    ready = partial(block.batch_of, encode=ENCODE, kernel=kernel, dtype=F8, center=None)
    batch = ready(X[first], Y[first], None, rounds[0])
    for number, stretch in enumerate(rounds):
        after = rounds[(number + 1) % len(rounds)]
        shares = [
            block.share_of_round(X[a:b], Y[a:b], zero[a:b], done, batch, after, start=a)
            for a, b in pairwise(bounds)
        ]
        share = block.merge_shares(shares)
        before = done[-1][1] if done else state
        solved = block.solve_round(share, batch, strips_of(batch, cuts, p), before, p, step, m)
        done.append((stretch, solved))
        batch = block.next_batch(share, after, ready)
    alpha = block.updated(zero, done, start=0)
    report = block.report([solved for _, solved in done])
    return alpha, p.gamma(report.c), report.residuals


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=10)
@given(
    st.integers(8, N + 10),
    st.integers(1, 40),
    st.lists(st.integers(1, N), max_size=6),
    st.lists(st.integers(1, N), max_size=4),
)
def test_an_epoch_is_the_printed_algorithm(
    name: str, round_size: int, m: int, cuts: list[int], blocks: list[int]
) -> None:
    """Rounds, strips and blocks of any size: alpha, gamma and residuals of the batches one after another."""
    round_size = max(round_size // m, 1) * m
    q = 4 if name == "function" else 6  # the linear kernel of four columns has rank 4
    alpha, gamma, residuals = epoch(name, round_size, m, cuts, blocks, q)
    p, K, V = setup(name, q)
    order = Order(N, N, 1, 3).rows(0, N)
    step = block.Step(1.0, 0.05, 0.3)
    expected = oracles_eigenpro.eigenpro(
        K, Y, INDICES, V, p.damping, oracles_eigenpro.batches([order], m), step.size
    )
    rtol = 1e-6 if name == "laplacian" else 1e-9  # the root makes 1e-8 of a distance of 1e-16
    np.testing.assert_allclose(alpha, expected.alpha, rtol=0, atol=rtol * np.abs(expected.alpha).max())
    np.testing.assert_allclose(gamma, expected.gamma, rtol=0, atol=rtol * np.abs(expected.gamma).max())
    np.testing.assert_allclose(residuals[:, 0], expected.residuals, rtol=rtol)
    assert residuals[:, 1].sum() == pytest.approx((Y**2).sum())


def test_one_direction_changes_nothing_but_alpha() -> None:
    alpha, gamma, _ = epoch("laplacian", 50, 7, [20], [64], q=1)
    assert gamma.shape == (S, L)
    assert not gamma.any()
    assert alpha.any()


def test_weighted_residuals() -> None:
    """Classes that count less: their rows' residuals are scaled before they are used."""
    codes = rng.integers(0, 3, N)
    encode = OneHot(3, np.array([1.0, 0.2, 0.5]))
    p, K, V = setup("laplacian")
    stretch = stretches(N, N)[0]
    rows, step = stretch.order.rows(0, N), block.Step(1.0, 0.05)
    batch = block.batch_of(X[rows], codes[rows], None, stretch, encode, dk.Laplacian(2.0), F8, None)
    share = block.share_of_round(X, codes, np.zeros((N, 3)), [], batch, stretch, start=0)
    solved = block.solve_round(share, batch, strips_of(batch, [9], p), np.zeros((5, 3)), p, step, 7)
    expected = oracles_eigenpro.eigenpro(
        K,
        oracles_eigenpro.one_hot(codes, 3),
        INDICES,
        V,
        p.damping,
        oracles_eigenpro.batches([rows], 7),
        step.size,
        np.array([1.0, 0.2, 0.5])[codes],
    )
    np.testing.assert_allclose(block.updated(np.zeros((N, 3)), [(stretch, solved)], start=0), expected.alpha)
    np.testing.assert_allclose(p.gamma(solved.c), expected.gamma, rtol=1e-8)
    np.testing.assert_allclose(solved.residuals[:, 0], expected.residuals)


def test_the_short_last_batch_takes_a_step_of_its_own() -> None:
    """X(m_b) / m_b for m_b rows: a first batch of 10 rows, then one of 3, then one of 1."""
    p, _, _ = setup("laplacian")
    step = block.Step(0.7, 0.3)
    assert step.size(1) == pytest.approx(0.9 * 2 / 0.7)
    for size, m in ((13, 10), (11, 10), (5, 10)):
        batch = block.batch_of(
            X[:size], Y[:size], None, stretches(N, size)[0], ENCODE, dk.Laplacian(2.0), F8, None
        )
        share = block.Share(np.zeros((size, L)), X[:0], Y[:0])
        solved = block.solve_round(share, batch, strips_of(batch, [], p), np.zeros((5, L)), p, step, m)
        tail = size % m or m
        assert len(solved.residuals) == -(-size // m)
        np.testing.assert_allclose(
            solved.change[: min(m, size)], step.size(min(m, size)) / min(m, size) * Y[: min(m, size)]
        )
        g = np.sqrt(solved.residuals[-1, 0])
        rate = np.linalg.norm(solved.change[-tail:]) / g
        assert rate == pytest.approx(oracles_eigenpro.step_size(tail, 0.7, 0.3) / tail)


def test_divergence_is_silent_in_the_block() -> None:
    """Overflow is for the solver to judge: no warning, and infinity or NaN in the residuals."""
    p, _, _ = setup("laplacian")
    batch = block.batch_of(X, Y, None, stretches(N, N)[0], ENCODE, dk.Laplacian(2.0), F8, None)
    share = block.Share(np.zeros((N, L)), X[:0], Y[:0])
    step = block.Step(1e-9, 1e-9)
    solved = block.solve_round(share, batch, strips_of(batch, [], p), np.zeros((5, L)), p, step, 2)
    assert not np.isfinite(solved.residuals).all()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.89, 0.95, 1.0])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_without_weights_may_be_left_out(share: float, dtype: str) -> None:
    W = rng.normal(size=(N, L))
    W[rng.permutation(N)[: N - round(share * N)]] = 0.0
    right = prepare(dk.Gaussian(2.0), X[:40].astype(dtype), np.dtype(dtype))
    found = block.product(X.astype(dtype), W, right)
    assert found.dtype == np.float64
    np.testing.assert_allclose(
        found, oracles.gaussian(X[:40], X, 2.0) @ W, atol=1e-11 if dtype == "f8" else 1e-4
    )


def test_a_single_output_that_is_zero_does_not_drop_a_row() -> None:
    W = np.zeros((N, L))
    W[5, 1] = 2.0
    right = prepare(dk.Gaussian(2.0), X[:4], F8)
    np.testing.assert_allclose(
        block.product(X, W, right)[:, 1], 2 * oracles.gaussian(X[:4], X[5:6], 2.0)[:, 0]
    )


@given(st.lists(st.integers(0, N), max_size=5), st.integers(5, 60))
def test_updates_add_each_change_once(cuts: list[int], round_size: int) -> None:
    """By blocks of any cut; two epochs; and the given weights are left alone."""
    rounds = stretches(N, round_size) + stretches(N, round_size, key=4)
    changes = [np.random.default_rng(i).normal(size=(s.count, L)) for i, s in enumerate(rounds)]
    done = [(s, block.Solved(c, np.zeros((0, L)), np.zeros(0))) for s, c in zip(rounds, changes, strict=True)]
    expected = Y.copy()
    for stretch, change in zip(rounds, changes, strict=True):
        expected[stretch.order.rows(stretch.first, stretch.count)] += change
    at, given_weights = [0, *sorted(cuts), N], Y.copy()
    given_weights.flags.writeable = False
    parts = [block.updated(given_weights[a:b], done, start=a) for a, b in pairwise(at)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_weights_without_changes_are_not_copied() -> None:
    assert block.updated(Y, [], start=0) is Y
    assert block.with_subsample(Y[:5], np.array([7, 9]), np.ones((2, L)), start=0).base is Y


@given(st.lists(st.integers(0, N), max_size=6))
def test_subsample_weights_are_added_at_their_rows(cuts: list[int]) -> None:
    gamma, at = rng.normal(size=(S, L)), [0, *sorted(cuts), N]
    expected = Y.copy()
    expected[INDICES] += gamma
    parts = [block.with_subsample(Y[a:b], INDICES, gamma, start=a) for a, b in pairwise(at)]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    assert not np.shares_memory(parts[0], gamma)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("q", [1, 2, 4])
def test_largest_diagonal(name: str, q: int) -> None:
    p, K, V = setup(name, q)
    K_P = oracles_eigenpro.preconditioned(K, K[:, INDICES], V, p.damping)
    for a, b in ((0, N), (3, 4), (50, 70)):
        assert block.largest_diagonal(X[a:b], p) == pytest.approx(K_P.diagonal()[a:b].max(), rel=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("q", [1, 4])
def test_largest_diagonal_names_the_row(bad: float, q: int) -> None:
    """With q = 1 nothing else looks at the values."""
    p, _, _ = setup("laplacian", q)
    spoiled = X.copy()
    spoiled[17, 2] = bad
    with pytest.raises(NonFiniteError, match="row 17"):
        block.largest_diagonal(spoiled, p)


@pytest.mark.parametrize("dtype", ["u1", "i8", "?", "f2", "f4", "f8"])
def test_largest_diagonal_of_any_type(dtype: str) -> None:
    """float16 squares overflow at 256: the values themselves are fine."""
    rows = (np.abs(X) * 60).astype(dtype)
    scale = 100.0
    p = replace(setup("laplacian")[0], right=prepare(dk.Laplacian(scale), rows[INDICES], F8))
    K = oracles.laplacian(rows, rows[INDICES], scale)
    expected = (1 - (K @ p.vectors) ** 2 @ p.damping).max()
    assert block.largest_diagonal(rows, p) == pytest.approx(expected, rel=1e-6)


def test_picked_rows_come_in_the_order_of_the_round() -> None:
    y = np.arange(N)
    stretch = stretches(N, 30)[1]
    numbers = stretch.order.rows(stretch.first, stretch.count)
    local = stretch.within(0, N)[0]
    rows, labels, _ = block.picked(block.Share(np.zeros((1, 1)), X[local], y[local]), stretch)
    np.testing.assert_array_equal(rows, X[numbers])
    np.testing.assert_array_equal(labels, numbers)
