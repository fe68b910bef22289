"""Bench: the command line. Runs the benches, prints the table, exits 1 when a judged one missed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.bench import clustering, features, inputs, matvec, memory
from tests.bench.records import Row, table, write_json
from tests.bench.timing import Yardstick

NAMES = ("matvec", "features", "clustering", "memory")


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, a check that everything runs; nothing is judged"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything measured to FILE")
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}"
    )
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1), help="default 2")
    parser.add_argument(
        "--calibration",
        type=float,
        default=0.0,
        metavar="GFLOPS",
        help="sgemm rate of the idle machine, if known",
    )
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run and report."""
    options = arguments(argv)
    yardstick = Yardstick(options.threads, 1024 if options.quick else 3072, options.calibration)
    data = inputs.stand_in(2048) if options.quick else inputs.digits()
    notes, rows = [f"data: {data.source}, {data.X.shape[0]} x {data.X.shape[1]}"], list[Row]()
    for bench in (matvec, features, clustering):
        name = bench.__name__.rpartition(".")[2]
        if name in options.only:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += bench.run(data, yardstick, options.quick)
    if "memory" in options.only:
        print("memory ...", file=sys.stderr, flush=True)
        rows += memory.run(options.quick)
    notes += yardstick.notes()
    if options.quick:
        notes.append("--quick: sizes far too small to judge anything by")
    print(table(rows, notes))
    if options.json:
        write_json(options.json, rows, notes)
    return int(any(r.verdict == "MISSED" for r in rows))


if __name__ == "__main__":
    sys.exit(main())
