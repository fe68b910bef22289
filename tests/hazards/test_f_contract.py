"""Tests: hazards, section F: saving, whole models after loading, the user's client, public imports."""

from __future__ import annotations

import ast
import io
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster, SchedulerPlugin
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline

import daskkernels as dk
from tests.hazards.forms import blobs, chunked, cluster, dense

ROOT = Path(__file__).parents[2]
X = blobs(500)
Y = (X[:, 0] > np.median(X[:, 0])).astype(int)


def by_joblib(model: Any) -> Any:
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda m: pickle.loads(pickle.dumps(m)),
    "cloudpickle": lambda m: cloudpickle.loads(cloudpickle.dumps(m)),
    "joblib": by_joblib,
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_every_method_works_after_loading(copy: str, form: str) -> None:
    """thundersvm#93, #110, #157, cuml#3140: a loaded model lacked attributes, or none could be saved."""
    data = X if form == "numpy" else chunked(X, 130)
    model = cluster(data)
    loaded = COPIES[copy](model)
    assert set(vars(loaded)) == set(vars(model))
    assert repr(loaded) == repr(model)
    for name in ("predict", "transform"):
        np.testing.assert_array_equal(dense(getattr(loaded, name)(data)), dense(getattr(model, name)(data)))
    assert loaded.score(data) == model.score(data)
    np.testing.assert_array_equal(dense(loaded.labels_), dense(model.labels_))
    np.testing.assert_array_equal(
        dense(loaded.features_.transform(data)), dense(model.features_.transform(data))
    )
    assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())
    assert (loaded.plan(data).steps, loaded.plan_.steps) == (model.plan(data).steps, model.plan_.steps)
    np.testing.assert_array_equal(dense(loaded.fit_predict(data)), dense(model.labels_))
    assert clone(loaded).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize(
    "kernel", ["laplacian", dk.Matern(bandwidth="mean", nu=2.5), dk.Polynomial(2), dk.Cosine()], ids=repr
)
def test_containers_of_models_are_saved(copy: str, kernel: Any) -> None:
    """Inside a pipeline, a union, and a clone of them."""
    union = FeatureUnion(
        [("a", dk.NystromFeatures(kernel, n_landmarks=20, random_state=0)), ("b", dk.Standardize())]
    )
    model = make_pipeline(dk.Standardize(), union, LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(COPIES[copy](model).predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize("copy", COPIES)
def test_unfitted_models_and_kernels_are_saved(copy: str) -> None:
    """Before fit, too; kernels are plain values."""
    for thing in (
        dk.KernelKMeans(3, kernel=dk.Cauchy("median", factor=0.5)),
        dk.NystromFeatures(),
        dk.Standardize(),
    ):
        assert repr(COPIES[copy](thing)) == repr(thing)
    for kernel in (dk.Gaussian(2.0), dk.Laplacian("mean"), dk.Linear(), dk.Polynomial(2, 0.5, 0.0)):
        assert COPIES[copy](kernel) == kernel


def test_functions_as_kernels_are_saved_by_cloudpickle() -> None:
    """A function that plain pickle cannot name; cloudpickle carries it."""
    model = cluster(X, kernel=lambda A, Z: A @ Z.T, n_landmarks=20)
    loaded = COPIES["cloudpickle"](model)
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


def test_a_model_of_numpy_data_is_small() -> None:
    """A pickle holds the landmarks and small matrices: not the data, not the features of every row."""
    big = blobs(20_000, 16).astype("f4")
    model = cluster(big, n_landmarks=50)
    assert len(pickle.dumps(model)) < model.labels_.nbytes + 200_000


@pytest.fixture(scope="module")
def two_clients() -> Iterator[tuple[Client, Client]]:
    """Two clusters in this process; the second one is the newest and therefore the global default."""
    options: dict[str, Any] = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": ":0",
    }
    with LocalCluster(**options) as one, LocalCluster(**options) as two, Client(one) as a, Client(two) as b:
        for client in (a, b):
            client.register_plugin(Counter())
        yield a, b


class Counter(SchedulerPlugin):
    """Counts the tasks that workers finish."""

    name = "counter"

    def __init__(self) -> None:
        self.finished = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        self.finished += (start, finish) == ("processing", "memory")


def tasks_seen(client: Client) -> int:
    return int(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.plugins["counter"].finished))


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("work", ["fit", "predict", "standardize"])
def test_the_current_client_does_the_work(
    two_clients: tuple[Client, Client], current: int, work: str
) -> None:
    """dask-ml#249: the user's client was ignored."""
    model, data = cluster(X), chunked(X, 130)
    before = [tasks_seen(c) for c in two_clients]
    with two_clients[current].as_current():
        if work == "fit":
            cluster(data)
        elif work == "predict":
            dense(model.predict(data))
        else:
            dk.Standardize().fit(data)
    grown = [tasks_seen(c) - n for c, n in zip(two_clients, before, strict=True)]
    assert grown[current] > 0
    assert grown[1 - current] == 0


def test_the_callers_cluster_stays_open(two_clients: tuple[Client, Client]) -> None:
    """The caller owns the cluster: after a fit it still answers, and nothing of ours is left on it."""
    client = two_clients[1]
    with client.as_current():
        model = cluster(X)
        labels = dense(cluster(chunked(X, 130)).labels_)
    np.testing.assert_array_equal(labels, model.labels_)
    assert client.submit(sum, [1, 2]).result() == 3
    del model, labels
    assert client.status == "running"


SOURCES = sorted(
    p for folder in ("daskkernels", "datasets", "pipelines") for p in (ROOT / folder).rglob("*.py")
)
WATCHED = ("dask", "distributed", "sklearn", "zarr", "numpy", "scipy", "pandas", "xarray")


def private_uses(source: str) -> list[str]:
    """Imports of underscore modules or names of other packages, and attributes `package._name`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        paths: list[str] = []
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            root = ast.unparse(node.value)
            aliases = {"np": "numpy", "da": "dask", "dd": "dask", "pd": "pandas"}
            paths = [f"{aliases.get(root.split('.')[0], root.split('.')[0])}.{node.attr}"]
        for path in paths:
            first, *rest = path.split(".")
            if first in WATCHED and any(part.startswith("_") and not part.endswith("__") for part in rest):
                found.append(f"line {node.lineno}: {path}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_private_names_of_other_packages(path: Path) -> None:
    """dask-ml#1007, #1003, #899, dask-examples#126: private imports broke on upstream releases."""
    assert private_uses(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "bad",
    [
        "from sklearn.utils._testing import x",
        "from dask.array import _thing",
        "import zarr._core",
        "import numpy as np\nnp._core",
        "import dask_expr._x, dask._x",
    ],
)
def test_the_search_for_private_names_can_fail(bad: str) -> None:
    assert private_uses(bad)


def test_dask_expr_is_not_imported_by_its_own_name() -> None:
    """It moved into dask; importing it fails on newer releases."""
    for path in SOURCES:
        assert "dask_expr" not in path.read_text(encoding="utf-8"), path
