"""The arguments of `train` and `predict`, and the requests they become; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from typing import Any

from datasets.address import not_empty
from pipelines.requests import LearnRequest, PredictRequest, TrainRequest
from pipelines.session_options import add_session, number_or_name, path, session_request

CODES = "exit codes: 0 done, 1 the run failed, 2 wrong input, 130 interrupted"
TRAIN = (
    "Train a kernel machine on a Zarr dataset that has a y, by EigenPro 2.0: a classifier where y holds "
    "classes, a regressor where it holds numbers. The model keeps a reference to the rows of the dataset."
)
TRAIN_EXAMPLE = (
    "example: python -m pipelines train digits.zarr --out model.zarr --test test.zarr --report report.html"
)
PREDICT = "Predict the rows of a Zarr dataset with a model written by train, block by block."
PREDICT_EXAMPLE = "example: python -m pipelines predict model.zarr new.zarr --out predictions.zarr"


def add_parsers(commands: Any) -> None:
    """Add both commands."""
    train = commands.add_parser(
        "train", help="train a kernel machine", description=TRAIN, epilog=f"{TRAIN_EXAMPLE}; {CODES}"
    )
    train.add_argument("data", metavar="DATA.zarr", help="the dataset: a folder or an fsspec URL")
    _add_judged(train)
    _add_model(train)
    add_session(train, workers="one a core")
    _add_outputs(train)

    predict = commands.add_parser(
        "predict",
        help="predict with a saved model",
        description=PREDICT,
        epilog=f"{PREDICT_EXAMPLE}; {CODES}",
    )
    predict.add_argument("model", metavar="MODEL.zarr", help="the model: a folder or an fsspec URL")
    predict.add_argument("data", metavar="DATA.zarr", help="the rows to predict")
    predict.add_argument(
        "--centers",
        type=not_empty,
        metavar="PATH",
        help="where the dataset is now that the model was trained on (default: where it was then)",
    )
    add_session(predict, workers="one a core")
    group = predict.add_argument_group("output")
    group.add_argument(
        "--out",
        type=not_empty,
        required=True,
        metavar="PREDICTIONS.zarr",
        help="write there, as the array `predictions` of a Zarr group: a new folder or an fsspec URL",
    )
    group.add_argument(
        "--decision",
        action="store_true",
        help="of classes also the values that decide, as the array `decision`: (rows, classes), or one "
        "column for two classes, positive for the second",
    )


def add_training(command: argparse.ArgumentParser) -> None:
    """The options of a training that decide what it costs."""
    _add_judged(command)
    _add_model(command)


def _add_judged(command: argparse.ArgumentParser) -> None:
    """What judges the training."""
    group = command.add_argument_group("judgement")
    group.add_argument(
        "--test",
        type=not_empty,
        metavar="TEST.zarr",
        help="a dataset to test the finished model on, once; it takes no part in the training",
    )
    group.add_argument(
        "--validation-fraction",
        type=float,
        metavar="F",
        help="share of the rows (10 000 at most) that judge the epochs and are not trained on: the best "
        "epoch is kept (default: none, and the last epoch is kept)",
    )
    group.add_argument("--epochs", type=int, metavar="N", help="passes over the data at most (default: 10)")
    group.add_argument(
        "--patience",
        type=int,
        metavar="N",
        help="stop after so many epochs without a better validation loss (default: 3)",
    )


def _add_model(command: argparse.ArgumentParser) -> None:
    """What to train."""
    group = command.add_argument_group("model")
    group.add_argument(
        "--kernel",
        default="auto",
        metavar="NAME",
        help="auto (default: gaussian or laplacian and its bandwidth, by trials on a sample), gaussian, "
        "laplacian, cauchy, matern, polynomial, linear or cosine",
    )
    group.add_argument(
        "--bandwidth",
        type=number_or_name,
        metavar="B",
        help="of a named kernel: a positive number, mean (root mean squared distance) or median",
    )
    group.add_argument("--factor", type=float, metavar="F", help="multiplies a bandwidth taken from the data")
    group.add_argument(
        "--scale",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="bring each column to mean 0 and variance 1 first (default: no); the model then holds the "
        "scaling and its own scaled copy of the rows",
    )
    group.add_argument(
        "--class-weight", choices=("balanced",), help="balanced: every class counts the same, however rare"
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed of every draw (default: 0)")


def _add_outputs(command: argparse.ArgumentParser) -> None:
    """What to write."""
    group = command.add_argument_group("output")
    group.add_argument(
        "--out",
        type=not_empty,
        required=True,
        metavar="MODEL.zarr",
        help="write the model there, as a Zarr group: a new folder or an fsspec URL",
    )
    group.add_argument(
        "--checkpoint",
        type=not_empty,
        metavar="DIR",
        help="keep the state of the training there, after each epoch and every 10 seconds",
    )
    group.add_argument(
        "--resume", action="store_true", help="go on with the training that --checkpoint holds"
    )
    group.add_argument("--report", type=path, metavar="FILE.html", help="write a report there: a new file")


def train_request(arguments: argparse.Namespace, command: str) -> TrainRequest:
    """The whole training job."""
    return TrainRequest(
        data=arguments.data,
        model=learn_request(arguments),
        session=session_request(arguments),
        command=command,
        out=arguments.out,
        test=arguments.test,
        checkpoint=arguments.checkpoint,
        resume=arguments.resume,
        report=arguments.report,
    )


def learn_request(arguments: argparse.Namespace) -> LearnRequest:
    """What to train."""
    names = (
        *("kernel", "bandwidth", "factor", "epochs", "patience", "validation_fraction"),
        *("class_weight", "scale", "seed"),
    )
    return LearnRequest(**{name: getattr(arguments, name) for name in names})


def predict_request(arguments: argparse.Namespace, command: str) -> PredictRequest:
    """The whole prediction job."""
    return PredictRequest(
        model=arguments.model,
        data=arguments.data,
        session=session_request(arguments),
        command=command,
        out=arguments.out,
        centers=arguments.centers,
        decision=arguments.decision,
    )
