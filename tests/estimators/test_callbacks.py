"""Tests: scikit-learn's callback protocol: a task for the fit, one for each epoch or iteration in it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.pipeline import make_pipeline

import daskkernels as dk
from daskkernels.solvers.kmeans import ConvergenceWarning

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(600, 3)), RNG.integers(3, size=600)


class Listener:
    """Writes down what it is told; asks for the end after so many steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.heard: list[tuple[str, str, int]] = []
        self.stop_after = stop_after

    def setup(self, estimator: Any, context: Any) -> None:
        self.heard.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.heard.append(("teardown", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.heard.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.heard.append(("end", context.task_name, context.task_id))
        return self.stop_after is not None and context.task_id + 1 == self.stop_after


def expected(name: str, count: int, most: int) -> list[tuple[str, str, int]]:
    steps = [(kind, name, i) for i in range(count) for kind in ("begin", "end")]
    return [("setup", "fit", most), ("begin", "fit", 0), *steps, ("end", "fit", 0), ("teardown", "fit", most)]


def eigenpro(**options: Any) -> dk.EigenProClassifier:
    return dk.EigenProClassifier(**{"max_epochs": 3, "patience": None, "random_state": 0} | options)


def test_epochs_are_tasks() -> None:
    listener = Listener()
    plain = eigenpro().fit(X, Y)
    model = eigenpro().set_callbacks(listener).fit(X, Y)
    assert listener.heard == expected("epoch", 3, 3)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


def test_iterations_are_tasks() -> None:
    listener = Listener()
    model = dk.KernelKMeans(3, n_landmarks=30, n_init=2, random_state=0).set_callbacks(listener).fit(X)
    steps = max(entry["iteration"] for entry in model.history_)
    assert listener.heard == expected("iteration", steps, 100)


def test_a_callback_ends_the_training_after_an_epoch() -> None:
    listener = Listener(stop_after=2)
    model = eigenpro(max_epochs=50).set_callbacks(listener).fit(X, Y)
    assert model.n_epochs_ == 2
    assert listener.heard == expected("epoch", 2, 50)
    np.testing.assert_array_equal(model.dual_coef_, eigenpro(max_epochs=2).fit(X, Y).dual_coef_)


def test_a_callback_ends_the_iterations() -> None:
    options: dict[str, Any] = {"n_landmarks": 30, "random_state": 0, "tol": 0.0}
    model = dk.KernelKMeans(3, **options).set_callbacks(Listener(stop_after=2)).fit(X)
    assert model.n_iter_ == 2
    with pytest.warns(ConvergenceWarning):
        other = dk.KernelKMeans(3, max_iter=2, **options).fit(X)
    np.testing.assert_array_equal(model.labels_, other.labels_)


def test_scores_of_every_epoch() -> None:
    """scikit-learn's own monitor asks for an estimator that predicts as if the fit had ended there."""
    monitor = ScoringMonitor(scoring="accuracy")
    model = eigenpro().set_callbacks(monitor).fit(X, Y)
    log = monitor.get_logs().data
    scores = [row["accuracy"] for row in log if row["task_name"] == "epoch"]
    assert scores == [eigenpro(max_epochs=n).fit(X, Y).score(X, Y) for n in (1, 2, 3)]
    assert scores[-1] == model.score(X, Y)


class Predicts(Listener):
    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any, fitted_estimator: Any) -> bool:  # type: ignore[override]
        self.heard.append(("labels", context.task_name, len(np.unique(fitted_estimator.predict(X)))))
        return False


def test_a_clustering_predicts_in_every_iteration() -> None:
    listener = Predicts()
    dk.KernelKMeans(3, n_landmarks=30, random_state=0).set_callbacks(listener).fit(X)
    assert ("labels", "iteration", 3) in listener.heard


def test_progress_bars_of_scikit_learn(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="scikit-learn draws its bars with rich")
    eigenpro().set_callbacks(ProgressBar()).fit(X, Y)
    dk.KernelKMeans(3, n_landmarks=30, random_state=0).set_callbacks(ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert "EigenProClassifier - fit" in shown
    assert "KernelKMeans - fit" in shown


def test_a_pipeline_passes_its_callbacks_on(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich", reason="scikit-learn draws its bars with rich")
    pipeline = make_pipeline(eigenpro()).set_callbacks(ProgressBar(max_propagation_depth=None))
    pipeline.fit(X, Y)
    assert "EigenProClassifier - fit" in capsys.readouterr().out


def test_a_failing_fit_tears_down() -> None:
    listener = Listener()
    with pytest.raises(ValueError, match="max_epochs"):
        eigenpro(max_epochs=0).set_callbacks(listener).fit(X, Y)
    assert [kind for kind, _, _ in listener.heard] == ["setup", "begin", "teardown"]


def test_clones_and_pickles_keep_working() -> None:
    model = eigenpro().set_callbacks(Listener()).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).fit(X, Y).n_epochs_ == 3
