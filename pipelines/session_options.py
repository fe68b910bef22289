"""The arguments that every job has, where to compute and how much to say, and the values they take."""

from __future__ import annotations

import argparse
from pathlib import Path

from datasets.address import not_empty
from pipelines.requests import SessionRequest


def add_session(command: argparse.ArgumentParser, workers: str) -> None:
    """Where to compute and how much to say."""
    group = command.add_argument_group("session")
    group.add_argument(
        "--scheduler",
        default="local",
        metavar="WHERE",
        help="local (worker processes, default), threads, cuda, or the address of a scheduler: tcp://host:8786",
    )
    group.add_argument(
        "--workers", type=positive, metavar="N", help=f"number of local workers (default: {workers})"
    )
    group.add_argument(
        "--memory-limit", type=memory, metavar="SIZE", help="memory of each local worker, such as 2GiB"
    )
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument(
        "-v", "--verbose", action="store_true", help="every stage and iteration on a line; tracebacks"
    )
    loudness.add_argument("-q", "--quiet", action="store_true", help="the result table alone")


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: wanted a whole number from 1")
    return int(text)


def path(text: str) -> Path:
    """A path, not empty."""
    return Path(not_empty(text))


def memory(text: str) -> str:
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


def number_or_name(text: str) -> float | str:
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
