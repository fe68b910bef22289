"""One measurement in a process of its own, which ends at a limit of seconds or of memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

from pipelines.reproduce.peers.child import methods
from pipelines.reproduce.peers.method import gib

ROOT = Path(__file__).resolve().parents[3]
INTERVAL = 0.05  # seconds between two looks at the process
FIGURES = ("seconds", "cpu_seconds", "tuning_seconds", "peak_mib", "quality")  # cpu: of all threads
NOTHING = dict.fromkeys(FIGURES, float("nan"))


@dataclass(frozen=True)
class Limits:
    """Of the whole process: its start, reading, tuning, the fit and the test."""

    seconds: float
    memory: int


def run(job: dict[str, Any], rows: int, limits: Limits) -> dict[str, Any]:
    """What `child.measure` finds, with `word` empty; or no figures, and in `word` why not."""
    method = methods(job["task"]).METHODS[job["method"]]
    word = method.refusal(rows, limits.memory)
    found: dict[str, Any] = {}
    if not word:
        with tempfile.TemporaryDirectory() as name:
            asked, answer, errors = (Path(name) / file for file in ("job.json", "found.json", "errors"))
            asked.write_text(json.dumps(job | {"memory": limits.memory}))
            command = [sys.executable, "-m", "pipelines.reproduce.peers.child", str(asked), str(answer)]
            with errors.open("wb") as stderr:
                child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=stderr)
                word = watched(child, limits)
            if not word and child.returncode:
                word = f"{method.distribution} {version(method.distribution)} fails here: {last(errors)}"
            found = {} if word else json.loads(answer.read_text())
    if found and found["peak_mib"] * 2**20 > limits.memory:
        word, found = f"more than {gib(limits.memory)}", {}
    rounded = {name: round(value, 3) for name, value in found.items() if isinstance(value, float)}
    return NOTHING | {"setting": ""} | found | rounded | {"word": word}


def watched(child: subprocess.Popen[bytes], limits: Limits) -> str:
    """Wait for the end of a process, or end it at a limit: then the limit in words."""
    began, process = time.monotonic(), psutil.Process(child.pid)
    try:
        while child.poll() is None:
            if time.monotonic() - began > limits.seconds:
                return f"over the time limit of {limits.seconds:g} s"
            try:
                if process.memory_info().rss > limits.memory:
                    return f"more than {gib(limits.memory)}"
            except psutil.Error:  # it has just ended
                continue
            time.sleep(INTERVAL)
        return ""
    finally:
        child.kill()
        child.wait()


def last(errors: Path) -> str:
    """The last line that a failed process wrote."""
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "without a word"
