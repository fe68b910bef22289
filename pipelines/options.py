"""The arguments of the commands, and the records they become.

Says what is possible; what is right for the data is judged by the library, so that each rule stands once.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets.address import not_empty
from datasets.parser import Parser
from pipelines import plan_arguments as planning
from pipelines.bench import arguments as bench
from pipelines.learning import arguments as learning
from pipelines.learning.arguments import CODES
from pipelines.reproduce import arguments as reproduce
from pipelines.requests import ClusterRequest, ModelRequest
from pipelines.session_options import add_session, number_or_name, path, session_request

DEMO_WORKERS = 2
ABOUT = "Whole jobs on data that need not fit in memory: kernel k-means, kernel machines; and measurements."
DEMO = (
    "The shipped PenDigits data, all the way: raw files, Zarr datasets; Nystrom features, k-means; a kernel "
    "machine trained by EigenPro and tested; figures, report. Needs no network and no GPU, and less than a "
    "minute."
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
        "--out", type=path, default=Path("demo"), metavar="DIR", help="folder to write (default: demo)"
    )
    demo.add_argument("--seed", type=int, default=0, metavar="N", help="seed of every draw (default: 0)")
    add_session(demo, workers=str(DEMO_WORKERS))

    epilog = f"{EXAMPLE}; {CODES}"
    cluster = commands.add_parser(
        "cluster", help="cluster a Zarr dataset", description=CLUSTER, epilog=epilog
    )
    cluster.add_argument("data", metavar="DATA.zarr", help="the dataset: a folder or an fsspec URL")
    _add_model(cluster)
    add_session(cluster, workers="one a core")
    _add_outputs(cluster)
    learning.add_parsers(commands)
    planning.add_parser(commands, _add_model)
    bench.add_parser(commands)
    reproduce.add_parser(commands)
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
        type=number_or_name,
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


def _add_outputs(command: argparse.ArgumentParser) -> None:
    """What to write."""
    group = command.add_argument_group("output")
    group.add_argument(
        "--out",
        type=not_empty,
        metavar="LABELS.zarr",
        help="write the labels there, as the array `labels` of a Zarr group: a new folder or an fsspec URL",
    )
    group.add_argument("--report", type=path, metavar="FILE.html", help="write a report there: a new file")


def cluster_request(arguments: argparse.Namespace, command: str) -> ClusterRequest:
    """The whole job."""
    session, model = session_request(arguments), model_request(arguments)
    return ClusterRequest(arguments.data, model, session, command, arguments.out, arguments.report)


def model_request(arguments: argparse.Namespace) -> ModelRequest:
    """What to fit."""
    return ModelRequest(
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
