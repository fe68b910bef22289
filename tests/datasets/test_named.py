"""Named data: every specification is well-formed and true of its arrays, and its licence travels with it."""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from datasets import registry
from datasets.digest import array_sha256
from datasets.spec import RAW_FOLDER, DatasetSpec, MadeSpec

NAMES = registry.names()
SHIPPED = [name for name in NAMES if registry.spec(name).shipped]
MADE = [name for name in NAMES if isinstance(registry.spec(name), MadeSpec)]
DOWNLOADED = [name for name in NAMES if name not in {*SHIPPED, *MADE}]
DIGITS = {"md5": 32, "sha256": 64}


def test_all_are_listed() -> None:
    files = {path.stem for path in Path(registry.__file__).with_name("named").glob("[a-z]*.py")}
    assert files == set(NAMES)
    assert len(SHIPPED) >= 2
    assert len(DOWNLOADED) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_specification_is_well_formed(name: str) -> None:
    spec = registry.spec(name)
    for text in (spec.title, spec.summary, spec.licence, spec.citation, spec.source):
        assert text.strip() == text != ""
    assert spec.summary.endswith(".")
    assert len(set(spec.classes)) == spec.n_classes > 1
    assert len({type(label) for label in spec.classes}) == 1
    assert len({part.name for part in spec.parts}) == len(spec.parts)
    members = [array.member for part in spec.parts for array in part.arrays]
    assert len(set(members)) == len(members), "an .npz file holds all parts"
    for part in spec.parts:
        n_rows, n_features = part.X.shape
        assert part.y is not None
        assert part.y.shape == (n_rows,)
        assert spec.feature_names is None or len(spec.feature_names) == n_features
        assert spec.feature_shape is None or math.prod(spec.feature_shape) == n_features
        for array in part.arrays:
            assert np.dtype(array.dtype).str == array.dtype
            assert array.sha256 is None or re.fullmatch("[0-9a-f]{64}", array.sha256)
    if spec.feature_names is not None:
        assert len(set(spec.feature_names)) == len(spec.feature_names)


@pytest.mark.parametrize("name", DOWNLOADED)
def test_original_files_are_described(name: str) -> None:
    spec = registry.spec(name)
    for part in spec.parts:
        assert part.decode is not None
        assert part.files
        for file in part.files:
            assert all(url.startswith(("https://", "http://")) for url in file.urls)
            assert file.urls[0].endswith(f"/{file.name}")
            algorithm, _, digest = file.checksum.partition(":")
            assert re.fullmatch(f"[0-9a-f]{{{DIGITS[algorithm]}}}", digest)
            assert part.pinned or file.checksum, "nothing else would tell whether the numbers are right"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_as_promised(name: str) -> None:
    spec = registry.spec(name)
    with np.load(RAW_FOLDER / spec.shipped, allow_pickle=False) as raw:
        for part in spec.parts:
            for promised in part.arrays:
                array = raw[promised.member]
                assert (array.shape, array.dtype.str) == (promised.shape, promised.dtype)
                assert array_sha256(array) == promised.sha256
            assert len(np.unique(raw[part.y.member])) == spec.n_classes


@pytest.mark.parametrize("name", SHIPPED)
def test_licence_travels_with_the_file(name: str) -> None:
    spec = registry.spec(name)
    note = (RAW_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert spec.licence in note
    assert spec.source in note


def test_shipped_files_are_small() -> None:
    assert sum(path.stat().st_size for path in RAW_FOLDER.iterdir()) < 300_000


def test_made_rows_are_as_promised() -> None:
    """The function of the specification makes rows of this form, for every part from its first row on."""
    spec = registry.spec("timit_like")
    module, _, function = spec.function.partition(":")
    make = getattr(importlib.import_module(module), function)
    seen = []
    for part in spec.parts:
        X, y = make(3, 8, seed=spec.seed, first=part.first_row)
        assert (X.shape, X.dtype.str) == ((5, part.X.shape[1]), part.X.dtype)
        assert (y.shape, y.dtype.str) == ((5,), part.y.dtype)
        assert set(y) <= set(spec.classes)
        seen.append(X)
    assert not np.isin(seen[0], seen[-1]).any(), "the parts share rows"


def test_parts_of_made_data_do_not_overlap() -> None:
    for name in MADE:
        ranges = sorted((part.first_row, part.X.shape[0]) for part in registry.spec(name).parts)
        for (first, length), (second, _) in pairwise(ranges):
            assert first + length <= second


def test_the_words_of_photographs_in_segment() -> None:
    """The names of the classes fit what is measured: the sky is bright and above, grass green and below."""
    spec = registry.spec("segment")
    with np.load(RAW_FOLDER / spec.shipped) as raw:
        means = {label: raw["X"][raw["y"] == code].mean(0) for code, label in enumerate(spec.classes)}
    row, brightness, green = (
        spec.feature_names.index(n) for n in ("region-centroid-row", "intensity-mean", "exgreen-mean")
    )
    assert max(means, key=lambda label: means[label][brightness]) == "sky"
    assert min(means, key=lambda label: means[label][row]) == "sky"
    assert max(means, key=lambda label: means[label][green]) == "grass"
    assert max(means, key=lambda label: means[label][row]) == "grass"


def test_the_page_lists_all_of_them() -> None:
    page = (Path(registry.__file__).parents[1] / "docs" / "named-data.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line[:1] == "|"]
    shown = {row[0]: row[1:] for row in rows[2:]}
    assert tuple(shown) == NAMES
    for name, cells in shown.items():
        spec = registry.spec(name)
        several = len(spec.parts) > 1
        rows_of = [
            f"{part.X.shape[0]} {part.name}" if several else str(part.X.shape[0]) for part in spec.parts
        ]
        facts = [", ".join(rows_of), str(spec.parts[0].X.shape[1]), str(spec.n_classes), spec.origin]
        assert cells[:5] == [*facts, spec.licence]
        assert spec.source in cells[5]


def test_specifications_are_frozen() -> None:
    for name in NAMES:
        with pytest.raises(dataclasses.FrozenInstanceError):
            registry.spec(name).name = "other"
        assert isinstance(registry.spec(name), DatasetSpec)


@pytest.mark.parametrize(
    ("name", "hint"), [("pendigit", "did you mean 'pendigits'"), ("zzz", "known: cifar10, .*, timit_like")]
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
