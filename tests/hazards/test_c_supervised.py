"""Tests: hazards, section C, and sections A, D and F where they meet a supervised fit."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from distributed import Client
from sklearn.datasets import load_digits
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import get_tags

import daskkernels as dk
from daskkernels.estimators.training import Seeds
from tests import oracles, oracles_eigenpro
from tests.hazards.forms import blobs, chunked, dask_frame, dense, pandas_frame

X = blobs(600)
Y = (X[:, 0] > np.median(X[:, 0])).astype(int) + (X[:, 1] > 4)
DIGITS = load_digits()


def ec(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"random_state": 0, "max_epochs": 3, "n_subsamples": 60, **options})


def er(**options: Any) -> dk.EigenProRegressor:
    return dk.EigenProRegressor(**{"random_state": 0, "max_epochs": 3, "n_subsamples": 60, **options})


REFERENCE = ec().fit(X, Y)


# --- C. Regression, classification, labels -----------------------------------------------------------------
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(("label", "shown"), [("a", "'a'"), (5, "5"), (True, "True")])
def test_one_class_is_refused_by_name(label: Any, shown: str, lazy: bool) -> None:
    """sklearn#1009, handson-ml#504: one class gave garbage or a bare error."""
    y = np.array([label] * 600)
    with pytest.raises(ValueError, match=rf"2 classes.*1.*[ :]{shown}") as caught:
        ec().fit(X, chunked(y, 90) if lazy else y)
    assert "np." not in str(caught.value)


def test_labels_need_not_count_from_zero() -> None:
    """sklearn#11706: labels -1, or with gaps."""
    names = np.array([-7, 3, 1000])
    model = ec().fit(X, names[Y])
    assert set(model.predict(X)) <= set(names)
    np.testing.assert_array_equal(model.predict(X), names[REFERENCE.predict(X)])


def test_a_class_that_appears_in_the_last_chunk() -> None:
    """Classes are those of all of y, wherever they are."""
    y = np.r_[np.zeros(550), np.ones(50)].astype(int)
    shifted = X + 20.0 * y[:, None]
    model = ec().fit(chunked(shifted, 50), chunked(y, 50))
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict(shifted), y)


@pytest.mark.parametrize("sort", ["label", "time"])
def test_sorted_data_trains_as_well_as_shuffled(sort: str) -> None:
    """dask-ml#8, #274: one class in each chunk, or rows in the order of a drift."""
    rows, y = DIGITS.data[:1400], DIGITS.target[:1400]
    order = np.argsort(y if sort == "label" else rows[:, 20], kind="stable")
    held = DIGITS.data[1400:], DIGITS.target[1400:]
    scores = {}
    for name, at in (("sorted", order), ("shuffled", np.random.default_rng(0).permutation(1400))):
        model = ec(n_subsamples=300, max_epochs=5).fit(chunked(rows[at], 140), chunked(y[at], 140))
        scores[name] = model.score(*held)
    assert scores["sorted"] >= scores["shuffled"] - 0.005


@pytest.mark.parametrize("lazy", [False, True])
def test_labels_in_a_column_are_raveled_with_a_warning(lazy: bool) -> None:
    """dask-glm#10, pymks#474."""
    column = Y[:, None]
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = ec().fit(X, da.from_array(column, chunks=(90, 1)) if lazy else column)
    assert model.predict(X).shape == (600,)
    np.testing.assert_array_equal(model.dual_coef_, REFERENCE.dual_coef_)


@pytest.mark.parametrize("lazy", [False, True])
def test_labels_in_many_columns_are_refused(lazy: bool) -> None:
    """A lazy (n, 2) was read as 2 n labels, of which the first n were trained on."""
    columns = np.c_[Y, 2 - Y]
    with pytest.raises(ValueError, match=r"1d array|shape"):
        ec().fit(X, da.from_array(columns, chunks=(90, 2)) if lazy else columns)


@pytest.mark.parametrize("cuts", [(300, 300), (301, 299), (1, 599), (0, 600), (600,)])
def test_chunks_of_y_need_not_be_those_of_x(cuts: tuple[int, ...]) -> None:
    """dask-xgboost#32: partitions of different lengths."""
    model = ec().fit(chunked(X, (300, 300)), da.from_array(Y).rechunk((cuts,)))
    np.testing.assert_array_equal(model.dual_coef_, REFERENCE.dual_coef_)


@pytest.mark.parametrize("make", [ec, er])
@pytest.mark.parametrize("length", [599, 601, 1])
@pytest.mark.parametrize("lazy", [False, True])
def test_lengths_that_differ(make: Any, length: int, lazy: bool) -> None:
    y = np.resize(Y, length)
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b600\b)(?=.*\b{length}\b)"):
        make().fit(X, chunked(y, 90) if lazy else y)


@pytest.mark.parametrize("batch", [100, 64, 1003])
def test_the_batch_need_not_divide_the_rows(batch: int) -> None:
    """NCE-loss#1: n = 1003: every row is used once an epoch, as in a plain reference."""
    rows = blobs(1003, 3)
    y = np.sin(rows[:, 0])
    kernel = dk.Gaussian(3.0)
    model = er(kernel=kernel, batch_size=batch, n_directions=4, max_epochs=1, n_subsamples=100).fit(rows, y)
    K, r = oracles.gaussian(rows, rows, 3.0), model.subsample_indices_
    sigma, V = oracles_eigenpro.eigenpairs(K[np.ix_(r, r)])
    order = Seeds.of(0).order(1003, 1003)(0).rows(0, 1003)
    expected = oracles_eigenpro.eigenpro(
        K,
        (y - y.mean())[:, None],
        r,
        V,
        oracles_eigenpro.damping(sigma, 4),
        oracles_eigenpro.batches([order], batch),
        lambda m: oracles_eigenpro.step_size(m, model.plan_.beta, model.plan_.eigenvalue),
    )
    np.testing.assert_allclose(model.dual_coef_, expected.alpha, atol=1e-8 * np.abs(expected.alpha).max())
    assert model.history_[0]["train_mse"] == pytest.approx(expected.residuals.sum() / 1003, rel=1e-6)


@pytest.mark.parametrize("of_x", ["f4", "f8", "u1"])
@pytest.mark.parametrize("of_y", ["i8", "f8", "?", "f4", "i2"])
def test_x_and_y_need_not_share_a_type(of_x: str, of_y: str) -> None:
    """FALKON: X and y had to."""
    rows, y = (X * 5 + 100).clip(0, 255).astype(of_x), (Y > 0).astype(of_y)
    assert (ec().fit(rows, y).predict(rows) == y).mean() > 0.9
    assert er().fit(rows, y).predict(rows).dtype == ("f8" if of_x == "f8" else "f4")


@pytest.mark.parametrize("kind", ["balanced", "dict"])
def test_class_weights(kind: str) -> None:
    """A rare class gains when it counts more; equal weights change nothing."""
    y = (X[:, 0] + np.random.default_rng(0).normal(0, 3, 600) > np.quantile(X[:, 0], 0.9)).astype(int)
    weights = "balanced" if kind == "balanced" else {0: 1.0, 1: float((y == 0).sum() / y.sum())}
    options: dict[str, Any] = {"kernel": "gaussian", "max_epochs": 5, "n_directions": 5}
    plain, weighted = ec(**options).fit(X, y), ec(**options, class_weight=weights).fit(X, y)
    assert weighted.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean()
    same = ec(**options, class_weight={0: 2.0, 1: 2.0}).fit(X, y)
    np.testing.assert_array_equal(same.dual_coef_, plain.dual_coef_)


# --- A. Values ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [1e-3, 10.0, 1e4])
def test_bandwidths_follow_the_scale(scale: float) -> None:
    """sklearn#12741: the same predictions from 10 X, for both rules."""
    for rule in ("mean", "median"):
        one, other = (ec(kernel=dk.Laplacian(rule)).fit(data, Y) for data in (X, scale * X))
        np.testing.assert_array_equal(other.predict(scale * X), one.predict(X))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
def test_float32_far_from_the_origin(offset: float) -> None:
    """sklearn#9354: |x|^2 + |z|^2 - 2 x.z loses all digits when the mean is far larger than the spread."""
    rows = (X + offset).astype("f4")
    model, exact = (
        ec(kernel=dk.Gaussian(3.0), n_directions=20).fit(data, Y) for data in (rows, rows.astype("f8"))
    )
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(rows), atol=0.02)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f2", "?"])
def test_integers_are_read_as_numbers(dtype: str) -> None:
    """sklearn#14314: integer rows in integer arithmetic; float16 squares overflow at 256."""
    rows = ((X - X.min()) * (0.05 if dtype == "?" else 10)).clip(0, 255).astype(dtype)
    plain, same = ec().fit(rows, Y), ec().fit(rows.astype("f4"), Y)
    np.testing.assert_allclose(
        plain.decision_function(rows), same.decision_function(rows.astype("f4")), atol=1e-3
    )


# --- D. Inputs ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("chunks", [200, 77, (1, 599)])
def test_masks(chunks: Any) -> None:
    """dask#2699: one mask on X and y gives what numpy gives; two masks are refused."""
    mask, other = X[:, 2] > 0, X[:, 3] > 0
    assert mask.sum() != other.sum()
    lazy, y = chunked(X, chunks), chunked(Y, chunks)
    model = ec().fit(lazy[chunked(mask, chunks)], y[chunked(mask, chunks)])
    np.testing.assert_array_equal(model.dual_coef_, ec().fit(X[mask], Y[mask]).dual_coef_)
    with pytest.raises(ValueError, match=rf"(?s)(?=.*\b{mask.sum()}\b)(?=.*\b{other.sum()}\b)"):
        ec().fit(lazy[chunked(mask, chunks)], y[chunked(other, chunks)])


@pytest.mark.parametrize("chunks", [(0, 5, 5, 0), (0, 0, 10), (10, 0), (5, 0, 5)], ids=str)
def test_chunks_without_rows(chunks: tuple[int, ...]) -> None:
    few, y = X[:10], np.arange(10) % 2
    lazy = da.from_delayed(dask.delayed(few), few.shape, few.dtype).rechunk((chunks, (8,)))
    model = ec().fit(lazy, da.from_array(y).rechunk((chunks,)))
    np.testing.assert_array_equal(dense(model.predict(lazy)), ec().fit(few, y).predict(few))


@pytest.mark.parametrize(
    "make", [sp.csr_matrix, sp.coo_matrix, lambda a: chunked(a, 300).map_blocks(sp.csr_matrix)]
)
def test_sparse_rows_are_refused_at_the_door(make: Any) -> None:
    thresholded = make(np.where(X > 1, X, 0))
    for call in (lambda a: ec().fit(a, Y), lambda a: er().fit(a, Y), REFERENCE.predict):
        with pytest.raises(TypeError, match=r"(?i)sparse|csr|coo"):
            call(thresholded)
    assert not get_tags(ec()).input_tags.sparse


@pytest.mark.parametrize("frame", [pandas_frame, dask_frame], ids=["pandas", "dask"])
def test_feature_names_survive(frame: Any) -> None:
    names = [f"column {j}" for j in range(8)]
    model = ec(max_epochs=1).fit(frame(X), Y, validation=(frame(X), Y))
    assert list(model.feature_names_in_) == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dense(model.predict(frame(X)))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(X)[names[::-1]])


# --- F. Saving and clients ---------------------------------------------------------------------------------
def test_a_model_of_a_cluster_outlives_it(client_threads: Client) -> None:
    """Fitted with a client, pickled, and asked without one: numpy weights, its own centers."""
    model = ec().fit(chunked(X, 90), chunked(Y, 90))
    with dask.config.set(scheduler="sync"):
        loaded = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(loaded.predict(X), REFERENCE.predict(X))
    np.testing.assert_array_equal(model.dual_coef_, REFERENCE.dual_coef_)
    assert client_threads.status == "running"


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_models_are_saved(form: str, tmp_path: Any) -> None:
    """thundersvm#93: every public method works after loading."""
    model = ec().fit(X if form == "numpy" else chunked(X, 90), Y)
    dk.save(model, tmp_path / "m.zarr")
    loaded = dk.load(tmp_path / "m.zarr")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(dense(loaded.predict(chunked(X, 77))), model.predict(X))
    assert loaded.score(X, Y) == model.score(X, Y)
