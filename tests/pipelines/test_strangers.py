"""A stranger's model names the place of its centers: no request goes to a host that the user did not name."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from pipelines.failures import InputError
from pipelines.learning.saved import opened
from pipelines.requests import PredictRequest, SessionRequest
from tests.fuzz.signing import sign


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:9/d.zarr", "s3://bucket/d.zarr", "simplecache::http://a/b"]
)
def test_centers_elsewhere_need_to_be_named(tmp_path: Path, place: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)).astype("f4")
    data = dk.write_dataset(tmp_path / "d.zarr", X, X[:, 0])
    dk.save(dk.EigenProRegressor(max_epochs=1, random_state=0).fit(data.X, data.y), tmp_path / "m.zarr")
    file = tmp_path / "m.zarr/zarr.json"
    document = json.loads(file.read_text())
    fitted = document["attributes"]["daskkernels"]["model"]["fitted"]
    fitted["centers_"]["reference"]["path"] = place
    file.write_text(json.dumps(document))
    sign(tmp_path / "m.zarr")
    request = PredictRequest(str(tmp_path / "m.zarr"), str(tmp_path / "d.zarr"), SessionRequest(), "", "out")
    with pytest.raises(InputError, match=r"needs the dataset it was trained on.*--centers"):
        opened(request)
    named = PredictRequest(request.model, request.data, SessionRequest(), "", "out", str(tmp_path / "d.zarr"))
    assert opened(named).n_features_in_ == 2
