"""The measuring process: `python -m pipelines.reproduce.peers.child job.json found.json`."""

from __future__ import annotations

import json
import resource
import sys
import warnings
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

import daskkernels as dk

STATUS = Path("/proc/self/status")
MODULES = {"cluster": "clustering", "learn": "learning"}


def methods(task: str) -> Any:
    """The module of a task: its METHODS, and how one is `measured`."""
    return import_module(f"pipelines.reproduce.peers.{MODULES[task]}")


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """What the method finds, and the peak of this process.

    Dask's own threads do the work of ours and of dask-ml: a session costs a second a fit, on few rows most of
    it. Where ours must keep to a limit, a session tells it.
    """
    task = methods(job["task"])
    method = task.METHODS[job["method"]]
    import_module(method.module)  # so that no import is timed
    limited = job.get("limited", False) and method.reads == "store"
    with dk.connect("threads", memory_limit=job["memory"]) if limited else nullcontext():
        found: dict[str, Any] = task.measured(method, job)
    return found | {"peak_mib": peak_bytes() / 2**20}


def peak_bytes() -> int:
    """The most memory that this process has held, imports included.

    Linux counts the parent's memory at the start of a process into ru_maxrss, but not into VmHWM.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of single settings of a grid; the figures say what they are worth
    asked, answer = map(Path, sys.argv[1:])
    answer.write_text(json.dumps(measure(json.loads(asked.read_text()))))
