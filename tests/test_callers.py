"""Tests: warnings point at the line that called, whatever the library and its wrappers do in between."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from daskkernels.errors import ConvergenceWarning, NumericalWarning


def here(caught: pytest.WarningsRecorder) -> bool:
    return {record.filename for record in caught} == {__file__}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_of_clustering(lazy: bool, method: str) -> None:
    X = np.repeat(np.eye(3), 20, axis=0)
    rows = da.from_array(X, chunks=(17, 3)) if lazy else X
    with pytest.warns(NumericalWarning, match="clusters have members") as caught:
        getattr(dk.KernelKMeans(5, random_state=0), method)(rows)
    assert here(caught)


def test_of_a_solver_far_below() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.warns(ConvergenceWarning) as caught:
        dk.KernelKMeans(8, max_iter=1, random_state=0).fit(X)
    assert here(caught)


def test_inside_another_estimator() -> None:
    """Meta-estimators of scikit-learn are walked through too."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with pytest.warns(NumericalWarning, match="all rows are equal") as caught:
        make_pipeline(StandardScaler(), dk.NystromFeatures(n_landmarks=3)).fit(np.ones((20, 2)))
    assert here(caught)
