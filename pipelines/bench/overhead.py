"""Bench `overhead`: fits with everything that watches over them against the same fits without any of it.

With: events on their way to the scheduler, its page open, progress, checkpoints, checks for values that are
not finite. Such checks never read anything again: chunks that are read are counted with and without them.
"""

from __future__ import annotations

import io
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.request import urlopen

import numpy as np

import daskkernels as dk
from daskkernels.estimators import training
from daskkernels.session import ClusterRuntime
from daskkernels.session.page import page_link
from daskkernels.store.location import Location
from pipelines.bench.records import Row, Samples
from pipelines.bench.setup import Setup
from pipelines.bench.timing import seconds

TURNS = 5
ALLOWED = 1.03  # times as long as without
LEARNING, EPOCHS, CLUSTERING, COUNTED, QUICK = 16_000, 3, 60_000, 8192, 512  # rows, epochs
CHECKS = ("check_rows", "check_sample")
Fit = Callable[[Any, Any, bool], object]  # rows, classes, with everything that watches or without


def run(setup: Setup) -> Iterator[Row]:
    """Seconds of both kinds of fits, in turns; then the chunks that they read."""
    for name, rows, fit in (
        ("EigenPro", LEARNING, learner(setup.folder)),
        ("k-means", CLUSTERING, clusterer),
    ):
        yield timed(setup, name, QUICK if setup.quick else rows, fit)
    yield from counted(setup)


def learner(folder: Path) -> Fit:
    """EigenPro whose kernel values are computed in every epoch; a checkpoint has a folder of its own."""
    numbers = itertools.count()

    def fit(X: Any, y: Any, watched: bool) -> object:
        model = dk.EigenProClassifier(
            dk.Gaussian(5.0), max_epochs=EPOCHS, keep_kernel=False, random_state=0, verbose=int(watched)
        )
        return model.fit(X, y, checkpoint=folder / f"checkpoint-{next(numbers)}" if watched else None)

    return fit


def clusterer(X: Any, _y: Any, watched: bool) -> object:
    """k-means, which makes many short passes."""
    landmarks = min(810, len(X) // 8)
    return dk.KernelKMeans(10, n_landmarks=landmarks, random_state=0, verbose=int(watched)).fit(X)


def timed(setup: Setup, name: str, n: int, fit: Fit) -> Row:
    """Fits in memory on a client of threads, whose tasks see what is replaced here."""
    X, y = setup.data.X[:n] / np.float32(255), setup.data.y[:n]
    times: dict[bool, list[float]] = {True: [], False: []}
    with (
        setup.yardstick.watch(f"overhead: {name}") as may_judge,
        redirect_stderr(io.StringIO()),
        dk.connect("threads", threads_per_worker=setup.yardstick.threads) as client,
    ):
        fit(X[:QUICK], y[:QUICK], False)
        for turn in range(2 if setup.quick else 2 * TURNS):
            watched = turn % 2 == 1
            with page_open(client) if watched else unwatched():
                times[watched].append(seconds(lambda watched=watched: fit(X, y, watched)))
    return Row(
        "overhead",
        f"overhead, {name}",
        f"n={n}, in memory, all that watches a fit; peer: without events, checkpoints and checks",
        float(np.median(np.divide(times[True], times[False]))),  # a machine drifts, less from fit to fit
        "times",
        Samples("s", tuple(times[True]), tuple(times[False])),
        asked=ALLOWED,
        less_is_better=True,
        judged=may_judge(),
    )


@contextmanager
def page_open(client: Any) -> Iterator[None]:
    """Ask for the state of the running fits once a second, as the page does in a browser."""
    address, over = f"{page_link(client)}/state.json", threading.Event()

    def ask() -> None:
        while not over.wait(1.0):
            with urlopen(address) as answer:
                answer.read()

    browser = threading.Thread(target=ask, daemon=True)
    browser.start()
    try:
        yield
    finally:
        over.set()
        browser.join()


@contextmanager
def unwatched() -> Iterator[None]:
    """No events to the scheduler and no checks, in this process."""
    with unchecked(), mock.patch.object(ClusterRuntime, "listeners", nobody):
        yield


def nobody(_runtime: ClusterRuntime) -> tuple[()]:
    """In place of the runtime's listeners."""
    return ()


@contextmanager
def unchecked() -> Iterator[None]:
    """Nothing looks for values that are not finite, in this process."""
    with ExitStack() as stack:
        for module in [module for name, module in sys.modules.items() if name.startswith("daskkernels.")]:
            for check in CHECKS:
                if hasattr(module, check):
                    stack.enter_context(mock.patch.object(module, check, nothing))
        yield


def nothing(*_given: Any, **_named: Any) -> None:
    """In place of a check; a mock would note its calls, which takes time."""


def counted(setup: Setup) -> Iterator[Row]:
    """Chunks of the features that a fit reads, X being read in every round where it is learned from."""
    n = QUICK if setup.quick else COUNTED
    data = dk.write_dataset(setup.folder / "overhead.zarr", setup.data.stored[:n], setup.data.y[:n])
    for name, fit in (("EigenPro", learner(setup.folder)), ("k-means", clusterer)):
        with_checks, without = reads(data, fit), 0
        with unchecked():
            without = reads(data, fit)
        yield Row(
            "overhead",
            f"reads, {name}",
            f"n={n}, chunks of X read from its store; peer: without checks for values that are not finite",
            with_checks / without,
            "times",
            Samples("reads", (with_checks,), (without,)),
            asked=1.0,
            less_is_better=True,
            judged=not setup.quick,
        )


def reads(data: dk.Dataset, fit: Fit) -> int:
    """How many chunk files of X a fit reads."""
    found: list[str] = []
    read_many = Location.read_many

    def noted(location: Location, keys: list[str], most: int) -> Any:
        found.extend(key for key in keys if key.startswith("X/"))
        return read_many(location, keys, most)

    with mock.patch.object(Location, "read_many", noted), mock.patch.object(training, "X_SHARE", 0.0):
        fit(data.X, data.y, False)
    return len(found)
