"""The command line of named data: what it prints, and one line with code 2 for what it cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from datasets import registry
from datasets.cli import main
from datasets.spec import MadeSpec
from datasets.text_table import aligned, size_text


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    header, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["name", "rows", "columns", "classes", "at", "most", "from"]
    assert tuple(row[0] for row in rows) == registry.names()
    shown = {row[0]: row[1:] for row in rows}
    assert shown["pendigits"] == ["7494", "16", "10", "150", "kB", "shipped"]
    assert shown["mnist"] == ["60000", "784", "10", "47.3", "MB", "download"]
    assert shown["higgs"] == ["10500000", "28", "2", "1.22", "GB", "download"]
    assert shown["timit_like"] == ["1100000", "440", "144", "1.94", "GB", "made"]


@pytest.mark.parametrize("name", registry.names())
def test_show(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", name]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    spec = registry.spec(name)
    for fact in (spec.title, spec.summary, spec.licence, spec.source, spec.citation, spec.origin):
        assert " ".join(fact.split()) in shown
    for part in spec.parts:
        assert f"{part.X.member}: {part.X.shape[0]} x {part.X.shape[1]}, " in shown
        hidden = part.pinned or isinstance(spec, MadeSpec)
        assert ("not pinned: the build prints the sha256" in shown) == (not hidden)
        for file in part.files:
            assert file.urls[0] in shown


def test_show_names_what_is_made_and_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "timit_like"]) == 0
    assert "daskkernels.block.speech:speech_rows, seed 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "mnits"], "no data set named 'mnits'"),
        (["build", "pendigits"], "--out"),
        (["build", "pendigits", "--out", "x", "--part", "all"], "no part 'all'"),
        (["build", "pendigits", "--out", ""], "--out: the path is empty"),
        (["build", "pendigits", "--out", "x", "--raw", ""], "--raw: the path is empty"),
        (["build", "pendigits", "--out", "x", "--raw", "nowhere"], "--raw nowhere: no such file or folder"),
        (["build", "pendigits", "--out", "nowhere://bucket/x"], "--out nowhere://bucket/x: "),
        (["biuld"], "invalid choice"),
        ([], "COMMAND"),
    ],
)
def test_wrong_input(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    out, error = capsys.readouterr()
    assert not out
    assert message in error
    assert error.count("\n") == 1


def test_build_once_and_again_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "p.zarr")
    assert main(["build", "pendigits", "--out", path, "--part", "test"]) == 0
    out, error = capsys.readouterr()
    assert out == f"{path}: 3498 rows, 16 columns, uint8\n"
    assert not error, "no progress bar where stderr is not a terminal"
    assert main(["build", "pendigits", "--out", path]) == 2
    error = capsys.readouterr().err
    assert path in error
    assert error.count("\n") == 1
    assert main(["build", "pendigits", "--out", path, "--overwrite"]) == 0
    assert dk.open_dataset(path).n_rows == 7494


def test_build_from_the_users_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = {"X_test": np.zeros((10000, 1024), "u1"), "y_test": np.zeros(10000, "u1")}
    np.savez_compressed(tmp_path / "grey.npz", **arrays)
    argv = ["build", "cifar10_grey", "--part", "test", "--raw", str(tmp_path / "grey.npz")]
    assert main([*argv, "--out", str(tmp_path / "g.zarr")]) == 0
    out, error = capsys.readouterr()
    assert out == f"{tmp_path / 'g.zarr'}: 10000 rows, 1024 columns, uint8\n"
    assert [line.split()[:2] for line in error.splitlines()] == [["X_test:", "sha256"], ["y_test:", "sha256"]]
    assert dk.open_dataset(tmp_path / "g.zarr").feature_shape == (32, 32)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("list", "show", "build", "ingest"))


def test_module_runs_from_the_checkout() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "datasets", "list"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "pendigits" in done.stdout
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not loaded & {"daskkernels", "pandas", "pyarrow", "h5py", "pooch"}, "listing needs none of them"


def test_table_wraps_its_last_column() -> None:
    lines = aligned([("a", "one two three four five six seven"), ("bb", "short")], width=34).splitlines()
    assert lines == ["a   one two three four five six", "    seven", "bb  short"]


def test_sizes_are_readable() -> None:
    sizes = (7, 999, 1000, 149_880, 47_280_000, 1_940_000_000, 5e12)
    shown = ["7 B", "999 B", "1 kB", "150 kB", "47.3 MB", "1.94 GB", "5e+03 GB"]
    assert [size_text(size) for size in sizes] == shown
