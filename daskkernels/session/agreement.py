"""Top layer: whether workers that somebody else has started have the versions that the client has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distributed import Client

PACKAGES = ("daskkernels", "dask", "distributed", "numpy", "zarr")
OF_THE_SCHEDULER = PACKAGES[:3]  # it computes nothing


class VersionMismatchError(RuntimeError):
    """Workers have other versions of a package than the client."""


def check_versions(client: Client) -> None:
    """Compare all workers that are there with this process. Raises VersionMismatchError, which names them."""
    differing = []
    for package in PACKAGES:
        here = _version(package)
        places = client.run(eval, _expression(package), on_error="return")
        if package in OF_THE_SCHEDULER:
            places = {**places, "the scheduler": _of_scheduler(client, package)}
        for found, names in _by_version(places).items():
            if found != here:
                differing.append(f"{package} {found} (here {here}) on {', '.join(names)}")
    if differing:
        raise VersionMismatchError(
            f"other versions than here: {'; '.join(differing)}: install the same ones on every machine"
        )


def _version(package: str) -> str:
    return str(eval(_expression(package)))


def _expression(package: str) -> str:
    """What is evaluated everywhere: text, because a worker may have another Python and not this library."""
    return f"__import__({package!r}).__version__"


def _of_scheduler(client: Client, package: str) -> Any:
    try:
        return client.run_on_scheduler(eval, _expression(package))
    except ImportError as error:
        return error


def _by_version(places: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the places for each version; workers that have left meanwhile are not among them."""
    names: dict[str, list[str]] = {}
    for place, found in sorted(places.items()):
        if isinstance(found, OSError):
            continue
        version = f"missing ({found})" if isinstance(found, Exception) else str(found)
        names.setdefault(version, []).append(place)
    return names
