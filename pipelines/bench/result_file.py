"""Bench: a run as a JSON file and back. The schema has a version; a file of another one is refused."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from pipelines.bench.records import UNITS, Limit, Row
from pipelines.failures import InputError

FORMAT, VERSION = "daskkernels-bench", 1
_LEAST, _MOST = 1e-20, 1e20  # of what is measured, in any unit: no ratio of two such figures overflows


@dataclass(frozen=True)
class Run:
    """Everything about one run."""

    date: str  # ISO 8601, UTC
    command: str
    quick: bool
    complete: bool  # False: it was interrupted, and the rows are those that were measured until then
    data: str
    versions: dict[str, str]
    machine: dict[str, str | int | float]
    sgemm: float  # GFLOP/s, the calibration
    checks: dict[str, float]  # the same before and after each measurement
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def write_run(path: Path, run: Run) -> None:
    """All of it, raw samples included; appears at `path` whole or not at all."""
    record = {"format": FORMAT, "version": VERSION, **asdict(run)}
    for row, fact in zip(run.rows, record["rows"], strict=True):
        fact["verdict"] = row.verdict
        for limit, share in zip(row.limits, fact["limits"], strict=True):
            share["share"] = limit.share
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def read_run(path: Path) -> Run:
    """What `write_run` wrote. Raises InputError naming the file and what is wrong with it."""
    wanted = "wanted a file written by python -m pipelines bench --json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--compare {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"--compare {path}: not JSON ({error}); {wanted}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"--compare {path}: not the result of a bench; {wanted}")
    version = record.get("version")
    if version != VERSION:
        raise InputError(
            f"--compare {path}: has version {reprlib.repr(version)} of the format, wanted {VERSION}"
        )
    try:
        run = _typed("run", record, Run)
        _check(run)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--compare {path}: is damaged ({error}); {wanted}") from error
    return run


def _typed(name: str, value: Any, kind: Any) -> Any:
    """A value of this type out of JSON, or ValueError under its name; entries without a field are left out.

    A whole number may stand for a float; no number is infinite or NaN.
    """
    of = get_origin(kind)
    shape = dict if is_dataclass(kind) or of is dict else list if of is tuple else kind
    if kind is Any:
        return value
    number = kind in (float, float | None)
    if number and type(value) is int:
        value = float(value)
    fits = isinstance(value, shape) and not (isinstance(value, float) and not math.isfinite(value))
    if not fits:
        wanted = "a finite number" if number else getattr(shape, "__name__", shape)
        raise ValueError(f"{name}: {reprlib.repr(value)}, wanted {wanted}")
    if is_dataclass(kind):
        types = get_type_hints(kind)
        if missing := [field.name for field in fields(kind) if field.name not in value]:
            raise ValueError(f"{name}: has no {', '.join(missing)}")
        return kind(**{key: _typed(f"{name}.{key}", value[key], types[key]) for key in types})
    if of is dict:
        return {key: _typed(f"{name}[{key!r}]", entry, get_args(kind)[1]) for key, entry in value.items()}
    if of is tuple:
        return tuple(_typed(f"{name}[{i}]", entry, get_args(kind)[0]) for i, entry in enumerate(value))
    return value


def _check(run: Run) -> None:
    """Raise ValueError for what cannot be compared."""
    _check_figures("sgemm", [run.sgemm])
    _check_names("rows", run.rows)
    for row in run.rows:
        name, samples = f"row {row.name!r}", row.samples
        if samples.unit not in UNITS or not samples.ours or len(samples.peer) not in (0, len(samples.ours)):
            counts = f"{len(samples.ours)} and {len(samples.peer)}"
            raise ValueError(f"{name}: {counts} samples in {reprlib.repr(samples.unit)}")
        _check_figures(f"{name}: samples", samples.ours + samples.peer)
        _check_figures(f"{name}: rates of limits", [limit.rate for limit in row.limits])
        _check_names(f"{name}: limits", row.limits)


def _check_figures(what: str, figures: Iterable[float]) -> None:
    """What a machine can have been measured at."""
    for figure in figures:
        if not _LEAST <= figure <= _MOST:
            raise ValueError(f"{what}: {figure}, wanted numbers from {_LEAST} to {_MOST}")


def _check_names(what: str, named: Iterable[Row | Limit]) -> None:
    """Names are how rows and limits of two runs find each other."""
    seen: set[str] = set()
    for one in named:
        if one.name in seen:
            raise ValueError(f"{what}: two are called {reprlib.repr(one.name)}, wanted names that differ")
        seen.add(one.name)
