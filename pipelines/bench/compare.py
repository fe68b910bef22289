"""Bench: two runs side by side. What changed by more than the noise of both is named; the rest is "same".

Noise is read from the raw samples: three standard errors of the ratio of medians, and never less than
what the machine itself may differ by. On another machine, ratios to peers and to limits stand for seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from datasets.text_table import aligned
from pipelines.bench.records import ALLOWANCE, UNITS, Row
from pipelines.bench.result_file import Run, read_run
from pipelines.failures import InputError

ERRORS = 3.0  # standard errors
_SIGMA = 1.4826  # standard deviation of normal samples / their median absolute deviation
_MEDIAN = 1.2533  # standard error of a median / that of a mean, for normal samples


@dataclass(frozen=True)
class Change:
    """One row in both runs: `ratio` is new / old of `basis`, up to the factor `noise` it means nothing."""

    row: Row  # the new one
    basis: str
    ratio: float
    noise: float
    flag: str
    worse: bool = False

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of the table."""
        if np.isnan(self.ratio):
            return (self.row.name, "-", "-", self.flag, self.basis)
        return (self.row.name, f"{self.ratio:.3f}", f"{self.noise - 1:.0%}", self.flag, self.basis)


@dataclass(frozen=True)
class Comparison:
    """All rows of two runs, and what is to be said about the runs."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def regressed(self) -> bool:
        """Whether anything of ours became worse by more than the noise."""
        return any(change.worse for change in self.changes)

    def table(self) -> str:
        """As text."""
        head = ("row", "new / old", "noise", "", "of what")
        return "\n".join([aligned([head, *(change.cells for change in self.changes)]), *self.notes])


def compare_files(old: Path, new: Path) -> int:
    """Print the comparison; 1 if anything became worse by more than the noise."""
    found = compare(read_run(old), read_run(new))
    print(found.table())
    return int(found.regressed)


def compare(old: Run, new: Run) -> Comparison:
    """Row by row, by name. Raises InputError where one run was quick and the other was not."""
    if old.quick != new.quick:
        quick, full = ("the old", "the new") if old.quick else ("the new", "the old")
        raise InputError(f"--compare: {quick} run was --quick, {full} one was not: wanted two of a kind")
    before = {row.name: row for row in old.rows}
    after = {row.name: row for row in new.rows}
    differing = machine_differences(old, new)
    changes = [change(before[name], row, bool(differing)) for name, row in after.items() if name in before]
    notes = [f"another machine, so shares and ratios are compared: {text}" for text in differing]
    for which, run, other in (("old", before, after), ("new", after, before)):
        notes += [f"only in the {which} run: {name}" for name in run if name not in other]
    for which, run in (("old", old), ("new", new)):
        if not run.complete:
            notes.append(f"the {which} run was interrupted")
    if old.data != new.data:
        notes.append(f"other data: {old.data} and {new.data}")
    notes += [f"other versions: {text}" for text in differences(old.versions, new.versions)]
    return Comparison(tuple(changes), tuple(notes))


def machine_differences(old: Run, new: Run) -> list[str]:
    """What makes seconds of the two runs not comparable; a machine of another speed is another machine."""
    found = differences(old.machine, new.machine)
    if abs(np.log(new.sgemm / old.sgemm)) > np.log1p(ALLOWANCE):
        found.append(f"sgemm: {old.sgemm:.0f} and {new.sgemm:.0f} GFLOP/s")
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Entries of two records that are not equal."""
    return [
        f"{name}: {old.get(name)} and {new.get(name)}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def change(old: Row, new: Row, other_machine: bool) -> Change:
    """The change of one row."""
    if old.samples.unit != new.samples.unit:
        return Change(new, f"{old.samples.unit} and {new.samples.unit}", np.nan, np.nan, "not compared")
    unit = UNITS[new.samples.unit]
    basis, costs = new.samples.unit, (cost(old), cost(new))
    if other_machine and unit.of_machine:
        basis, costs = relative(old, new)
        if not costs:
            return Change(new, "depends on the machine alone", np.nan, np.nan, "not compared")
    ratio, noise = change_of_medians(*costs, unit.allowance)
    shown = ratio if unit.less_is_better or basis != new.samples.unit else 1 / ratio
    if not (old.judged and new.judged):
        return Change(new, basis, shown, noise, "not judged")
    if 1 / noise <= ratio <= noise:
        return Change(new, basis, shown, noise, "same")
    if ratio < 1:
        return Change(new, basis, shown, noise, unit.better)
    ours = new.bench != "machine"  # a limit that became lower is no regression of ours
    return Change(new, basis, shown, noise, unit.worse, worse=ours)


def cost(row: Row) -> np.ndarray:
    """The samples of ours as something of which less is better."""
    samples = np.asarray(row.samples.ours)
    return samples if UNITS[row.samples.unit].less_is_better else 1 / samples


def relative(old: Row, new: Row) -> tuple[str, tuple[np.ndarray, ...]]:
    """Seconds in units of the peer's, turn by turn, or of those at the nearest limit; neither: no arrays."""
    rows = (old, new)
    if all(row.samples.peer for row in rows):
        return "seconds / peer's seconds", tuple(cost(row) / np.asarray(row.samples.peer) for row in rows)
    shared = {limit.name for limit in old.limits} & {limit.name for limit in new.limits}
    if not shared:
        return "", ()
    nearest = max((limit for limit in old.limits if limit.name in shared), key=lambda limit: limit.share).name
    rates = [next(limit.rate for limit in row.limits if limit.name == nearest) for row in rows]
    return f"seconds x {nearest} rate", tuple(cost(row) * rate for row, rate in zip(rows, rates, strict=True))


def change_of_medians(old: np.ndarray, new: np.ndarray, allowance: float) -> tuple[Any, Any]:
    """new / old of the medians (along the last axis), and the factor within which (either way) it is noise.

    The standard error of each median is taken from its samples' median absolute deviation, on a logarithmic
    scale, so that one disturbed sample of five moves neither; a single sample has no spread of its own.
    """
    logs = [np.log(samples) for samples in (old, new)]
    medians = [np.median(x, axis=-1) for x in logs]
    errors = [
        _MEDIAN * _SIGMA * np.median(np.abs(x - m[..., None]), axis=-1) / np.sqrt(x.shape[-1])
        for x, m in zip(logs, medians, strict=True)
    ]
    noise = np.maximum(ERRORS * np.hypot(*errors), np.log1p(allowance))
    return np.exp(medians[1] - medians[0]), np.exp(noise)
