"""Tests: kernel values that are kept, going on with a fit, the published batch rule, tails and ties."""

from __future__ import annotations

import gc
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client
from sklearn.datasets import load_digits

import daskkernels as dk
from daskkernels.errors import InputError
from tests.faults.strikes import eventually

DIGITS = load_digits()
X, Y = (DIGITS.data / 16).astype("f4"), DIGITS.target


def classifier(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"random_state": 0, "max_epochs": 3, "n_subsamples": 60, **options})


@pytest.mark.parametrize("kernel", ["laplacian", "gaussian", "polynomial"])
def test_kept_values_change_rounding_only(kernel: str) -> None:
    kept, anew = (classifier(kernel=kernel, keep_kernel=keep).fit(X, Y) for keep in (True, False))
    assert kept.plan_.rounds.tiles == "float32"
    assert "kept as float32" in repr(kept.plan_)
    assert anew.plan_.rounds.tiles is None
    assert "computed anew in every epoch" in repr(anew.plan_)
    np.testing.assert_allclose(kept.dual_coef_, anew.dual_coef_, atol=2e-3 * np.abs(anew.dual_coef_).max())
    assert (kept.predict(X) == anew.predict(X)).mean() > 0.999


def test_kept_values_on_workers(client_processes: Client) -> None:
    here = classifier(keep_kernel=True)
    with dask.config.set(scheduler="sync"):
        here.fit(X, Y)
    there = classifier(keep_kernel=True, round_size=here.plan_.round_size).fit(X, Y)
    np.testing.assert_array_equal(here.dual_coef_, there.dual_coef_)
    gc.collect()
    eventually(lambda: not client_processes.futures, "futures are left")


def test_keep_kernel_is_checked() -> None:
    with pytest.raises(InputError, match="keep_kernel='yes': wanted True, False or 'auto'"):
        classifier(keep_kernel="yes").fit(X, Y)
    assert classifier().fit(X, Y).plan_.rounds.tiles is None  # an epoch of milliseconds


@pytest.mark.parametrize("lazy", [False, True])
def test_warm_start_is_the_longer_fit(lazy: bool) -> None:
    rows, labels = (da.from_array(a, chunks=(500, -1)[: a.ndim]) if lazy else a for a in (X, Y))
    longer = classifier(max_epochs=5).fit(rows, labels)
    model = classifier(max_epochs=2, warm_start=True).fit(rows, labels)
    assert model.n_epochs_ == 2
    model.set_params(max_epochs=5).fit(rows, labels)
    assert model.n_epochs_ == 5
    np.testing.assert_array_equal(model.dual_coef_, longer.dual_coef_)
    np.testing.assert_array_equal(model.subsample_coef_, longer.subsample_coef_)
    assert [h["train_mse"] for h in model.history_] == [h["train_mse"] for h in longer.history_]
    model.fit(rows, labels)  # nothing left to do
    np.testing.assert_array_equal(model.dual_coef_, longer.dual_coef_)


def test_warm_start_keeps_its_seed_and_refuses_other_data() -> None:
    model = classifier(max_epochs=1, warm_start=True, random_state=None).fit(X, Y)
    first = model.history_[0]["train_mse"]
    model.set_params(max_epochs=2).fit(X, Y)
    assert model.history_[0]["train_mse"] == first
    with pytest.raises(InputError, match="the data, the targets or a parameter has changed"):
        model.fit(X[::2], Y[::2])
    with pytest.raises(InputError, match="fit with warm_start=False"):
        model.set_params(kernel="gaussian").fit(X, Y)
    assert model.set_params(warm_start=False, max_epochs=1).fit(X, Y).n_epochs_ == 1


def test_the_published_rule_fills_the_machine() -> None:
    model = classifier(batch_size="resource", n_subsamples=400).fit(X, Y)
    plan = model.plan_
    assert plan.why["batch_size"] == "by the published rule, resource"
    assert 1 <= plan.batch_size <= len(X)
    assert plan.critical_batch <= max(plan.batch_size, 1) * 1.2 or plan.n_directions == 1
    assert model.score(X, Y) > 0.9
    with pytest.raises(InputError, match="batch_size='resources'"):
        classifier(batch_size="resources").fit(X, Y)


def test_what_a_plan_says_of_choices() -> None:
    plan = classifier(n_directions=1000, batch_size=50, n_subsamples=40).fit(X, Y).plan_
    assert plan.why["n_directions"] == "given as 1000, more than is possible here"
    assert plan.why["batch_size"] == plan.why["n_subsamples"] == "given"
    assert classifier().fit(X[:50], Y[:50]).plan_.why["n_subsamples"]


@pytest.mark.parametrize("targets", ["one row of 1e6", "cauchy"])
def test_heavy_tails_are_learned(targets: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_cauchy(len(X)) if targets == "cauchy" else rng.normal(size=len(X))
    if targets != "cauchy":
        y[77] = 1e6
    model = dk.EigenProRegressor(max_epochs=5, random_state=0).fit(X, y)
    assert model.n_halvings_ == 0
    assert model.history_[-1]["train_mse"] < 0.3 * model.history_[0]["train_mse"]


def test_equal_rows_with_other_labels_come_to_rest() -> None:
    """Nothing can tell them apart: the step is halved until the predictions stand still."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(300, 4)), 5, axis=0)
    labels = rng.integers(0, 2, len(rows))
    model = dk.EigenProClassifier("cosine", max_epochs=12, random_state=0).fit(rows, labels)
    steps = [h["step_size"] for h in model.history_]
    assert steps[-1] < steps[0]
    assert model.n_halvings_ <= 4  # a first epoch that is worse than no model is begun anew
    mse = [h["train_mse"] for h in model.history_]
    assert mse[-1] < 1.05 * min(mse)


def test_rows_predicted_together_do_not_matter() -> None:
    """One row of 1e9 beside them leaves the others where they were."""
    model = classifier(kernel="gaussian").fit(X, Y)
    far = X[:40].copy()
    far[-1] = 1e9
    alone, beside = model.decision_function(X[:39]), model.decision_function(far)[:-1]
    np.testing.assert_allclose(alone, beside, atol=3e-4)  # the rounding of float32, which the far row ends
    assert np.isfinite(model.decision_function(far)).all()


@pytest.mark.parametrize("kernel", ["laplacian", dk.Matern("mean")], ids=str)
def test_repeated_rows_in_float64(kernel: Any) -> None:
    """The root of a distance of 1e-16 is 1e-8, far above the rounding of float64: not a direction."""
    rows = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 10, axis=0)
    y = np.tile([0.0, 1.0], 100)
    model = dk.EigenProRegressor(kernel, max_epochs=3, random_state=0).fit(rows, y)
    assert model.plan_.n_directions <= 20
    assert np.isfinite(model.predict(rows)).all()
