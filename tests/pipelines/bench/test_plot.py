"""Tests of the picture: every ratio and every share is in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="pictures need the app extra")

from pipelines.bench.plot import draw
from pipelines.bench.records import Limit
from tests.pipelines.bench.rows import row


def test_picture(made_run: Callable, tmp_path: Path) -> None:
    limits = (Limit("zstd", 4.0, 1.0, "GB/s"), Limit("unheard of", 10.0, 12.0, "GB/s"))
    run = made_run(
        row("raced", (1.0,), (2.5,), asked=1.8),
        row("limited", (1.0,), limits=limits, judged=False),
        row("solitary", (1.0,)),
        row("scored", (0.5,), (0.4,), unit="NMI"),
    )
    draw(run, tmp_path / "run.svg")
    text = (tmp_path / "run.svg").read_text()
    for word in (
        "raced",
        "2.50  (1 s, peer 2.5 s)",
        "limited (not judged): zstd",
        "25 %",
        "120 %",
        "asked for",
    ):
        assert word in text
    assert "solitary" not in text
    assert "scored" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["run.svg"]


def test_an_empty_picture(made_run: Callable, tmp_path: Path) -> None:
    draw(made_run(row(ours=(1.0,))), tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")


def test_a_source_with_dollars_is_no_formula(made_run: Callable, tmp_path: Path) -> None:
    run = dataclasses.replace(made_run(row(ours=(1.0,))), data="$a_{$")
    draw(run, tmp_path / "run.svg")
    assert "$a_{$" in (tmp_path / "run.svg").read_text()
