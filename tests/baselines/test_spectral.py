"""Tests: spectral clustering with Nyström columns against the one-shot method, and what has no degree."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given, settings

import daskkernels as dk
from daskkernels import plan_clustering as planning
from daskkernels.baselines import NystromSpectralClustering
from daskkernels.errors import InputError, NonFiniteError, NumericalWarning
from daskkernels.grid import Grid
from daskkernels.runtime import LocalRuntime
from tests import oracles, oracles_baselines
from tests.estimators.rows_in_many_forms import assert_same_bits, chunked, dense, row_cuts, stored, table

HERE = LocalRuntime()
WIDE = 2.0  # bandwidth of the tests: all degrees positive, W far from singular


def embedding(model: NystromSpectralClustering, X: np.ndarray) -> np.ndarray:
    """The rows that k-means is run on."""
    rows = model._features_of(HERE.place_rows(X, Grid.canonical(*X.shape, X.itemsize)), HERE)
    return dense(rows.to_dask())


@pytest.mark.parametrize("kernel", [dk.Gaussian(WIDE), dk.Laplacian(3.0), dk.Cauchy(WIDE)], ids=repr)
@pytest.mark.parametrize("c", [6, 20, 60])
def test_equals_the_one_shot_method(kernel: Any, c: int) -> None:
    """A + A^-1/2 B B^T A^-1/2, dense: eigenvalues, and rows of the eigenvectors up to the signs of these."""
    X, k = table(n=1500), 4
    model = NystromSpectralClustering(k, kernel, n_landmarks=c, random_state=0).fit(X)
    order = np.r_[model.landmark_indices_, np.setdiff1d(np.arange(len(X)), model.landmark_indices_)]
    function = {dk.Gaussian: oracles.gaussian, dk.Laplacian: oracles.laplacian, dk.Cauchy: oracles.cauchy}
    C = function[type(kernel)](model.landmarks_, X[order], kernel.bandwidth)
    values, V = oracles_baselines.one_shot_spectral(C[:, :c], C[:, c:], k)
    np.testing.assert_allclose(model.eigenvalues_[:k], values, rtol=1e-6)
    found, wanted = embedding(model, X)[order], oracles_baselines.unit_rows(V)
    signs = np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found * signs, wanted, atol=1e-5)
    assert (model.rank_, model.n_floored_) == (c, 0)


def test_all_rows_as_landmarks_are_exact_spectral_clustering() -> None:
    """With c = n the approximation is K itself."""
    X = table(n=300)
    model = NystromSpectralClustering(4, dk.Gaussian(1.0), n_landmarks=300, random_state=0).fit(X)
    K = oracles.gaussian(X, X, 1.0)
    scaled = K / np.sqrt(np.outer(K.sum(axis=1), K.sum(axis=1)))
    values = np.linalg.eigvalsh(scaled)[::-1]
    np.testing.assert_allclose(model.eigenvalues_[:20], values[:20], rtol=1e-8)
    assert model.eigenvalues_[0] == pytest.approx(1.0, abs=1e-12)


def test_separated_groups_are_found() -> None:
    """Two rings, which no center describes."""
    rng = np.random.default_rng(0)
    angle, ring = rng.uniform(0, 2 * np.pi, 1200), np.repeat([1.0, 4.0], 600)
    X = np.c_[ring * np.cos(angle), ring * np.sin(angle)] + rng.normal(scale=0.05, size=(1200, 2))
    model = NystromSpectralClustering(2, dk.Gaussian(0.4), n_landmarks=200, random_state=0).fit(X)
    assert oracles.ari(model.labels_, np.repeat([0, 1], 600)) == 1.0
    assert (model.labels_ == model.predict(X)).all()
    assert (model.cluster_sizes_ == 600).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_without_a_degree_are_counted(dtype: str) -> None:
    """A narrow kernel: some degrees are negative, and rows far from all landmarks have none at all."""
    X = np.concatenate([table(n=900, d=2), 1e3 + 100 * np.arange(20.0)[:, None] * np.ones(2)]).astype(dtype)
    negative, rounding = 0, 20 * np.finfo(dtype).eps
    for seed in range(4):
        model = NystromSpectralClustering(3, dk.Gaussian(0.3), n_landmarks=60, random_state=seed)
        with pytest.warns(NumericalWarning, match="rows have a degree of zero or less"):
            model.fit(X)
        C = oracles.gaussian(X, model.landmarks_, 0.3)
        R = oracles.nystrom(C, C[model.landmark_indices_], np.ones(len(X)), rank=None).R
        values, degrees = oracles_baselines.floored_spectral(R, np.ones(len(X)))
        least, most = ((degrees == 0) | (degrees < -rounding)).sum(), (degrees < rounding).sum()
        assert 15 < least <= model.n_floored_ <= most
        negative += int((degrees < -rounding).sum())
        if dtype == "f8":
            np.testing.assert_allclose(model.eigenvalues_[:10], values[:10], rtol=1e-8)
        assert np.isfinite(embedding(model, X)).all()
    assert negative > 0


def test_no_warning_where_every_row_has_a_degree() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NystromSpectralClustering(3, n_landmarks=50, random_state=0).fit(table()).n_floored_ == 0


def answers(X: Any, **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"n_landmarks": 40, "random_state": 0, **options}
    model = NystromSpectralClustering(4, **settings).fit(X)
    return {
        "labels": dense(model.labels_),
        "centers": model.cluster_centers_,
        "eigenvalues": model.eigenvalues_,
        "components": model.components_,
        "predicted": dense(model.predict(X)),
    }


@pytest.fixture(scope="module")
def expected() -> dict[str, dict[str, Any]]:
    with dask.config.set(scheduler="sync"):
        return {dtype: answers(table(dtype)) for dtype in ("f4", "f8")}


@given(row_cuts())
@settings(max_examples=6)
def test_any_chunks(expected: Any, rows: tuple[int, ...]) -> None:
    assert_same_bits(answers(chunked(table("f4"), rows, 2)), expected["f4"])


def test_stores_and_workers(expected: Any, client_threads: Any, tmp_path: Path) -> None:
    for dtype in ("f4", "f8"):
        assert_same_bits(answers(stored(table(dtype), tmp_path)), expected[dtype])
        assert_same_bits(answers(table(dtype)), expected[dtype])


@pytest.mark.parametrize("room", [0, 2**20])
def test_storage(expected: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: int) -> None:
    """Columns and embedding that are not kept: recomputed, or spooled."""
    plan = planning.plan_kmeans
    monkeypatch.setattr(planning, "plan_kmeans", lambda *a, **k: replace(plan(*a, **k), keep_columns=False))
    monkeypatch.setattr("daskkernels.estimators.base.residence", lambda *a, **k: "scratch")
    monkeypatch.setattr(LocalRuntime, "scratch", None if room else str(tmp_path))
    assert_same_bits(answers(chunked(table("f4"))), expected["f4"])


def test_kind_in_is_kind_out(tmp_path: Path) -> None:
    X = table()
    model = NystromSpectralClustering(3, random_state=0)
    assert isinstance(model.fit(X).labels_, np.ndarray)
    lazy = model.fit(chunked(X, 400))
    assert dask.is_dask_collection(lazy.labels_)
    assert lazy.labels_.chunks == (tuple([400] * 7 + [200]),)
    assert dask.is_dask_collection(lazy.predict(stored(X, tmp_path)))


def test_too_few_eigenvectors() -> None:
    X = np.repeat(np.eye(3), 50, axis=0)
    with pytest.warns(NumericalWarning) as told:
        model = NystromSpectralClustering(5, dk.Gaussian(1.0), n_landmarks=100, random_state=0).fit(X)
    assert ["has 3 eigenvectors" in str(w.message) for w in told] == [True, False]
    assert "only 3 clusters have members" in str(told[1].message)
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"n_landmarks": 31}, "n_landmarks=31 is more than the 30 rows"),
        ({"init": "random"}, "wanted 'k-means||' or 'k-means++'"),
        ({"n_init": 0}, "n_init=0"),
        ({"tol": -1.0}, "tol=-1.0"),
    ],
)
def test_errors_name_the_parameter(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as found:
        NystromSpectralClustering(**{"n_clusters": 2, **options}).fit(table(n=30))
    assert message in str(found.value)


def test_a_bad_row_is_named() -> None:
    X = table()
    X[2345, 1] = np.nan
    with pytest.raises(NonFiniteError, match="row 2345"):
        NystromSpectralClustering(3, dk.Gaussian(1.0), n_landmarks=20, random_state=0).fit(chunked(X))


@pytest.mark.slow
def test_real_data(shared_data: Any) -> None:
    """PenDigits, c = 270: .645 to .67 in the paper (figure 3)."""
    data = shared_data("pendigits")
    scores = [
        oracles.nmi(data["y"], NystromSpectralClustering(10, n_landmarks=270, random_state=seed).fit_predict(
            data["X"].astype("f4")
        ))
        for seed in range(5)
    ]  # fmt: skip
    assert 0.63 < np.median(scores) < 0.69
