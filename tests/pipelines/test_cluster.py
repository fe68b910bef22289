"""The clustering job through its command line: right labels, whole outputs, one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from pipelines.cli import main
from tests.pipelines.conftest import blobs

THREADS = ("--scheduler", "threads", "--quiet")


def cluster(*arguments: object) -> int:
    return main(["cluster", *map(str, arguments), *THREADS])


@pytest.fixture
def table(capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, str]]:
    """The result table that was printed, by its first column."""

    def read() -> dict[str, str]:
        rows = (line.strip().split("  ", 1) for line in capsys.readouterr().out.splitlines())
        return {row[0]: row[-1].strip() for row in rows}

    return read


def test_groups_are_found(groups: Path, table: Callable[[], dict[str, str]]) -> None:
    assert cluster(groups, "--clusters", 3) == 0
    shown = table()
    assert shown["data"] == "groups: 600 x 5 float32"
    assert shown["NMI (geometric)"] == shown["adjusted Rand"] == "1.0000"
    sizes = np.unique(blobs()[1], return_counts=True)[1]
    assert sorted(map(int, shown["cluster sizes"].split())) == sorted(sizes)
    stages = [float(shown[name]) for name in ("open dataset", "connect", "score")]
    assert sum(stages) <= float(shown["seconds"]) + 0.02


def test_outputs_are_whole(groups: Path, tmp_path: Path) -> None:
    labels, report = tmp_path / "labels.zarr", tmp_path / "report.html"
    assert cluster(groups, "--clusters", 3, "--out", labels, "--report", report) == 0
    found = dk.store.open_array(labels, "labels")[0:600]
    truth = np.unique(blobs()[1], return_inverse=True)[1]
    assert len(np.unique(found * 3 + truth)) == 3
    record = json.loads((labels / "labels" / "zarr.json").read_text())["attributes"]["record"]
    assert record["command"].startswith("python -m pipelines cluster ")
    assert record["digest"] == dk.open_dataset(groups).digest
    assert record["versions"]["numpy"] == np.__version__
    text = report.read_text(encoding="utf-8")
    assert "Kernel k-means of groups" in text
    for part in ("Embedding", "Silhouettes of 600 rows", "Heat map of the means", "memory of a worker"):
        assert part in text
    assert record["command"].split(" --out")[0] in text


def test_labels_and_report_are_announced(
    groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, report = tmp_path / "labels.zarr", tmp_path / "report.html"
    assert cluster(groups, "--clusters", 3, "--out", labels, "--report", report) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"labels: {labels} (a Zarr group; the labels are its array `labels`)",
        f"report: {report}",
    ]
    assert str(report) not in report.read_text(encoding="utf-8")
    assert str(labels) not in report.read_text(encoding="utf-8")


def test_same_seed_same_labels(groups: Path, tmp_path: Path) -> None:
    found = []
    for name in ("a.zarr", "b.zarr"):
        assert cluster(groups, "--clusters", 5, "--seed", 3, "--out", tmp_path / name) == 0
        found.append(dk.store.open_array(tmp_path / name, "labels")[0:600])
    np.testing.assert_array_equal(*found)


def test_options_reach_the_model(groups: Path, tmp_path: Path) -> None:
    options = (
        "--clusters 4 --landmarks 50 --components 7 --kernel laplacian --bandwidth 2.5 --scale --n-init 2"
    )
    assert cluster(groups, *options.split(), "--out", tmp_path / "l.zarr") == 0
    record = json.loads((tmp_path / "l.zarr" / "labels" / "zarr.json").read_text())["attributes"]["record"]
    settings = record["settings"]
    assert settings["landmarks"] == "50"
    assert settings["features"] == "7"
    assert settings["clusters"] == "4"
    assert settings["starts"] == "2"
    assert settings["kernel"].startswith("Laplacian(bandwidth=2.5")
    assert settings["scaled"] != "no"


@pytest.mark.filterwarnings("ignore::daskkernels.linalg.NumericalWarning")
@pytest.mark.parametrize("kernel", ["cauchy", "matern", "polynomial", "linear", "cosine"])
def test_every_kernel(groups: Path, kernel: str) -> None:
    assert cluster(groups, "--clusters", 3, "--kernel", kernel) == 0


def test_without_labels(written: Callable[..., str], table: Callable[[], dict[str, str]]) -> None:
    assert cluster(written(blobs()[0]), "--clusters", 3) == 0
    assert "NMI (geometric)" not in table()


def test_targets_are_not_classes(written: Callable[..., str], table: Callable[[], dict[str, str]]) -> None:
    X = blobs()[0]
    assert cluster(written(X, X[:, 0].astype("f8")), "--clusters", 3) == 0
    assert "NMI (geometric)" not in table()


def refused(capsys: pytest.CaptureFixture[str], code: int, message: str) -> None:
    assert code == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.count("\n") == 1, error
    assert "pipelines cluster: error: " in error
    assert message in error, error


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, cluster(tmp_path / "none.zarr", "--clusters", 3), "none.zarr")


def test_not_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file.txt").write_text("text")
    refused(capsys, cluster(tmp_path, "--clusters", 3), str(tmp_path))
    refused(capsys, cluster(tmp_path / "file.txt", "--clusters", 3), "file.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--clusters 601", "601"),
        ("--clusters 0", "--clusters"),
        ("--clusters 3 --kernel gausian", "kernel='gausian'"),
        ("--clusters 3 --bandwidth -1", "bandwidth=-1.0"),
        ("--clusters 3 --bandwidth wide", "bandwidth='wide'"),
        ("--clusters 3 --factor 0", "factor=0.0"),
        ("--clusters 3 --bandwidth 1e-300", "bandwidth=1e-300"),
        ("--clusters 3 --bandwidth 1e300", "bandwidth=1e+300"),
        ("--clusters 3 --bandwidth 30 --factor 2", "factor=2.0"),
        ("--clusters 3 --kernel linear --bandwidth 1", "the linear kernel has no bandwidth"),
        ("--clusters 3 --landmarks 0", "--landmarks"),
        ("--clusters 3 --components -2", "--components -2"),
        ("--clusters 3 --n-init 0", "--n-init 0"),
        ("--clusters 3 --memory-limit much", "much"),
        ("--clusters 3 --memory-limit -5", "--memory-limit: -5"),
        ("--clusters 3 --memory-limit 1e400", "--memory-limit: 1e400"),
        ("--clusters 3 --workers 0", "workers"),
        ("--clusters 3 --out=", "--out: the path is empty"),
        ("--clusters 3 --report=", "--report: the path is empty"),
        ("--clusters 3 --out nowhere://bucket/labels", "--out nowhere://bucket/labels: "),
    ],
)
def test_bad_options(groups: Path, capsys: pytest.CaptureFixture[str], options: str, message: str) -> None:
    refused(capsys, cluster(groups, *options.split()), message)


def test_unknown_scheduler(groups: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["cluster", str(groups), "--clusters", "3", "--scheduler", "thread", "--quiet"])
    refused(capsys, code, "'thread'")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite(
    written: Callable[..., str], capsys: pytest.CaptureFixture[str], bad: float, tmp_path: Path
) -> None:
    X, y = blobs(3000)
    X[2345, 2] = bad
    out = tmp_path / "labels.zarr"
    refused(capsys, cluster(written(X, y), "--clusters", 3, "--out", out), "2345")
    assert not out.exists()


def test_outputs_are_never_replaced(groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").write_text("mine")
    for option in ("--out", "--report"):
        refused(
            capsys, cluster(groups, "--clusters", 3, option, tmp_path / "there"), f"{option} {tmp_path}/there"
        )
    assert (tmp_path / "there").read_text() == "mine"
    refused(
        capsys, cluster(groups, "--clusters", 3, "--report", tmp_path / "no" / "r.html"), "there is no folder"
    )


def test_no_scheduler_answers(
    groups: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_arguments: object, **_options: object) -> None:
        raise OSError("nobody answers at tcp://127.0.0.1:1")

    monkeypatch.setattr(dk, "connect", fails)
    assert main(["cluster", str(groups), "--clusters", "3", "--scheduler", "tcp://127.0.0.1:1"]) == 1
    assert "nobody answers" in capsys.readouterr().err


def test_threads_stand_in_for_local_workers(
    groups: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect, asked = dk.connect, []

    def no_processes(address: str, **options: object) -> object:
        asked.append(address)
        if address == "local":
            raise OSError("no sockets here")
        return connect(address, **options)

    monkeypatch.setattr(dk, "connect", no_processes)
    assert main(["cluster", str(groups), "--clusters", "3"]) == 0
    assert asked == ["local", "threads"]
    error = capsys.readouterr().err
    assert "no local workers (no sockets here): using threads in this process instead" in error
    assert "dashboard" in error.lower()


def test_a_failed_write_does_not_look_whole(
    groups: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dk.store.ArrayWriter, "write", interrupted)
    assert cluster(groups, "--clusters", 3, "--out", tmp_path / "labels.zarr") == 130
    with pytest.raises(dk.store.IncompleteWriteError):
        dk.store.open_array(tmp_path / "labels.zarr", "labels")
