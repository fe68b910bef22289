"""Whether the outputs of a job can be written, asked before any worker starts.

Each refusal names its option; what only the write itself can show is left to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from datasets.address import check_protocol
from pipelines.failures import InputError
from pipelines.requests import ClusterRequest, TrainRequest


def check_outputs(request: ClusterRequest | TrainRequest) -> None:
    """Raise InputError if an output is there already, has no folder to go to, or is in the other's way."""
    group = check_group(request.out) if request.out else None
    if request.report:
        check_file("--report", request.report)
        report = request.report.resolve()
        if group and report in (group, *group.parents):
            raise InputError(f"--out {request.out} and --report {request.report}: wanted two different paths")


def check_checkpoint(request: TrainRequest) -> None:
    """Raise InputError if the checkpoint cannot be written, or is in the way of another output."""
    if request.checkpoint is None:
        return
    check_protocol(request.checkpoint, "--checkpoint")
    if "://" in request.checkpoint:
        return
    folder = Path(request.checkpoint).resolve()
    check_folder(folder, "--checkpoint")
    with _named(f"--checkpoint {folder}"):
        _check_outside(folder / "0")
    for option, other in (("--out", request.out), ("--report", request.report)):
        place = None if other is None or "://" in str(other) else Path(other).resolve()
        if place and (folder in (place, *place.parents) or place in folder.parents):
            raise InputError(
                f"{option} {other} and --checkpoint {request.checkpoint}: wanted two different places"
            )


def check_group(out: str) -> Path | None:
    """The local folder that the group will be, or None for a URL elsewhere; raises InputError."""
    check_protocol(out, "--out")
    filesystem, path = url_to_fs(out)
    local = Path(path).resolve() if isinstance(filesystem, LocalFileSystem) else None
    with _named(f"--out {out}"):
        if filesystem.exists(path):
            raise InputError("exists already; remove it or choose another path")
        if local:
            _check_folder(local.parent)
            _check_outside(local)
    return local


def check_file(option: str, path: Path) -> None:
    """Raise InputError unless a new file can be put there."""
    with _named(f"{option} {path}"):
        _check_folder(path.parent)
        if path.exists():
            raise InputError("exists already; remove it or choose another path")
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {path.parent}")


def check_folder(folder: Path, option: str = "--out") -> None:
    """Raise InputError unless it is a folder to write in, or can become one."""
    with _named(f"{option} {folder}"):
        _check_folder(folder)


def _check_folder(folder: Path) -> None:
    """The folder, or the nearest one above that exists, must be one and let us write."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder} is not writable")


def _check_outside(group: Path) -> None:
    """Raise InputError for a place inside another Zarr group, such as a dataset."""
    around = next((folder for folder in group.parents if (folder / "zarr.json").exists()), None)
    if around is not None:
        raise InputError(f"lies inside the Zarr group {around}; choose another path")


@contextmanager
def _named(output: str) -> Iterator[None]:
    """Put the option before what is wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{output}: {error}") from None
    except OSError as error:  # such as a name that is too long, or a folder that may not be looked into
        raise InputError(f"{output}: {error.strerror or error}") from error
