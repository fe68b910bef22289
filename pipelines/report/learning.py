"""The sections about a training, with a sentence in place of what cannot be drawn.

What a record does not hold leaves nothing on the page.
"""

from __future__ import annotations

from pipelines.learning.records import TrainRun
from pipelines.report import charts, confusion, learning_charts, learning_tables, tables
from pipelines.report.abstract import counted, share
from pipelines.report.clustering import repeat
from pipelines.report.layout import Half, Part, beside, data_facts, data_line, figure, note
from pipelines.results import DataFacts


def half(run: TrainRun) -> Half:
    """A training as parts of a page."""
    parts = [
        Part("Result", learning_tables.tiles(run)),
        Part("Training", beside(*curves(run))),
        Part("Kernel", beside(trials(run), spectrum(run))),
        Part("Choices", learning_tables.choices(run)),
        Part("Confusion", confusion.table(run)),
        Part("Time and memory", beside(stages(run), learning_tables.plan(run))),
        (Part("Data", _data(run)), Part("Settings", tables.pairs(run.settings))),
    ]
    return Half(run.title, data_line(run.data), abstract(run), parts, repeat(run.command, run.versions))


def abstract(run: TrainRun) -> str:
    """What was found, what it was found with, and what it took."""
    epochs = counted(len(run.epochs), "epoch")
    kept = "" if run.kept == len(run.epochs) else f", of which number {run.kept} was kept"
    choice = f", the best of {len(run.trials)} on a sample," if run.trials else ""
    made = f"{run.kernel}{choice} was trained by EigenPro 2.0 on {counted(run.n_used, 'row')} in {epochs}"
    return f"{_found(run)}. {made}{kept}; made in {run.seconds:.1f}\u00a0s."


def _found(run: TrainRun) -> str:
    """The errors."""
    test, last, said = run.test, run.kept_epoch, []
    kept_back = counted(run.data.n_rows - run.n_used, "row")
    if test is not None and test.error is not None:
        said.append(
            f"{share(test.error)} of {counted(test.data.n_rows, 'test row')} are put in a wrong class"
        )
    elif test is not None and test.mse is not None:
        explained = "" if test.r2 is None else f" (R\u00b2 {test.r2:.4f})"
        said.append(
            f"Mean squared error {test.mse:.4g}{explained} on {counted(test.data.n_rows, 'test row')}"
        )
    if last.validation_error is not None:
        said.append(f"{share(last.validation_error)} of the {kept_back} kept back for validation")
    elif last.validation_mse is not None:
        said.append(f"{last.validation_mse:.4g} on the {kept_back} kept back for validation")
    return ", ".join(said) or f"The training residual is {last.residual:.4g}"


def curves(run: TrainRun) -> list[str]:
    """The residual by epoch, and the error by epoch where rows were kept back."""
    judged = run.epochs[0].validation_mse is not None
    about = "Mean squared residual of the training rows, each as it was met before its own step"
    about += ", and of the rows kept back for validation." if judged else "."
    about += f" The weights after epoch {run.kept} are the model." if judged else ""
    pictures = [figure(learning_charts.residuals(run), about)]
    if run.epochs[0].validation_error is not None:
        about = "Share of wrong classes among the rows kept back for validation."
        about += " The test rows were predicted once, by the finished model." if run.test else ""
        pictures.append(figure(learning_charts.errors(run), about))
    return pictures


def trials(run: TrainRun) -> str:
    """What the kernel was chosen by."""
    if not run.trials:
        return ""
    what = "Share of wrong classes" if run.trials[0].error is not None else "Mean squared error"
    about = (
        f"{what} of each kernel on a sample, solved exactly on one half and judged on the other, against its "
        "bandwidth in root mean squared distances. The fewest errors win, then the smaller squared error."
    )
    return figure(learning_charts.trials(run), about)


def spectrum(run: TrainRun) -> str:
    """What EigenPro damps."""
    if not len(run.eigenvalues):
        return ""
    q = run.n_directions
    damped = f"the first {q - 1} are damped to the size of number {q}" if q > 1 else "none is damped"
    return figure(learning_charts.spectrum(run), f"Eigenvalues of the kernel on the subsample: {damped}.")


def stages(run: TrainRun) -> str:
    """Seconds by stage."""
    about = "Seconds by stage, in the order they first ran. The drawing of this page comes after them."
    return figure(charts.timings(run.timings, "learning-timings"), about)


def _data(run: TrainRun) -> str:
    """What was trained on, and what was tested on."""
    facts = tables.pairs(data_facts(run.data))
    if run.test is None:
        return facts
    return facts + note("Tested on:") + tables.pairs(_short(run.test.data))


def _short(data: DataFacts) -> list[tuple[str, str]]:
    """What tells one part of the data from another."""
    shown = ("name", "path", "rows", "source", "digest")
    return [pair for pair in data_facts(data) if pair[0] in shown]
