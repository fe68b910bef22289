"""Layer 6: checkpoints of a fit: what is needed to go on with it, in two places that are written in turns.

A kill at any moment leaves one of the two whole; the newest whole one counts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..callers import warn
from ..events import Reporter
from ..inputs import InputError
from ..rowblocks import RowBlocks, from_dask
from ..runtime import Runtime, WorkersLostError, WorkersPausedError
from ..scratch import store_rows
from ..solvers.eigenpro import Training
from ..solvers.eigenpro_problem import Weights
from ..solvers.judgement import Window
from ..store import (
    ArrayWriter,
    DiskFullError,
    MetadataError,
    StoreError,
    clear_damaged,
    complete_group,
    folder_url,
    full_disk_told,
    is_taken,
    open_array,
    open_group,
    sweep_unfinished,
    to_dask,
    try_folder,
    whole_array,
    write_array,
    writing_group,
)
from .identity import Origin

KIND = "checkpoint"
ARRAYS = ("alpha", "c", "best-alpha", "best-c")
SECONDS = 10.0  # between two checkpoints within an epoch
_OURS = WorkersLostError | WorkersPausedError | DiskFullError
_PLAIN = ("epoch", "rows_done", "residual", "targets", "halvings", "history", "best_loss", "since")


@dataclass(frozen=True)
class Saved(Origin):
    """One checkpoint, opened."""

    url: str
    number: int
    state: dict[str, Any]


class Slots:
    """The two places of a checkpoint under a folder or URL, and what an earlier run has saved there."""

    arrays: tuple[str, ...]  # that may be in them

    def __init__(self, url: str | os.PathLike[str], resume: bool) -> None:
        """Raises InputError when there is a checkpoint that is not to be resumed, or none to resume.

        Also for a path that cannot be written, or must not.
        """
        self.url = _folder(url)
        found, damages = _found(self.url)
        self.saved = max(found, key=lambda saved: saved.number, default=None)
        if self.saved is not None and not resume:
            raise InputError(f"checkpoint {self.url} holds a fit: pass resume=True, or another path")
        if self.saved is None and resume and damages:
            raise InputError(
                f"checkpoint {self.url} is damaged, or its first save was never finished ({damages[0]}): "
                "bring it back from a copy, or fit anew with resume=False"
            )
        if self.saved is None and resume:
            raise InputError(f"checkpoint {self.url} holds no fit that could be resumed")
        _try(self.url)
        if resume:
            sweep_unfinished(self.url)
        self._number = 0 if self.saved is None else self.saved.number
        self._state: dict[str, Any] = {} if self.saved is None else self.saved.state

    @property
    def advice(self) -> str:
        """What is there of a fit that could not go on, and how to go on with it."""
        if self._number == 0:
            return f"nothing was saved yet in checkpoint={self.url!r}: fit again"
        return (
            f"the last checkpoint in {self.url!r} holds {self._holds()}: "
            f"once the cause is mended, fit again with checkpoint={self.url!r}, resume=True"
        )

    def _holds(self) -> str:
        """How far the saved fit is, in words."""
        raise NotImplementedError

    def _write(self, origin: Origin, state: dict[str, Any], write_arrays: Callable[[str], list[str]]) -> None:
        """The next checkpoint: where the fit comes from, `state`, and arrays, which are named."""
        number = self._number + 1
        slot = f"{self.url}/{number % 2}"
        clear_damaged(slot, self.arrays)
        with (
            full_disk_told(self.url, "checkpoint", "give checkpoint= on another disk"),
            writing_group(slot, overwrite=True, kind=KIND) as url,
        ):
            names = write_arrays(url)
            text = json.dumps(asdict(origin) | {"state": state, "number": number})
            complete_group(url, {"kind": KIND, "record": text, "arrays": names}, names)
        self._number, self._state = number, state

    def _same_fit(self, identity: str) -> Saved | None:
        """What is saved, if anything. Raises InputError when it is another fit."""
        if self.saved is not None and self.saved.identity != identity:
            raise InputError(
                f"checkpoint {self.url} is of another fit: the data, the targets or a parameter has changed"
            )
        return self.saved


class Checkpoint(Slots):
    """Saves a fit of EigenPro, and finds what an earlier run of the same fit has saved."""

    arrays = ARRAYS

    def __init__(self, url: str | os.PathLike[str], resume: bool) -> None:
        """Raises InputError, as `Slots`."""
        super().__init__(url, resume)
        self._last = time.monotonic()

    def _holds(self) -> str:
        epochs, rows = self._state.get("epoch", 0), self._state.get("rows_done", 0)
        return f"{epochs} whole epochs and {rows} rows of the next"

    def save(
        self,
        training: Training,
        origin: Origin,
        around: tuple[Runtime, Reporter],
        *,
        epoch_over: bool,
    ) -> None:
        """Write the state, at the end of an epoch or when the last checkpoint is some seconds old."""
        if not epoch_over and time.monotonic() - self._last < SECONDS:
            return
        best = None if training.best is None else "last"
        if training.best is not None and training.best is not training.weights:
            best = "apart"

        def write_arrays(url: str) -> list[str]:
            names = _write_weights(url, "", training.weights, *around)
            if best == "apart" and training.best is not None:
                names += _write_weights(url, "best-", training.best, *around)
            return names

        self._write(origin, plain_state(training) | {"best": best}, write_arrays)
        self._last = time.monotonic()

    def restore(self, training: Training, identity: str) -> None:
        """Bring a new fit to where the saved one was. Raises InputError when it is another fit.

        Its weights are read from the checkpoint wherever they are used, until the fit has others.
        """
        saved = self._same_fit(identity)
        if saved is None:
            return
        state = saved.state
        set_plain_state(training, state)
        training.weights = _read_weights(saved.url, "", training.weights)
        if state["best"] == "last":
            training.best = training.weights
        elif state["best"] == "apart":
            training.best = _read_weights(saved.url, "best-", training.weights)


@contextmanager
def checkpoint_told(checkpoint: Slots | None) -> Iterator[None]:
    """Whatever ends a fit also says what its checkpoint holds: in its text, or in a note if not ours."""
    try:
        yield
    except BaseException as error:
        if checkpoint is not None and isinstance(error, _OURS):
            error.args = (f"{error}. {checkpoint.advice}",)
        elif checkpoint is not None:
            error.add_note(checkpoint.advice)
        raise


def plain_state(training: Training) -> dict[str, Any]:
    """All of a training but its weights, as JSON."""
    state = {name: getattr(training, name) for name in _PLAIN}
    return state | {"safety": training.step.safety, "window": asdict(training.window)}


def set_plain_state(training: Training, state: dict[str, Any]) -> None:
    """The way back."""
    for name in _PLAIN:
        setattr(training, name, state[name])
    training.step = replace(training.step, safety=state["safety"])
    training.window = Window(**state["window"])


def told_if_beyond(knob: str, asked: int, done: float) -> None:
    """Warn where a fit that is gone on with is further than what is asked for."""
    if done > asked:
        warn(
            f"{knob}={asked}, but the fit that is gone on with is further, at {done:g}: nothing is added and "
            f"nothing undone; raise {knob}, or fit anew",
            UserWarning,
        )


def _folder(checkpoint: str | os.PathLike[str]) -> str:
    """The folder or URL, absolute. Raises InputError for one that nothing should be written to."""
    try:
        return folder_url(checkpoint)
    except StoreError as error:
        raise InputError(f"checkpoint={os.fspath(checkpoint)!r}: {error}") from error


def _try(url: str) -> None:
    """Make the folder. Raises InputError where nothing can be written."""
    try:
        try_folder(url)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"checkpoint={url!r} cannot be written: {reason}; give another folder") from error


def _found(url: str) -> tuple[list[Saved], list[StoreError]]:
    """The whole checkpoints in the two places, and what is wrong with whatever else is there."""
    whole, damages = [], []
    for place in (f"{url}/0", f"{url}/1"):
        try:
            whole.append(_opened(place))
        except StoreError as error:
            if is_taken(place):
                damages.append(error)
    return whole, damages


def _opened(url: str) -> Saved:
    """A whole checkpoint. Raises StoreError."""
    url, attributes = open_group(url, KIND)
    try:
        record = json.loads(attributes["record"])
        for name in attributes["arrays"]:
            whole_array(url, name)
        entropy, identity, number, state = (record[k] for k in ("entropy", "identity", "number", "state"))
        return Saved(entropy, record.get("round_size"), identity, url, number, state)
    except StoreError:
        raise
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise MetadataError(f"{url}: the record of the fit cannot be read") from error


def _write_weights(
    url: str, prefix: str, weights: Weights, runtime: Runtime, reporter: Reporter
) -> list[str]:
    """alpha by the workers, c by this process."""
    alpha, names = weights.alpha, [f"{prefix}alpha"]
    step = alpha.grid.chunk_rows(alpha.columns or 1, alpha.dtype.itemsize)
    writer = ArrayWriter.create(url, names[0], alpha.shape, alpha.dtype, step)
    store_rows(alpha, writer, runtime, reporter, stage="eigenpro-checkpoint")
    writer.finish()
    if weights.c.size:
        names.append(f"{prefix}c")
        write_array(url, names[1], weights.c)
    return names


def _read_weights(url: str, prefix: str, like: Weights) -> Weights:
    """Weights that are read from their store wherever they are used."""
    reader = open_array(url, f"{prefix}alpha")
    alpha: RowBlocks = from_dask(to_dask(reader, like.alpha.grid.row_chunks), like.alpha.grid)
    if not like.c.size:
        return Weights(alpha, like.c)
    c = open_array(url, f"{prefix}c")
    return Weights(alpha, c[0 : len(c)])
