"""Tests: one process that opens mutated stores and models, one after the other, and tells what went wrong.

`python -m tests.fuzz.runner FOLDER FIRST COUNT`: prints a line of JSON for each failure, and one of totals.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import numpy as np

import daskkernels as dk
from tests.fuzz.mutations import Mutator
from tests.fuzz.originals import Original, originals, same
from tests.fuzz.signing import sign
from tests.fuzz.watch import Hang, Watch

SECONDS = 10.0  # of one case, on a busy machine; 0.05 is usual
MEMORY = 2**30  # bytes that a case may take
EXPECTED = tuple(getattr(dk.errors, name) for name in dk.errors.__all__)
LONGEST = 3000  # letters of a message


def main(folder: Path, first: int, count: int) -> None:
    """The cases `first` to `first + count`, each from a seed that is its number."""
    warnings.simplefilter("error")
    watch, all_of_them = Watch(), originals(folder)
    answers = [original.answers(original.path) for original in all_of_them]  # and what is imported late is
    limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    totals: Counter[str] = Counter()
    with dask.config.set(scheduler="sync"):
        for seed in range(first, first + count):
            place = seed % len(all_of_them)
            outcome, record = case(seed, all_of_them[place], answers[place], folder, watch)
            totals[outcome] += 1
            if outcome.startswith("FAILED"):
                print(json.dumps(record), flush=True)
    print(json.dumps({"totals": dict(totals)}))


def case(
    seed: int, original: Original, right: list[Any], folder: Path, watch: Watch
) -> tuple[str, dict[str, Any]]:
    """Alter a copy, open it, judge what happens."""
    copy, outside = folder / "case" / original.path.name, folder / "outside"
    outside.mkdir(exist_ok=True)
    shutil.copytree(original.path, copy)
    mutator = Mutator(seed, copy, outside)
    for _ in range(mutator.random.choice([1, 1, 1, 2, 4])):
        mutator.mutate()
    signed = mutator.deep or mutator.random.random() < 0.6
    if signed:
        sign(copy)
    with watch.watching(copy, folder / "labels.zarr", seconds=SECONDS) as seen:
        outcome, detail = _judged(original, copy, None if signed else right)
    if seen:
        outcome, detail = "FAILED: it did what it must not", "; ".join(seen[:5])
    record = {"seed": seed, "original": original.name, "signed": signed, "mutations": mutator.done}
    for made in (folder / "case", outside):
        shutil.rmtree(made)
    return outcome, {**record, "outcome": outcome, "detail": detail}


def _judged(original: Original, copy: Path, right: list[Any] | None) -> tuple[str, str]:
    """The outcome and its details; `right`: what the answers must be if there are any."""
    try:
        found = original.answers(copy)
    except EXPECTED as error:
        text = str(error)
        if not text or "\n" in text or len(text) > LONGEST:
            return "FAILED: the message is not one line", f"{type(error).__name__} {text[:500]!r}"
        return type(error).__name__, text
    except Hang:
        return "FAILED: it hangs", traceback.format_exc()[-1500:]
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is a failure
        return f"FAILED: {type(error).__name__}", traceback.format_exc()[-2500:]
    if right is not None and not same(found, right):
        return "FAILED: a silent wrong answer", ""
    objects = [value for value in found if isinstance(value, np.ndarray) and value.dtype.kind == "O"]
    if not all(isinstance(label, str | int) for values in objects for label in values.ravel()):
        return "FAILED: objects where labels are wanted", ""
    return "the same" if right is not None else "opened", ""


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
