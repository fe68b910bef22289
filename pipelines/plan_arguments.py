"""The arguments of `plan`: a dataset, a job, and the machine that it would run on."""

from __future__ import annotations

import argparse
from typing import Any

from pipelines.learning import arguments as learning
from pipelines.requests import MachineRequest
from pipelines.session_options import memory, positive

PLAN = (
    "What a job would cost: passes, bytes, arithmetic, memory of a worker, seconds; nothing is run. For "
    "workers on this machine, or for a described cluster."
)
PLAN_EXAMPLE = (
    "example: python -m pipelines plan digits.zarr train --epochs 5 --workers 32 --memory 128GiB --gflops 900"
)


def add_parser(commands: Any, add_clustering: Any) -> None:
    """Add the command; `add_clustering` adds the options of a clustering."""
    plan = commands.add_parser(
        "plan", help="what a job would cost", description=PLAN, epilog=f"{PLAN_EXAMPLE}; {learning.CODES}"
    )
    plan.add_argument("data", metavar="DATA.zarr", help="the dataset: a folder or an fsspec URL")
    jobs = plan.add_subparsers(dest="job", required=True, metavar="JOB")
    cluster = jobs.add_parser("cluster", help="kernel k-means", epilog=PLAN_EXAMPLE)
    add_clustering(cluster)
    train = jobs.add_parser("train", help="a kernel machine", epilog=PLAN_EXAMPLE)
    learning.add_training(train)
    for job in (cluster, train):
        _add_machine(job)


def _add_machine(command: argparse.ArgumentParser) -> None:
    """The machine; what is not said is that of this one."""
    group = command.add_argument_group("machine")
    group.add_argument("--workers", type=positive, metavar="N", help="worker processes (default: one a core)")
    group.add_argument("--threads", type=positive, default=1, metavar="N", help="of each (default: 1)")
    group.add_argument(
        "--memory",
        type=memory,
        metavar="SIZE",
        help="of each worker, such as 128GiB (default: its share of this)",
    )
    group.add_argument(
        "--gflops",
        type=float,
        metavar="G",
        help="float32 matrix products of one worker, in 10^9 operations a second (default: measured here)",
    )
    group.add_argument("--network", type=rate, metavar="RATE", help="between workers, such as 1GiB/s")
    group.add_argument("--disk", type=rate, metavar="RATE", help="out of the store, of all workers")
    group.add_argument("-v", "--verbose", action="store_true", help="tracebacks")
    group.set_defaults(quiet=True)


def rate(text: str) -> float:
    """Bytes a second."""
    from dask.utils import parse_bytes  # only here: help needs no Dask

    size = memory(text.removesuffix("/s"))
    value = float(parse_bytes(size)) if size != "auto" else 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text}: wanted a rate such as 1GiB/s")
    return value


def machine_request(arguments: argparse.Namespace) -> MachineRequest:
    """The machine, as far as it was described."""
    return MachineRequest(
        workers=arguments.workers,
        threads=arguments.threads,
        memory=arguments.memory,
        gflops=arguments.gflops,
        network=arguments.network,
        disk=arguments.disk,
    )
