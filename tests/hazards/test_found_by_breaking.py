"""Found by trying to break the library: far clusters, kernels that overflow, blocks that lie, nested fits."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from tests import oracles

rng = np.random.default_rng(0)
X = (rng.normal(size=(3000, 4)) + 4.0 * rng.integers(0, 3, (3000, 1))).astype("f4")

FORMULAS = {
    "Gaussian": oracles.gaussian,
    "Laplacian": oracles.laplacian,
    "Cauchy": oracles.cauchy,
}


@pytest.mark.parametrize("distance", [100.0, 1000.0, 10000.0])
@pytest.mark.parametrize("name", FORMULAS)
def test_clusters_far_apart_in_float32(name: str, distance: float) -> None:
    """|x|^2 + |z|^2 - 2 x.z in float32 loses the distance of near rows far from the common center."""
    far = (rng.normal(size=(400, 8)) + distance * (2 * rng.integers(0, 2, (400, 1)) - 1)).astype("f4")
    K = dk.kernel_block(getattr(dk, name)(3.0), far, far[:300].copy())
    exact = FORMULAS[name](far.astype("f8"), far[:300].astype("f8"), 3.0)
    assert np.abs(K - exact).max() < 2e-3
    B = dk.NystromFeatures(dk.Gaussian(3.0), n_landmarks=400, rank=None, random_state=0).fit_transform(far)
    assert (B**2).sum(axis=1).max() < 1.001


def test_values_of_a_kernel_that_overflow() -> None:
    """transform returned NaN where fit refuses."""
    model = dk.NystromFeatures("polynomial", n_landmarks=50, random_state=0).fit(X)
    big = X.copy()
    big[5] = 1e14
    with pytest.raises(ValueError, match=r"kernel's values.*row 5"):
        model.transform(big)
    with pytest.raises(ValueError, match=r"kernel's values.*row 5"):
        model.transform(da.from_array(big, chunks=700)).compute()


def test_a_function_that_writes_into_the_landmarks() -> None:
    """They are shared by all tasks: every tile would see others."""

    def spoil(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        B -= 1.0
        return A @ B.T

    with pytest.raises(ValueError, match="read-only"):
        dk.KernelKMeans(3, kernel=spoil, random_state=0).fit(X)


def test_blocks_that_are_not_what_they_were_declared() -> None:
    short = da.from_delayed(dask.delayed(lambda: X[:2500])(), shape=(3000, 4), dtype="f4")
    with pytest.raises(ValueError, match="declared"):
        dk.Standardize().fit(short)
    narrow = da.from_delayed(dask.delayed(lambda: X[:, :3])(), shape=(3000, 4), dtype="f4")
    with pytest.raises(ValueError, match="declared"):
        dk.KernelKMeans(3).fit(narrow)


@pytest.mark.parametrize("lazy", [False, True])
def test_masked_arrays_are_refused(lazy: bool) -> None:
    masked: Any = np.ma.masked_greater(X, 5.0)
    with pytest.raises(TypeError, match="masked"):
        dk.Standardize().fit(da.from_array(masked, chunks=1000, asarray=False) if lazy else masked)


@pytest.mark.parametrize("weight", [1e-45, 1e39])
def test_weights_that_float32_cannot_hold(weight: float) -> None:
    with pytest.raises(ValueError, match="sample_weight"):
        dk.KernelKMeans(3, random_state=0).fit(X, sample_weight=np.full(len(X), weight))


def test_as_many_clusters_as_rows() -> None:
    assert sorted(dk.KernelKMeans(2, random_state=0).fit_predict([[0.0], [100.0]])) == [0, 1]
    assert len(set(dk.KernelKMeans(4, random_state=0).fit_predict(np.eye(4)))) == 4


def test_equal_rows_share_a_label() -> None:
    """BLAS gives equal rows of one matrix different last bits."""
    with pytest.warns(UserWarning, match="rows"):
        model = dk.KernelKMeans(5, random_state=0).fit(np.ones((50, 3)))
    assert set(model.labels_) == {0}


def test_refused_parameters_change_nothing() -> None:
    model = dk.KernelKMeans(3)
    with pytest.raises(ValueError, match="foo"):
        model.set_params(n_clusters=5, kernel__foo=1)
    assert model.n_clusters == 3


@pytest.mark.timeout(100)
def test_a_fit_inside_a_task(capfd: pytest.CaptureFixture[str]) -> None:
    """A worker's only thread waited for tasks that needed it."""
    with dk.connect("threads", threads_per_worker=1) as client:
        inside = dask.delayed(lambda: dk.KernelKMeans(3, random_state=0).fit(X).inertia_)()
        assert client.compute(inside).result(timeout=80) == dk.KernelKMeans(3, random_state=0).fit(X).inertia_
        assert client.cluster is not None
    assert client.cluster.status.name == "closed", "the client's own cluster ends with it"


def test_scratch_as_a_path(tmp_path: Any) -> None:
    dk.KernelKMeans(3, scratch=tmp_path, random_state=0).fit(X)
    assert not list(tmp_path.iterdir())
