"""Tests: kernel k-means with all of K, and from a sample, against dense float64 references."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

import daskkernels as dk
from daskkernels.baselines import ExactKernelKMeans, TwoStepKernelKMeans
from daskkernels.block import kernel_seeding as seeding
from daskkernels.block.draw import stream_keys
from daskkernels.errors import ConvergenceWarning, InputError, ModelError, NonFiniteError, NumericalWarning
from daskkernels.events import reporter
from daskkernels.grid import Grid
from daskkernels.rowblocks import from_memory
from daskkernels.runtime import LocalRuntime
from daskkernels.solvers.kernel_seeding import seed_labels
from daskkernels.solvers.kernel_sums import open_matrix
from tests import oracles, oracles_kernel
from tests.estimators.rows_in_many_forms import dense, row_cuts, table

X = table(n=1500)  # two blocks
NEW = table(n=40)[::-1] + 0.1
START = np.random.default_rng(0).integers(0, 4, 1500)
BOTH = [ExactKernelKMeans, TwoStepKernelKMeans]


@pytest.mark.parametrize(
    ("kernel", "of"),
    [
        (dk.Gaussian(3.0), lambda a, b: oracles.gaussian(a, b, 3.0)),
        (dk.Gaussian(60.0), lambda a, b: oracles.gaussian(a, b, 60.0)),
        (dk.Laplacian(2.0), lambda a, b: oracles.laplacian(a, b, 2.0)),
        (dk.Polynomial(2), lambda a, b: oracles.polynomial(a, b, 2)),
        (lambda a, b: a @ b.T, oracles.linear),
    ],
    ids=["gaussian", "wide", "laplacian", "polynomial", "function"],
)
def test_exact(kernel: Any, of: Callable[[Any, Any], Any]) -> None:
    """From the same labels to the same fixed point, and to the same clusters of new rows."""
    K = of(X, X)
    labels, inertia = oracles_kernel.kernel_lloyd(K, START, 4)
    model = ExactKernelKMeans(4, kernel, init=START, tol=0.0).fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-9)
    objective = dk.metrics.kernel_kmeans_objective(X, model.labels_, model.kernel_)
    assert len(X) * objective == pytest.approx(model.inertia_, rel=1e-12)
    own = np.array([of(x[None], x[None])[0, 0] for x in NEW])
    D = oracles_kernel.feature_distances(K, labels, 4, of(NEW, X), own)
    np.testing.assert_array_equal(model.predict(NEW), D.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.cluster_sizes_, np.bincount(labels, minlength=4))


def test_linear_is_plain_kmeans() -> None:
    centers = oracles.means(X, START, 4)
    plain = KMeans(4, init=centers, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
    model = ExactKernelKMeans(4, "linear", init=START, tol=0.0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)
    np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from(["gaussian", "laplacian", "linear"]))
def test_the_objective_only_falls(seed: int, k: int, kernel: str) -> None:
    """In every iteration and restart, empty clusters or not; and it is that of the labels."""
    model = ExactKernelKMeans(k, kernel, random_state=seed, n_init=3, tol=0.0).fit(X[:300])
    for r in range(3):
        values = [entry["inertia"] for entry in model.history_ if entry["restart"] == r]
        assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    last = [entry["inertia"] for entry in model.history_][-3:]
    assert model.inertia_ == pytest.approx(min(last), rel=1e-12, abs=1e-9)
    objective = dk.metrics.kernel_kmeans_objective(X[:300], model.labels_, model.kernel_)
    assert 300 * objective == pytest.approx(model.inertia_, rel=1e-9, abs=1e-9)


def test_restarts_are_those_of_single_runs() -> None:
    """Restarts that share passes go where each would go alone."""
    K = open_matrix(
        from_memory(X, Grid(1500, 1024)), dk.Gaussian(3.0), np.dtype("f8"), LocalRuntime(), reporter()
    )
    seeds = np.random.SeedSequence(5).spawn(3)
    together = dense(seed_labels(K, 4, seeds, LocalRuntime(), reporter()).to_dask())
    assert len({tuple(column) for column in together.T.tolist()}) == 3
    found = []
    for r, seed in enumerate(np.random.SeedSequence(5).spawn(3)):
        alone = dense(seed_labels(K, 4, [seed], LocalRuntime(), reporter()).to_dask())
        np.testing.assert_array_equal(alone[:, 0], together[:, r])
        found.append(ExactKernelKMeans(4, dk.Gaussian(3.0), init=alone[:, 0], tol=0.0).fit(X).inertia_)
    assert max(found) > min(found)


def test_seeding_prefers_far_rows() -> None:
    """Four far groups: k-means++ takes a row of each, whatever the seed; equal rows are never taken twice."""
    far = np.repeat(100.0 * np.eye(4), [700, 3, 300, 200], axis=0)
    for seed in range(5):
        model = ExactKernelKMeans(4, dk.Gaussian(1.0), random_state=seed).fit(far)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-9)
        assert sorted(model.cluster_sizes_.tolist()) == [3, 200, 300, 700]


def test_seeding_draws_by_squared_distance() -> None:
    """6000 draws from five rows in two blocks, one of them at distance 0."""
    squares = np.array([4.0, 0.0, 1.0, 3.0, 2.0])
    state = np.c_[np.tile(squares[:, None], 6000), np.zeros((5, 6000))]
    keys = stream_keys(np.random.SeedSequence(0), 6000)
    parts = [
        seeding.race(np.ones(len(part)), part, keys, start=start)
        for start, part in ((0, state[:3]), (3, state[3:]))
    ]
    rows = seeding.merge_race(parts)[:, 1].astype(int)
    np.testing.assert_allclose(np.bincount(rows) / 6000, squares / 10, atol=0.02)
    assert not np.isfinite(seeding.race(np.ones(2), np.zeros((2, 2)), keys[:1], start=0)[0, 0])


@pytest.mark.parametrize("model", BOTH)
def test_empty_clusters(model: Any) -> None:
    """Fewer distinct rows than clusters: as many clusters, and a warning."""
    few = np.repeat(np.array([[0.0, 1.0], [3.0, 0.0], [9.0, 9.0]]), 20, axis=0)
    with pytest.warns(NumericalWarning, match="n_clusters=5, but only 3 clusters have members"):
        found = model(5, dk.Gaussian(2.0), random_state=0).fit(few)
    assert len(set(found.labels_.tolist())) == 3
    assert found.inertia_ == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_array_equal(found.predict(few), found.labels_)


def test_an_empty_cluster_takes_the_farthest_row() -> None:
    """Labels to begin with that leave clusters empty: filled, and the objective is that of three clusters."""
    rows = np.concatenate([np.zeros((20, 1)), np.ones((20, 1)), [[50.0]]])
    rows[:, 0] += np.linspace(0, 0.1, 41)
    model = ExactKernelKMeans(3, "linear", init=np.zeros(41, int), tol=0.0).fit(rows)
    assert sorted(model.cluster_sizes_.tolist()) == [1, 20, 20]


@given(row_cuts(1500), st.sampled_from(["f4", "f8", "u1"]), st.sampled_from(BOTH))
def test_any_chunks(cuts: tuple[int, ...], dtype: str, model: Any) -> None:
    """The same bits as from numpy; lazy in, lazy out."""
    rows = (10 * X).astype(dtype)
    expected = model(3, random_state=0, tol=1e-2).fit(rows)
    lazy = da.from_array(rows, chunks=(cuts, 2))
    found = model(3, random_state=0, tol=1e-2).fit(lazy)
    assert isinstance(found.labels_, da.Array)
    assert found.labels_.chunks[0] == lazy.chunks[0]
    assert isinstance(expected.labels_, np.ndarray)
    np.testing.assert_array_equal(dense(found.labels_), expected.labels_)
    assert (found.inertia_, found.n_iter_) == (expected.inertia_, expected.n_iter_)
    np.testing.assert_array_equal(dense(found.predict(lazy)), expected.predict(rows))


@pytest.mark.parametrize("model", BOTH)
def test_stores_and_workers(model: Any, tmp_path: Path, client_processes: Any) -> None:
    expected = model(3, random_state=0, tol=0.05).fit(X)
    found = model(3, random_state=0, tol=0.05).fit(dk.write_dataset(tmp_path / "x.zarr", X))
    np.testing.assert_array_equal(dense(found.labels_), expected.labels_)
    assert found.inertia_ == expected.inertia_
    np.testing.assert_array_equal(found.predict(NEW), expected.predict(NEW))


@pytest.mark.parametrize("model", BOTH)
def test_predicting_builds_a_graph(model: Any, no_compute: Any) -> None:
    fitted = model(3, random_state=0).fit(X)
    with no_compute:
        lazy = fitted.predict(da.from_array(X, chunks=(500, -1)))
    np.testing.assert_array_equal(dense(lazy), fitted.predict(X))


@pytest.mark.parametrize("kernel", [dk.Gaussian(3.0), dk.Gaussian(60.0), dk.Linear()])
def test_two_step(kernel: Any) -> None:
    """Every row to the nearest mean of the sampled clusters, whose last term differs between clusters."""
    of = {
        3.0: lambda a, b: oracles.gaussian(a, b, 3.0),
        60.0: lambda a, b: oracles.gaussian(a, b, 60.0),
        None: oracles.linear,
    }[getattr(kernel, "bandwidth", None)]
    model = TwoStepKernelKMeans(4, kernel, 90, random_state=1).fit(X)
    Z, labels = X[model.landmark_indices_], model.landmark_labels_
    np.testing.assert_array_equal(Z, model.landmarks_)
    own = np.diag(of(X, X))
    D = oracles_kernel.feature_distances(of(Z, Z), labels, 4, of(X, Z), own)
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    assert model.inertia_ == pytest.approx(D.min(axis=1).sum(), rel=1e-8)
    np.testing.assert_array_equal(labels, model.labels_[model.landmark_indices_])  # at rest
    np.testing.assert_array_equal(model.predict(X[:100]), model.labels_[:100])


def test_two_step_from_all_rows_is_exact() -> None:
    found = TwoStepKernelKMeans(3, n_landmarks=1500, random_state=0, tol=0.0).fit(X)
    exact = ExactKernelKMeans(3, init=found.labels_, tol=0.0).fit(X)
    np.testing.assert_array_equal(found.labels_, exact.labels_)
    assert found.inertia_ == pytest.approx(exact.inertia_, rel=1e-9)


def test_exact_is_no_worse_than_two_step(shared_data: Any) -> None:
    rows = shared_data("segment")["X"]
    rows = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
    exact = ExactKernelKMeans(7, n_init=3, random_state=0).fit(rows)
    sampled = TwoStepKernelKMeans(7, n_init=3, n_landmarks=100, random_state=0).fit(rows)
    of_sampled = dk.metrics.kernel_kmeans_objective(rows, sampled.labels_, exact.kernel_)
    assert exact.inertia_ < len(rows) * of_sampled < sampled.inertia_ * (1 + 1e-9)


@pytest.mark.parametrize("model", BOTH)
def test_not_converged(model: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        found = model(8, max_iter=1, tol=0.0, random_state=3).fit(X)
    assert found.n_iter_ == 1
    assert len(found.history_) == 2


def test_bad_parameters() -> None:
    for options, message in [
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 1501}, "n_samples=1500 should be >= n_clusters=1501"),
        ({"n_init": 0}, "n_init=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"init": "random"}, "init='random'"),
        ({"init": START[1:]}, r"init has shape \(1499,\)"),
        ({"init": START + 7}, "numbers from 0 to 7"),
    ]:
        with pytest.raises(InputError, match=message):
            ExactKernelKMeans(**options).fit(X)
    for value, message in [
        ("most", "'most'"),
        (3, "less than n_clusters=8"),
        (2000, "more than the 1500 rows"),
    ]:
        with pytest.raises(InputError, match=message):
            TwoStepKernelKMeans(n_landmarks=value).fit(X)


@pytest.mark.parametrize("model", BOTH)
def test_bad_rows_are_named(model: Any) -> None:
    rows = X.copy()
    rows[1234, 2] = np.inf
    for kernel in ("gaussian", dk.Gaussian(2.0), dk.Linear()):
        with pytest.raises(NonFiniteError, match="row 1234"):
            model(3, kernel, random_state=0).fit(rows)


@pytest.mark.parametrize("model", BOTH)
def test_not_saved_but_pickled(model: Any, tmp_path: Path) -> None:
    fitted = model(3, random_state=0).fit(da.from_array(X, chunks=(500, -1)))
    with pytest.raises(ModelError, match=f"{model.__name__} is a baseline: baselines are not saved"):
        dk.save(fitted, tmp_path / "model.zarr")
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))


def test_reached_from_the_package() -> None:
    assert dk.baselines.ExactKernelKMeans is ExactKernelKMeans
    assert "baselines" in dir(dk)
