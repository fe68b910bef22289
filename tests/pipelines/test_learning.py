"""Training and prediction by command line: right answers, whole outputs, one line for what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.store import open_array, open_group
from pipelines.cli import main
from pipelines.learning.saved import named
from tests.pipelines.conftest import blobs
from tests.pipelines.page import Page

THREADS = ("--scheduler", "threads", "--quiet")
QUICK = ("--kernel", "laplacian", "--epochs", "2")


def run(command: str, *arguments: object) -> int:
    return main([command, *map(str, arguments), *THREADS])


def train(data: object, out: object, *arguments: object) -> int:
    return run("train", data, "--out", out, *QUICK, *arguments)


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, str]]:
    """The result table that was printed, by its first column."""

    def read() -> dict[str, str]:
        rows = (line.strip().split("  ", 1) for line in capsys.readouterr().out.splitlines())
        return {row[0]: row[-1].strip() for row in rows}

    return read


@pytest.fixture(scope="module")
def model(groups: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of three named groups."""
    path = tmp_path_factory.mktemp("model") / "model.zarr"
    assert train(groups, path) == 0
    return path


def test_training_and_its_report(groups: Path, tmp_path: Path, table: Callable[[], dict[str, str]]) -> None:
    out, report = tmp_path / "m.zarr", tmp_path / "r.html"
    options = ("--test", groups, "--validation-fraction", "0.1", "--report", report)
    assert run("train", groups, "--out", out, "--epochs", 3, *options) == 0
    shown = table()
    assert shown["data"] == "groups: 600 x 5 float32"
    assert shown["kernel"].endswith("the best of 16")
    assert shown["test error"] == "0.00% (0 of 600)"
    assert shown["validation error"] == "0.00%"
    assert {"rows of the eigensystem (s)", "directions (q)", "rows a batch (m)", "step"} < set(shown)
    text = report.read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("svg") == 5
    assert f"--out {out}" in text
    for word in ("Confusion", "None is wrong.", "chosen", "Choices", "memory of a worker"):
        assert word in page.text
    assert dk.load(out, data=str(groups)).predict(blobs()[0][:5]).tolist() == blobs()[1][:5].tolist()


@pytest.mark.parametrize("decision", [(), ("--decision",)])
def test_predictions(
    groups: Path, model: Path, tmp_path: Path, table: Callable[[], dict[str, str]], decision: tuple[str, ...]
) -> None:
    out = tmp_path / "p.zarr"
    assert run("predict", model, groups, "--out", out, *decision) == 0
    shown = table()
    assert shown["error"] == "0.00% (0 of 600)"
    _, attributes = open_group(out, "predictions")
    assert attributes["classes"] == ["low", "middle", "top"]
    codes = open_array(out, "predictions")[0:600]
    assert np.array(attributes["classes"])[codes].tolist() == blobs()[1].tolist()
    record = attributes["record"]
    assert record["data_digest"] == dk.open_dataset(groups).digest
    assert record["command"].startswith("python -m pipelines predict ")
    assert record["versions"]["numpy"] == np.__version__
    assert attributes["arrays"] == ["predictions", *(["decision"] if decision else [])]
    if decision:
        np.testing.assert_array_equal(open_array(out, "decision")[0:600].argmax(axis=1), codes)


def test_two_classes_and_columns_of_any_size(
    written: Callable[..., str], tmp_path: Path, table: Callable[[], dict[str, str]]
) -> None:
    """The scaling travels with the model, which holds its own rows; numbers are names too."""
    X, y = blobs()
    two = y != "middle"
    X, y = X[two] * np.array([1, 1e5, 1, 1, 1], "f4"), np.where(y[two] == "low", 30, 7)
    data = written(X, y)
    out, predictions = tmp_path / "m.zarr", tmp_path / "p.zarr"
    assert train(data, out, "--scale", "--class-weight", "balanced") == 0
    loaded = dk.load(out)
    assert [name for name, _ in loaded.steps] == ["scale", "machine"]
    assert loaded.predict(X[:9]).tolist() == y[:9].tolist()
    table()
    assert run("predict", out, data, "--out", predictions, "--decision") == 0
    shown = table()
    assert shown["error"].startswith("0.00%")
    assert shown["model"] == str(out)
    decision, codes = (open_array(predictions, name)[0 : len(y)] for name in ("decision", "predictions"))
    assert decision.ndim == 1
    np.testing.assert_array_equal(decision > 0, y == 30)
    np.testing.assert_array_equal(codes, y == 30)


def test_numbers(written: Callable[..., str], tmp_path: Path, table: Callable[[], dict[str, str]]) -> None:
    X = np.random.default_rng(0).normal(size=(400, 2))
    data = written(X, np.sin(X[:, 0]))
    out, report, predictions = tmp_path / "m.zarr", tmp_path / "r.html", tmp_path / "p.zarr"
    options = ("--test", data, "--validation-fraction", "0.2", "--report", report)
    assert train(data, out, *options) == 0
    shown = table()
    assert float(shown["test R2"]) > 0.9
    assert "test error" not in shown
    assert Page(report.read_text(encoding="utf-8")).tags.count("svg") == 3
    assert run("predict", out, data, "--out", predictions) == 0
    assert float(table()["MSE"]) == float(shown["test MSE"])
    assert open_array(predictions, "predictions")[0:400].shape == (400,)
    assert run("predict", out, data, "--out", tmp_path / "q.zarr", "--decision") == 2


def refused(capsys: pytest.CaptureFixture[str], code: int, message: str) -> None:
    assert code == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.count("\n") == 1, error
    assert message in error, error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--kernel auto --bandwidth 2", "leave out --bandwidth"),
        ("--kernel laplac", "kernel='laplac'"),
        ("--epochs 0", "--epochs 0"),
        ("--patience 0", "patience=0"),
        ("--validation-fraction 1.5", "--validation-fraction 1.5"),
        ("--resume", "--resume: give the folder"),
        ("--resume --checkpoint {tmp}/none", "holds no training"),
        ("--checkpoint {tmp}/m.zarr", "wanted two different places"),
        ("--checkpoint {tmp}", "wanted two different places"),
        ("--test {tmp}/none.zarr", "none.zarr"),
        ("--class-weight heavy", "--class-weight"),
        ("--report {tmp}/no/r.html", "there is no folder"),
    ],
)
def test_bad_options(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, message: str
) -> None:
    refused(capsys, train(groups, tmp_path / "m.zarr", *options.format(tmp=tmp_path).split()), message)
    assert not list(tmp_path.iterdir())


def test_data_that_does_not_fit(
    groups: Path, written: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, out = blobs()[0], tmp_path / "m.zarr"
    plain = written(X)
    refused(capsys, train(plain, out), "holds no y to learn from")
    refused(capsys, train(groups, out, "--test", plain), "holds no y to test on")
    dk.write_dataset(tmp_path / "numbers.zarr", X, X[:, 0])
    refused(capsys, train(groups, out, "--test", tmp_path / "numbers.zarr"), "one y holds classes")
    refused(capsys, train(tmp_path / "numbers.zarr", out, "--class-weight", "balanced"), "holds numbers")
    dk.write_dataset(tmp_path / "narrow.zarr", X[:, :2], blobs()[1])
    refused(capsys, train(groups, out, "--test", tmp_path / "narrow.zarr"), "has 2 columns")


def test_models_and_data_that_do_not_fit(
    groups: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.zarr"
    X, y = blobs()
    dk.write_dataset(tmp_path / "other.zarr", X + 1, y)
    dk.write_dataset(tmp_path / "narrow.zarr", X[:, :2])
    refused(
        capsys, run("predict", model, groups, "--out", out, "--centers", tmp_path / "other.zarr"), "digest"
    )
    refused(capsys, run("predict", model, tmp_path / "narrow.zarr", "--out", out), "trained on 5")
    refused(capsys, run("predict", groups, groups, "--out", out), "is a dataset, wanted a model")
    dk.save(dk.Standardize().fit(X), tmp_path / "s.zarr")
    refused(capsys, run("predict", tmp_path / "s.zarr", groups, "--out", out), "is a Standardize")
    refused(
        capsys,
        run("predict", tmp_path / "s.zarr", groups, "--out", out, "--centers", groups),
        "its own centers",
    )
    assert not out.exists()


def test_centers_that_have_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, moved, out = tmp_path / "there.zarr", tmp_path / "moved.zarr", tmp_path / "p.zarr"
    dk.write_dataset(there, *blobs(60))
    assert train(there, tmp_path / "m.zarr") == 0
    shutil.move(there, moved)
    capsys.readouterr()
    refused(capsys, run("predict", tmp_path / "m.zarr", moved, "--out", out), "give its place with --centers")
    assert run("predict", tmp_path / "m.zarr", moved, "--out", out, "--centers", moved) == 0


def test_an_interrupt_says_how_to_go_on(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, folder = tmp_path / "m.zarr", tmp_path / "state"
    checkpoint, fit = ("--checkpoint", folder), dk.EigenProClassifier.fit

    def stopped(self: Any, *arguments: Any, **options: Any) -> Any:
        self.set_params(max_epochs=1)
        fit(self, *arguments, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dk.EigenProClassifier, "fit", stopped)
        assert train(groups, out, *checkpoint) == 130
        error = capsys.readouterr().err
        assert (
            f"interrupted; {folder} holds the training after its first epoch: the same command with" in error
        )
        assert train(groups, out) == 130
        assert capsys.readouterr().err.endswith("error: interrupted\n")
    refused(capsys, train(groups, out, *checkpoint), "add --resume")
    assert train(groups, out, *checkpoint, "--resume") == 0
    assert train(groups, tmp_path / "whole.zarr") == 0
    resumed, whole = (dk.load(tmp_path / name, data=str(groups)) for name in ("m.zarr", "whole.zarr"))
    assert resumed.n_epochs_ == whole.n_epochs_ == 2
    np.testing.assert_array_equal(resumed.dual_coef_, whole.dual_coef_)


def test_divergence_is_one_line(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def diverges(*_arguments: Any, **_options: Any) -> None:
        raise dk.errors.DivergenceError("the residual grew")

    monkeypatch.setattr(dk.EigenProClassifier, "fit", diverges)
    assert train(groups, tmp_path / "m.zarr") == 1
    assert capsys.readouterr().err == "pipelines train: error: the residual grew\n"


def test_a_failed_prediction_leaves_nothing(
    groups: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dk.store.ArrayWriter, "finish", interrupted)
    assert run("predict", model, groups, "--out", tmp_path / "p.zarr") == 130
    assert not (tmp_path / "p.zarr").exists()


def test_codes_of_a_part_of_the_classes_keep_their_names() -> None:
    model = dk.EigenProClassifier()
    model.classes_ = np.array([0, 2])
    assert named(model, ("a", "b", "c")).classes_.tolist() == ["a", "c"]
