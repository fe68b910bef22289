"""The prediction job: a saved model on the rows of a dataset, block by block into a new Zarr group.

The group counts as written only when all of it is; what the model and the data were is in its attributes.
"""

from __future__ import annotations

from typing import Any

import dask.array as da

import daskkernels as dk
from daskkernels.store import complete_group, open_array, open_group, to_dask, write_array, writing_group
from daskkernels.versions import versions
from datasets.address import check_protocol
from pipelines.connection import connected
from pipelines.failures import InputError
from pipelines.learning.records import PredictRun, Scores
from pipelines.learning.saved import check_columns, coded, machine, names_of, opened
from pipelines.learning.scoring import scores
from pipelines.learning.summary import shown_kernel
from pipelines.outputs import check_group
from pipelines.progress import StageClock, stage
from pipelines.requests import PredictRequest
from pipelines.summary import describe, known_classes

KIND, ARRAY, DECISION = "predictions", "predictions", "decision"


def predict(request: PredictRequest, clock: StageClock) -> PredictRun:
    """Do the job; `clock` is a sink that listens already."""
    for address, option in ((request.model, ""), (request.data, ""), (request.centers or "", "--centers")):
        check_protocol(address, option)
    check_group(request.out)
    with stage("open dataset"):
        data = dk.open_dataset(request.data)
    with stage("open model"):
        model = opened(request)
    check_columns(model, request.data, data)
    if request.decision and names_of(model) is None:
        raise InputError(f"--decision: {request.model} predicts numbers, not classes")
    with connected(request.session):
        with stage("predict"):
            write_predictions(request, data, model)
        found = None
        if data.y is not None and (data.classes is None) == (names_of(model) is None):
            with stage("score"):
                found = _scored(request, data, model)
    facts = describe(request.data, data, known_classes(data))
    return PredictRun(facts, request.model, about(model), found, clock.timings)


def about(model: Any) -> str:
    """The model in words."""
    last = machine(model)
    scaled = ", on scaled rows" if last is not model else ""
    return f"{type(last).__name__}, {shown_kernel(last.kernel_)}, {len(last.centers_):,} centers{scaled}"


def write_predictions(request: PredictRequest, data: dk.Dataset, model: Any) -> None:
    """Write `predictions`, and `decision` where it is wanted; an interrupted write leaves nothing."""
    names, codes = names_of(model), coded(model)
    with writing_group(request.out, overwrite=False, kind=KIND) as url:
        arrays = [ARRAY]
        if request.decision:
            arrays.append(DECISION)
            write_array(url, DECISION, codes.decision_function(data.X))
            write_array(url, ARRAY, _decided(url, data.X.chunks[0]))
        else:
            write_array(url, ARRAY, codes.predict(data.X))
        attributes = {"kind": KIND, "arrays": arrays, "record": _record(request, data, model)}
        if names is not None:
            attributes["classes"] = names
        complete_group(url, attributes, arrays)


def _decided(url: str, chunks: tuple[int, ...]) -> da.Array:
    """The codes that the written values decide, so that nothing is predicted twice."""
    values = to_dask(open_array(url, DECISION), chunks)
    codes = values > 0 if values.ndim == 1 else da.argmax(values, axis=1)
    return codes.astype("i4")


def _record(request: PredictRequest, data: dk.Dataset, model: Any) -> dict[str, Any]:
    """How the predictions came about."""
    return {
        "command": request.command,
        "model": request.model,
        "model_digest": open_group(request.model, "model")[1]["digest"],
        "about": about(model),
        "data": request.data,
        "data_digest": data.digest,
        "versions": versions(),
    }


def _scored(request: PredictRequest, data: dk.Dataset, model: Any) -> Scores:
    """The predictions, read back, against the y of the data."""
    facts = describe(request.data, data, known_classes(data))
    predicted = to_dask(open_array(request.out, ARRAY), data.y.chunks[0])
    return scores(facts, predicted, data.y, names_of(model))
