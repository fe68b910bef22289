"""The job behind `bench`: measures row after row, then prints, writes and draws them.

What was measured until an interrupt or an error is printed and written too, and says so.
"""

from __future__ import annotations

import gc
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import dask
from threadpoolctl import threadpool_limits

from daskkernels.versions import versions
from datasets.text_table import aligned
from pipelines.bench import (
    clustering,
    features,
    inputs,
    learning,
    machine,
    matvec,
    memory,
    overhead,
    plan,
    store,
    stream,
)
from pipelines.bench.arguments import BenchRequest
from pipelines.bench.records import HEAD, Row, cells
from pipelines.bench.result_file import Run, write_run
from pipelines.bench.setup import Setup
from pipelines.bench.timing import Yardstick
from pipelines.failures import InputError
from pipelines.outputs import check_file, check_folder

BENCHES: dict[str, Callable[[Setup], Iterator[Row]]] = {
    "machine": machine.run,
    "matvec": matvec.run,
    "features": features.run,
    "stream": stream.run,
    "store": store.run,
    "clustering": clustering.run,
    "learning": learning.run,
    "plan": plan.run,
    "overhead": overhead.run,
    "memory": memory.run,
}
FREE_BYTES = 13 * 2**30  # what `memory` writes, and some more


def bench(request: BenchRequest) -> int:
    """Measure and report; 1 if a judged row missed what was asked of it."""
    check(request)
    data = inputs.load(request.data, request.quick)
    threads = request.threads or machine.usable_cores()
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory(dir=request.scratch) as folder,
        dask.config.set(num_workers=threads),
        threadpool_limits(threads),  # both sides
        settled_memory(),
    ):
        say(request, "sgemm: calibrating")
        setup = Setup(data, Yardstick(threads, request.quick, request.calibration), Path(folder))
        complete = False
        try:
            for name in request.only:
                say(request, f"{name} ...")
                for row in BENCHES[name](setup):
                    rows.append(row)
                    say(request, "  {}: {}, {}".format(*(cells(row)[i] for i in (0, 1, 3))))
            complete = True
        finally:
            report(request, setup, rows, complete)
    return int(any(row.verdict == "MISSED" for row in rows))


@contextmanager
def settled_memory() -> Iterator[None]:
    """Keep what was imported out of the garbage collections between timings: each would take 0.1 s."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def check(request: BenchRequest) -> None:
    """Raise InputError for what would be found out only after minutes of measuring."""
    folder = request.scratch or Path(tempfile.gettempdir())
    if not folder.is_dir():
        raise InputError(f"--scratch {folder}: there is no such folder")
    check_folder(folder, "--scratch")
    for option, path in (("--json", request.json), ("--plot", request.plot)):
        if path:
            check_file(option, path)
    if request.json and request.plot and request.json.resolve() == request.plot.resolve():
        raise InputError(f"--json and --plot are both {request.plot}: wanted two different paths")
    if request.plot:
        if request.only == ("machine",):
            raise InputError("--plot draws ratios to peers and shares of limits, and --only machine has none")
        try:
            import matplotlib as mpl  # noqa: F401 - now, not after the measurement
        except ImportError as error:
            raise InputError(f'--plot needs matplotlib ({error}): pip install "daskkernels[app]"') from error
    if "memory" in request.only and not request.quick and shutil.disk_usage(folder).free < FREE_BYTES:
        raise InputError(
            f"{folder} has less than {FREE_BYTES >> 30} GiB free, which the bench memory needs: "
            "name another folder with --scratch, or other benches with --only"
        )


def report(request: BenchRequest, setup: Setup, rows: list[Row], complete: bool) -> None:
    """The table on stdout, then the files."""
    if not rows:
        return
    data = f"{setup.data.source}, {' x '.join(map(str, setup.data.stored.shape))} {setup.data.stored.dtype}"
    notes = [f"data: {data}", *setup.yardstick.notes()]
    if not complete:
        notes.append("not finished: these are the rows measured until then")
    print("\n".join([aligned([HEAD, *map(cells, rows)]), *notes]), flush=True)
    run = Run(
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=request.command,
        quick=request.quick,
        complete=complete,
        data=data,
        versions=versions(),
        machine=machine.facts(setup.yardstick.threads),
        sgemm=setup.yardstick.calibration,
        checks=setup.yardstick.checks,
        rows=tuple(rows),
        notes=tuple(notes),
    )
    if request.json:
        write_run(request.json, run)
        say(request, f"measurements: {request.json}")
    if request.plot:
        from pipelines.bench.plot import draw

        draw(run, request.plot)
        say(request, f"picture: {request.plot}")


def say(request: BenchRequest, text: str) -> None:
    """A line on stderr, unless asked for quiet."""
    if not request.quiet:
        print(text, file=sys.stderr, flush=True)
