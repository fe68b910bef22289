"""The command line of named data: list them, show one, build one as a Zarr dataset.

Exit codes: 0 done, 2 wrong arguments or a raw file that cannot be used, 1 the disk failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from datasets import registry
from datasets.address import check_protocol, not_empty
from datasets.parser import Parser
from datasets.spec import DatasetSpec
from datasets.text_table import aligned

ABOUT = "Named data sets, and how they become Zarr."
EPILOG = (
    "What is built opens with daskkernels.open_dataset and clusters with: python -m pipelines cluster PATH"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        arguments = parser().parse_args(argv)
        return int(arguments.run(arguments))
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else 2
    except ValueError as error:  # the readers' and the store's named errors, each one line
        print(f"datasets: error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"datasets: failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("datasets: interrupted", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """The three commands and their arguments."""
    top = Parser(prog="python -m datasets", description=ABOUT, epilog=EPILOG)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    listing = commands.add_parser("list", help="one line for each data set")
    listing.set_defaults(run=list_all)

    show = commands.add_parser("show", help="shape, source, licence and fingerprints of one data set")
    show.add_argument("name", metavar="NAME", help="a name from the list")
    show.set_defaults(run=show_one)

    build = commands.add_parser("build", help="write one data set as Zarr", epilog=EPILOG)
    build.add_argument("name", metavar="NAME", help="a name from the list")
    build.add_argument(
        "--out", type=not_empty, required=True, metavar="PATH", help="folder or URL, such as pendigits.zarr"
    )
    build.add_argument("--part", metavar="PART", help="rows to write: the first part unless another is named")
    build.add_argument("--overwrite", action="store_true", help="replace a dataset that is already there")
    build.set_defaults(run=build_one)
    return top


def list_all(_arguments: argparse.Namespace) -> int:
    """Print the table of data sets."""
    rows = [("name", "rows", "columns", "classes", "title")]
    for name in registry.names():
        spec = registry.spec(name)
        n_rows, n_features = spec.parts[0].X.shape
        rows.append((name, str(n_rows), str(n_features), str(spec.n_classes), spec.title))
    print(aligned(rows))
    return 0


def show_one(arguments: argparse.Namespace) -> int:
    """Print everything known about one data set."""
    print(aligned(_facts(registry.spec(arguments.name))))
    return 0


def _facts(spec: DatasetSpec) -> list[tuple[str, str]]:
    """Labels and values, in the order they are shown."""
    facts = [("name", spec.name), ("title", spec.title), ("about", spec.summary)]
    facts.append(("classes", str(spec.n_classes)))
    for part in spec.parts:
        for array in (part.X, part.y):
            if array is not None:
                shape = " x ".join(map(str, array.shape))
                short = f"{array.member}: {shape}, {array.dtype}, sha256 {array.sha256[:16]}..."
                facts.append((part.name, short))
    return [
        *facts,
        ("raw file", spec.raw),
        ("licence", spec.licence),
        ("source", spec.source),
        ("citation", spec.citation),
    ]


def build_one(arguments: argparse.Namespace) -> int:
    """Write one data set and say what was written."""
    spec = registry.spec(arguments.name)
    spec.part(arguments.part)
    check_protocol(arguments.out, "--out")
    # Imported here: the library takes seconds to load, and listing or refusing needs none of it.
    from datasets.build import build

    dataset = build(spec, arguments.out, part=arguments.part, overwrite=arguments.overwrite)
    size = f"{dataset.n_rows} rows, {dataset.n_features} columns, {dataset.dtype}"
    print(f"{arguments.out}: {size}")
    return 0
