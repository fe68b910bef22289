"""Versions of everything an answer may depend on, for reports and bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

__version__ = "0.1.0"

_PACKAGES = (
    "numpy",
    "scipy",
    "dask",
    "distributed",
    "zarr",
    "scikit-learn",
    "cupy",
    "dask-cuda",
)


def versions() -> dict[str, str]:
    """Name and version of Python, the platform and each package; "not installed" where it is missing."""
    found = {"daskkernels": __version__, "python": platform.python_version(), "platform": platform.platform()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Write the versions to standard output, one a line."""
    sys.stdout.writelines(f"{name}: {value}\n" for name, value in versions().items())
