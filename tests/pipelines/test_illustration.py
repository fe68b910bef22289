"""What a report shows besides the scores: the sample, the means, the plan; from a real fit, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import silhouette_samples

import daskkernels as dk
from daskkernels.plan import Machine, Plan
from daskkernels.plan import Step as PlannedStep
from daskkernels.plan_clustering import ASSUMED_ITERATIONS
from pipelines import illustration
from pipelines.illustration import illustrated, plan_facts, steps
from pipelines.requests import ClusterRequest, ModelRequest, SessionRequest
from pipelines.results import ClusterRun, Step
from pipelines.summary import summarise


def run_of(
    path: str | Path, clusters: int = 3, *, scale: bool = False, seed: int = 5, kernel: str = "gaussian"
) -> ClusterRun:
    """A fit in this process, described."""
    model = dk.KernelKMeans(clusters, kernel, n_landmarks=30, random_state=0)
    request = ClusterRequest(str(path), ModelRequest(clusters, scale=scale, seed=seed), SessionRequest(), "")
    data = dk.open_dataset(path)
    X = dk.Standardize().fit_transform(data.X) if scale else data.X
    model.fit(X)
    return illustrated(summarise(request, data, model), request, data, X, model)


@pytest.mark.parametrize("scale", [False, True])
def test_means_are_in_input_space(groups: Path, scale: bool) -> None:
    run = run_of(groups, scale=scale)
    data = dk.open_dataset(groups)
    X, y = data.X.compute(), data.y.compute()
    order = run.contingency.argmax(axis=1)  # the three groups are found exactly
    truth = np.array([X[y == code].astype("f8").mean(axis=0) for code in order])
    np.testing.assert_allclose(run.means.values, truth, rtol=1e-12)
    np.testing.assert_allclose(run.means.deviations, X.astype("f8").std(axis=0), rtol=1e-6)


def test_the_sample(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(illustration, "SAMPLE_ROWS", 100)
    run = run_of(groups)
    sample = run.sample
    assert sample.points.shape == (100, 2)
    assert len(sample.clusters) == len(sample.classes) == len(sample.silhouettes) == 100
    assert (run.contingency[sample.clusters, sample.classes] > 0).all()
    assert run.silhouette > 0.5
    again, other = run_of(groups), run_of(groups, seed=6)
    np.testing.assert_array_equal(sample.points, again.sample.points)
    assert not np.array_equal(sample.points, other.sample.points)


def test_silhouettes_are_of_all_features(groups: Path) -> None:
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(dk.open_dataset(groups).X)
    rows = dk.open_dataset(groups).X.compute()
    clusters = model.labels_.compute()
    found = illustration.sample(model, rows, clusters, None, 0)
    B = model.features_.transform(rows)
    assert B.shape[1] > 2
    np.testing.assert_allclose(found.silhouettes, silhouette_samples(B, clusters))


@pytest.mark.parametrize(
    ("clusters", "why"),
    [([1] * 6, "one cluster"), (range(6), "cluster of its own"), ([0, 0, 0, 1, 1, 2], "")],
)
def test_a_reason_where_there_are_no_silhouettes(groups: Path, clusters: list[int], why: str) -> None:
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0).fit(dk.open_dataset(groups).X)
    found = illustration.sample(model, np.eye(6, 5), np.array(clusters), None, 0)
    assert (found.silhouettes is None) == bool(why)
    assert why in found.no_silhouettes


def test_a_single_feature_and_no_classes(written: Callable[..., str]) -> None:
    run = run_of(written(np.repeat([1.0, 2.0], 40)[:, None]), 1, kernel="linear")
    assert run.sample.points.shape == (80, 1)
    assert run.sample.classes is None
    assert run.silhouette is None


def planned() -> Plan:
    """Two steps of one gigaflop a second each."""
    machine = Machine(gflops=1.0, latency=0.0, memory=2**30)
    stages = (PlannedStep("nystrom-gram", 1, 0.75e9), PlannedStep("kmeans-assign", 62, 1.5e9))
    return Plan(stages, machine, 5, 6, {"columns": "thrown away"})


def test_stages_of_k_means_are_one_step() -> None:
    measured = {"nystrom-landmarks": 0.5, "nystrom-gram": 3.0, "kmeans-seed": 1.0, "kmeans-assign": 2.0}
    assert steps(planned(), measured) == [
        Step("nystrom-landmarks", None, 0.5, None),
        Step("nystrom-gram", 1.0, 3.0, 1),
        Step("k-means", 2.0, 3.0, 62),
    ]
    assert steps(planned(), {})[0] == Step("nystrom-gram", 1.0, None, 1)


def test_plan_facts(groups: Path) -> None:
    model = dk.KernelKMeans(3, n_landmarks=30, random_state=0, max_iter=20).fit(dk.open_dataset(groups).X)
    facts = plan_facts(planned(), model, {"a": 7, "b": 9})
    assert (facts.measured_bytes, facts.worker_bytes, facts.limit_bytes) == (9, 5, 2**30)
    assert facts.iterations == 20 < ASSUMED_ITERATIONS
    names = {step.name for step in facts.steps if step.measured is not None}
    assert names == {"bandwidth", "nystrom-landmarks", "nystrom-gram", "nystrom-project", "k-means"}
    assert plan_facts(planned(), model, {}).measured_bytes is None
