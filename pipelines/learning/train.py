"""The training job: open datasets, fit, save the model, test it, write the report.

What can be refused is refused before any worker starts; an interrupt says how to go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline

import daskkernels as dk
from daskkernels.estimators.checkpoint import Checkpoint
from daskkernels.session import peak_memory
from datasets.address import check_protocol
from pipelines.connection import connected
from pipelines.failures import InputError, Interrupted
from pipelines.learning.records import Scores, TrainRun
from pipelines.learning.saved import coded, labelled, named, names_of
from pipelines.learning.scoring import scores
from pipelines.learning.summary import summarise
from pipelines.model import learner
from pipelines.outputs import check_checkpoint, check_outputs
from pipelines.progress import StageClock, say, stage
from pipelines.report import write_report
from pipelines.requests import TrainRequest
from pipelines.summary import describe, known_classes


class Lesson(NamedTuple):
    """What a training needs, opened and checked."""

    data: dk.Dataset
    test: dk.Dataset | None
    model: Any  # not fitted


def train(request: TrainRequest, clock: StageClock) -> TrainRun:
    """Do the job; `clock` is a sink that listens already, and may have heard earlier stages."""
    check_protocol(request.data)
    check_protocol(request.test or "", "--test")
    check_outputs(request)
    check_checkpoint(request)
    _check_resumed(request)
    with stage("open dataset"):
        lesson = prepared(request)
    with connected(request.session) as client:
        record = trained(request, lesson, client)
    record = replace(record, timings=clock.timings)
    if request.report:
        with stage("draw report"):
            write_report(record, request.report)
    return replace(record, timings=clock.timings)


def prepared(request: TrainRequest) -> Lesson:
    """The datasets, opened and compared, and the estimator; raises InputError and StoreErrors."""
    data = labelled(request.data, "to learn from")
    test = None if request.test is None else labelled(request.test, "to test on")
    if test is not None and test.n_features != data.n_features:
        raise InputError(f"--test {request.test} has {test.n_features} columns, the data {data.n_features}")
    if test is not None and (test.classes is None) != (data.classes is None):
        raise InputError(f"--test {request.test}: one y holds classes, the other numbers")
    return Lesson(data, test, learner(request.model, classes=data.classes is not None))


def trained(request: TrainRequest, lesson: Lesson, client: Any) -> TrainRun:
    """Fit, save and test."""
    data, _, model = lesson
    with stage("fit"):
        scaler = dk.Standardize() if request.model.scale else None
        X = data.X if scaler is None else scaler.fit_transform(data.X)
        try:
            model.fit(X, data.y, checkpoint=request.checkpoint, resume=request.resume)
        except KeyboardInterrupt as stop:
            raise _interrupted(request) from stop
    if model.n_halvings_ and not request.session.quiet:
        say(f"the residual grew: the step was halved {_times(model.n_halvings_)}")
    named(model, data.classes)
    whole = model if scaler is None else Pipeline([("scale", scaler), ("machine", model)])
    if request.out:
        with stage("save model"):
            dk.save(whole, request.out, overwrite=request.overwrite)
    found = None
    if lesson.test is not None:
        with stage("test"):
            found = _tested(request, lesson.test, whole)
    return summarise(request, data, model, found, peak_memory(client))


def _tested(request: TrainRequest, test: dk.Dataset, model: Any) -> Scores:
    """The model on the test data; predicted once, because the predictions are small."""
    predicted = coded(model).predict(test.X).persist()
    facts = describe(str(request.test), test, known_classes(test))
    return scores(facts, predicted, test.y, names_of(model))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _check_resumed(request: TrainRequest) -> None:
    """Raise InputError for a checkpoint that is not to be gone on with, or none where one is wanted."""
    if request.checkpoint is None:
        if request.resume:
            raise InputError("--resume: give the folder to go on from with --checkpoint")
        return
    held = _held(request.checkpoint)
    if held is not None and not request.resume:
        raise InputError(
            f"--checkpoint {request.checkpoint} holds a training: add --resume, or choose another path"
        )
    if held is None and request.resume:
        raise InputError(f"--resume: --checkpoint {request.checkpoint} holds no training to go on with")


def _held(checkpoint: str) -> int | None:
    """The epochs that a checkpoint has over, or None where there is none."""
    try:
        saved = Checkpoint(checkpoint, resume=True).saved
    except dk.errors.InputError:
        return None
    return None if saved is None else int(saved.state.get("epoch", 0))


def _interrupted(request: TrainRequest) -> KeyboardInterrupt:
    """What to raise for an interrupt: where there is a checkpoint, with the way to go on."""
    if request.checkpoint is None:
        return KeyboardInterrupt()
    held = _held(request.checkpoint)
    if held is None:
        return Interrupted(f"interrupted before {request.checkpoint} held anything: start again")
    epochs = "its first epoch" if held == 1 else f"{held} whole epochs"
    again = "the same command" if request.resume else "the same command with --resume"
    return Interrupted(
        f"interrupted; {request.checkpoint} holds the training after {epochs}: {again} goes on"
    )
