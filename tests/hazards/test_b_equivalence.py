"""Tests: hazards, section B, equivalence: workers, weights and repetition, random states, scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from tests import oracles
from tests.hazards.forms import blobs, chunked, cluster, dense

WORKERS = [1, 2, 4]


@pytest.fixture(scope="module", params=WORKERS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """In-process workers, one thread each: placement differs with their number, and nothing else."""
    with (
        LocalCluster(
            n_workers=request.param, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster_,
        Client(cluster_) as session,
    ):
        yield session


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_workers_change_nothing(client: Client, dtype: str) -> None:
    """cuml#7389, h2o4gpu#145: several workers found a worse clustering than one."""
    X = blobs(9000).astype(dtype)
    here = cluster(client_free(X), 5)
    there = cluster(chunked(X, 700), 5)
    np.testing.assert_array_equal(dense(there.labels_), here.labels_)
    np.testing.assert_array_equal(there.cluster_centers_, here.cluster_centers_)
    assert there.inertia_ == here.inertia_
    np.testing.assert_array_equal(dense(there.predict(chunked(X, 500))), here.labels_)


def client_free(X: np.ndarray) -> np.ndarray:
    """numpy input; named to say that the reference must not depend on the cluster either."""
    return X


def test_inertia_is_not_zero_on_a_cluster(client: Client) -> None:
    """cuml#7037: the inertia of a distributed fit was 0."""
    X = blobs(4000, 3, 3)
    model = cluster(chunked(X, 500), 3)
    expected = oracles.inertia(
        dense(model.features_.transform(X)), dense(model.labels_), model.cluster_centers_
    )
    assert model.inertia_ == pytest.approx(expected, rel=1e-9)
    assert model.inertia_ > 0
    assert model.score(chunked(X, 500)) == pytest.approx(-expected, rel=1e-9)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_schedulers_change_nothing(scheduler: str) -> None:
    """The same without any cluster."""
    X = blobs(5000).astype("f4")
    reference = cluster(X, 5)
    with dask.config.set(scheduler=scheduler):
        model = cluster(chunked(X, 333), 5)
        np.testing.assert_array_equal(dense(model.labels_), reference.labels_)
        assert model.inertia_ == reference.inertia_


def random_states() -> dict[str, Any]:
    return {
        "None": None,
        "int": 7,
        "numpy int": np.int64(7),
        "RandomState": np.random.RandomState(7),
        "Generator": np.random.default_rng(7),
    }


@pytest.mark.parametrize("kind", random_states())
@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
def test_every_kind_of_random_state_fits(kind: str, form: str, init: str) -> None:
    """dask-ml#79: random_state=None failed."""
    X = blobs(400)
    data = X if form == "numpy" else chunked(X, 90)
    model = cluster(data, n_landmarks=30, init=init, random_state=random_states()[kind])
    assert dense(model.labels_).shape == (400,)
    dk.NystromFeatures(dk.Gaussian("median"), n_landmarks=30, random_state=random_states()[kind]).fit(data)


@pytest.mark.parametrize("bad", ["seed", -1, 1.5, [1, "a"]], ids=repr)
def test_what_is_no_random_state_is_refused(bad: Any) -> None:
    """By name, at fit."""
    with pytest.raises((ValueError, TypeError), match="random_state"):
        cluster(blobs(50), 2, n_landmarks=10, random_state=bad)


class TestWeights:
    """sklearn#30750, cuml#1625: weighting a row was not the same as repeating it."""

    X = blobs(300)
    w = np.random.default_rng(0).integers(0, 4, 300)

    def options(self, init: np.ndarray | str = "k-means++") -> dict[str, Any]:
        return {"kernel": dk.Gaussian(4.0), "landmarks": self.X[:40], "rank": None, "init": init, "tol": 0.0}

    def start(self) -> np.ndarray:
        """Rows whose features are the starting centres: the same places in any rotation of the features."""
        return self.X[100:105]

    def fit(
        self, X: np.ndarray, weights: Any = None, form: str = "numpy"
    ) -> tuple[dk.KernelKMeans, np.ndarray]:
        """Lloyd from the same rows in this fit's own feature space."""
        wrap = (lambda a: a) if form == "numpy" else (lambda a: None if a is None else chunked(a, 70))
        probe = dk.KernelKMeans(5, max_iter=300, random_state=0, **self.options()).fit(
            wrap(X), sample_weight=wrap(weights)
        )
        init = dense(probe.features_.transform(self.start()))
        model = dk.KernelKMeans(5, random_state=0, **self.options(init)).fit(
            wrap(X), sample_weight=wrap(weights)
        )
        return model, dense(model.transform(self.X))

    @pytest.mark.parametrize("form", ["numpy", "dask"])
    def test_weights_are_repetitions(self, form: str) -> None:
        weighted, distances = self.fit(self.X, self.w.astype("f8"), form)
        repeated, same = self.fit(np.repeat(self.X, self.w, axis=0))
        np.testing.assert_allclose(distances, same, rtol=1e-6)
        assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-8)
        np.testing.assert_array_equal(np.repeat(dense(weighted.labels_), self.w), repeated.labels_)

    def test_rows_of_weight_zero_change_nothing(self) -> None:
        w = np.r_[np.ones(300), np.zeros(50)]
        with_them, distances = self.fit(np.concatenate([self.X, self.X[:50] + 3]), w)
        without, same = self.fit(self.X)
        np.testing.assert_allclose(distances, same, rtol=1e-6)
        assert with_them.inertia_ == pytest.approx(without.inertia_, rel=1e-8)
        np.testing.assert_array_equal(with_them.labels_[:300], without.labels_)

    def test_one_common_weight_scales_the_inertia_alone(self) -> None:
        heavy, distances = self.fit(self.X, np.full(300, 2.5))
        plain, same = self.fit(self.X)
        np.testing.assert_allclose(distances, same, rtol=1e-9)
        assert heavy.inertia_ == pytest.approx(2.5 * plain.inertia_, rel=1e-9)

    @pytest.mark.parametrize("dtype", ["i4", "f4", "?"])
    def test_any_type_of_weight(self, dtype: str) -> None:
        w = (self.w > 0).astype(dtype)
        _, distances = self.fit(self.X, w)
        _, same = self.fit(self.X[self.w > 0])
        np.testing.assert_allclose(distances, same, rtol=1e-6)

    @pytest.mark.parametrize(
        "w", [np.ones(299), np.ones((300, 2)), np.zeros(300), "heavy"], ids=["short", "2-d", "zero", "text"]
    )
    def test_impossible_weights_are_refused(self, w: Any) -> None:
        with pytest.raises((ValueError, TypeError), match="weight"):
            dk.KernelKMeans(5, random_state=0, **self.options()).fit(self.X, sample_weight=w)

    @pytest.mark.parametrize("init", ["k-means||", "k-means++"])
    def test_rows_of_weight_zero_are_never_starting_centers(self, init: str) -> None:
        """An outlier of weight 0 must not get a cluster of its own."""
        X = np.concatenate([self.X, np.full((1, 8), 12.0)])
        w = np.r_[np.ones(300), 0.0]
        for seed in range(10):
            options = {**self.options(init), "landmarks": np.concatenate([self.X[:40], X[-1:]])}
            model = dk.KernelKMeans(4, random_state=seed, **options).fit(X, sample_weight=w)
            assert (np.bincount(model.labels_[:300], minlength=4) > 0).all(), f"seed {seed}"


class TestScores:
    """sklearn#11892, ClusterR#8: products of counts overflow int32, then int64."""

    @pytest.mark.parametrize("scale", [1, 3 * 10**9])
    def test_tables_of_huge_counts(self, scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
        table = np.array([[5, 1, 0], [2, 7, 1]], dtype="i8") * scale
        monkeypatch.setattr(
            dk.metrics, "_pairs", lambda a, b: {ij: int(c) for ij, c in np.ndenumerate(table) if c}
        )
        for oriented in (table, table.T):
            table = oriented
            expected = oracles.nmi_of_table(table), oracles.ari_of_table(table)
            assert dk.metrics.normalized_mutual_info([0], [0]) == pytest.approx(expected[0], rel=1e-12)
            assert dk.metrics.adjusted_rand([0], [0]) == pytest.approx(expected[1], rel=1e-12)

    @pytest.mark.parametrize("kinds", ["numpy", "dask", "mixed", "uneven"])
    @pytest.mark.parametrize("dtype", ["i8", "u1", "i2", "f8", "?"])
    def test_labels_of_every_kind(self, kinds: str, dtype: str) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 5, 3000).astype(dtype), rng.integers(0, 3, 3000).astype(dtype)
        x = a if kinds in ("numpy", "mixed") else chunked(a, 400)
        y = {"numpy": b, "dask": chunked(b, 400), "mixed": chunked(b, 700), "uneven": chunked(b, 699)}[kinds]
        assert dk.metrics.normalized_mutual_info(x, y) == pytest.approx(oracles.nmi(a, b), abs=1e-12)
        assert dk.metrics.adjusted_rand(x, y) == pytest.approx(oracles.ari(a, b), abs=1e-12)
        np.testing.assert_array_equal(
            dense(dk.metrics.contingency(x, y)), oracles.contingency(a, b).astype("i8")
        )

    def test_labels_with_gaps_and_names(self) -> None:
        a, b = np.array([-7, 3, 1000, 3, -7, 1000]), np.array(["x", "y", "z", "y", "x", "x"])
        assert dk.metrics.normalized_mutual_info(a, b) == pytest.approx(oracles.nmi(a, b), abs=1e-12)
        assert dk.metrics.adjusted_rand(a, b) == pytest.approx(oracles.ari(a, b), abs=1e-12)

    def test_single_clusters(self) -> None:
        one, two = np.zeros(6, int), np.arange(6) % 2
        pairs = ((one, one), (one, two), (two, one), (two, two), (two, 1 - two))
        assert [dk.metrics.normalized_mutual_info(a, b) for a, b in pairs] == pytest.approx([1, 0, 0, 1, 1])

    def test_lengths_must_agree(self) -> None:
        for b in (np.zeros(99, int), da.zeros(99, chunks=50, dtype=int)):
            with pytest.raises(ValueError, match=r"(?s)(?=.*\b100\b)(?=.*\b99\b)"):
                dk.metrics.normalized_mutual_info(np.zeros(100, int), b)
