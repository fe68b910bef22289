"""The arguments of `reproduce`, and the record they become; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.session_options import path

PAPERS = (
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "table5",
    "table6",
    "eigenpro-figure2",
    "eigenpro-figure3",
    "eigenpro-table3",
    "eigenpro-readme",
)
FINDINGS = ("sketches", "step-size", "exact-rounds", "round-size", "trace-error")
PEERS = ("peers", "peer-sizes")  # need the extra `peers`
NAMES = PAPERS + FINDINGS + PEERS
GROUPS = {"all": PAPERS, "findings": FINDINGS}
ABOUT = (
    "The papers' experiments: a tidy CSV, a plot beside the papers' values, and a verdict for each claim. A "
    "run that was interrupted goes on where it was."
)
EPILOG = (
    "figure2 to table6 are of Wang, Gittens, Mahoney (JMLR 2019), eigenpro-* of Ma, Belkin (MLSys 2019), "
    "the findings are our own; peers and peer-sizes compare with other packages (extra `peers`); "
    "exit codes: 0 done, 2 wrong input, 130 interrupted"
)


@dataclass(frozen=True)
class ReproduceRequest:
    """Which experiments, on what, and where their results go."""

    names: tuple[str, ...]
    out: Path
    data: Path
    raw: Path | None = None
    quick: bool = False
    quiet: bool = False
    command: str = ""


def add_parser(commands: Any) -> None:
    """Add the command."""
    reproduce = commands.add_parser(
        "reproduce", help="the papers' experiments", description=ABOUT, epilog=EPILOG
    )
    reproduce.add_argument(
        "names",
        nargs="+",
        choices=[*NAMES, *GROUPS],
        metavar="NAME",
        help=f"{', '.join(NAMES)}; all: the papers' {len(PAPERS)}; findings: {', '.join(FINDINGS)}",
    )
    reproduce.add_argument("--out", type=path, required=True, metavar="DIR", help="folder of the results")
    reproduce.add_argument(
        "--data", type=path, metavar="DIR", help="folder of built datasets (default: data in --out)"
    )
    reproduce.add_argument(
        "--raw", type=path, metavar="DIR", help="folder of original files, where there is no network"
    )
    reproduce.add_argument(
        "--quick", action="store_true", help="fewer seeds and rows: `all` in under 15 minutes on 2 cores"
    )
    loudness = reproduce.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="tracebacks")
    loudness.add_argument("-q", "--quiet", action="store_true", help="the verdicts alone")


def reproduce_request(arguments: argparse.Namespace, command: str) -> ReproduceRequest:
    """What was asked for."""
    names = [name for given in arguments.names for name in GROUPS.get(given, (given,))]
    return ReproduceRequest(
        tuple(dict.fromkeys(names)),
        arguments.out,
        arguments.data or arguments.out / "data",
        arguments.raw,
        arguments.quick,
        arguments.quiet,
        command,
    )
