"""Tests: the benches themselves, at toy size: they run, count right, and refuse to judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daskkernels as dk
from daskkernels.errors import NonFiniteError
from pipelines.bench import inputs, job, machine, overhead, plan
from pipelines.bench.arguments import NAMES
from pipelines.bench.plan_jobs import JOBS, QUICK_JOBS
from pipelines.bench.records import Row, cells
from pipelines.bench.setup import Setup
from pipelines.bench.timing import Yardstick
from pipelines.cli import main
from pipelines.failures import InputError
from tests.pipelines.bench.rows import row

PROCESSES = ("plan", "memory")  # they start some
QUICK = [name for name in NAMES if name not in PROCESSES]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of a quick run, with its picture beside it."""
    folder = tmp_path_factory.mktemp("bench")
    argv = ["bench", "--quick", "--threads", "1", "--scratch", str(folder), "--only", *QUICK]
    assert main([*argv, "--json", str(folder / "run.json"), "--plot", str(folder / "run.png")]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["run.json", "run.png"]
    return json.loads((folder / "run.json").read_text()) | {"picture": (folder / "run.png").read_bytes()}


def test_every_bench_runs_and_judges_nothing(quick: dict[str, Any]) -> None:
    rows = quick["rows"]
    assert list(dict.fromkeys(row["bench"] for row in rows)) == QUICK
    assert len({row["name"] for row in rows}) == len(rows)
    assert {row["verdict"] for row in rows} == {"not judged"}
    for fact in rows:
        samples = [*fact["samples"]["ours"], *fact["samples"]["peer"], fact["measured"]]
        assert np.isfinite(samples).all()
        assert min(samples) > 0
    assert (quick["complete"], quick["quick"]) == (True, True)
    assert quick["machine"]["threads"] == 1
    assert quick["machine"]["cpu"]
    assert quick["versions"]["numpy"] == np.__version__
    assert quick["picture"].startswith(b"\x89PNG")


def test_shares_are_of_the_limits_of_the_same_run(quick: dict[str, Any]) -> None:
    limits = {row["name"]: row["measured"] for row in quick["rows"] if row["bench"] == "machine"}
    shares = {(row["name"], limit["name"]): limit for row in quick["rows"] for limit in row["limits"]}
    for (name, limit), found in shares.items():
        assert found["share"] == found["reached"] / found["rate"]
        if name not in ("matvec d=784", "EigenPro epoch"):  # their sgemm took turns with them
            assert found["rate"] == limits[limit]
    assert {limit for name, limit in shares if name == "stream, disk"} == {"disk read", "zstd", "memory"}
    features = next(row for row in quick["rows"] if row["name"] == "features c=100")
    n, d, c, s = inputs.QUICK_ROWS, 784, 100, 80
    flops = n * (2 * d * c + c**2 + 2 * c * s)
    assert shares["features c=100", "sgemm"]["reached"] == pytest.approx(
        flops / np.median(features["samples"]["ours"]) / 1e9
    )
    stream = next(row for row in quick["rows"] if row["name"] == "stream, cached")
    assert stream["measured"] == pytest.approx(n * d / np.median(stream["samples"]["ours"]) / 1e9)


@pytest.mark.slow
def test_the_benches_of_processes_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--only", *PROCESSES, "--threads", "1"]) == 0
    shown = capsys.readouterr().out
    assert "worker memory, limit" in shown
    assert shown.count("plan of") == 2 * len(QUICK_JOBS)


def test_twelve_fits_are_planned_and_measured(tmp_path: Path) -> None:
    """All are different; one is run here, without a process of its own."""
    assert len({job.name for job in JOBS}) == len(JOBS) == 12
    assert len({(job.rows, job.pool, job.dtype, repr(job.model)) for job in JOBS}) == 12
    assert {(job.stored, job.processes) for job in JOBS} == {(a, b) for a in (0, 1) for b in (0, 1)}
    setup = Setup(inputs.stand_in(2048), Yardstick(1, quick=True), tmp_path)
    fit = QUICK_JOBS[0]
    dk.write_dataset(tmp_path / "plan.zarr", *fit.table(setup))
    found = plan.measured(fit, tmp_path / "plan.zarr", 1)
    assert (found.steps > 0, "measured" in found.after) == (True, True)
    seconds, memory = plan.rows(fit, found, judged=False)
    assert seconds.measured == max(
        found.predicted_seconds / found.seconds, found.seconds / found.predicted_seconds
    )
    assert (seconds.asked, memory.asked, memory.samples.unit) == (1.5, 1.3, "MiB")


def test_what_watches_a_fit_can_be_taken_away() -> None:
    """No events reach the scheduler and no bad row is found, until the end."""
    X = np.ones((64, 2), "f4")
    X[7] = np.nan
    with overhead.unwatched():
        assert dk.session.ClusterRuntime.listeners is overhead.nobody
        with pytest.raises(ValueError, match="variance of column 0"):
            dk.Standardize().fit(X)
    assert dk.session.ClusterRuntime.listeners is not overhead.nobody
    with pytest.raises(NonFiniteError, match="row 7"):
        dk.Standardize().fit(X)


@pytest.fixture
def only_features(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """`only_features(row, error)`: a command whose measurement is these rows, or ends with an error."""

    def make(*given: Row | BaseException) -> list[str]:
        def measure(setup: Setup) -> Iterator[Row]:
            for item in given:
                if isinstance(item, BaseException):
                    raise item
                yield item

        monkeypatch.setitem(job.BENCHES, "features", measure)
        return ["bench", "--quick", "--only", "features"]

    return make


@pytest.mark.parametrize(("asked", "word", "code"), [(1.5, "reached", 0), (2.5, "MISSED", 1)])
def test_a_miss_is_said(
    asked: float, word: str, code: int, only_features: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(only_features(row(asked=asked))) == code
    out, error = capsys.readouterr()
    assert word in out
    assert word in error


def test_an_interrupt_leaves_what_was_measured(
    only_features: Callable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    argv = only_features(row("measured before"), KeyboardInterrupt(), row("never measured"))
    assert main([*argv, "--json", str(path)]) == 130
    out, error = capsys.readouterr()
    assert "measured before" in out
    assert "not finished" in out
    assert "never measured" not in out
    assert error.endswith("pipelines bench: error: interrupted\n")
    assert json.loads(path.read_text())["complete"] is False


def test_less_can_be_better() -> None:
    worse = Row("b", "n", "w", 120, "MiB", row(unit="MiB").samples, asked=100, less_is_better=True)
    assert (worse.verdict, cells(worse)[2]) == ("MISSED", "<= 100")
    better = Row("b", "n", "w", 90, "MiB", worse.samples, asked=100, less_is_better=True)
    assert better.verdict == "reached"


def test_help_names_every_bench(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)
    assert set(job.BENCHES) == set(NAMES)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "nothing"], "invalid choice"),
        (["--threads", "0"], "wanted a whole number from 1 to"),
        (["--calibration", "fast"], "wanted a positive number"),
        (["--plot", "run.pdf"], "wanted a name that ends in .png or .svg"),
        (["--plot", "{here}/a.png", "--json", "{here}/a.png"], "wanted two different paths"),
        (["--plot", "{here}/a.png", "--only", "machine"], "--only machine has none"),
        (["--json", "{here}/taken"], "--json {here}/taken: exists already"),
        (["--json", "{here}/absent/run.json"], "there is no folder"),
        (["--scratch", "{here}/absent"], "there is no such folder"),
        (["--data", "{here}/absent"], "absent"),
        (["--compare", "{here}/absent", "{here}/absent"], "No such file"),
    ],
)
def test_wrong_options(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    here = [option.format(here=tmp_path) for option in options]
    assert main(["bench", *([] if "--compare" in here else ["--quick"]), *here]) == 2
    out, error = capsys.readouterr()
    assert said.format(here=tmp_path) in error
    assert error.count("\n") == 1
    assert not out
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_the_stand_in_looks_like_digits(tmp_path: Path) -> None:
    data = inputs.load(None, quick=True, path=tmp_path / "absent.npz")
    assert (data.stored.shape, data.stored.dtype, data.X.dtype) == ((2048, 784), np.uint8, np.float32)
    assert 0.3 < (data.stored == 0).mean() < 0.9
    assert "stand-in" in data.source
    distances = ((data.X[:200, None] - data.X[None, :200]) ** 2).sum(axis=2)
    assert data.bandwidth == pytest.approx(np.sqrt(distances.mean()), rel=0.02)


def test_a_dataset_is_measured_with_if_it_is_labelled(tmp_path: Path) -> None:
    X, y = np.arange(3000 * 4, dtype="u2").reshape(3000, 4), np.arange(3000) % 3
    dk.write_dataset(tmp_path / "labelled.zarr", X, y)
    data = inputs.load(str(tmp_path / "labelled.zarr"), quick=True)
    np.testing.assert_array_equal(data.stored, X[:2048])
    np.testing.assert_array_equal(data.y, y[:2048])
    dk.write_dataset(tmp_path / "plain.zarr", X)
    with pytest.raises(InputError, match="has no class labels"):
        inputs.load(str(tmp_path / "plain.zarr"), quick=True)
    dk.write_dataset(tmp_path / "small.zarr", X[:100], y[:100])
    with pytest.raises(InputError, match="has 100 rows; wanted at least 2048"):
        inputs.load(str(tmp_path / "small.zarr"), quick=True)


@pytest.mark.parametrize(
    ("share", "said"), [(None, "does not say"), (0.0, "not from"), (0.5, "50% of it from")]
)
def test_it_is_said_whether_a_file_was_cached(share: float | None, said: str) -> None:
    assert said in machine.cached(share)
