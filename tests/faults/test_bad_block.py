"""Tests: rows that end every worker that touches them: the error names them and the last checkpoint."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import daskkernels as dk
from daskkernels.errors import WorkersLostError
from tests.faults.fits import classifier, clusters, table
from tests.faults.strikes import striking

pytestmark = pytest.mark.timeout(90)
BAD = 4321  # in the block of rows 4096 to 5120


def deadly(block: np.ndarray, switch: Path, row: np.ndarray) -> np.ndarray:
    """The block itself; ends the process over one row, while the switch is there."""
    if switch.exists() and (block == row).all(axis=1).any():
        os._exit(1)
    return block


class Deadly:
    """A kernel that ends the process when it meets one row, while the switch is there."""

    def __init__(self, switch: Path, row: np.ndarray) -> None:
        self.switch, self.row = switch, row

    def __call__(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        deadly(X, self.switch, self.row)
        squares = (X**2).sum(1)[:, None] + (Z**2).sum(1) - 2.0 * X @ Z.T
        return np.exp(-np.maximum(squares, 0.0) / 18.0)

    def __repr__(self) -> str:
        return "Deadly"


def test_clustering_names_the_rows(client: Client, data: Any, tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    switch.touch()
    kernel = Deadly(switch, table()[0][BAD])
    model = dk.KernelKMeans(4, kernel=kernel, n_landmarks=30, random_state=0)
    with pytest.raises(
        WorkersLostError,
        match=r"nystrom-gram.* blocks? of rows from .*4096.* on killed \d workers",
    ):
        model.fit(data.X)
    switch.unlink()
    assert model.fit(data.X).labels_.shape == (6000,)


def test_blocks_of_a_dask_array_are_named(client: Client, tmp_path: Path) -> None:
    """The task that dies is one of the user's own graph, in chunks of his."""
    X, switch = table()[0], tmp_path / "switch"
    switch.touch()
    lazy = da.from_array(X, chunks=(500, -1)).map_blocks(deadly, switch, X[BAD], meta=np.empty((0, 0)))
    with pytest.raises(
        WorkersLostError, match=r"rows-persist.* one of the blocks of rows from .*4096.* on killed"
    ):
        clusters().fit(lazy)


def test_learning_names_the_rows_and_the_checkpoint(
    client: Client, pair: LocalCluster, data: Any, tmp_path: Path
) -> None:
    """The rows go bad in the second epoch; the fit goes on from there once they are mended."""
    switch, checkpoint = tmp_path / "switch", tmp_path / "c"
    kernel = Deadly(switch, table()[0][BAD])
    whole = classifier(kernel=kernel, n_directions=4).fit(data.X, data.y)
    blow: Callable[[str], None] = lambda _: switch.touch()  # noqa: E731
    with (
        striking(pair, "eigenpro-solve", "memory", blow, 6),  # the last of the first epoch
        pytest.raises(
            WorkersLostError, match=r"eigenpro-.*blocks? of rows from .*4096.* on killed \d workers"
        ) as found,
    ):
        classifier(kernel=kernel, n_directions=4).fit(data.X, data.y, checkpoint=checkpoint)
    assert "nothing was saved yet" in str(found.value) or "resume=True" in str(found.value)
    switch.unlink()
    del found
    again = classifier(kernel=kernel, n_directions=4).fit(
        data.X,
        data.y,
        checkpoint=checkpoint,
        resume=(checkpoint / "0").exists() or (checkpoint / "1").exists(),
    )
    np.testing.assert_array_equal(again.dual_coef_, whole.dual_coef_)
