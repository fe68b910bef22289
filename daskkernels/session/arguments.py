"""Top layer: what `connect` was given, checked before anything is started: its type, its range, its words."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any

from dask.utils import parse_bytes
from distributed.security import Security

MOST_PORTS = 65535


def a_count(name: str, value: Any) -> int | None:
    """A whole number of at least 1, or None."""
    if value is None:
        return None
    wanted = "wanted a whole number of at least 1, or None for the default"
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name}={value!r}: {wanted}")
    if value < 1:
        raise ValueError(f"{name}={value}: {wanted}")
    return int(value)


def a_limit(value: Any) -> Any:
    """What Dask takes for the memory of a worker: bytes, 0 for no limit, text such as "2GiB", or None."""
    wanted = "wanted bytes, as a number or text such as '2GiB', 0 for no limit or None for the default"
    if value is None or value == "auto":
        return value
    if not isinstance(value, str | Real) or isinstance(value, bool):
        raise TypeError(f"memory_limit={value!r}: {wanted}")
    try:
        size = parse_bytes(value) if isinstance(value, str) else float(value)
    except ValueError as error:
        raise ValueError(f"memory_limit={value!r}: {wanted}") from error
    if not 0 <= size < math.inf:
        raise ValueError(f"memory_limit={value!r}: {wanted}")
    return value


def a_folder(value: Any) -> str | None:
    """The text of a path or an fsspec URL, or None."""
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    if found is not None and not isinstance(found, str):
        raise TypeError(f"scratch={value!r}: wanted a folder, an fsspec URL, or None")
    return found


def a_host(value: Any) -> str | None:
    """The name of an interface, or None."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"host={value!r}: wanted an address such as '127.0.0.1', or None for that one")
    return value


def a_dashboard(value: Any) -> str:
    """A port as ":8787", or a host and a port."""
    wanted = "wanted a port such as 8787 or ':8787', ':0' for any free one, or 'host:port'"
    if not isinstance(value, str | Integral) or isinstance(value, bool):
        raise TypeError(f"dashboard_address={value!r}: {wanted}")
    text = str(value)
    if not isinstance(value, str) or text.isdecimal():  # Dask would listen on every interface
        text = f":{text}"
    _, colon, port = text.rpartition(":")
    if not text or (colon and not (port.isdecimal() and int(port) <= MOST_PORTS)):
        raise ValueError(f"dashboard_address={value!r}: {wanted}")
    return text


def a_security(value: Any) -> Security | None:
    """A Security, or None."""
    if value is not None and not isinstance(value, Security):
        raise TypeError(f"security={value!r}: wanted a distributed.Security, or None for no encryption")
    return value
