"""Tests: the EigenPro estimators: real data, shapes, choices, epochs and their validation, interrupts."""

from __future__ import annotations

import pickle
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

import daskkernels as dk
from daskkernels import events
from daskkernels.errors import InputError
from daskkernels.estimators.training import Seeds
from tests import oracles, oracles_eigenpro

DIGITS = load_digits()
X, Y = DIGITS.data.astype("u1"), DIGITS.target  # 1797 images of 8 x 8
TRAIN, TEST = slice(0, 1200), slice(1200, None)
SMALL, SIGNS = X[:300].astype("f8"), (Y[:300] > 4).astype(int)


def classifier(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"random_state": 0, "max_epochs": 3, "n_subsamples": 60, **options})


def regressor(**options: Any) -> dk.EigenProRegressor:
    return dk.EigenProRegressor(**{"random_state": 0, "max_epochs": 3, "n_subsamples": 60, **options})


def dense(x: Any) -> np.ndarray:
    return np.asarray(x.compute() if hasattr(x, "compute") else x)


@pytest.mark.parametrize("kernel", ["laplacian", dk.Gaussian("mean", factor=0.5), "auto"], ids=str)
def test_digits(kernel: Any) -> None:
    """Better than the nearest neighbour after a few epochs, nothing tuned."""
    model = dk.EigenProClassifier(kernel, n_subsamples=400, random_state=0, max_epochs=5)
    model.fit(X[TRAIN], Y[TRAIN])
    nearest = KNeighborsClassifier(1).fit(X[TRAIN], Y[TRAIN]).score(X[TEST], Y[TEST])
    assert model.score(X[TEST], Y[TEST]) >= nearest - 0.01
    assert model.score(X[TRAIN], Y[TRAIN]) > 0.99
    assert model.n_halvings_ == 0
    errors = [h["train_mse"] for h in model.history_]
    assert errors[-1] < 0.2 * errors[0]
    f = model.decision_function(X[TEST])
    assert f.shape == (597, 10)
    np.testing.assert_array_equal(model.classes_[f.argmax(axis=1)], model.predict(X[TEST]))


def test_regression() -> None:
    data = load_diabetes()
    rows, y = data.data, data.target
    model = dk.EigenProRegressor(dk.Gaussian("mean"), random_state=0, validation_fraction=0.2, patience=2)
    model.fit(rows[:350], y[:350])
    assert model.score(rows[350:], y[350:]) > 0.35
    assert model.intercept_ == pytest.approx(y[:350].mean())
    assert model.predict(rows[:5]).shape == (5,)


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_attributes(make: Any, form: str) -> None:
    """f(x) = k(x, X) alpha + k(x, Z) gamma from the fitted attributes alone."""
    data = SMALL if form == "numpy" else da.from_array(SMALL, chunks=(70, -1))
    model = make(kernel=dk.Cauchy(30.0)).fit(data, SIGNS)
    K = oracles.cauchy(X[TEST], SMALL, 30.0)
    f = K @ dense(model.dual_coef_) + K[:, model.subsample_indices_] @ model.subsample_coef_
    if make is classifier:
        found, expected = model.decision_function(X[TEST]), f[:, 1] - f[:, 0]
    else:
        found, expected = model.predict(X[TEST]), f[:, 0] + model.intercept_[0]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert model.centers_ is data
    assert model.kernel_ == dk.Cauchy(30.0)
    assert model.n_features_in_ == 64
    assert model.n_epochs_ == len(model.history_) == 3
    assert (np.diff(model.subsample_indices_) > 0).all()
    assert [h["epoch"] for h in model.history_] == [0, 1, 2]
    plan = repr(model.plan_)
    for word in ("n_directions", "batch_size", "step_size", "beta", "eigenvalue", "round_size"):
        assert word in plan


@pytest.mark.parametrize("q", [1, 8])
@pytest.mark.parametrize("m", [8, 11, 300])
def test_the_printed_algorithm(q: int, m: int) -> None:
    """From outside: the reference in the order of the seed's epochs; q = 1 is plain gradient descent."""
    model = regressor(kernel=dk.Gaussian(20.0), n_directions=q, batch_size=m, max_epochs=2)
    plan = model.fit(SMALL, SIGNS).plan_
    K, r = oracles.gaussian(SMALL, SMALL, 20.0), model.subsample_indices_
    sigma, V = oracles_eigenpro.eigenpairs(K[np.ix_(r, r)])
    order = Seeds.of(0).order(300, 300)
    expected = oracles_eigenpro.eigenpro(
        K,
        (SIGNS - SIGNS.mean())[:, None],
        r,
        V,
        oracles_eigenpro.damping(sigma, q),
        oracles_eigenpro.batches([order(0).rows(0, 300), order(1).rows(0, 300)], m),
        lambda size: oracles_eigenpro.step_size(size, plan.beta, plan.eigenvalue),
    )
    np.testing.assert_allclose(model.dual_coef_, expected.alpha, atol=1e-8 * np.abs(expected.alpha).max())
    assert model.subsample_coef_.any() == (q > 1)
    np.testing.assert_allclose(
        model.subsample_coef_, expected.gamma, atol=1e-8 * np.abs(expected.gamma).max(initial=0)
    )


def test_the_plan_is_of_the_epochs_that_were_made() -> None:
    """Fewer than the most there can be, and those of this fit alone."""
    early = classifier(max_epochs=40, patience=1, validation_fraction=0.2).fit(SMALL, SIGNS)
    assert early.plan_.task.epochs == early.n_epochs_ < 40
    model = classifier(max_epochs=2, patience=None, warm_start=True).fit(SMALL, SIGNS)
    first = next(step for step in model.plan_.cost.steps if step.stage == "eigenpro-predict")
    model.set_params(max_epochs=3).fit(SMALL, SIGNS)
    second = next(step for step in model.plan_.cost.steps if step.stage == "eigenpro-predict")
    assert (first.passes, second.flops) == (2 * second.passes, pytest.approx(first.flops / 2))


def test_given_choices_are_taken() -> None:
    model = classifier(n_subsamples=50, n_directions=7, batch_size=9, round_size=90, step_size=3.0)
    plan = model.fit(SMALL, SIGNS).plan_
    found = plan.n_subsamples, plan.n_directions, plan.batch_size, plan.round_size, plan.step_size
    assert found == (50, 7, 9, 90, pytest.approx(3.0))
    assert model.history_[0]["step_size"] == pytest.approx(3.0)
    assert len(model.subsample_indices_) == 50
    for name in ("n_subsamples", "n_directions", "batch_size", "round_size", "step_size"):
        assert plan.why.get(name) == "given"


def test_more_of_everything_than_there_is() -> None:
    """Counts above n are cut to n; the fit is that of n."""
    model = classifier(n_subsamples=10**6, batch_size=10**6, round_size=10**6).fit(SMALL[:50], SIGNS[:50])
    assert (model.plan_.n_subsamples, model.plan_.batch_size, model.plan_.round_size) == (50, 50, 50)


@pytest.mark.parametrize("n", range(2, 11))
def test_few_rows_with_defaults(n: int) -> None:
    for seed in (0, 1):
        y = np.arange(n) % 2
        model = dk.EigenProClassifier(random_state=seed).fit(SMALL[:n], y)
        assert model.predict(SMALL[:n]).shape == (n,)
        f = model.decision_function(SMALL[:n])
        assert f.shape == (n,)
        assert model.history_[-1]["train_mse"] < 0.25
        target = np.arange(n, dtype="f8")
        r = dk.EigenProRegressor(random_state=seed).fit(SMALL[:n], target)
        assert ((r.predict(SMALL[:n]) - target) ** 2).mean() < target.var()


@pytest.mark.parametrize("outputs", [1, 2, 40])
def test_more_outputs_than_rows(outputs: int) -> None:
    """Each output is a regression of its own: the same as alone, to rounding, at a given step."""
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(20, outputs)) + 5
    model = regressor(step_size=1.0).fit(SMALL[:20], targets)
    found = model.predict(SMALL[:20])
    assert found.shape == (20, outputs)
    alone = regressor(step_size=1.0).fit(SMALL[:20], targets[:, 0])
    assert alone.predict(SMALL[:20]).shape == (20,)
    np.testing.assert_allclose(found[:, 0], alone.predict(SMALL[:20]), rtol=1e-9)
    np.testing.assert_allclose(model.intercept_, targets.mean(axis=0))


# --- validation --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["numpy", "dask", "list"])
def test_validation_rows(form: str) -> None:
    """What history_ says of an epoch is what the model of that epoch gives on those rows."""
    forms: dict[str, Any] = {
        "numpy": np.asarray,
        "dask": lambda a: da.from_array(a, chunks=(50, *a.shape[1:])),
        "list": np.ndarray.tolist,
    }
    held = forms[form](X[TEST]), forms[form](Y[TEST])
    model = classifier(max_epochs=2).fit(X[:500], Y[:500], validation=held)
    for epochs, history in zip((1, 2), model.history_, strict=True):
        again = classifier(max_epochs=epochs).fit(X[:500], Y[:500])
        f, wanted = again.decision_function(X[TEST]), oracles_eigenpro.one_hot(Y[TEST], 10)
        assert history["validation_error"] == pytest.approx(
            1 - accuracy_score(Y[TEST], again.predict(X[TEST]))
        )
        assert history["validation_mse"] == pytest.approx(((f - wanted) ** 2).mean(), rel=1e-4)


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_validation_fraction(form: str) -> None:
    """Rows kept back are not trained on: their alpha stays zero."""
    data = SMALL if form == "numpy" else da.from_array(SMALL, chunks=(70, -1))
    model = classifier(validation_fraction=0.3).fit(data, SIGNS)
    untouched = ~model.dual_coef_.any(axis=1)
    assert untouched.sum() == 90
    assert not untouched[model.subsample_indices_].any()
    wrong = (model.predict(SMALL) != SIGNS)[untouched].mean()
    best = min(h["validation_mse"] for h in model.history_)
    kept = next(h for h in model.history_ if h["validation_mse"] == best)
    assert kept["validation_error"] == pytest.approx(wrong)


def test_patience_keeps_the_best_epoch() -> None:
    """Pure noise: the validation loss rises, training stops, and the first epoch's weights are kept."""
    rng = np.random.default_rng(0)
    noise, more = rng.normal(size=300), rng.normal(size=300)
    options: dict[str, Any] = {"kernel": dk.Laplacian(20.0)}
    model = regressor(**options, max_epochs=30, patience=2).fit(SMALL, noise, validation=(SMALL, more))
    losses = [h["validation_mse"] for h in model.history_]
    best = int(np.argmin(losses))
    assert len(losses) == best + 3 < 30
    found = ((model.predict(SMALL) - more) ** 2).mean()
    assert found == pytest.approx(losses[best], rel=1e-6)
    endless = regressor(**options, max_epochs=best + 6, patience=None)
    assert endless.fit(SMALL, noise, validation=(SMALL, more)).n_epochs_ == best + 6


# --- interrupts and copies ---------------------------------------------------------------------------------
def test_an_interrupt_leaves_the_last_whole_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the second epoch: the error goes on its way, the model is that of one epoch."""
    model = classifier(max_epochs=5, round_size=100)
    seen: list[str] = []

    def interrupt(event: events.Event) -> None:
        if isinstance(event, events.Iteration):
            seen.append("epoch")
        if seen and isinstance(event, events.StageProgress) and event.stage == "eigenpro-predict":
            monkeypatch.setattr(events, "sinks", [])
            raise KeyboardInterrupt

    monkeypatch.setattr(events, "sinks", [interrupt])
    with dask.config.set(scheduler="sync"), pytest.raises(KeyboardInterrupt):
        model.fit(SMALL, SIGNS)
    assert model.n_epochs_ == 1
    whole = classifier(max_epochs=1, round_size=100).fit(SMALL, SIGNS)
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(model.predict(SMALL), whole.predict(SMALL))
    check_is_fitted(pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_copies(make: Any, form: str) -> None:
    data = SMALL if form == "numpy" else da.from_array(SMALL, chunks=(70, -1))
    model = make().fit(data, SIGNS)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X[TEST]), model.predict(X[TEST]))
    assert copy.history_ == model.history_
    np.testing.assert_array_equal(clone(model).fit(data, SIGNS).predict(X[TEST]), model.predict(X[TEST]))


def test_bad_parameters() -> None:
    """Named, with what was given, before anything is computed."""
    bad: dict[str, list[Any]] = {
        "n_subsamples": [0, -1, 1.5, "many", True, None],
        "n_directions": [0, 2.5, "all", None],
        "batch_size": [0, -3, "big", 2.0],
        "round_size": [0, "long"],
        "step_size": [0, -1, np.nan, np.inf, "long", None, True],
        "max_epochs": [0, -1, 1.5, None],
        "patience": [0, -1, 1.5],
        "validation_fraction": [0, 1, -0.1, 1.5, "some", True],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(InputError, match=f"{name}="):
                classifier(**{name: value}).fit(SMALL, SIGNS)
    for options in (
        {"dtype": "float16"},
        {"random_state": -1},
        {"kernel": "radial"},
        {"kernel": "precomputed"},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            classifier(**options).fit(SMALL, SIGNS)
    for weight in ("equal", 5, {7: 1.0}, {0: -1.0}, {0: np.nan}):
        with pytest.raises(InputError, match="class_weight"):
            classifier(class_weight=weight).fit(SMALL, SIGNS)
