"""Tests: hazards, section E: one seed gives one answer, whatever the chunks, and no global state moves."""

from __future__ import annotations

import random
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import daskkernels as dk
from tests.hazards.forms import blobs, chunked, cluster, dense

X = blobs(5000)


def row_chunks(n: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Any way to cut n rows, empty chunks included."""
    cuts = st.lists(st.integers(0, n), max_size=6).map(sorted)
    return cuts.map(lambda c: tuple(np.diff([0, *c, n]).tolist()))


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1"])
@pytest.mark.parametrize("init", ["k-means||", "k-means++"])
def test_chunks_change_nothing(init: str, dtype: str) -> None:
    """Measured elsewhere: one seed, three chunkings, three answers. Here bit for bit."""
    data = (X * 8 + 100).clip(0, 255).astype(dtype)
    reference = cluster(data, 6, init=init)
    for chunks in (5000, 1024, 1000, 37):
        model = cluster(chunked(data, chunks), 6, init=init)
        np.testing.assert_array_equal(dense(model.labels_), reference.labels_)
        np.testing.assert_array_equal(model.cluster_centers_, reference.cluster_centers_)
        np.testing.assert_array_equal(
            model.features_.landmark_indices_, reference.features_.landmark_indices_
        )
        assert (model.inertia_, model.n_iter_) == (reference.inertia_, reference.n_iter_)


@given(chunks=row_chunks(3000), columns=st.sampled_from([8, 3]), dtype=st.sampled_from(["f4", "f8"]))
def test_any_chunks_change_nothing(chunks: tuple[int, ...], columns: int, dtype: str) -> None:
    """The same for cuts nobody thought of, columns included."""
    data = blobs(3000).astype(dtype)
    reference = dk.NystromFeatures(n_landmarks=25, random_state=3).fit(data)
    lazy = da.from_array(data).rechunk((chunks, columns))
    f = dk.NystromFeatures(n_landmarks=25, random_state=3).fit(lazy)
    assert f.kernel_ == reference.kernel_
    np.testing.assert_array_equal(f.eigenvalues_, reference.eigenvalues_)
    np.testing.assert_array_equal(dense(f.transform(lazy)), reference.transform(data))


@pytest.mark.parametrize("rule", ["mean", "median"])
@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_bandwidths_do_not_depend_on_the_chunks(rule: str, scheduler: str) -> None:
    """The sample of the median rule and the merge of the mean rule follow the rows, not the blocks."""
    found = set()
    with dask.config.set(scheduler=scheduler):
        for data in (X, chunked(X, 999), chunked(X, 5000), chunked(X, 64)):
            found.add(
                dk.NystromFeatures(dk.Gaussian(rule), n_landmarks=20, random_state=0)
                .fit(data)
                .kernel_.bandwidth
            )
    assert len(found) == 1


def test_scaling_does_not_depend_on_the_chunks() -> None:
    """`Standardize` too: mean and scale to the last bit."""
    reference = dk.Standardize().fit(X)
    for chunks in (5000, 1000, 37):
        scaler = dk.Standardize().fit(chunked(X, chunks))
        np.testing.assert_array_equal(scaler.mean_, reference.mean_)
        np.testing.assert_array_equal(scaler.scale_, reference.scale_)


def test_a_store_gives_the_same(tmp_path: Any) -> None:
    """Read from disk, in whatever chunks it was written."""
    reference = cluster(X, 6)
    for rows in (None, 1024, 2048):
        data = dk.write_dataset(tmp_path / f"{rows}.zarr", chunked(X, 700), chunk_rows=rows)
        model = cluster(data.X, 6)
        np.testing.assert_array_equal(dense(model.labels_), reference.labels_)
        assert model.inertia_ == reference.inertia_


def test_rows_are_predicted_alike_alone_and_together() -> None:
    """A row's label does not depend on the rows it is handed in with; its features only by rounding."""
    model = cluster(X, 6)
    together = model.predict(X)
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[i : i + 1]) for i in range(50)]), together[:50]
    )
    np.testing.assert_array_equal(model.predict(X[1000:1777]), together[1000:1777])
    np.testing.assert_allclose(model.transform(X[7:8]), model.transform(X)[7:8], rtol=1e-9)


@pytest.mark.parametrize("seed", [0, None, "RandomState"])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_global_generators_are_left_alone(seed: Any, form: str) -> None:
    """dask-ml#380, #276: a global generator was used, so that a fit changed the draws of everybody else."""
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    before, before_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    data = X if form == "numpy" else chunked(X, 700)
    cluster(data, 6, random_state=np.random.RandomState(0) if seed == "RandomState" else seed).predict(data)
    dk.NystromFeatures(dk.Gaussian("median"), n_landmarks=20, random_state=0).fit(data)
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert random.getstate() == before_python


def test_the_global_generator_decides_nothing() -> None:
    """And the other way round: a seeded fit is the same whatever numpy's global state is."""
    np.random.seed(1)  # noqa: NPY002
    a = cluster(X, 6)
    np.random.seed(2)  # noqa: NPY002
    np.testing.assert_array_equal(cluster(X, 6).labels_, a.labels_)


def test_an_integer_seed_repeats() -> None:
    """dask#921, first half: fitting twice with one integer is the same fit, on one object or on two."""
    model = dk.KernelKMeans(6, n_landmarks=60, random_state=11)
    first = model.fit(X).labels_.copy()
    np.testing.assert_array_equal(model.fit(X).labels_, first)
    np.testing.assert_array_equal(cluster(X, 6, random_state=np.int64(11)).labels_, first)


def test_a_generator_moves_on() -> None:
    """dask#921, second half: one RandomState or Generator object is a stream: each fit goes on in it."""
    for make in (np.random.RandomState, np.random.default_rng):
        stream = make(11)
        model = dk.NystromFeatures(n_landmarks=60, random_state=stream)
        first = np.array(model.fit(X).landmark_indices_)
        assert not np.array_equal(first, model.fit(X).landmark_indices_)
        again = dk.NystromFeatures(n_landmarks=60, random_state=make(11)).fit(X)
        np.testing.assert_array_equal(again.landmark_indices_, first)


def test_seeds_differ_and_no_seed_differs() -> None:
    """Different seeds draw different landmarks, and so does None each time."""
    draws = [
        dk.NystromFeatures(n_landmarks=60, random_state=s).fit(X).landmark_indices_
        for s in (0, 1, None, None)
    ]
    assert len({tuple(np.sort(d)) for d in draws}) == 4


@pytest.mark.parametrize("c", [1, 2, 100, 599, 600])
def test_landmarks_are_distinct_rows(c: int) -> None:
    """Exactly c different rows, in the data's own units, whatever the share of the rows that is drawn."""
    few = X[:600]
    for data in (few, chunked(few, 70)):
        f = dk.NystromFeatures(dk.Gaussian(4.0), n_landmarks=c, rank=min(c, 20), random_state=0).fit(data)
        indices = np.asarray(f.landmark_indices_)
        assert len(np.unique(indices)) == c
        np.testing.assert_array_equal(f.landmarks_, few[indices])


def test_landmarks_are_drawn_uniformly() -> None:
    """Every row is as likely as any other: a biased draw per block would show at the ends."""
    hits = np.zeros(40)
    for seed in range(400):
        f = dk.NystromFeatures(dk.Gaussian(4.0), n_landmarks=10, random_state=seed).fit(X[:40])
        hits[np.asarray(f.landmark_indices_)] += 1
    assert hits.sum() == 4000
    assert np.abs(hits - 100).max() < 5 * np.sqrt(100 * 0.75)
