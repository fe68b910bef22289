"""The results of training and prediction on the terminal: a line a figure, and the seconds of the stages."""

from __future__ import annotations

from datasets.text_table import aligned
from pipelines.learning.records import PredictRun, Scores, TrainRun
from pipelines.results import ClusterRun, DataFacts


def train_table(run: TrainRun) -> str:
    """The figures of a training as text."""
    return aligned([*train_rows(run), *seconds_rows(run)])


def train_rows(run: TrainRun) -> list[tuple[str, str]]:
    """The figures without the seconds."""
    last = run.kept_epoch
    chosen = f", the best of {len(run.trials)}" if run.trials else ""
    rows = [("data", _data(run.data)), ("kernel", run.kernel + chosen)]
    rows += [
        (f"{choice.name}{f' ({choice.letter})' if choice.letter else ''}", f"{choice.value:.5g}")
        for choice in run.choices
        if choice.letter in ("s", "q", "m", "M")
    ]
    rows += [
        ("step", f"{run.epochs[-1].step:.5g}{_halved(run.halvings)}"),
        ("epochs", f"{len(run.epochs)}" + (f", the best {run.kept}" if run.kept < len(run.epochs) else "")),
        ("training residual", f"{last.residual:.4g}"),
    ]
    if last.validation_mse is not None:
        rows.append(("validation MSE", f"{last.validation_mse:.4g}"))
    if last.validation_error is not None:
        rows.append(("validation error", f"{last.validation_error:.2%}"))
    return rows if run.test is None else rows + score_rows(run.test, "test ")


def predict_table(run: PredictRun) -> str:
    """The figures of a prediction as text."""
    rows = [("data", _data(run.data)), ("model", run.model), ("estimator", run.about)]
    rows += [] if run.scores is None else score_rows(run.scores)
    return aligned([*rows, *seconds_rows(run)])


def score_rows(scores: Scores, prefix: str = "") -> list[tuple[str, str]]:
    """How right the predictions are."""
    rows = []
    if scores.error is not None:
        wrong = round(scores.error * scores.data.n_rows)
        rows.append((f"{prefix}error", f"{scores.error:.2%} ({wrong:,} of {scores.data.n_rows:,})"))
    if scores.mse is not None:
        rows.append((f"{prefix}MSE", f"{scores.mse:.4g}"))
    if scores.r2 is not None:
        rows.append((f"{prefix}R2", f"{scores.r2:.4f}"))
    return rows


def seconds_rows(run: ClusterRun | TrainRun | PredictRun) -> list[tuple[str, str]]:
    """All stages together, and each."""
    rows = [("seconds", f"{run.seconds:.2f}")]
    return rows + [(f"  {name}", f"{seconds:.2f}") for name, seconds in run.timings]


def _data(data: DataFacts) -> str:
    return f"{data.name}: {data.n_rows:,} x {data.n_features:,} {data.dtype}"


def _halved(count: int) -> str:
    return "" if count == 0 else ", halved once" if count == 1 else f", halved {count} times"
