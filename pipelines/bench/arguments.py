"""The arguments of `bench`, and the record they become; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets.address import not_empty
from pipelines.failures import InputError

NAMES = (
    "machine",
    "matvec",
    "features",
    "stream",
    "store",
    "clustering",
    "learning",
    "plan",
    "overhead",
    "memory",
)
_VALUES = ("data", "threads", "calibration", "scratch", "json", "plot")  # options that take one
ABOUT = (
    "Measure ours beside the peers and beside the limits of this machine, or compare two earlier runs. "
    "Takes some minutes and 13 GB of disk; wants an idle machine, and refuses to judge on a busy one."
)
EPILOG = (
    "exit codes: 0 done, 1 a judged figure missed or became worse, 2 wrong input, 130 interrupted; "
    "what each row means: docs/bench.md"
)


@dataclass(frozen=True)
class BenchRequest:
    """What to measure and where to put it."""

    only: tuple[str, ...] = NAMES
    quick: bool = False
    data: str | None = None
    threads: int | None = None  # None: every core
    calibration: float = 0.0  # GFLOP/s; 0: measured
    scratch: Path | None = None
    json: Path | None = None
    plot: Path | None = None
    quiet: bool = False
    command: str = ""


def add_parser(commands: Any) -> None:
    """Add the command."""
    bench = commands.add_parser(
        "bench", help="measure, or compare two runs", description=ABOUT, epilog=EPILOG
    )
    _add_measurement(bench.add_argument_group("what to measure"))
    _add_result(bench.add_argument_group("result"))
    loudness = bench.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="tracebacks")
    loudness.add_argument("-q", "--quiet", action="store_true", help="the result table alone")


def _add_measurement(what: Any) -> None:
    """Of what, with what."""
    what.add_argument(
        "--only", nargs="+", choices=NAMES, default=None, metavar="NAME", help=f"of {', '.join(NAMES)}"
    )
    what.add_argument(
        "--quick", action="store_true", help="tiny sizes: shows that all of it runs, judges nothing"
    )
    what.add_argument(
        "--data",
        type=not_empty,
        metavar="DATA.zarr",
        help="labelled dataset, such as one built by "
        "python -m datasets build mnist (default: MNIST beside the checkout, else rows of its shape)",
    )
    what.add_argument(
        "--threads", type=_positive, metavar="N", help="threads of both sides (default: every core)"
    )
    what.add_argument(
        "--calibration",
        type=_rate,
        metavar="GFLOPS",
        help="sgemm rate of the idle machine (default: measured)",
    )
    what.add_argument(
        "--scratch",
        type=_path,
        metavar="DIR",
        help="folder on the disk to measure (default: the temporary one)",
    )


def _add_result(result: Any) -> None:
    """Where it goes, or where earlier ones are."""
    result.add_argument(
        "--json", type=_path, metavar="FILE", help="write everything measured there: a new file"
    )
    result.add_argument(
        "--plot", type=_picture, metavar="FILE", help="draw it there: a new .png or .svg file"
    )
    result.add_argument(
        "--compare",
        nargs=2,
        type=_path,
        metavar=("OLD", "NEW"),
        help="measure nothing: compare two such files",
    )


def bench_request(arguments: argparse.Namespace, command: str) -> BenchRequest:
    """The measurement that was asked for."""
    given = {name: getattr(arguments, name) for name in _VALUES}
    return BenchRequest(
        only=tuple(name for name in NAMES if arguments.only is None or name in arguments.only),
        quick=arguments.quick,
        quiet=arguments.quiet,
        command=command,
        **{name: value for name, value in given.items() if value is not None},
    )


def compared_files(arguments: argparse.Namespace) -> tuple[Path, Path]:
    """The two files to compare. Raises InputError for options of a measurement, which would do nothing."""
    idle = [f"--{name}" for name in ("only", "quick", *_VALUES) if getattr(arguments, name)]
    if idle:
        raise InputError(f"--compare measures nothing: leave out {', '.join(idle)}")
    old, new = arguments.compare
    return old, new


def _positive(text: str) -> int:
    """A number of threads."""
    cores = os.cpu_count() or 1
    if not text.isdecimal() or not 1 <= int(text) <= cores:
        raise argparse.ArgumentTypeError(
            f"{text}: wanted a whole number from 1 to {cores}, the cores there are"
        )
    return int(text)


def _rate(text: str) -> float:
    """A rate in GFLOP/s."""
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: wanted a positive number")
    return rate


def _path(text: str) -> Path:
    """A path, not empty."""
    return Path(not_empty(text))


def _picture(text: str) -> Path:
    """A path whose ending names a format."""
    path = _path(text)
    if path.suffix.lower() not in (".png", ".svg"):
        raise argparse.ArgumentTypeError(f"{text}: wanted a name that ends in .png or .svg")
    return path
