"""The command line of named data: what it prints, and one line with code 2 for what it cannot do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from datasets.cli import main
from datasets.text_table import aligned


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "rows", "columns", "classes", "title"]
    assert row.split()[:4] == ["pendigits", "7494", "16", "10"]


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "pendigits"]) == 0
    shown = capsys.readouterr().out
    for fact in ("7494 x 16", "3498 x 16", "CC BY 4.0", "10.24432/C5MG6K", "Alpaydin", "sha256"):
        assert fact in shown


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["show", "mnits"], "no data set named 'mnits'"),
        (["build", "pendigits"], "--out"),
        (["build", "pendigits", "--out", "x", "--part", "all"], "no part 'all'"),
        (["build", "pendigits", "--out", ""], "--out: the path is empty"),
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


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("list", "show", "build"))


def test_module_runs_from_the_checkout() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "datasets", "list"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "pendigits" in done.stdout


def test_table_wraps_its_last_column() -> None:
    lines = aligned([("a", "one two three four five six seven"), ("bb", "short")], width=34).splitlines()
    assert lines == ["a   one two three four five six", "    seven", "bb  short"]
