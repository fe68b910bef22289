"""Tests: folders with an owner, among those who sweep and those who still write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from daskkernels.store import ArrayWriter, disown, own, sweep, sweep_forsaken


def test_owners_and_sweepers_at_once(tmp_path: Path) -> None:
    """Many in one place: nobody loses what is theirs, and nothing stays."""

    def fit(number: int) -> None:
        for turn in range(20):
            sweep(str(tmp_path), "fit-")
            url = str(tmp_path / f"fit-{number}-{turn}")
            lock = own(url)
            writer = ArrayWriter.create(f"{url}/a.zarr", "rows", (8, 2), np.float32, 1)
            for row in range(8):
                writer.write(row, np.ones((1, 2), dtype=np.float32))
            assert np.array_equal(writer.stored(0, 8), np.ones((8, 2)))
            disown(url, lock)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, range(4)))
    assert not list(tmp_path.iterdir())


def test_the_dead_are_swept_and_the_living_are_not(tmp_path: Path) -> None:
    dead, living = own(str(tmp_path / "fit-dead")), own(str(tmp_path / "fit-living"))
    assert dead is not None
    dead.close()
    sweep(str(tmp_path), "fit-")
    assert [folder.name for folder in tmp_path.iterdir()] == ["fit-living"]
    disown(str(tmp_path / "fit-living"), living)


def test_a_late_block_leaves_nothing(tmp_path: Path) -> None:
    url = str(tmp_path / "fit")
    lock = own(url)
    writer = ArrayWriter.create(f"{url}/a.zarr", "rows", (8, 2), np.float32, 4)
    writer.write(0, np.ones((4, 2), dtype=np.float32))
    sweep_forsaken(url)
    assert (tmp_path / "fit").is_dir()
    disown(url, lock)
    (tmp_path / "fit" / "a.zarr" / "rows" / "c" / "1").mkdir(parents=True)  # as a writer that was at it does
    sweep_forsaken(url)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_somebody_has_removed(tmp_path: Path) -> None:
    lock = own(str(tmp_path / "fit"))
    (tmp_path / "fit" / ".owner").unlink()
    (tmp_path / "fit").rmdir()
    disown(str(tmp_path / "fit"), lock)
