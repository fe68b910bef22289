"""The commands as a user starts them: help, the demonstration, an interrupt."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import daskkernels as dk
from pipelines.cli import main
from pipelines.requests import LearnRequest

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = [sys.executable, "-m", "pipelines"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--help"], ("demo", "cluster", "train", "predict", "exit codes")),
        (["demo", "--help"], ("PenDigits", "--out", "--workers")),
        (["cluster", "--help"], ("--clusters", "--memory-limit", "--no-scale", "example:", "laplacian")),
        (
            ["train", "--help"],
            ("--test", "--validation-fraction", "--resume", "--no-scale", "example:", "auto"),
        ),
        (["predict", "--help"], ("--centers", "--decision", "--memory-limit", "example:")),
    ],
)
def test_help(argv: list[str], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in words)


@pytest.mark.parametrize(
    "argv",
    [
        *([], ["clsuter"], ["cluster", "x"], ["cluster", "x", "--clusters", "many"]),
        *(["train", "x"], ["train", "x", "--out", ""], ["predict", "x", "--out", "y"]),
    ],
)
def test_wrong_arguments(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    out, error = capsys.readouterr()
    assert not out
    assert error.count("\n") == 1


@pytest.mark.slow  # .ci/run gives the same command
def test_demo(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = subprocess.run(
        [*PIPELINES, "demo", "--out", str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    nmi = float(re.search(r"NMI \(geometric\) +([\d.]+)", done.stdout).group(1))
    assert 0.6 < nmi < 0.8
    error = re.search(r"test error +([\d.]+%)", done.stdout).group(1)
    assert float(error[:-1]) < 3
    for word in ("adjusted Rand", "inertia", "trace error", "cluster sizes", "training residual", "seconds"):
        assert word in done.stdout
    assert re.search(r"dashboard: http://\S+/status", done.stderr)
    assert "fit: " in done.stderr
    assert "Warning" not in done.stderr
    assert "Traceback" not in done.stderr
    report = (out / "report.html").read_text(encoding="utf-8")
    assert f"{nmi:.3f}" in report
    assert f"{error} of 3,498 test rows are put in a wrong class" in report
    assert re.search(r"epoch 6: training residual", done.stderr)
    assert dk.load(out / "model.zarr", data=str(out / "pendigits.zarr")).classes_.tolist() == list(range(10))
    assert "CC BY 4.0" in report


@pytest.mark.slow
def test_demo_can_be_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.demo.LEARN", LearnRequest(kernel="laplacian", epochs=1))
    monkeypatch.setattr("pipelines.demo.write_report", lambda *_arguments: None)
    tables = []
    for _ in range(2):
        assert main(["demo", "--out", str(tmp_path), "--scheduler", "threads", "--quiet"]) == 0
        figures = capsys.readouterr().out.split("seconds")[0]
        tables.append(re.sub(r"rows predicted in one pass.*", "", figures))  # chosen for the machine
    assert tables[0] == tables[1]


def test_demo_needs_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["", " "])
def test_demo_needs_a_name(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", out]) == 2
    assert "--out: the path is empty" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal to a process group, as a terminal does")
def test_interrupt(tmp_path: Path) -> None:
    job = subprocess.Popen(
        [*PIPELINES, "demo", "--out", str(tmp_path / "demo")],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (tmp_path / "demo" / "pendigits.zarr" / "zarr.json").exists():
        time.sleep(0.05)
        assert job.poll() is None
    time.sleep(0.5)  # the workers are starting
    os.killpg(job.pid, signal.SIGINT)
    out, error = job.communicate(timeout=60)
    assert job.returncode == 130, error
    assert not out
    assert error.endswith("pipelines demo: error: interrupted\n"), error
    assert "Traceback" not in error
