"""Outputs that cannot be written are refused before anything runs; a command in a report can be repeated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datasets.address import check_protocol
from pipelines.failures import InputError
from pipelines.outputs import check_folder, check_outputs
from pipelines.provenance import command_line, repeatable
from pipelines.requests import ClusterRequest, ModelRequest, SessionRequest


def check(out: str | None = None, report: Path | None = None) -> None:
    check_outputs(ClusterRequest("data.zarr", ModelRequest(3), SessionRequest(), "", out, report))


def test_good_outputs(tmp_path: Path) -> None:
    check(str(tmp_path / "new" / "labels.zarr"), tmp_path / "report.html")
    check("memory://labels.zarr", tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["same", "new/../same", "same/labels.zarr"])
def test_two_outputs_at_one_path(tmp_path: Path, out: str) -> None:
    with pytest.raises(InputError, match=r"--out .* and --report .*: wanted two different paths"):
        check(f"{tmp_path}/{out}", tmp_path / "same")


def test_below_a_file(tmp_path: Path) -> None:
    below = tmp_path / "file" / "x"
    below.parent.write_text("")
    for option, attempt in (("out", lambda: check(str(below))), ("report", lambda: check(None, below))):
        with pytest.raises(InputError, match=f"--{option} {below}: {below.parent} is not a folder"):
            attempt()
    with pytest.raises(InputError, match=f"--out {below}: "):
        check_folder(below)


def test_not_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_arguments: False)  # root may write anywhere
    with pytest.raises(InputError, match=f"--out {tmp_path}/new/x: {tmp_path} is not writable"):
        check(f"{tmp_path}/new/x")
    with pytest.raises(InputError, match=f"--report {tmp_path}/x: {tmp_path} is not writable"):
        check(None, tmp_path / "x")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--report .*: File name too long"):
        check(None, tmp_path / ("x" * 300))


def test_a_protocol_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(protocol: str) -> None:
        raise ImportError(f"Install {protocol}fs")

    monkeypatch.setattr("fsspec.get_filesystem_class", missing)
    for address in ("s3://bucket/x", "simplecache::s3://bucket/x"):
        with pytest.raises(ValueError, match=f"^{address}: Install "):
            check_protocol(address)
    check_protocol("folder/s3")


@pytest.mark.parametrize(
    "outputs", [["--out", "a b", "--report", "r.html"], ["--out=a", "--rep=r"], ["--ou", "a"], []]
)
def test_the_command_without_its_outputs(outputs: list[str]) -> None:
    typed = command_line(["cluster", "my data", *outputs, "--clusters", "3"])
    assert repeatable(typed) == "python -m pipelines cluster 'my data' --clusters 3"


def test_the_demonstration_replaces_its_output() -> None:
    assert repeatable("python -m pipelines demo --out there") == "python -m pipelines demo --out there"


def test_a_training_cannot_do_without_its_output() -> None:
    assert repeatable("python -m pipelines train x --out m") == "python -m pipelines train x --out m"
