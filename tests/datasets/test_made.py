"""Made data: the same rows whoever makes them, a build that goes on, pictures that can be looked at."""

from __future__ import annotations

import bz2
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import daskkernels as dk
from daskkernels.block.digits import digit_rows
from daskkernels.block.speech import speech_rows
from datasets import registry
from datasets.build import build
from datasets.cli import main
from datasets.made import build_made, maker
from datasets.spec import ArraySpec, MadeSpec, Part

MNIST = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist.npz"
needs_mnist = pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} is absent")


def small(name: str, n: int, part: str = "train") -> tuple[MadeSpec, Part]:
    """A made data set cut to its first rows."""
    spec = registry.spec(name)
    assert isinstance(spec, MadeSpec)
    whole = spec.part(part)
    assert whole.y is not None
    X = replace(whole.X, shape=(n, whole.X.shape[1]))
    return spec, replace(whole, X=X, y=replace(whole.y, shape=(n,)))


@pytest.mark.parametrize("part", ["train", "test"])
def test_speech(tmp_path: Path, part: str) -> None:
    spec, first = small("timit_like", 5000, part)
    data = build_made(spec, first, tmp_path / "d.zarr")
    X, y = speech_rows(0, 5000, first=first.first_row)
    np.testing.assert_array_equal(data.X.compute(), X)
    np.testing.assert_array_equal(data.y.compute(), y)
    assert data.classes == spec.classes


@needs_mnist
def test_digits(tmp_path: Path) -> None:
    """The originals come first; afterwards nothing but the dataset is left."""
    spec, part = small("mnist8m", 63_000)
    data = build_made(spec, part, tmp_path / "d.zarr", raw=MNIST)
    with np.load(MNIST) as arrays:
        images, labels = arrays["X"], arrays["y"]
    np.testing.assert_array_equal(data.X[:60_000].compute(), images)
    made, y = digit_rows(60_000, 63_000, images=images, labels=labels)
    np.testing.assert_array_equal(data.X[60_000:].compute(), made)
    np.testing.assert_array_equal(data.y.compute(), np.concatenate([labels, y]))
    assert (data.feature_shape, data.dtype) == ((28, 28), np.uint8)
    assert [entry.name for entry in tmp_path.iterdir()] == ["d.zarr"]


def test_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made before a stop is not made again."""
    spec, part = small("timit_like", 9000)
    made: list[int] = []
    stop = [True]

    def rows(start: int, end: int, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        if stop[0] and start == 4096:
            raise KeyboardInterrupt
        made.append(start)
        return speech_rows(start, end, **options)

    monkeypatch.setattr("daskkernels.block.speech.speech_rows", rows)
    said: list[str] = []
    with dask.config.set(scheduler="sync"):
        with pytest.raises(KeyboardInterrupt):
            build_made(spec, part, tmp_path / "d.zarr", say=said.append)
        before, stop[0] = set(made), False
        data = build_made(spec, part, tmp_path / "d.zarr")
    assert before
    assert len(made) == len(set(made)) == 9  # each block of 1024 rows once, over both attempts
    assert said == [f"{tmp_path / 'd.zarr'}: not finished; the same command goes on with it"]
    np.testing.assert_array_equal(data.X[4000:4200].compute(), speech_rows(4000, 4200)[0])


def test_the_recipe_is_part_of_the_identity() -> None:
    spec, part = small("timit_like", 100)
    recipes = [(seed, first) for seed in (0, 1) for first in (0, 9)]
    texts = {maker(replace(spec, seed=s), replace(part, first_row=f), None)[1] for s, f in recipes}
    assert len(texts) == 4


def test_the_published_file_is_read(tmp_path: Path) -> None:
    """LIBSVM rows of bytes under the published name are read, not made."""
    spec, part = small("mnist8m", 3)
    spec = replace(spec, parts=(replace(part, X=ArraySpec("X", (3, 784), "|u1"), files=part.files),))
    (tmp_path / "mnist8m.bz2").write_bytes(bz2.compress(b"5 1:3 784:255\n0 2:7\n4\n"))
    data = build(spec, tmp_path / "d.zarr", raw=tmp_path / "mnist8m.bz2")
    wanted = np.zeros((3, 784), "u1")
    wanted[0, [0, 783]], wanted[1, 1] = (3, 255), 7
    np.testing.assert_array_equal(data.X.compute(), wanted)
    assert data.y.compute().tolist() == [5, 0, 4]


def test_contact_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    grey, colour = rng.integers(0, 256, (7, 12), dtype="u1"), rng.integers(0, 256, (4, 27), dtype="u1")
    dk.write_dataset(tmp_path / "g.zarr", grey, feature_shape=(3, 4))
    dk.write_dataset(tmp_path / "c.zarr", colour, feature_shape=(3, 3, 3))
    dk.write_dataset(tmp_path / "t.zarr", grey)
    for name in "gc":
        argv = ["sheet", str(tmp_path / f"{name}.zarr"), "--out", str(tmp_path / f"{name}.png")]
        assert main([*argv, "--rows", "2", "--columns", "3"]) == 0
    picture = np.asarray(Image.open(tmp_path / "g.png"))
    assert picture.shape == (6, 12)
    np.testing.assert_array_equal(255 - picture[3:, 4:8], grey[4].reshape(3, 4))
    picture = np.asarray(Image.open(tmp_path / "c.png"))
    np.testing.assert_array_equal(picture[3:, :3], colour[3].reshape(3, 3, 3))
    capsys.readouterr()
    assert main(["sheet", str(tmp_path / "t.zarr"), "--out", str(tmp_path / "t.png")]) == 2
    assert "rows are not 8-bit images" in capsys.readouterr().err
