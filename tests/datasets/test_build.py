"""Building a named data set: the dataset holds the raw numbers, and a changed raw file leaves none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import daskkernels as dk
from datasets import registry
from datasets.build import build
from datasets.cli import main
from datasets.digest import DigestMismatchError
from datasets.readers import ReaderError

SPEC = registry.spec("pendigits")


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_dataset_holds_the_raw_numbers(tmp_path: Path, part: str) -> None:
    build(SPEC, tmp_path / "p.zarr", part=part)
    data = dk.open_dataset(tmp_path / "p.zarr", verify=True)
    with np.load(SPEC.raw_path) as raw:
        X, y = raw[SPEC.part(part).X.member], raw[SPEC.part(part).y.member]
    assert data.dtype == np.uint8
    np.testing.assert_array_equal(data.X.compute(), X)
    np.testing.assert_array_equal(np.asarray(data.classes)[data.y.compute()], y)
    assert tuple(data.feature_names) == SPEC.feature_names
    assert SPEC.licence in data.source
    assert SPEC.source in data.source


def with_raw(raw: Path) -> object:
    """The specification with another raw file."""
    return dataclasses.replace(SPEC, raw=str(raw))  # an absolute path replaces the folder


def test_a_changed_raw_file_leaves_no_dataset(tmp_path: Path) -> None:
    with np.load(SPEC.raw_path) as raw:
        arrays = dict(raw)
    arrays["X"][7000, 3] ^= 1
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(DigestMismatchError, match=r"changed\.npz: array 'X' has sha256"):
        build(with_raw(tmp_path / "changed.npz"), tmp_path / "p.zarr")
    with pytest.raises(dk.store.StoreError):
        dk.open_dataset(tmp_path / "p.zarr")


def test_a_raw_file_of_another_shape_is_refused_before_writing(tmp_path: Path) -> None:
    np.savez(tmp_path / "short.npz", X=np.zeros((3, 16), "u1"), y=np.zeros(3, "u1"))
    with pytest.raises(ReaderError, match="has shape and type"):
        build(with_raw(tmp_path / "short.npz"), tmp_path / "p.zarr")
    assert not (tmp_path / "p.zarr").exists()


def test_command_builds_once_and_again_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "p.zarr")
    assert main(["build", "pendigits", "--out", path, "--part", "test"]) == 0
    assert "3498 rows, 16 columns, uint8" in capsys.readouterr().out
    assert main(["build", "pendigits", "--out", path]) == 2
    error = capsys.readouterr().err
    assert path in error
    assert error.count("\n") == 1
    assert main(["build", "pendigits", "--out", path, "--overwrite"]) == 0
    assert dk.open_dataset(path).n_rows == 7494
