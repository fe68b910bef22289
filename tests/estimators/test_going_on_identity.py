"""Tests: which fits are gone on with, and which are refused at the door: other data, seeds, paths."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import daskkernels as dk
from daskkernels.block.targets import digest, merge_digests
from daskkernels.errors import InputError
from daskkernels.estimators.identity import kernel_words
from daskkernels.kernels import CallableKernel

RNG = np.random.default_rng(0)
X, NOISE = RNG.normal(size=(80, 3)), RNG.normal(size=(80, 2))
Y = (X[:, 0] > 0).astype(int)


def classifier(**options: Any) -> dk.EigenProClassifier:
    given = {"max_epochs": 3, "n_subsamples": 30, "random_state": 0}
    return dk.EigenProClassifier(**(given | options))


def regressor(**options: Any) -> dk.EigenProRegressor:
    return dk.EigenProRegressor(**({"max_epochs": 3, "n_subsamples": 30, "random_state": 0} | options))


def falkon(**options: Any) -> dk.FalkonClassifier:
    return dk.FalkonClassifier(**({"max_iter": 3, "n_centers": 20, "random_state": 0} | options))


CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "inverted": lambda y: y.max() + y.min() - y,
    "permuted": lambda y: np.random.default_rng(1).permutation(y),
    "one row": lambda y: np.concatenate([y[:-1], y[:1] + y[-2:-1] - y[-1:] if y.ndim > 1 else 1 - y[-1:]]),
    "reversed": lambda y: y[::-1].copy(),
}


# --- targets -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("make", "y"), [(classifier, Y), (regressor, NOISE), (regressor, Y)])
def test_other_targets_are_another_fit(tmp_path: Path, make: Any, y: np.ndarray, change: str) -> None:
    other = CHANGES[change](y)
    model = make(warm_start=True).fit(X, y, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match=r"warm_start=True goes on .* targets or a parameter has changed"):
        model.fit(X, other)
    with pytest.raises(InputError, match="another fit: the data, the targets or a parameter has changed"):
        make().fit(X, other, checkpoint=tmp_path / "c", resume=True)


@pytest.mark.parametrize("make", [classifier, regressor])
def test_any_chunks_and_types_of_the_same_targets_go_on(tmp_path: Path, make: Any) -> None:
    whole = make().fit(X, Y)
    make(max_epochs=1).fit(X, Y, checkpoint=tmp_path / "c")
    lazy = (da.from_array(X, chunks=(17, -1)), da.from_array(Y.astype("i2"), chunks=33))
    again = make().fit(*lazy, checkpoint=tmp_path / "c", resume=True)
    np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)


def test_order_counts_over_blocks() -> None:
    """Blocks that are exchanged, and a label that moves from one to the other."""
    parts = [digest(np.arange(5)), digest(np.arange(5, 9)), digest(np.arange(4, 9))]
    assert merge_digests(parts[:2]) != merge_digests(parts[1::-1])
    assert merge_digests(parts[:2]) == merge_digests([digest(np.arange(5.0)), digest(np.arange(5.0, 9.0))])
    assert merge_digests(parts[:2]) != merge_digests([digest(np.arange(4)), parts[2]])


def test_other_rows_are_another_fit(tmp_path: Path) -> None:
    """Plain gradient descent has nothing else of its subsample."""
    options = {"n_directions": 1, "batch_size": 10, "step_size": 0.1}
    classifier(**options).fit(X, Y, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="another fit"):
        classifier(**options).fit(X + NOISE[:, :1], Y, checkpoint=tmp_path / "c", resume=True)


# --- seeds -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [classifier, falkon])
def test_another_seed_is_refused(tmp_path: Path, make: Any) -> None:
    whole = make(random_state=7).fit(X, Y, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match=r"random_state=8 is of another fit: .* has the seed 7; give"):
        make(random_state=8).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    for same in (7, np.int64(7), None):
        again = make(random_state=same).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
        np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
    make(random_state=None).fit(X, Y, checkpoint=tmp_path / "free")
    with pytest.raises(InputError, match="random_state=0 is of another fit"):
        make(random_state=0).fit(X, Y, checkpoint=tmp_path / "free", resume=True)


# --- places ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [classifier, falkon])
@pytest.mark.parametrize("path", ["", "/", "//", "/tmp/..", "file:///", "memory://"])
def test_no_checkpoint_in_the_root(make: Any, path: str) -> None:
    with pytest.raises(InputError, match=r"^checkpoint='.*path"):
        make().fit(X, Y, checkpoint=path)
    with pytest.raises(InputError, match=r"^checkpoint='.*path"):
        make().fit(X, Y, checkpoint=path, resume=True)


def test_a_link_to_the_root_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(InputError, match="the root of a file system"):
        classifier().fit(X, Y, checkpoint=tmp_path / "link")


@pytest.mark.parametrize("below", [".", "c", "c/d"])
def test_a_place_that_cannot_be_written_is_told_at_the_door(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"checkpoint='.*file.*' cannot be written: .*give another folder"):
        falkon().fit(X, Y, checkpoint=tmp_path / "file" / below)
    with pytest.raises(InputError, match=r"checkpoint='/proc/.*cannot be written"):
        classifier().fit(X, Y, checkpoint="/proc/" + below.replace(".", "sys"))
    assert (tmp_path / "file").read_text() == "mine"


# --- damage ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [classifier, falkon])
@pytest.mark.parametrize("damage", ["cut", "record", "chunks"])
def test_damage_in_both_places_is_told(tmp_path: Path, make: Any, damage: str) -> None:
    make().fit(X, Y, checkpoint=tmp_path / "c")
    for slot in (tmp_path / "c" / "0", tmp_path / "c" / "1"):
        if damage == "chunks":
            for chunk in [path for path in slot.rglob("*") if path.is_file() and path.name != "zarr.json"]:
                chunk.unlink()
            continue
        text = (slot / "zarr.json").read_text()
        (slot / "zarr.json").write_text(text[:40] if damage == "cut" else text.replace("entropy", "atrophy"))
    with pytest.raises(InputError, match="is damaged, or its first save was never finished"):
        make().fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    with pytest.raises(InputError, match="holds no fit that could be resumed"):
        make().fit(X, Y, checkpoint=tmp_path / "another", resume=True)


# --- more than asked ---------------------------------------------------------------------------------------
def test_fewer_epochs_than_there_are(tmp_path: Path) -> None:
    """The model is the further one, and that is told; as many as there are is no reason to warn."""
    for make, knob in ((classifier, "max_epochs"), (falkon, "max_iter")):
        path = tmp_path / knob
        done = make(warm_start=True) if make is classifier else make()
        done.fit(X, Y, checkpoint=path)
        with pytest.warns(UserWarning, match=f"{knob}=2, but the fit .* is further, at 3: .*raise {knob}"):
            again = make(**{knob: 2}).fit(X, Y, checkpoint=path, resume=True)
        np.testing.assert_array_equal(again.dual_coef_, done.dual_coef_)
        make(**{knob: 3}).fit(X, Y, checkpoint=path, resume=True)
        if make is classifier:
            with pytest.warns(UserWarning, match="max_epochs=1, but"):
                done.set_params(max_epochs=1).fit(X, Y)


# --- kernel functions --------------------------------------------------------------------------------------
class Scaled:
    """A callable object."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return self.scale * (A @ B.T)


def scaled(scale: float) -> Callable[..., Any]:
    def product(A: np.ndarray, B: np.ndarray, names: Any = frozenset({"a", "b", "c"})) -> np.ndarray:
        return scale * (A @ B.T) + (0.0 if "a" in {"a", "b", "c"} else 1.0)

    return product


def recursive() -> Callable[..., Any]:
    def first(A: np.ndarray, B: np.ndarray) -> Any:
        return (first, second)

    def second(A: np.ndarray, B: np.ndarray) -> Any:
        return (second, first)

    return first


def product(A: np.ndarray, B: np.ndarray, scale: Any) -> np.ndarray:
    return scale * (A @ B.T)


FUNCTIONS: list[Callable[[float], Any]] = [
    scaled,
    Scaled,
    lambda scale: Scaled(scale).__call__,
    lambda scale: partial(product, scale=scale),
    lambda scale: partial(product, scale=np.full(3, scale)),
    lambda scale: lambda A, B, scale=scale: scale * (A @ B.T),
]


def all_words(scale: float) -> list[str]:
    made = [make(scale) for make in FUNCTIONS] + [recursive(), np.exp, len, np.linalg.norm]
    return [kernel_words(CallableKernel(function)) for function in made]


def test_functions_are_the_same_in_every_process() -> None:
    here = all_words(1.5)
    code = f"import {__name__} as t; print('\\n'.join(t.all_words(1.5)))"
    command = [sys.executable, "-c", code]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert here == there
    assert len(set(here)) == len(here)
    changed = all_words(2.5)
    assert [a == b for a, b in zip(here, changed, strict=True)] == [False] * len(FUNCTIONS) + [True] * 4


def test_a_fit_with_a_function_goes_on(tmp_path: Path) -> None:
    """An equal function at another address, and one that is bound to another value."""
    classifier(kernel=scaled(1.0), max_epochs=1).fit(X, Y, checkpoint=tmp_path / "c")
    again = classifier(kernel=scaled(1.0)).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
    assert again.n_epochs_ == 3
    with pytest.raises(InputError, match="another fit"):
        classifier(kernel=scaled(1.0 + 1e-15)).fit(X, Y, checkpoint=tmp_path / "c", resume=True)
