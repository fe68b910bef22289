"""Tests of the JSON file: what was written is read, what was not written by us is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipelines.bench.compare import compare
from pipelines.bench.records import Limit
from pipelines.bench.result_file import Run, read_run, write_run
from pipelines.failures import InputError
from tests.pipelines.bench.rows import row

Make = Callable[..., Run]


def test_round_trip(made_run: Make, tmp_path: Path) -> None:
    limits = (Limit("sgemm", 100.0, 50.0, "GFLOP/s"),)
    run = made_run(
        row("a", peer=(2.0, 2.1, 2.2), limits=limits, asked=1.8), row("b", unit="NMI"), complete=False
    )
    write_run(tmp_path / "run.json", run)
    assert read_run(tmp_path / "run.json") == run
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    written = json.loads((tmp_path / "run.json").read_text())
    assert written["rows"][0]["limits"][0]["share"] == 0.5
    assert [fact["verdict"] for fact in written["rows"]] == ["reached", "-"]


def damaged(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], str]:
    def text(record: dict[str, Any]) -> str:
        change(record)
        return json.dumps(record)

    return text


def put(value: object, *place: str | int) -> Callable[[dict[str, Any]], str]:
    """The text of the record with this value in that place."""

    def change(record: Any) -> None:
        for key in place[:-1]:
            record = record[key]
        record[place[-1]] = value

    return damaged(change)


NAN, INFINITE, HUGE = float("nan"), float("inf"), 10**400
FIGURES = [("sgemm",), ("rows", 0, "samples", "ours", 1), ("rows", 0, "limits", 0, "rate")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lambda record: "{", "not JSON"),
        (lambda record: 100_000 * "[", "not JSON"),
        (lambda record: "[1]", "not the result of a bench"),
        (lambda record: '{"rows": []}', "not the result of a bench"),
        (damaged(lambda record: record.update(version=2)), "has version 2 of the format, wanted 1"),
        (damaged(lambda record: record.pop("sgemm")), "is damaged"),
        (damaged(lambda record: record["rows"][0].pop("samples")), "is damaged"),
        (damaged(lambda record: record["rows"][0]["samples"].update(ours=[])), "is damaged"),
        (damaged(lambda record: record["rows"][0]["samples"].update(ours=[1.0, float("nan")])), "is damaged"),
        (damaged(lambda record: record["rows"][0]["samples"].update(peer=[1.0])), "is damaged"),
        (damaged(lambda record: record["rows"][0]["samples"].update(unit="h")), "is damaged"),
        (damaged(lambda record: record.update(rows=3)), r"is damaged \(run.rows: 3, wanted list\)"),
        (damaged(lambda record: record["rows"].append(record["rows"][0])), "two are called 'features'"),
        (
            damaged(lambda record: record["rows"][0]["limits"].append(record["rows"][0]["limits"][0])),
            "limits: two",
        ),
        (put(None, "machine"), "run.machine: None, wanted dict"),
        (put([], "versions"), r"run.versions: \[\], wanted dict"),
        (put([[]], "machine", "cpu"), r"run.machine\['cpu'\]"),
        (put([], "rows", 0, "name"), r"run.rows\[0\].name: \[\], wanted str"),
        (put("no", "rows", 0, "judged"), "judged: 'no', wanted bool"),
        (put(1, "quick"), "quick: 1, wanted bool"),
        (put(True, "sgemm"), "sgemm: True, wanted a finite number"),
        (put("1.5", "rows", 0, "samples", "ours", 0), r"ours\[0\]: '1.5', wanted a finite number"),
        (put([2], "notes"), r"notes\[0\]: 2, wanted str"),
        (put("1\n2", "version"), r"has version '1\\n2'"),
        *(
            (put(bad, *place), "is damaged")
            for place in FIGURES
            for bad in (NAN, INFINITE, HUGE, -1, 0, 1e-300)
        ),
    ],
)
def test_other_files_are_refused(text: Callable, said: str, made_run: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_run(path, made_run(row(limits=(Limit("zstd", 4.0, 1.0, "GB/s"),))))
    path.write_text(text(json.loads(path.read_text())))
    with pytest.raises(InputError, match=said) as error:
        read_run(path)
    assert str(path) in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_whole_numbers_stand_for_floats(made_run: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_run(path, made_run(row(ours=(1.0, 2.0), asked=2.0)))
    path.write_text(path.read_text().replace("1.0", "1").replace("2.0", "2"))
    (found,) = read_run(path).rows
    assert (found.samples.ours, found.asked) == ((1.0, 2.0), 2.0)
    assert all(isinstance(value, float) for value in (*found.samples.ours, found.asked))


@pytest.mark.parametrize("sides", [("ours",), ("ours", "peer")])
@pytest.mark.parametrize("unit", ["s", "GB/s"])
def test_what_can_be_read_can_be_compared(
    unit: str, sides: tuple[str, ...], made_run: Make, tmp_path: Path
) -> None:
    """At both ends of what a figure may be; an overflow would be a warning, and so an error here."""
    runs = []
    for rate, sgemm in ((1e-20, 1e20), (1e20, 1e-20)):
        limits = (Limit("zstd", rate, 0.0, "GB/s"),)
        run = made_run(row(unit=unit, limits=limits, **dict.fromkeys(sides, (1e-20, 1e20))), sgemm=sgemm)
        write_run(tmp_path / "run.json", run)
        runs.append(read_run(tmp_path / "run.json"))
    for pair in (runs, runs[::-1]):
        assert np.isfinite(compare(*pair).changes[0].ratio)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json: No such file"):
        read_run(tmp_path / "absent.json")
