"""Tests: `KernelKMeans`: labels of the returned centers, inertia, means, restarts, weights, kinds."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daskkernels as dk
from daskkernels import events
from daskkernels.inputs import InputError
from daskkernels.linalg import NumericalWarning
from daskkernels.solvers.kmeans import ConvergenceWarning
from tests import oracles
from tests.estimators.rows_in_many_forms import chunked, dense, table

X = table()


def fitted(data: Any = X, k: int = 4, *, w: Any = None, **options: Any) -> dk.KernelKMeans:
    defaults: dict[str, Any] = {"n_landmarks": 40, "random_state": 0}
    return dk.KernelKMeans(k, **{**defaults, **options}).fit(data, sample_weight=w)


@pytest.mark.filterwarnings(
    "ignore::UserWarning"
)  # tiny data have fewer distinct rows, or iterations run out
@settings(max_examples=200)
@given(
    n=st.integers(1, 30),
    d=st.integers(1, 3),
    k=st.integers(1, 5),
    values=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    max_iter=st.sampled_from([1, 2, 100]),
    dtype=st.sampled_from(["f4", "f8", "i4"]),
    init=st.sampled_from(["k-means||", "k-means++"]),
)
def test_labels_are_predictions(
    n: int, d: int, k: int, values: int, seed: int, max_iter: int, dtype: str, init: str
) -> None:
    data = np.random.default_rng(seed).integers(0, values, size=(n, d)).astype(dtype)
    k = min(k, n)
    model = dk.KernelKMeans(k, kernel=dk.Gaussian(2.0), random_state=seed, max_iter=max_iter, init=init).fit(
        data
    )
    np.testing.assert_array_equal(model.labels_, model.predict(data))
    B = model.features_.transform(data)
    assert model.inertia_ == pytest.approx(
        oracles.inertia(B, model.labels_, model.cluster_centers_), rel=1e-9, abs=1e-12
    )
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(model.labels_, minlength=k))
    assert model.n_iter_ <= max_iter
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-5), ("f8", 1e-10)])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_a_fixed_point_of_lloyds_algorithm(dtype: str, tolerance: float, form: str) -> None:
    data = X.astype(dtype)
    model = fitted(data if form == "numpy" else chunked(data), tol=0.0)
    B, labels = dense(model.features_.transform(data)), dense(model.labels_)
    centers = model.cluster_centers_
    np.testing.assert_allclose(centers, oracles.means(B, labels, 4), atol=tolerance)
    found, _, best = oracles.lloyd(B, centers)
    assert (found != labels).mean() < 1e-3
    assert model.inertia_ == pytest.approx(best, rel=tolerance)
    assert model.inertia_ == pytest.approx(oracles.inertia(B, labels, centers), rel=1e-9)
    D = dense(model.transform(data))
    np.testing.assert_allclose(D, oracles.distances(B, centers), atol=2e-3 if dtype == "f4" else 1e-7)
    np.testing.assert_array_equal(D.argmin(axis=1), labels)
    assert model.score(data) == pytest.approx(-model.inertia_, rel=1e-12)


def test_groups_are_found() -> None:
    """Four groups far apart: every seeding finds them."""
    y = np.random.default_rng(0).integers(0, 4, 3000)
    data = np.eye(5)[y] * 20 + np.random.default_rng(1).normal(size=(3000, 5))
    for init in ("k-means||", "k-means++"):
        for seed in range(5):
            model = fitted(data, init=init, random_state=seed)
            assert dk.metrics.adjusted_rand(model.labels_, y) == 1.0


def test_the_sizes_of_the_paper() -> None:
    model = fitted(k=3, n_landmarks="auto", kernel=dk.Laplacian("mean"))
    assert len(model.features_.landmarks_) == 400
    assert model.features_.rank_ == 200
    assert model.cluster_centers_.shape == (3, 35)  # ceil(sqrt(3 * 400))


def passes(**options: Any) -> tuple[int, dk.KernelKMeans]:
    heard: list[events.Event] = []
    events.sinks.append(heard.append)
    try:
        model = fitted(**options)
    finally:
        events.sinks.pop()
    return sum(isinstance(e, events.StageStarted) for e in heard), model


@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
def test_restarts_share_passes(init: str) -> None:
    alone, first = passes(init=init, k=6)
    together, best = passes(init=init, k=6, n_init=5)
    longest = max(entry["iteration"] for entry in best.history_)
    assert together - alone <= longest - first.n_iter_ + 2
    assert {entry["restart"] for entry in best.history_} == set(range(5))
    assert best.inertia_ <= first.inertia_ * (1 + 1e-12)


def test_the_best_restart_is_kept() -> None:
    model = fitted(k=8, n_init=6, init="k-means++")
    lengths = [sum(e["restart"] == i for e in model.history_) for i in range(6)]
    assert model.n_iter_ in lengths
    others = [fitted(k=8, init="k-means++", random_state=s).inertia_ for s in range(3)]
    assert model.inertia_ <= 1.05 * min(others)


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_given_centers(form: str) -> None:
    features = dk.NystromFeatures(dk.Gaussian(5.0), landmarks=X[:40], n_components=6).fit(X)
    B = features.transform(X)
    start = B[:4].astype("f8")
    model = fitted(
        X if form == "numpy" else chunked(X),
        kernel=dk.Gaussian(5.0),
        landmarks=X[:40],
        n_components=6,
        init=start,
        tol=0.0,
    )
    labels, centers, inertia = oracles.lloyd(B, start)
    np.testing.assert_array_equal(dense(model.labels_), labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-10)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-10)
    np.testing.assert_array_equal(start, B[:4])


def test_weights_repeat_rows() -> None:
    counts = np.random.default_rng(2).integers(0, 3, len(X))
    options: dict[str, Any] = {"kernel": dk.Gaussian(5.0), "landmarks": X[:40], "n_components": 6, "tol": 0.0}
    features = dk.NystromFeatures(dk.Gaussian(5.0), landmarks=X[:40], n_components=6)
    start = features.fit(X, sample_weight=counts).transform(X[:4])
    weighted = fitted(init=start, w=counts, **options)
    repeated = fitted(np.repeat(X, counts, axis=0), init=start, **options)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), repeated.labels_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-9)
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))
    assert weighted.score(X, sample_weight=counts) == pytest.approx(-weighted.inertia_, rel=1e-12)


@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
def test_rows_without_weight_decide_nothing(init: str) -> None:
    """Outliers of weight 0: no center goes there."""
    data = X.copy()
    data[::100] += 1000.0
    w = np.ones(len(X))
    w[::100] = 0.0
    model = fitted(data, k=5, kernel=dk.Gaussian(5.0), landmarks=X[:60], init=init, w=w)
    assert set(model.labels_[w > 0]) == set(range(5))


def test_more_clusters_than_distinct_rows() -> None:
    data = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], 10, axis=0)
    with pytest.warns(NumericalWarning, match="n_clusters=6, but only 3 clusters have members"):
        model = fitted(data, 6, kernel=dk.Gaussian(2.0), n_landmarks=30)
    assert model.inertia_ < 1e-20
    assert sorted(model.cluster_sizes_.tolist()) == [0, 0, 0, 10, 10, 10]
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("distinct", [1, 2])
def test_repeated_rows_come_to_rest(distinct: int, dtype: str) -> None:
    """The mean of equal rows differs from them by rounding: empty clusters must not chase it for ever."""
    data = X[:distinct][np.arange(1200) % distinct].astype(dtype)
    with pytest.warns(NumericalWarning, match=f"only {distinct} clusters"):
        model = fitted(data, 6, kernel=dk.Gaussian(2.0), tol=0.0)
    assert model.n_iter_ < 10
    assert model.history_[-1]["shift"] == 0.0


def test_empty_clusters_are_used() -> None:
    """Two of four starting centers are far from every row."""
    features = dk.NystromFeatures(dk.Gaussian(5.0), landmarks=X[:40], n_components=6).fit(X)
    B = features.transform(X)
    start = np.vstack([B[:2], B.max(axis=0) + 50, B.max(axis=0) + 60])
    model = fitted(kernel=dk.Gaussian(5.0), landmarks=X[:40], n_components=6, init=start)
    assert (model.cluster_sizes_ > 0).all()
    assert model.history_[0]["empty"] == 2


def test_stopping() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        short = fitted(max_iter=1, k=6)
    assert short.n_iter_ == 1
    exact, early = fitted(tol=0.0, k=6), fitted(tol=0.05, k=6)
    assert exact.history_[-1]["shift"] == 0.0
    assert early.n_iter_ < exact.n_iter_
    assert exact.inertia_ <= early.inertia_


def test_dask_in_dask_out(no_compute: Any) -> None:
    lazy = chunked(X)
    model = fitted(lazy)
    with no_compute:
        outputs = [model.predict(lazy), model.transform(lazy)]
    assert isinstance(model.labels_, da.Array)
    assert all(isinstance(out, da.Array) for out in outputs)
    assert outputs[0].chunks == lazy.chunks[:1]
    assert outputs[1].chunks == (lazy.chunks[0], (4,))
    assert (outputs[0].dtype, outputs[1].dtype) == (np.dtype("i4"), np.dtype("f8"))
    assert isinstance(fitted(X).labels_, np.ndarray)


def test_lazy_labels_are_not_computed_again() -> None:
    calls: list[int] = []

    def noted(block: np.ndarray) -> np.ndarray:
        calls.append(1)
        return block

    lazy = da.from_array(X, chunks=(1000, -1)).map_blocks(noted, meta=np.empty((0, 0)))
    model = fitted(lazy)
    assert len(calls) == 3, "a lazy table is computed once for the whole fit"
    model.labels_.compute()
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "n_clusters=0"),
        ({"k": 3001}, r"n_samples=3000 should be >= n_clusters=3001"),
        ({"k": 2.0}, "n_clusters=2.0"),
        ({"n_init": 0}, "n_init=0"),
        ({"n_init": "auto"}, "n_init='auto'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": "small"}, "tol='small'"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"init": "random"}, "init='random'.*k-means"),
        ({"init": np.zeros((3, 7))}, r"init has shape \(3, 7\): wanted finite centers \(4, "),
        ({"init": np.full((4, 13), np.nan)}, "finite centers"),
        ({"random_state": "seed"}, "random_state='seed'"),
        ({"n_landmarks": 4000}, "n_landmarks=4000"),
        ({"n_components": 0}, "n_components=0"),
        ({"w": np.ones(7)}, "sample_weight"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, dict) else "",
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError if "seed" not in message else ValueError, match=message):
        fitted(**options)


def test_plan_runs_nothing_and_leaves_no_trace() -> None:
    model = dk.KernelKMeans(4, n_landmarks=40)
    plan = model.plan(chunked(X))
    assert [step.stage for step in plan.steps[-2:]] == ["kmeans-assign", "kmeans-labels"]
    assert not [name for name in vars(model) if name.endswith("_")]
    done = fitted().plan_
    assert done.measured.keys() >= {"nystrom-gram", "kmeans-assign"}
    assert "measured" in str(done)
