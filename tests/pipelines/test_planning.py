"""Tests: `python -m pipelines plan`: a table for this machine or a described one, or a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from pipelines.cli import main

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plan") / "d.zarr"
    dk.write_dataset(path, rng.normal(size=(5000, 30)).astype("f4"), rng.integers(0, 3, 5000).astype(str))
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_what_a_job_costs(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, data, "cluster", "--clusters", "4", "--gflops", "100")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:4]] == [
        "bandwidth",
        "nystrom-landmarks",
        "nystrom-gram",
    ]
    assert "peak of a worker" in out
    code, out, err = said(capsys, data, "train", "--epochs", "3", "--gflops", "100")
    assert (code, err) == (0, "")
    stages = {line.split()[0] for line in out.splitlines()}
    assert stages >= {"eigenpro-kernel", "eigenpro-directions", "eigenpro-spectrum", "eigenpro-predict"}


def test_a_described_cluster(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    """More workers and a faster network take less time; what is said is what is shown."""

    def seconds(*machine: str) -> float:
        code, out, _ = said(capsys, data, "train", "--kernel", "gaussian", *machine)
        assert code == 0
        line = next(line for line in out.splitlines() if line.startswith("predicted"))
        value, unit = line.split()[1:3]
        return float(value) * {"ms": 1e-3, "s": 1.0, "min": 60.0}[unit]

    slow = seconds("--workers", "1", "--memory", "4GiB", "--gflops", "1")
    fast = seconds(
        "--workers", "32", "--memory", "128GiB", "--gflops", "900", "--network", "1GiB/s", "--disk", "2GiB/s"
    )
    assert fast < slow / 3
    _, out, _ = said(capsys, data, "train", "--workers", "32", "--memory", "128GiB", "--gflops", "900")
    assert "at 28800 GFLOP/s on 32 x 1 threads" in out
    assert "of 128 GiB" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--workers", "1", "--memory", "220MiB"], "raise --memory-limit"),
        (["train", "--gflops", "-3"], "--gflops -3.0: wanted a positive number"),
        (["train", "--gflops", "nan"], "--gflops nan: wanted a positive number"),
        (["train", "--network", "fast"], "wanted a"),
        (["cluster", "--clusters", "0"], "--clusters"),
        (["cluster"], "--clusters"),
        ([], "JOB"),
    ],
)
def test_refused(data: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, data, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_no_targets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dk.write_dataset(tmp_path / "x.zarr", np.ones((50, 2)))
    code, _, err = said(capsys, str(tmp_path / "x.zarr"), "train")
    assert code == 2
    assert "has no y" in err
    code, _, err = said(capsys, str(tmp_path / "none.zarr"), "train")
    assert code == 2
