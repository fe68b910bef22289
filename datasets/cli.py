"""The command line of data: list what has a name, show one, build one as Zarr, or ingest a file of one's own.

Exit codes: 0 done, 2 wrong arguments or an unusable raw file, 1 disk or memory failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from datasets import ingest_command, registry
from datasets.address import check_protocol, not_empty
from datasets.parser import Parser
from datasets.spec import ArraySpec, DatasetSpec, MadeSpec, Part, RawFile
from datasets.text_table import aligned, size_text
from datasets.wording import in_options

ABOUT = "Named data sets, your own files, and how they become Zarr."
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
        print(f"datasets: error: {' '.join(in_options(str(error)).split())}", file=sys.stderr)
        return 2
    except (OSError, MemoryError) as error:
        print(f"datasets: failed: {_failure(error, getattr(arguments, 'out', None))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("datasets: interrupted", file=sys.stderr)
        return 130


def _failure(error: OSError | MemoryError, out: str | None) -> str:
    """What failed; an error that names no file was met while writing to `out`."""
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})"
    if error.errno is not None and error.filename is None and out is not None:
        return f"{out}: {error}"
    return str(error)


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
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
    build.add_argument(
        "--raw",
        type=not_empty,
        metavar="PATH",
        help="original file, a folder of them, or an .npz file of the arrays; else shipped or downloaded",
    )
    build.add_argument("--overwrite", action="store_true", help="replace a dataset that is already there")
    build.set_defaults(run=build_one)

    ingest_command.add_parser(commands)

    sheet = commands.add_parser("sheet", help="the first images of a dataset as one picture")
    sheet.add_argument("data", metavar="DATA.zarr", help="a dataset whose rows are 8-bit images")
    sheet.add_argument("--out", type=not_empty, required=True, metavar="FILE.png", help="picture to write")
    sheet.add_argument("--rows", type=int, default=10, metavar="N", help="lines of images (default: 10)")
    sheet.add_argument("--columns", type=int, default=20, metavar="N", help="images a line (default: 20)")
    sheet.add_argument("--start", type=int, default=0, metavar="ROW", help="first row shown (default: 0)")
    sheet.add_argument("--step", type=int, default=1, metavar="N", help="show every Nth row (default: 1)")
    sheet.set_defaults(run=show_sheet)
    return top


def list_all(_arguments: argparse.Namespace) -> int:
    """Print the table of data sets, by their first parts."""
    rows = [("name", "rows", "columns", "classes", "at most", "from")]
    for name in registry.names():
        spec = registry.spec(name)
        first = spec.parts[0]
        shape = [str(size) for size in first.X.shape]
        rows.append((name, *shape, str(spec.n_classes), size_text(_stored_bytes(first)), spec.origin))
    print(aligned(rows))
    return 0


def _stored_bytes(part: Part) -> int:
    """Bytes of a part on disk if nothing could be compressed; codes of labels are four bytes."""
    rows, columns = part.X.shape
    return rows * (columns * np.dtype(part.X.dtype).itemsize + 4)


def show_one(arguments: argparse.Namespace) -> int:
    """Print everything known about one data set."""
    print(aligned(_facts(registry.spec(arguments.name))))
    return 0


def _facts(spec: DatasetSpec) -> list[tuple[str, str]]:
    """Labels and values, in the order they are shown."""
    facts = [("name", spec.name), ("title", spec.title), ("about", spec.summary)]
    facts.append(("classes", f"{spec.n_classes}: {_some(spec.classes)}"))
    if spec.feature_names is not None:
        facts.append(("columns", _some(spec.feature_names)))
    if spec.feature_shape is not None:
        facts.append(("image", " x ".join(map(str, spec.feature_shape))))
    made = isinstance(spec, MadeSpec)
    facts += [(part.name, _array(array, made)) for part in spec.parts for array in part.arrays]
    facts.append(("from", spec.origin if spec.shipped is None else f"{spec.origin}: {spec.shipped}"))
    files = dict.fromkeys(file for part in spec.parts for file in part.files)
    facts += [("file", _file(file)) for file in files]
    if isinstance(spec, MadeSpec):
        facts.append(("made by", f"{spec.function}, seed {spec.seed}"))
    return [*facts, ("licence", spec.licence), ("source", spec.source), ("citation", spec.citation)]


def _some(values: Sequence[object]) -> str:
    """All of a short list, the two ends of a long one."""
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 12 else [*texts[:5], "...", texts[-1]])


def _array(array: ArraySpec, made: bool) -> str:
    known = "not pinned: the build prints the sha256"
    if array.sha256 is not None:
        known = f"sha256 {array.sha256[:16]}..."
    form = f"{array.member}: {' x '.join(map(str, array.shape))}, {np.dtype(array.dtype).name}"
    return form if made else f"{form}, {known}"


def _file(file: RawFile) -> str:
    size = "" if file.size is None else f", {size_text(file.size)}"
    return f"{file.urls[0]}{size}, {file.checksum or 'no published checksum'}"


def build_one(arguments: argparse.Namespace) -> int:
    """Write one data set and say what was written."""
    spec = registry.spec(arguments.name)
    spec.part(arguments.part)
    check_protocol(arguments.out, "--out")
    # Imported here: the library takes seconds to load, and listing or refusing needs none of it.
    from datasets.build import build

    dataset = build(
        spec,
        arguments.out,
        part=arguments.part,
        raw=arguments.raw,
        overwrite=arguments.overwrite,
        say=lambda line: print(line, file=sys.stderr),
    )
    size = f"{dataset.n_rows} rows, {dataset.n_features} columns, {dataset.dtype}"
    print(f"{arguments.out}: {size}")
    return 0


def show_sheet(arguments: argparse.Namespace) -> int:
    """Draw a contact sheet."""
    for name, least in (("rows", 1), ("columns", 1), ("start", 0), ("step", 1)):
        if getattr(arguments, name) < least:
            raise ValueError(f"--{name} {getattr(arguments, name)}: wanted a whole number from {least}")
    from datasets.sheet import contact_sheet

    shape = {name: getattr(arguments, name) for name in ("rows", "columns", "start", "step")}
    lines, columns = contact_sheet(arguments.data, Path(arguments.out), **shape)
    print(f"{arguments.out}: {lines} x {columns} images")
    return 0
