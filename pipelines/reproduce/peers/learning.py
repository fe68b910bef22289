"""Classifiers to compare: Gaussian kernels, six settings each, chosen on the same validation rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import daskkernels as dk
from pipelines.reproduce.peers.method import Method, loaded, mean_distance, ours, rows_for

CENTERS = 2000
TUNING_ROWS, VALIDATION = 2500, 0.2
WIDTHS = (0.15, 0.3, 0.6)  # of the mean distance
Setting = tuple[float, float]  # the factor of the bandwidth; C or the penalty

RIDGES = tuple(product(WIDTHS, (1e-6, 1e-4)))  # penalties of the mean squared error
MACHINES = tuple(product(WIDTHS, (1.0, 10.0)))  # C
FACTORS = tuple((factor, 0.0) for factor in (0.1, 0.15, 0.2, 0.3, 0.45, 0.6))  # of what has no penalty
GRIDS = {"ridge": RIDGES, "machine": MACHINES, "none": FACTORS}


@dataclass(frozen=True)
class Asked:
    """What every method is given beside the rows: bandwidth, C or penalty, how many rows, a seed."""

    sigma: float
    penalty: float
    rows: int
    seed: int

    @property
    def gamma(self) -> float:
        """The bandwidth as scikit-learn has it, exp(-gamma |x - z|^2)."""
        return 0.5 / self.sigma**2


class OneHotRidge:
    """scikit-learn's KernelRidge as a classifier: a column for each class, the largest wins."""

    def __init__(self, alpha: float, gamma: float) -> None:
        self.model = KernelRidge(alpha=alpha, kernel="rbf", gamma=gamma)

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Solve for all columns."""
        self.classes = np.unique(y)
        self.model.fit(X, (y[:, None] == self.classes).astype(X.dtype))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The class of the largest output."""
        return self.classes[self.model.predict(X).argmax(axis=1)]


class FeatureMachine:
    """xRFM, which learns a metric as well; it wants validation rows: a seeded fifth, 500 at most."""

    def __init__(self, asked: Asked) -> None:
        from xrfm import xRFM

        shape = {"kernel": "l2", "bandwidth": asked.sigma, "exponent": 1.0, "bandwidth_mode": "constant"}
        fit = {"reg": asked.rows * asked.penalty, "iters": 5, "verbose": False}
        self.seed = asked.seed
        self.model = xRFM(
            {"model": shape, "fit": fit},
            device="cpu",
            tuning_metric="accuracy",
            random_state=asked.seed,
            verbose=False,
        )

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit, and keep the best of its iterations."""
        order = np.random.default_rng(self.seed).permutation(len(y))
        held = min(int(len(y) * VALIDATION), int(TUNING_ROWS * VALIDATION))
        kept, held_back = order[held:], order[:held]
        labels = y.astype(np.int64)
        self.model.fit(X[kept], labels[kept], X[held_back], labels[held_back])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Classes."""
        return np.asarray(self.model.predict(X))


def _eigenpro(asked: Asked) -> Any:
    return dk.EigenProClassifier(dk.Gaussian(asked.sigma), random_state=asked.seed)


def _falkon(asked: Asked) -> Any:
    kernel, centers = dk.Gaussian(asked.sigma), min(asked.rows, CENTERS)
    return dk.FalkonClassifier(kernel, n_centers=centers, penalty=asked.penalty, random_state=asked.seed)


def _machine(asked: Asked) -> Any:
    return SVC(C=asked.penalty, gamma=asked.gamma, cache_size=1000)


def _intel_machine(asked: Asked) -> Any:
    from sklearnex.svm import SVC as FastSVC  # noqa: N811

    return FastSVC(C=asked.penalty, gamma=asked.gamma, cache_size=1000)


def _ridge(asked: Asked) -> Any:
    return OneHotRidge(asked.rows * asked.penalty, asked.gamma)


def _nystrom_ridge(asked: Asked) -> Any:
    features = Nystroem(gamma=asked.gamma, n_components=min(asked.rows, CENTERS), random_state=asked.seed)
    return make_pipeline(features, RidgeClassifier(alpha=asked.rows * asked.penalty))


METHODS = {
    "daskkernels EigenProClassifier": ours(_eigenpro),
    "daskkernels FalkonClassifier": ours(_falkon),
    "scikit-learn SVC": Method(_machine),
    "scikit-learn KernelRidge": Method(_ridge, pair_bytes=8),
    "scikit-learn Nystroem + RidgeClassifier": Method(_nystrom_ridge),
    "scikit-learn-intelex SVC": Method(_intel_machine, "memory", "sklearnex.svm", "scikit-learn-intelex"),
    "xrfm xRFM": Method(FeatureMachine, "memory", "xrfm", "xrfm", pair_bytes=8),
}
GRID_OF = {
    "daskkernels EigenProClassifier": "none",
    "scikit-learn SVC": "machine",
    "scikit-learn-intelex SVC": "machine",
}  # the others: "ridge"


def grid(name: str) -> tuple[Setting, ...]:
    """The settings that a method may choose from."""
    return GRIDS[GRID_OF.get(name, "ridge")]


def measured(method: Method, job: dict[str, Any]) -> dict[str, Any]:
    """The setting that is best on the validation rows, fitted on all rows; its error on the test rows."""
    data, seed = dk.open_dataset(job["rows"]), job["seed"]
    X, y = rows_for(method, data), np.asarray(data.y)
    part, codes, sigma = _tuning_part(data, y, seed)
    settings = job["settings"]
    began = time.perf_counter()
    best = (
        settings[0]
        if len(settings) == 1
        else min(settings, key=lambda s: _validation_error(method, s, part, codes, sigma, seed))
    )
    tuned, worked = time.perf_counter(), time.process_time()
    model = method.run(Asked(best[0] * sigma, best[1], len(y), seed))
    model.fit(X, data.y if method.reads == "store" else y)
    spent = {"seconds": time.perf_counter() - tuned, "cpu_seconds": time.process_time() - worked}
    return spent | {
        "tuning_seconds": tuned - began,
        "quality": _test_error(model, job["test"]),
        "setting": f"{best[0]:g} of the mean distance" + (f", {best[1]:g}" if best[1] else ""),
    }


def _tuning_part(data: dk.Dataset, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Seeded rows to tune on, in a random order, their classes, and the mean distance among them."""
    chosen = np.random.default_rng(seed).permutation(len(y))[:TUNING_ROWS]
    order = np.argsort(chosen)
    part = np.empty((len(chosen), data.n_features), np.float32)
    part[order] = data.X[chosen[order]].compute()
    return part, y[chosen], mean_distance(part)


def _validation_error(
    method: Method, setting: Setting, X: np.ndarray, y: np.ndarray, sigma: float, seed: int
) -> float:
    """The error on the last fifth of the rows of a model of the others."""
    kept = int(len(y) * (1 - VALIDATION))
    model = method.run(Asked(setting[0] * sigma, setting[1], kept, seed)).fit(X[:kept], y[:kept])
    return _error(model, X[kept:], y[kept:])


def _test_error(model: Any, place: str | None) -> float:
    """On the rows of a stored data set, or nothing."""
    if place is None:
        return float("nan")
    test = dk.open_dataset(place)
    return _error(model, loaded(test), np.asarray(test.y))


def _error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """In percent."""
    return 100 * float((np.asarray(model.predict(X)) != y).mean())
