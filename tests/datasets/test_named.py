"""Named data: every specification is true of its raw file, and its licence travels with it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from datasets import registry
from datasets.digest import array_sha256
from datasets.spec import RAW_FOLDER


@pytest.mark.parametrize("name", registry.names())
def test_specification_is_true(name: str) -> None:
    spec = registry.spec(name)
    with np.load(spec.raw_path, allow_pickle=False) as raw:
        for part in spec.parts:
            for promised in (part.X, part.y):
                array = raw[promised.member]
                assert (array.shape, array.dtype.str) == (promised.shape, promised.dtype)
                assert array_sha256(array) == promised.sha256
            assert len(np.unique(raw[part.y.member])) == spec.n_classes
            assert part.X.shape[1] == len(spec.feature_names)


@pytest.mark.parametrize("name", registry.names())
def test_licence_travels_with_the_file(name: str) -> None:
    spec = registry.spec(name)
    note = (RAW_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert spec.licence in note
    assert spec.source in note


def test_shipped_files_are_small() -> None:
    assert sum(path.stat().st_size for path in RAW_FOLDER.iterdir()) < 300_000


def test_specifications_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        registry.spec("pendigits").name = "other"


@pytest.mark.parametrize(
    ("name", "hint"), [("pendigit", "did you mean 'pendigits'"), ("zzz", "known: pendigits")]
)
def test_unknown_names(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match=hint):
        registry.spec(name)


def test_unknown_parts() -> None:
    with pytest.raises(ValueError, match="no part 'all'; its parts are: train, test"):
        registry.spec("pendigits").part("all")


def test_fingerprint_depends_on_type_shape_and_values() -> None:
    array = np.arange(6, dtype="u1")
    others = [array.astype("u2"), array.reshape(2, 3), array[::-1]]
    assert len({array_sha256(a) for a in (array, *others)}) == 4
    assert array_sha256(np.asfortranarray(array.reshape(2, 3))) == array_sha256(array.reshape(2, 3))
