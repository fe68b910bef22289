"""Tests: the references themselves, against scikit-learn where it has the same, and identities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.gaussian_process.kernels import Matern
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.pairwise import cosine_similarity, polynomial_kernel, rbf_kernel

from tests import oracles

X = np.random.default_rng(0).normal(size=(60, 5))
Z = np.random.default_rng(1).normal(size=(20, 5))


def test_kernels_agree_with_scikit_learn() -> None:
    np.testing.assert_allclose(oracles.gaussian(X, Z, 2.0), rbf_kernel(X, Z, gamma=1 / 8), rtol=1e-12)
    np.testing.assert_allclose(oracles.polynomial(X, Z, 3, None, 1.0), polynomial_kernel(X, Z), rtol=1e-10)
    np.testing.assert_allclose(oracles.cosine(X, Z), cosine_similarity(X, Z), atol=1e-14)
    for nu in (1.5, 2.5):
        np.testing.assert_allclose(
            oracles.matern(X, Z, 0.7, nu), Matern(length_scale=0.7, nu=nu)(X, Z), rtol=1e-10
        )
    np.testing.assert_allclose(
        oracles.laplacian(X, Z, 0.7), Matern(length_scale=0.7, nu=0.5)(X, Z), rtol=1e-10
    )
    np.testing.assert_allclose(
        oracles.cauchy(X, Z, 2.0), 1 / (1 + oracles.distances(X, Z) ** 2 / 4), rtol=1e-12
    )


def test_mean_bandwidth_is_twice_the_summed_variances() -> None:
    assert oracles.mean_bandwidth(X, 0.2) == pytest.approx(0.2 * np.sqrt(2 * X.var(axis=0).sum()), rel=1e-12)
    assert oracles.median_bandwidth(np.array([[0.0], [1.0], [3.0]])) == 2.0


def test_nystrom_without_any_cut_is_scikit_learns() -> None:
    """All landmarks' eigenvalues kept: the Gram equals that of sklearn's features on the same landmarks."""
    theirs = Nystroem(gamma=0.1, n_components=20, random_state=0).fit(X)
    ours = oracles.nystrom_of(lambda a, b: rbf_kernel(a, b, gamma=0.1), X, theirs.components_, rank=None)
    F = theirs.transform(X)
    np.testing.assert_allclose(ours.gram, F @ F.T, atol=1e-8)


def test_nystrom_is_exact_with_every_row_a_landmark() -> None:
    K = oracles.gaussian(X, X, 2.0)
    full = oracles.nystrom(K, K, np.diag(K), rank=None)
    np.testing.assert_allclose(full.gram, K, atol=1e-10)
    cut = oracles.nystrom(K, K, np.diag(K), rank=None, n_components=7)
    np.testing.assert_allclose(cut.gram, oracles.best_rank(K, 7), atol=1e-10)
    assert cut.trace_error_after == pytest.approx(np.trace(K - cut.gram) / np.trace(K), abs=1e-12)


def test_rank_restriction_is_that_of_the_approximation_not_of_w() -> None:
    """(C W_l^-1 C^T)_s, best among rank-s restrictions, and not C (W_s)^+ C^T."""
    C, W = oracles.gaussian(X, Z, 2.0), oracles.gaussian(Z, Z, 2.0)
    cut = oracles.nystrom(C, W, np.ones(60), n_components=4)
    np.testing.assert_allclose(cut.gram, oracles.best_rank(cut.R @ cut.R.T, 4), atol=1e-10)
    np.testing.assert_allclose(
        cut.R @ cut.R.T, C @ np.linalg.pinv(oracles.best_rank(W, 10), rcond=1e-12) @ C.T, atol=1e-8
    )
    assert len(cut.eigenvalues) == 10
    assert 0 <= cut.trace_error_before <= cut.trace_error_after < 1


def test_lloyd_and_brute_force_agree_with_scikit_learn() -> None:
    theirs = KMeans(3, init=X[:3], n_init=1, tol=0, max_iter=300).fit(X)
    labels, centers, value = oracles.lloyd(X, X[:3])
    np.testing.assert_array_equal(labels, theirs.labels_)
    np.testing.assert_allclose(centers, theirs.cluster_centers_, rtol=1e-10)
    assert value == pytest.approx(theirs.inertia_, rel=1e-10)
    best = min(KMeans(3, n_init=1, tol=0, random_state=i).fit(X[:8]).inertia_ for i in range(30))
    assert oracles.best_kmeans(X[:8], 3)[1] == pytest.approx(best, rel=1e-10)


def test_weighted_lloyd_is_lloyd_on_repeated_rows() -> None:
    w = np.arange(60) % 3 + 1
    _, centers, value = oracles.lloyd(X, X[:4], weights=w)
    _, repeated, same = oracles.lloyd(np.repeat(X, w, axis=0), X[:4])
    np.testing.assert_allclose(centers, repeated, rtol=1e-10)
    assert value == pytest.approx(same, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_scores_agree_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, 50), rng.integers(0, 6, 50)
    assert oracles.nmi(a, b) == pytest.approx(
        normalized_mutual_info_score(a, b, average_method="geometric"), abs=1e-12
    )
    assert oracles.ari(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)


def test_scores_of_single_clusters() -> None:
    one, two = [0] * 6, [0, 1] * 3
    assert (oracles.nmi(one, one), oracles.nmi(one, two), oracles.nmi(two, one)) == (1.0, 0.0, 0.0)
    assert (oracles.ari(one, one), oracles.ari(one, two)) == (1.0, 0.0)
