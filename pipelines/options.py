"""The arguments of the commands, and the records they become.

Says what is possible; what is right for the data is judged by the library, so that each rule stands once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets.address import not_empty
from datasets.parser import Parser
from pipelines.requests import ClusterRequest, ModelRequest, SessionRequest

DEMO_WORKERS = 2
ABOUT = "End-to-end jobs: kernel k-means on data that need not fit in memory."
CODES = "exit codes: 0 done, 1 the run failed, 2 wrong input, 130 interrupted"
DEMO = (
    "Cluster the shipped PenDigits data, all the way: raw file, Zarr dataset, Nystrom features, k-means, "
    "figures, report. Needs no network and no GPU, and less than a minute."
)
CLUSTER = (
    "Cluster the rows of a Zarr dataset, written by daskkernels.write_dataset or python -m datasets build."
)
EXAMPLE = (
    "example: python -m pipelines cluster digits.zarr --clusters 10 --out labels.zarr --report report.html"
)


def parser() -> argparse.ArgumentParser:
    """The commands and their arguments."""
    top = Parser(prog="python -m pipelines", description=ABOUT, epilog=CODES)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="shipped real data, from raw file to report", description=DEMO, epilog=CODES
    )
    demo.add_argument(
        "--out", type=_path, default=Path("demo"), metavar="DIR", help="folder to write (default: demo)"
    )
    demo.add_argument("--seed", type=int, default=0, metavar="N", help="seed of every draw (default: 0)")
    _add_session(demo, workers=str(DEMO_WORKERS))

    epilog = f"{EXAMPLE}; {CODES}"
    cluster = commands.add_parser(
        "cluster", help="cluster a Zarr dataset", description=CLUSTER, epilog=epilog
    )
    cluster.add_argument("data", metavar="DATA.zarr", help="the dataset: a folder or an fsspec URL")
    _add_model(cluster)
    _add_session(cluster, workers="one a core")
    _add_outputs(cluster)
    return top


def _add_model(command: argparse.ArgumentParser) -> None:
    """What to fit."""
    group = command.add_argument_group("model")
    group.add_argument("--clusters", type=int, required=True, metavar="K", help="number of clusters")
    group.add_argument(
        "--kernel",
        default="gaussian",
        metavar="NAME",
        help="gaussian (default), laplacian, cauchy, matern, polynomial, linear or cosine",
    )
    group.add_argument(
        "--bandwidth",
        type=_number_or_name,
        metavar="B",
        help="a positive number, mean (default: root mean squared distance) or median",
    )
    group.add_argument("--factor", type=float, metavar="F", help="multiplies a bandwidth taken from the data")
    group.add_argument(
        "--landmarks",
        type=int,
        metavar="C",
        help="rows that stand for all (default: 40 a cluster, 400 at least)",
    )
    group.add_argument("--components", type=int, metavar="S", help="features to keep (default: sqrt(K C))")
    group.add_argument(
        "--scale",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="bring each column to mean 0 and variance 1 first (default: no)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="seed of every draw (default: 0)")
    group.add_argument(
        "--n-init", type=int, default=1, metavar="N", help="starts, of which the best counts (default: 1)"
    )


def _add_session(command: argparse.ArgumentParser, workers: str) -> None:
    """Where to compute and how much to say."""
    group = command.add_argument_group("session")
    group.add_argument(
        "--scheduler",
        default="local",
        metavar="WHERE",
        help="local (worker processes, default), threads, or the address of a scheduler: tcp://host:8786",
    )
    group.add_argument(
        "--workers", type=_positive, metavar="N", help=f"number of local workers (default: {workers})"
    )
    group.add_argument(
        "--memory-limit", type=_memory, metavar="SIZE", help="memory of each local worker, such as 2GiB"
    )
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument(
        "-v", "--verbose", action="store_true", help="every stage and iteration on a line; tracebacks"
    )
    loudness.add_argument("-q", "--quiet", action="store_true", help="the result table alone")


def _add_outputs(command: argparse.ArgumentParser) -> None:
    """What to write."""
    group = command.add_argument_group("output")
    group.add_argument(
        "--out",
        type=not_empty,
        metavar="LABELS.zarr",
        help="write the labels there, as the array `labels` of a Zarr group: a new folder or an fsspec URL",
    )
    group.add_argument("--report", type=_path, metavar="FILE.html", help="write a report there: a new file")


def _positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: wanted a whole number from 1")
    return int(text)


def _path(text: str) -> Path:
    """A path, not empty."""
    return Path(not_empty(text))


def _memory(text: str) -> str:
    """A size that Dask can read, and that is not negative."""
    from dask.utils import parse_bytes  # only here: help needs no Dask

    wanted = argparse.ArgumentTypeError(f"{text}: wanted a size such as 2GiB")
    if text == "auto":
        return text
    if not text.lstrip(" .")[:1].isdecimal():  # a sign, or no number at all
        raise wanted
    try:
        parse_bytes(text)
    except (ValueError, OverflowError):
        raise wanted from None
    return text


def _number_or_name(text: str) -> float | str:
    """A number where it is one; what else is allowed is the kernel's to say."""
    try:
        return float(text)
    except ValueError:
        return text


def session_request(arguments: argparse.Namespace, local_workers: int | None = None) -> SessionRequest:
    """Where to compute; `local_workers` are started where nothing else is said."""
    workers = arguments.workers
    if workers is None and arguments.scheduler == "local":
        workers = local_workers
    loudness = {"quiet": arguments.quiet, "verbose": arguments.verbose}
    return SessionRequest(arguments.scheduler, workers, arguments.memory_limit, **loudness)


def cluster_request(arguments: argparse.Namespace, command: str) -> ClusterRequest:
    """The whole job."""
    model = ModelRequest(
        clusters=arguments.clusters,
        kernel=arguments.kernel,
        bandwidth=arguments.bandwidth,
        factor=arguments.factor,
        landmarks=arguments.landmarks,
        components=arguments.components,
        scale=arguments.scale,
        seed=arguments.seed,
        n_init=arguments.n_init,
    )
    session = session_request(arguments)
    return ClusterRequest(arguments.data, model, session, command, arguments.out, arguments.report)
