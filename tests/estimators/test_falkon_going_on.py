"""Tests: FALKON's checkpoints, interrupts and callbacks; what it takes and refuses; its plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import daskkernels as dk
from daskkernels import events
from daskkernels.errors import InputError, NonFiniteError, PlanError
from daskkernels.plan import Machine
from tests.hazards.forms import FORMS, blobs, dense

DIGITS = load_digits()
X, Y = (DIGITS.data / 16).astype("f4"), DIGITS.target
ROWS = blobs(500)
CODES = np.digitize(ROWS[:, 0], np.quantile(ROWS[:, 0], [0.3, 0.7]))


def classifier(**options: Any) -> dk.FalkonClassifier:
    return dk.FalkonClassifier(**{"n_centers": 60, "random_state": 0, "max_iter": 6, **options})


# --- going on ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fraction", [None, 0.2])
@pytest.mark.parametrize("seed", [0, None])
def test_a_resumed_fit_is_the_uninterrupted_one(tmp_path: Path, fraction: float | None, seed: Any) -> None:
    options: dict[str, Any] = {"validation_fraction": fraction, "patience": None, "random_state": seed}
    path = tmp_path / "c"
    first = classifier(max_iter=3, **options).fit(X, Y, checkpoint=path)
    again = classifier(max_iter=6, **options).fit(X, Y, checkpoint=path, resume=True)
    if seed is not None:
        whole = classifier(max_iter=6, **options).fit(X, Y)
        np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
        named = [
            {k: v for k, v in h.items() if k in ("residual", "train_mse", "validation_mse")}
            for h in whole.history_
        ]
        assert named == [{k: h[k] for k in named[0]} for h in again.history_]
    np.testing.assert_array_equal(again.center_indices_, first.center_indices_)
    assert again.history_[:3] == first.history_
    over = classifier(max_iter=6, **options).fit(X, Y, checkpoint=path, resume=True)  # nothing left to do
    np.testing.assert_array_equal(over.dual_coef_, again.dual_coef_)


class StruckError(Exception):
    """What ends a fit in the middle."""


def test_a_fit_that_was_struck_goes_on(tmp_path: Path) -> None:
    """An error in the fourth iteration leaves the third in the checkpoint and on the estimator."""

    def strike(event: events.Event) -> None:
        if isinstance(event, events.Iteration) and event.iteration == 4:
            raise StruckError

    model, whole = classifier(), classifier().fit(X, Y)
    events.sinks.append(strike)
    try:
        with pytest.raises(StruckError) as caught:
            model.fit(X, Y, checkpoint=tmp_path / "c")
    finally:
        events.sinks.remove(strike)
    assert "holds 3 iterations" in caught.value.__notes__[0]
    assert model.score(X, Y) > 0.5
    again = classifier().fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a row": lambda fit: fit | {"X": np.concatenate([X[:-1], X[:1]])},
    "a label": lambda fit: fit | {"y": np.r_[Y[:-1], (Y[-1] + 1) % 10]},
    "weights": lambda fit: fit | {"sample_weight": np.r_[np.ones(len(X) - 1), 2.0]},
    "the penalty": lambda fit: fit | {"penalty": 1e-3},
    "the tolerance": lambda fit: fit | {"tol": 1e-2},
    "the kernel": lambda fit: fit | {"kernel": "laplacian"},
    "the type": lambda fit: fit | {"dtype": "float64"},
    "the number of centers": lambda fit: fit | {"n_centers": 61},
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("falkon") / "c"
    classifier(max_iter=2).fit(X, Y, checkpoint=path)
    return path


@pytest.mark.parametrize("change", CHANGES)
def test_another_fit_is_not_gone_on_with(checkpoint: Path, change: str) -> None:
    given = CHANGES[change]({"X": X, "y": Y, "sample_weight": None})
    data = {name: given.pop(name) for name in ("X", "y", "sample_weight")}
    with pytest.raises(InputError, match="another fit: the data, the targets or a parameter has changed"):
        classifier(**given).fit(**data, checkpoint=checkpoint, resume=True)


def test_checkpoints_are_asked_for(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="pass resume=True"):
        classifier().fit(X, Y, checkpoint=checkpoint)
    with pytest.raises(InputError, match="holds no fit"):
        classifier().fit(X, Y, checkpoint=tmp_path, resume=True)
    with pytest.raises(InputError, match="needs checkpoint="):
        classifier().fit(X, Y, resume=True)
    with pytest.raises(InputError, match="of another fit"):  # of another method
        dk.EigenProClassifier(max_epochs=1).fit(X, Y, checkpoint=checkpoint, resume=True)
    dk.EigenProClassifier(max_epochs=1).fit(X, Y, checkpoint=tmp_path / "e")
    with pytest.raises(InputError, match="pass resume=True"):
        classifier().fit(X, Y, checkpoint=tmp_path / "e")
    with pytest.raises(InputError, match="of another fit"):
        classifier().fit(X, Y, checkpoint=tmp_path / "e", resume=True)


class Listener:
    """A callback of scikit-learn that asks for the end after two iterations."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def setup(self, estimator: Any, context: Any) -> None:
        assert context.max_subtasks == 6

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.heard.append((context.task_name, context.task_id))

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        return context.task_id == 1


def test_a_callback_ends_the_iterations() -> None:
    listener = Listener()
    model = classifier().set_callbacks(listener).fit(X, Y)
    assert listener.heard == [("fit", 0), ("iteration", 0), ("iteration", 1)]
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(model.dual_coef_, classifier(max_iter=2).fit(X, Y).dual_coef_)


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    classifier(verbose=1).fit(X, Y)
    assert "falkon-pass" in capsys.readouterr().err


# --- input -------------------------------------------------------------------------------------------------
CLASSES = classifier().fit(ROWS, CODES)


@pytest.mark.parametrize("form", FORMS)
def test_every_container_of_rows_gives_the_same(form: str) -> None:
    model = classifier().fit(FORMS[form](ROWS), CODES)
    np.testing.assert_array_equal(model.dual_coef_, CLASSES.dual_coef_)
    out = model.predict(FORMS[form](ROWS))
    assert isinstance(out, da.Array if "dask" in form or form == "zarr" else np.ndarray)
    np.testing.assert_array_equal(dense(out), CLASSES.predict(ROWS))


LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "strings": lambda y: np.array(["low", "mid", "top"])[y],
    "objects": lambda y: np.array(["low", "mid", "top"], object)[y],
    "category": lambda y: pd.Series(np.array(["low", "mid", "top"])[y]).astype("category"),
    "floats": lambda y: y.astype("f8"),
    "lazy": lambda y: da.from_array(y, chunks=70),
    "lazy strings": lambda y: da.from_array(np.array(["low", "mid", "top"])[y], chunks=170),
}


@pytest.mark.parametrize("form", LABELS)
def test_every_kind_of_labels_gives_the_same(form: str) -> None:
    labels = LABELS[form](CODES)
    model = classifier().fit(ROWS, labels)
    np.testing.assert_array_equal(model.dual_coef_, CLASSES.dual_coef_)
    np.testing.assert_array_equal(np.searchsorted(model.classes_, model.predict(ROWS)), CLASSES.predict(ROWS))
    assert model.score(ROWS, labels) == CLASSES.score(ROWS, CODES)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_centers": 501}, "n_centers=501 is more than the 500 rows"),
        ({"n_centers": 0}, "n_centers=0: wanted a whole number"),
        ({"penalty": 0}, "penalty=0: wanted a positive number"),
        ({"penalty": "small"}, "penalty='small'"),
        ({"penalty": np.nan}, "penalty=nan"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1}, "tol=-1: wanted a number >= 0"),
        ({"patience": 0}, "patience=0"),
        ({"sampling": "best"}, "sampling='best': wanted one of 'uniform', 'leverage', 'rls', 'kmeans'"),
        ({"keep_kernel": "yes"}, "keep_kernel='yes': wanted True, False or 'auto'"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0: wanted a number between 0 and 1"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"kernel": "precomputed"}, "kernel='precomputed' is not supported"),
    ],
)
def test_bad_parameters(options: dict[str, Any], message: str) -> None:
    for ask in (lambda m: m.fit(ROWS, CODES), lambda m: m.plan(ROWS)):
        with pytest.raises(ValueError, match=message):
            ask(classifier(**options))


def test_bad_values_name_the_row() -> None:
    bad = ROWS.copy()
    bad[471] = np.inf
    with pytest.raises(NonFiniteError, match="row 471"):
        classifier(kernel=dk.Gaussian(2.0)).fit(bad, CODES)
    y = ROWS[:, 0].copy()
    y[33] = np.nan
    with pytest.raises(NonFiniteError, match=r"y has no value .* row 33"):
        dk.FalkonRegressor().fit(ROWS, y)
    with pytest.raises(InputError, match="2 classes at least"):
        classifier().fit(ROWS, np.zeros(500, int))
    with pytest.raises(InputError, match="500 rows, but y has 499"):
        classifier().fit(ROWS, CODES[:-1])
    with pytest.raises(InputError, match="negative at row 3"):
        classifier().fit(ROWS, CODES, sample_weight=-(np.arange(500) == 3).astype(float))


# --- the plan ----------------------------------------------------------------------------------------------
def test_a_plan_keeps_what_fits_and_refuses_what_does_not() -> None:
    rows = da.zeros((10_000_000, 100), chunks=(100_000, -1), dtype="f4")  # 4 GB; K of 2000 centers: 80 GB
    model = classifier(n_centers=2000, kernel=dk.Gaussian(1.0))
    small = Machine(workers=4, threads=2, memory=4 * 2**30, in_process=False)
    plan = model.plan(rows, machine=small)
    assert not plan.keep_columns
    assert plan.worker_bytes < small.memory
    assert {step.stage: step.passes for step in plan.steps}["falkon-pass"] == 6
    large = model.plan(rows, machine=Machine(workers=4, threads=2, memory=100 * 2**30, in_process=False))
    assert large.keep_columns
    assert "kept, 74.5 GiB" in repr(large)
    assert large.seconds < 0.5 * plan.seconds
    with pytest.raises(
        PlanError, match=r"keep_kernel=True: 10000000 x 2000 kernel values .* keep_kernel='auto'"
    ):
        model.set_params(keep_kernel=True).plan(rows, machine=small)
    with pytest.raises(PlanError, match=r"n_centers=400000 .* lower n_centers"):
        classifier(n_centers=400_000).plan(rows, machine=small)


def test_a_plan_is_linear_in_rows() -> None:
    def flops(n: int) -> float:
        rows = da.zeros((n, 50), chunks=(100_000, -1))
        return classifier(keep_kernel=False).plan(rows, machine=Machine()).flops

    assert flops(2_000_000) == pytest.approx(2 * flops(1_000_000), rel=1e-3)


def test_what_is_measured_is_in_the_plan() -> None:
    model = classifier(keep_kernel=False).fit(X, Y)
    assert not model.plan_.keep_columns
    assert model.plan_.measured["falkon-pass"] > 0
    assert classifier(keep_kernel=True).fit(X, Y).plan_.keep_columns
    assert model.plan(X, Y).flops == pytest.approx(model.plan_.flops)


def test_the_plan_is_of_the_iterations_that_were_made(tmp_path: Path) -> None:
    """Fewer than the most there can be, and those of this fit alone."""

    def planned(model: Any) -> float:
        return next(float(step.passes) for step in model.plan_.steps if step.stage == "falkon-pass")

    early = classifier(tol=0.3, max_iter=50).fit(X, Y)
    assert planned(early) == early.n_iter_ < 50
    classifier(max_iter=4).fit(X, Y, checkpoint=tmp_path / "c")
    later = classifier(max_iter=10).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    assert planned(later) == later.n_iter_ - 4
