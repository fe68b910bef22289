"""Tests: ours and other packages measured in processes of their own, on few rows; limits and words."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import daskkernels as dk
from pipelines.reproduce.experiments import peer_sizes
from pipelines.reproduce.experiments import peers as side_by_side
from pipelines.reproduce.experiments.peers import METHODS
from pipelines.reproduce.peers import child, learning, process
from pipelines.reproduce.peers.method import loaded, mean_distance
from pipelines.reproduce.peers.process import Limits

ROWS = 480  # more than there are landmarks
EASY = Limits(seconds=200, memory=2 * 2**30)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Three groups far apart, in bytes."""
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=ROWS)
    X = (rng.normal(size=(ROWS, 6)) + 40 * codes[:, None] + 20).astype("u1")
    path = str(tmp_path_factory.mktemp("rows") / "rows.zarr")
    dk.write_dataset(path, X, codes)
    return {"rows": path, "test": path, "seed": 0, "sigma": 60.0, "settings": [(0.3, 1.0), (0.5, 1.0)]}


@pytest.mark.filterwarnings("ignore")  # what other packages say of their own imports is not ours to mend
@pytest.mark.parametrize(("task", "method"), [(task, name) for task in METHODS for name in METHODS[task]])
def test_every_method_finds_three_groups(task: str, method: str, job: dict[str, Any]) -> None:
    """In this process, so that it is quick; a package that is not there is skipped with its word."""
    chosen = METHODS[task][method]
    if word := chosen.refusal(ROWS, 2**30):
        pytest.skip(word)
    found = child.methods(task).measured(chosen, job)
    assert found["quality"] == pytest.approx(1.0 if task == "cluster" else 0.0)
    assert found["seconds"] > 0


def test_a_process_of_its_own(job: dict[str, Any]) -> None:
    found = process.run(job | {"task": "learn", "method": side_by_side.FALKON, "limited": True}, ROWS, EASY)
    assert found["word"] == ""
    assert found["quality"] == pytest.approx(0)
    assert found["seconds"] > 0
    assert 50 < found["peak_mib"] < 2048
    assert found["setting"] == "0.3 of the mean distance, 1"
    assert set(side_by_side.EXPERIMENT.values) == set(found)


def test_a_failure_has_its_word(job: dict[str, Any]) -> None:
    broken = job | {"task": "cluster", "method": "scikit-learn KMeans", "rows": "/nowhere.zarr"}
    found = process.run(broken, ROWS, EASY)
    assert found["word"].startswith("scikit-learn 1.")
    assert "fails here: " in found["word"]
    assert "/nowhere.zarr" in found["word"]
    assert np.isnan(found["quality"])


@pytest.mark.parametrize(
    ("code", "limits", "word"),
    [
        ("import time; time.sleep(30)", Limits(0.3, 2**30), "over the time limit of 0.3 s"),
        ("x = b'1' * 300_000_000; import time; time.sleep(30)", Limits(30, 2**27), "more than 0.125 GiB"),
        ("pass", Limits(30, 2**30), ""),
    ],
)
def test_limits_end_a_process(code: str, limits: Limits, word: str) -> None:
    started = subprocess.Popen([sys.executable, "-c", code])
    assert process.watched(started, limits) == word
    assert started.returncode is not None


def test_the_peak_is_of_the_process_alone() -> None:
    """Not of its parent, which holds more; and what is compared with is not imported before it is used."""
    ballast = np.ones(2**27, "u1")
    code = "import sys, pipelines.reproduce.peers.child as c; print(c.peak_bytes(), *sys.modules)"
    peak, *modules = subprocess.check_output(
        [sys.executable, "-c", code], cwd=process.ROOT, text=True
    ).split()
    assert 10 * 2**20 < int(peak) < child.peak_bytes()
    assert ballast.sum() == 2**27
    assert not {"dask_ml", "sklearnex", "xrfm"} & set(modules)


def test_what_cannot_run_is_not_started() -> None:
    absent = replace(METHODS["cluster"]["dask-ml KMeans"], module="not_there")
    assert absent.refusal(10, 2**30) == "dask-ml is not installed"
    squares = METHODS["cluster"]["scikit-learn SpectralClustering"]
    assert squares.refusal(60_000, 8 * 2**30) == "more than 8 GiB: holds n x n values"
    assert squares.refusal(16_000, 8 * 2**30) == ""


def test_everybody_has_as_many_settings() -> None:
    grids = {name: learning.grid(name) for name in learning.METHODS}
    assert {len(set(settings)) for settings in grids.values()} == {6}


def test_rows_and_their_mean_distance(job: dict[str, Any]) -> None:
    data = dk.open_dataset(job["rows"])
    rows = loaded(data)
    assert rows.dtype == np.float32
    assert np.array_equal(rows, data.X.compute())
    pairs = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    assert mean_distance(rows) == pytest.approx(float(np.sqrt(pairs.mean())))
    assert mean_distance(data.X) == pytest.approx(mean_distance(rows))


class Made:
    """Sources whose made rows are all the same few."""

    def __init__(self, path: str) -> None:
        self.path = path

    def made(self, name: str, rows: int) -> dk.Dataset:
        """They have a path, which is all that is asked for."""
        return dk.open_dataset(self.path)


def test_rows_are_doubled_until_it_fails(job: dict[str, Any], monkeypatch: Any) -> None:
    def run(asked: dict[str, Any], rows: int, limits: Limits) -> dict[str, Any]:
        word = "more than 2 GiB" if rows > 16_000 else ""
        return {
            **process.NOTHING,
            "seconds": rows / 1000,
            "cpu_seconds": 3.0,
            "peak_mib": 9.0,
            "setting": "",
            "word": word,
        }

    monkeypatch.setattr(peer_sizes, "run", run)
    cell = {"task": "cluster", "method": "dask-ml KMeans", "most": 64_000}
    sources: Any = Made(job["rows"])
    found = peer_sizes.measure(cell, sources)
    wanted = {
        "finished": 16_000,
        "seconds": 16.0,
        "cpu_seconds": 3.0,
        "peak_mib": 9.0,
        "word": "32000 rows: more than 2 GiB",
    }
    assert found == wanted
    assert peer_sizes.measure(cell | {"most": 8000}, sources)["word"] == ""


def of_peers(ours: float, theirs: float) -> pd.DataFrame:
    """NMI of ours and of the peers; errors are 100 times what is missing; one peer is not there."""
    rows = []
    for cell in side_by_side.cells(True):
        missing = cell["method"] == "dask-ml KMeans"
        mine = cell["method"].startswith("daskkernels")
        nmi = ours if mine else theirs
        quality = np.nan if missing else nmi if cell["task"] == "cluster" else 100 * (1 - nmi)
        word = "dask-ml is not installed" if missing else np.nan
        rows.append(
            cell
            | {
                "seconds": 2.0,
                "cpu_seconds": 2.0 - mine,
                "peak_mib": 300.0 + mine,
                "quality": quality,
                "word": word,
            }
        )
    return pd.DataFrame(rows)


def test_claims_say_who_wins() -> None:
    verdicts = [claim.holds for claim in side_by_side.claims(of_peers(0.7, 0.6))]
    assert verdicts == [True, True, False, True, True, True, True, False]
    behind = side_by_side.claims(of_peers(0.6, 0.7))
    assert [claim.holds for claim in behind] == [True, False, False, False, False, False, True, False]
    assert "mnist -0.100" in behind[1].evidence
    assert "dask-ml KMeans on letter: dask-ml is not installed" in behind[-1].evidence


def test_the_table_shows_medians_and_words() -> None:
    table = side_by_side.EXPERIMENT.table
    assert table is not None
    lines = table(of_peers(0.7, 0.6)).splitlines()
    (machine,) = (line for line in lines if line.startswith("| scikit-learn SVC |"))
    assert machine == "| scikit-learn SVC |" + " 40.00; 2 s (2); 300 |" * 4
    assert "dask-ml is not installed" in next(line for line in lines if "dask-ml KMeans" in line)
    sizes = pd.DataFrame(
        [
            {
                "task": "learn",
                "method": "a",
                "finished": 8000,
                "seconds": 12.3,
                "cpu_seconds": 4.56,
                "peak_mib": 9.4,
            },
            {"task": "learn", "method": "b", "finished": 0, "word": "4000 rows: more than 2 GiB"},
        ]
    )
    assert peer_sizes.EXPERIMENT.table is not None
    assert peer_sizes.EXPERIMENT.table(sizes).splitlines()[2:] == [
        "| learn | a | 8000 | 4.6 (12) | 9 | the last size |",
        "| learn | b | 0 |  |  | 4000 rows: more than 2 GiB |",
    ]
