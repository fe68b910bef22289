"""Tests: hazards, section A, kernel values: cancellation, integer arithmetic, scales and options."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from tests import oracles
from tests.hazards.forms import assert_same_labels, blobs, chunked, cluster, dense

REFERENCES = {
    "gaussian": oracles.gaussian,
    "laplacian": oracles.laplacian,
    "cauchy": oracles.cauchy,
    "matern": oracles.matern,
}
# A root magnifies what is left of the rounding at distance 0, and the Laplacian alone has a corner there.
TOLERANCE = {"gaussian": 1e-4, "laplacian": 2e-3, "cauchy": 1e-4, "matern": 1e-4}
OBJECTS = {
    "gaussian": dk.Gaussian(4.0),
    "laplacian": dk.Laplacian(4.0),
    "cauchy": dk.Cauchy(4.0),
    "matern": dk.Matern(bandwidth=4.0),
    "polynomial": dk.Polynomial(),
    "linear": dk.Linear(),
    "cosine": dk.Cosine(),
}


@pytest.mark.parametrize("offset", [1e3, -1e3, 1e4])
@pytest.mark.parametrize("name", REFERENCES)
def test_float32_distances_survive_a_large_mean(name: str, offset: float) -> None:
    """sklearn#9354, #13554, #13905: |x|^2 + |y|^2 - 2xy in float32 loses every digit far from the origin."""
    X = (blobs() + offset).astype("f4")
    exact = REFERENCES[name](X, X[:200], 4.0)
    assert np.abs(dk.kernel_block(OBJECTS[name], X, X[:200]) - exact).max() < TOLERANCE[name]
    W = np.random.default_rng(0).normal(size=(200, 3)).astype("f4")
    scale = np.abs(exact).sum(axis=1).max()
    assert np.abs(dk.kernel_matvec(OBJECTS[name], X, X[:200], W) - exact @ W).max() < TOLERANCE[name] * scale


def test_float32_distances_survive_one_far_column() -> None:
    """The same with one column far away (a year, an identifier), in every position of the operands."""
    X = blobs().astype("f4")
    X[:, 3] += 2000
    exact = oracles.gaussian(X, X, 4.0)
    assert np.abs(dk.kernel_block(dk.Gaussian(4.0), X) - exact).max() < 1e-4
    assert np.abs(dk.kernel_block(dk.Gaussian(4.0), X[:50], X) - exact[:50]).max() < 1e-4
    assert np.abs(dk.kernel_block(dk.Gaussian(4.0), X[:1], X[1:2]) - exact[:1, 1:2]).max() < 1e-4


@pytest.mark.parametrize("offset", [1e3, 1e4])
@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_labels_do_not_move_with_the_data(offset: float, form: str) -> None:
    """The same seen from outside: clustering float32 data far from the origin."""
    X = blobs()
    far = (X + offset).astype("f4")
    model = cluster(far if form == "numpy" else chunked(far, 300))
    assert_same_labels(model.labels_, cluster(X).labels_)
    assert_same_labels(model.predict(far), cluster(X).labels_)


@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_features_of_far_data_are_those_of_the_formula(offset: float) -> None:
    """Features of new rows and of the fitted ones come from centred distances too."""
    X = (blobs() + offset).astype("f4")
    f = dk.NystromFeatures(dk.Gaussian(4.0), n_landmarks=40, rank=20, random_state=0).fit(X)
    exact = oracles.nystrom_of(partial(oracles.gaussian, bandwidth=4.0), X, f.landmarks_, rank=20, eps=1.2e-7)
    B = dense(f.transform(X)).astype("f8")
    assert np.abs(B @ B.T - exact.gram).max() < 2e-3
    assert np.abs(f.landmarks_ - X[np.asarray(f.landmark_indices_)]).max() == 0, (
        "landmarks keep the data's units"
    )


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("values", [(1.000, 1.001), (100.0, 100.001), (1e-3, 1.001e-3)])
def test_near_equal_long_vectors(name: str, values: tuple[float, float]) -> None:
    """sklearn#13410: a squared distance rounds below zero and its root is nan."""
    X = np.stack([np.full(1000, v) for v in values]).astype("f4")
    K = dk.kernel_block(OBJECTS[name], X)
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K, REFERENCES[name](X, X, 4.0), atol=1e-2)
    np.testing.assert_array_equal(np.diag(K), 1.0)


@pytest.mark.parametrize("bandwidth", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("name", REFERENCES)
def test_narrow_kernels_stay_between_0_and_1(name: str, bandwidth: float) -> None:
    """Far rows, narrow kernel: exp(-d^2) of a negative d^2 is above 1, or infinite."""
    X = (blobs(300) * 100).astype("f4")
    kernel = dataclasses.replace(OBJECTS[name], bandwidth=bandwidth)
    K = dk.kernel_block(kernel, X, X[:50])
    assert np.isfinite(K).all()
    assert K.min() >= 0
    assert K.max() <= 1


@pytest.mark.parametrize("bandwidth", [1.0, 1e-2])
@pytest.mark.parametrize("name", REFERENCES)
def test_features_of_narrow_kernels(name: str, bandwidth: float) -> None:
    """And from outside: no feature vector is longer than k(x, x) = 1 allows."""
    X = (blobs(300) * 100).astype("f4")
    kernel = dataclasses.replace(OBJECTS[name], bandwidth=bandwidth)
    f = dk.NystromFeatures(kernel, n_landmarks=50, rank=None, random_state=0).fit(X)
    B = f.transform(X)
    assert np.isfinite(B).all()
    assert (B**2).sum(axis=1).max() <= 1.01
    assert 0 <= np.max(f.trace_error_) <= 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", REFERENCES)
def test_diagonal_is_exactly_one(name: str, dtype: str) -> None:
    """A row is at distance 0 from itself, whatever its length and however many tiles there are."""
    X = (blobs(1500) * 37 + 11).astype(dtype)
    np.testing.assert_array_equal(np.diag(dk.kernel_block(OBJECTS[name], X)), 1.0)


@pytest.mark.parametrize("form", ["numpy", "dask"])
@pytest.mark.parametrize(
    ("stored", "computed"), [("u1", "f4"), ("i2", "f4"), ("i8", "f4"), ("u4", "f4"), ("f2", "f4")]
)
def test_integers_are_not_computed_as_integers(stored: str, computed: str, form: str) -> None:
    """scipy#1773, sklearn#14314, cuml#26: squares of uint8 wrap at 256 (200^2 became 64)."""
    X = np.clip(blobs(1000) * 6 + 128, 0, 255).round().astype(stored)
    wrapped = (lambda a: a) if form == "numpy" else (lambda a: chunked(a, 170))
    a, b = cluster(wrapped(X)), cluster(wrapped(X.astype(computed)))
    assert_same_labels(a.labels_, b.labels_)
    assert a.inertia_ == pytest.approx(b.inertia_, rel=1e-6)
    assert a.cluster_centers_.dtype.kind == "f"
    assert_same_labels(a.predict(X), b.predict(X.astype(computed)))


def test_booleans_are_not_computed_as_booleans() -> None:
    """True + True is True in boolean arithmetic."""
    X = blobs(800) > 0
    a, b = cluster(X, n_landmarks=40), cluster(X.astype("f4"), n_landmarks=40)
    assert_same_labels(a.labels_, b.labels_)
    assert a.features_.kernel_.bandwidth == pytest.approx(b.features_.kernel_.bandwidth, rel=1e-6)


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i8", "?"])
def test_kernel_functions_take_integers(dtype: str) -> None:
    """The block functions at the door of the library, too."""
    X = (np.abs(blobs(300)) * 20).clip(0, 127).astype(dtype)
    for name, reference in REFERENCES.items():
        kernel = dataclasses.replace(OBJECTS[name], bandwidth=100.0)
        exact = reference(X, X[:20], 100.0)
        np.testing.assert_allclose(dk.kernel_block(kernel, X, X[:20]), exact, atol=TOLERANCE[name])


def test_large_integers_keep_their_differences() -> None:
    """Integers above 2^24 next to each other: float32 would merge them, dtype='float64' must not."""
    X = (blobs() * 10).round().astype("i8") + 2**30
    model = cluster(X, dtype="float64")
    assert_same_labels(model.labels_, cluster(X - 2**30, dtype="float64").labels_)


@pytest.mark.parametrize("scale", [10.0, 1e-3, 1e6])
@pytest.mark.parametrize("rule", ["mean", "median"])
@pytest.mark.parametrize("kernel", [dk.Gaussian, dk.Laplacian, dk.Cauchy, dk.Matern])
def test_data_driven_bandwidths_are_scale_invariant(kernel: Any, rule: str, scale: float) -> None:
    """sklearn#12741, cuml#1353: the 'scale' bandwidth used a variance where a deviation was meant."""
    X = blobs(600)
    a, b = (cluster(data, kernel=kernel(rule), n_landmarks=40) for data in (X, scale * X))
    assert b.features_.kernel_.bandwidth == pytest.approx(scale * a.features_.kernel_.bandwidth, rel=1e-6)
    assert_same_labels(a.labels_, b.labels_)
    assert_same_labels(a.predict(X[::3]), b.predict(scale * X[::3]))


@pytest.mark.parametrize("factor", [0.2, 1.0, 5.0])
def test_bandwidth_rules_are_the_formulas(factor: float) -> None:
    """eq. 5 over all pairs, exactly; the median of a sample, nearly; `factor` multiplies both."""
    X = blobs(900) + 100
    for data in (X, chunked(X, 77), (X - 100).astype("f4")):
        f = dk.NystromFeatures(dk.Gaussian("mean", factor=factor), n_landmarks=20, random_state=0).fit(data)
        assert f.kernel_.bandwidth == pytest.approx(oracles.mean_bandwidth(X, factor), rel=1e-6)
    f = dk.NystromFeatures(dk.Gaussian("median", factor=factor), n_landmarks=20, random_state=0).fit(X)
    assert f.kernel_.bandwidth == pytest.approx(oracles.median_bandwidth(X, factor), rel=0.05)


@pytest.mark.parametrize("form", ["numpy", "dask"])
def test_transform_uses_the_bandwidth_that_was_given(form: str) -> None:
    """sklearn#1786: gamma was passed and another value used in `transform`."""
    X = blobs(300)
    data = X if form == "numpy" else chunked(X, 70)
    grams = []
    for bandwidth in (0.5, 7.0):
        f = dk.NystromFeatures(dk.Gaussian(bandwidth), n_landmarks=30, rank=None, random_state=0).fit(data)
        assert f.kernel_ == dk.Gaussian(bandwidth)
        B = dense(f.transform(data))
        kernel = partial(oracles.gaussian, bandwidth=bandwidth)
        np.testing.assert_allclose(
            B @ B.T, oracles.nystrom_of(kernel, X, f.landmarks_, rank=None).gram, atol=1e-8
        )
        grams.append(B @ B.T)
    assert np.abs(grams[0] - grams[1]).max() > 0.1


def test_a_changed_parameter_changes_nothing_until_the_next_fit() -> None:
    """The fitted kernel, not the parameter, decides: nothing leaks into `transform`."""
    X = blobs(300)
    f = dk.NystromFeatures(dk.Gaussian(3.0), n_landmarks=30, random_state=0).fit(X)
    before = f.transform(X)
    f.set_params(kernel__bandwidth=9.0)
    np.testing.assert_array_equal(f.transform(X), before)
    assert f.fit(X).kernel_ == dk.Gaussian(9.0)


def dot_plus_one(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    return X @ Z.T + 1.0


@pytest.mark.parametrize("kernel", [*OBJECTS, *OBJECTS.values(), dot_plus_one], ids=repr)
def test_every_documented_kernel_fits(kernel: Any) -> None:
    """sklearn#14641, #19178, #29353: a documented option failed when used."""
    X = np.abs(blobs(300)) + 1
    model = cluster(X, kernel=kernel, n_landmarks=30)
    assert model.labels_.shape == (300,)
    assert np.isfinite(model.inertia_)
    assert_same_labels(model.predict(X), model.labels_)
    features = dk.NystromFeatures(kernel, n_landmarks=30, random_state=0).fit_transform(chunked(X, 70))
    assert np.isfinite(dense(features)).all()


@pytest.mark.parametrize(
    "kernel", ["precomputed", "sigmoid", "", None, 3.0, dk.Gaussian, {"gamma": 1}], ids=repr
)
@pytest.mark.parametrize("estimator", [dk.KernelKMeans, dk.NystromFeatures])
def test_unsupported_kernels_are_refused_at_fit(kernel: Any, estimator: Any) -> None:
    """Not in the constructor (clone must work), not in the middle of a pass."""
    model = estimator(kernel=kernel)
    with pytest.raises((ValueError, TypeError), match=r"gaussian|kernel"):
        model.fit(blobs(50))


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), float("inf"), "scott", None, [1.0]], ids=repr)
def test_impossible_bandwidths_are_refused(bandwidth: Any) -> None:
    """Zero, negative, infinite or unknown: refused by name before any row is read."""
    with pytest.raises((ValueError, TypeError), match="bandwidth"):
        dk.NystromFeatures(dk.Gaussian(bandwidth), n_landmarks=10).fit(blobs(50))


def test_kernel_objects_are_values() -> None:
    """Equal parameters are equal kernels, and none can be changed under a fitted model's feet."""
    assert dk.Gaussian(2.0) == dk.Gaussian(2.0) != dk.Gaussian(3.0)
    assert hash(dk.Gaussian(2.0)) == hash(dk.Gaussian(2.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        dk.Gaussian(2.0).bandwidth = 3.0  # type: ignore[misc]
