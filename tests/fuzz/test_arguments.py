"""Arguments of the command lines, one wrong at a time: code 1 or 2 and one line that names it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
import datasets.build
import datasets.cli
import pipelines.cli
import pipelines.cluster
import pipelines.demo
import pipelines.learning.predict
import pipelines.learning.train
from tests.fuzz.values import TEXTS

CASES = 100  # of each command
ABOUT_FILES = ("bench", "ingest")  # what is wrong may be what the file holds, or that it is not there
VALUES = [text for text in TEXTS if ("http" not in text and text.isprintable()) or "\n" in text]
VALUES += ["-1", "0", "1", "2", "3.5", "1e9", "1e400", "-inf", "nan", "9" * 400, "0x10", "٣", "²", "-"]
VALUES += [
    "true",
    "None",
    "--",
    "-x",
    "--out",
    "~nobody-of-that-name",
    "nonsense://x",
    "s3x::y",
    "a,b",
    "1:2:3",
]
VALUES += [
    "2GiB",
    "-2GiB",
    "GiB",
    "1e30GiB",
    "tcp://nowhere",
    "threads",
    "local",
    "median",
    "balanced",
    "1/0",
]


class Reached(BaseException):
    """All arguments were taken: what follows is work."""


@contextmanager
def _reached(*_: Any, **__: Any) -> Iterator[None]:
    raise Reached
    yield


def _built(*_: Any, **__: Any) -> None:
    raise Reached


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset, a model and a table of text; work that is never begun; a folder of its own to be in."""
    X = np.random.default_rng(0).normal(size=(60, 3)).astype("f4")
    data = dk.write_dataset(tmp_path / "d.zarr", X, np.where(X[:, 0] > 0, "up", "down"))
    dk.save(dk.EigenProClassifier(max_epochs=1, random_state=0).fit(data.X, data.y), tmp_path / "m.zarr")
    dk.write_dataset(tmp_path / "i.zarr", (X > 0).astype("u1"), feature_shape=(1, 3))
    (tmp_path / "t.csv").write_text("a,b,c\n" + "\n".join(f"{i},{i * i},{i % 2}" for i in range(9)))
    for module in (pipelines.cluster, pipelines.demo, pipelines.learning.train, pipelines.learning.predict):
        monkeypatch.setattr(module, "connected", _reached)
    monkeypatch.setattr(datasets.build, "build", _built)
    monkeypatch.chdir(tmp_path)
    return tmp_path


SESSION = ["--scheduler", "--workers", "--memory-limit"]
KERNEL = ["--kernel", "--bandwidth", "--factor", "--seed"]
# Whose main, the command and its arguments, options to spoil.
COMMANDS: dict[str, tuple[Any, list[str], list[str]]] = {
    "cluster": (
        pipelines.cli.main,
        ["cluster", "d.zarr", "--clusters", "3", "-q"],
        [*KERNEL, *SESSION, "--clusters", "--landmarks", "--components", "--n-init", "--out", "--report"],
    ),
    "train": (
        pipelines.cli.main,
        ["train", "d.zarr", "--out", "new.zarr", "-q"],
        [
            *(
                *KERNEL,
                *SESSION,
                "--test",
                "--validation-fraction",
                "--epochs",
                "--patience",
                "--class-weight",
            ),
            *("--out", "--checkpoint", "--report"),
        ],
    ),
    "predict": (
        pipelines.cli.main,
        ["predict", "m.zarr", "d.zarr", "--out", "new.zarr", "-q"],
        [*SESSION, "--out", "--centers"],
    ),
    "demo": (pipelines.cli.main, ["demo", "--out", "new", "-q"], [*SESSION, "--out", "--seed"]),
    "bench": (
        pipelines.cli.main,
        ["bench", "--compare", "a.json", "b.json", "-q"],
        ["--only", "--data", "--threads", "--calibration", "--scratch", "--json", "--plot"],
    ),
    "build": (
        datasets.cli.main,
        ["build", "pendigits", "--out", "new.zarr"],
        ["--out", "--part", "--raw"],
    ),
    "ingest": (
        datasets.cli.main,
        ["ingest", "t.csv", "--out", "new.zarr", "--quiet"],
        [
            *("--out", "--format", "--features", "--label", "--label-type", "--delimiter", "--n-features"),
            *("--dtype", "--scale"),
        ],
    ),
    "sheet": (
        datasets.cli.main,
        ["sheet", "i.zarr", "--out", "new.png"],
        ["--out", "--rows", "--columns", "--start", "--step"],
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_one_wrong_argument(made: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main, right, options = COMMANDS[command]
    source = random.Random(command)
    for _ in range(CASES):
        option, value = source.choice([*options, "positional", "unknown"]), source.choice(VALUES)
        argv = spoiled(right, option, value)
        shutil.rmtree("new.zarr", ignore_errors=True)
        code, lines = outcome(main, argv, capsys)
        assert code in (None, 0, 1, 2), f"{argv}: {code}, {lines}"
        if code in (1, 2):
            shown = [line for line in lines if not line.startswith("warning: ")]
            assert len(shown) == 1, f"{argv}: {lines}"
            assert is_named(option, value, shown[0]) or command in ABOUT_FILES, f"{argv}: {shown[0][:500]}"


def is_named(option: str, value: str, line: str) -> bool:
    """Whether the line tells which argument is meant: its name, or a part of what was given."""
    parts = [part for part in re.split(r"\W", value[:50]) if part]
    named = option in ("positional", "unknown") or option.lstrip("-") in line
    return named or "column" in line or any(part in line for part in parts)


def spoiled(right: list[str], option: str, value: str) -> list[str]:
    """The arguments with another value of the option; joined, so that a value may begin with a dash."""
    if option == "unknown":
        return [*right, f"--{value}"]
    if option == "positional":
        return [right[0], value, *right[2:]]
    return [*right, f"{option}={value}"]


def outcome(main: Any, argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int | None, list[str]]:
    """The exit code, None where the work would have begun, and the lines on stderr."""
    capsys.readouterr()
    try:
        code = main(argv)
    except Reached:
        code = None
    except Exception as error:
        raise AssertionError(f"{[text[:200] for text in argv]} ended in a traceback") from error
    return code, capsys.readouterr().err.splitlines()
