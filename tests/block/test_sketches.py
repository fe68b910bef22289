"""Tests: rows of random projections from their numbers, and the small matrices of a sketch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels.block import sketches
from daskkernels.block.sketches import PROJECTIONS, Sketch, SketchPart
from tests import oracles, oracles_sketches

N, C = 700, 24
rng = np.random.default_rng(0)


def sketch(kind: str, n: int = N, c: int = C, keys: tuple[int, int] = (3, 4)) -> Sketch:
    size = 1 << (n - 1).bit_length()
    columns = np.random.default_rng(keys[0]).choice(size, c, replace=False) if kind == "srht" else None
    return Sketch(kind, c, keys, columns)


@pytest.mark.parametrize("kind", PROJECTIONS)
@given(cuts=st.lists(st.integers(0, N), max_size=5).map(sorted))
def test_any_stretch_of_rows(kind: str, cuts: list[int]) -> None:
    edges = [0, *cuts, N]
    parts = [sketch(kind).rows(a, b) for a, b in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), sketch(kind).rows(0, N))


@pytest.mark.parametrize("kind", PROJECTIONS)
def test_identity_on_average(kind: str) -> None:
    """E[Pi Pi^T] = I: over 600 keys, each entry within five standard errors."""
    made = [sketch(kind, 16, 8, (i, 1000 + i)).rows(0, 16) for i in range(600)]
    mean = np.mean([P @ P.T for P in made], axis=0)
    assert np.abs(mean - np.eye(16)).max() < 5 / np.sqrt(600 * 8) * 1.5


def test_gaussian_numbers() -> None:
    P = sketch("gaussian", 20_000, 10).rows(0, 20_000) * np.sqrt(10)
    z = np.sort(P.ravel())
    for quantile, value in ((0.5, 0.0), (0.8413447, 1.0), (0.0227501, -2.0), (0.9986501, 3.0)):
        assert z[int(quantile * z.size)] == pytest.approx(value, abs=0.05)
    assert np.abs(np.corrcoef(P.T) - np.eye(10)).max() < 0.04
    assert abs(np.corrcoef(P[:-1].ravel(), P[1:].ravel())[0, 1]) < 0.01


@pytest.mark.parametrize("n", [5, 64, 100])
def test_hadamard_by_bits(n: int) -> None:
    """diag(signs) H[:, columns] / sqrt(c), H by Sylvester's recursion."""
    made = sketch("srht", n, 4)
    rows = made.rows(0, n) * 2.0
    H = oracles_sketches.hadamard(1 << (n - 1).bit_length())[:n][:, made.hadamard]
    signs = rows[:, 0] * H[:, 0]
    assert set(np.unique(signs)) <= {-1.0, 1.0}
    np.testing.assert_array_equal(rows, signs[:, None] * H)


def test_count_sketch_has_one_sign_a_row() -> None:
    P = sketch("countsketch").rows(0, N)
    np.testing.assert_array_equal((P != 0).sum(axis=1), 1)
    assert set(np.unique(P)) == {-1.0, 0.0, 1.0}
    assert ((P != 0).sum(axis=0) > 0).all()


def test_shares_add_up() -> None:
    P, Y, w = rng.normal(size=(90, 6)), rng.normal(size=(90, 6)), rng.uniform(0, 2, 90)
    parts = [
        sketches.sketch_part(Y[a:b], [P[a : a + 7], P[a + 7 : b]], [w[a : a + 7], w[a + 7 : b]])
        for a, b in ((0, 30), (30, 90))
    ]
    total = sketches.merge_sketch(parts)
    np.testing.assert_allclose(total.W, P.T @ Y, rtol=1e-12)
    np.testing.assert_allclose(total.squares, Y.T @ (w[:, None] * Y), rtol=1e-12)
    assert total.weight == pytest.approx(w.sum(), rel=1e-13)
    plain = sketches.sketch_part(np.c_[Y, w], [P], [None], mean=Y.mean(axis=0))
    np.testing.assert_allclose(plain.squares, (Y - Y.mean(axis=0)).T @ (Y - Y.mean(axis=0)), rtol=1e-12)
    assert plain.weight == 90


def test_reduced_is_the_dense_answer() -> None:
    X = rng.normal(size=(80, 3))
    K, Pi = oracles.gaussian(X, X, 2.0), sketch("gaussian", 80).rows(0, 80)
    found = sketches.restricted(SketchPart(Pi.T @ K @ Pi, Pi.T @ K @ K @ Pi, 80.0), 12, 1e-16)
    dense = oracles_sketches.sketched(K, Pi, 12, 5)
    assert found.inverse.rank == 12
    np.testing.assert_allclose(found.values, dense.eigenvalues, rtol=1e-8)


@pytest.mark.parametrize("kernel", [dk.Gaussian(1.0), dk.Polynomial(2), dk.Cosine()], ids=repr)
def test_traces(kernel: dk.Gaussian) -> None:
    X, w = rng.normal(size=(50, 3)), rng.uniform(0, 2, 50)
    diagonal = dk.kernel_block(kernel, X).diagonal()
    found = sketches.trace_part(X, w, kernel, np.dtype("f8"))
    assert found == pytest.approx(diagonal @ w, rel=1e-12)
    assert not sketches.knows_trace(kernel) or np.ptp(diagonal) == 0


def test_an_address_does_not_matter() -> None:
    """A block that was sent to another process may lie on any byte."""
    C = rng.normal(size=(300, 8))
    raw = np.zeros(C.nbytes + 1, np.uint8)
    moved = np.frombuffer(raw.data, C.dtype, C.size, offset=1).reshape(C.shape)
    moved[...] = C
    assert not moved.flags.aligned
    found, expected = (sketches.sketch_part(part, [C], [None]) for part in (moved, C))
    np.testing.assert_array_equal(found.squares, expected.squares)
    np.testing.assert_array_equal(found.W, expected.W)
