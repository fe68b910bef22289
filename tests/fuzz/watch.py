"""Tests: what Python does while a stranger's store is opened: files, imports, code, processes."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values())}
NEVER = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "socket.")
NEVER += ("ctypes.dlopen", "shutil.", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Hang(BaseException):
    """The time of one case is over. Not an Exception, so that nothing takes it for a damaged file."""


class Watch:
    """Notes what should not happen while it is on. An audit hook can never be taken off again."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = ()
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hook)
        signal.signal(signal.SIGALRM, self._ring)

    @contextmanager
    def watching(self, *folders: Path, seconds: float) -> Iterator[list[str]]:
        """Files of these folders may be read; the list of what else happened."""
        self.folders = tuple(os.path.realpath(folder) for folder in folders)
        self.seen, self.on = [], True
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield self.seen
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.on = False

    def _ring(self, *_: Any) -> None:
        raise Hang

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open" and not isinstance(arguments[0], int):
            self._opened(*arguments)
        elif event in ("os.listdir", "os.scandir") and not self._inside(arguments[0]):
            self.seen.append(f"{event} {arguments[0]}")
        elif event == "exec" and isinstance(arguments[0], CodeType):
            if not self._library(arguments[0].co_filename):
                self.seen.append(f"exec {arguments[0].co_filename}")
        elif event == "pickle.find_class" and str(arguments[0]).split(".")[0] not in ("dask", "daskkernels"):
            self.seen.append(f"{event} {arguments}")  # dask copies its own graphs so
        elif event.startswith(NEVER):
            self.seen.append(f"{event} {arguments}"[:200])

    def _opened(self, path: Any, mode: Any, flags: int) -> None:
        if not self._inside(path) and not self._library(path) and not str(path).startswith("/proc/self/"):
            self.seen.append(f"open {path!r}")
        elif flags & WRITING:
            self.seen.append(f"open for writing {path!r}")

    def _inside(self, path: Any) -> bool:
        real = os.path.realpath(os.fsdecode(path if path is not None else "."))
        return any(real == folder or real.startswith(f"{folder}/") for folder in self.folders)

    def _library(self, path: Any) -> bool:
        """Code that is installed, or the checkout: modules are imported when they are first needed."""
        text = os.fsdecode(path)
        if text.startswith("<frozen"):
            return True
        real = os.path.realpath(text)
        folders = [*LIBRARIES, str(ROOT / "daskkernels"), str(ROOT / "tests")]
        return any(real.startswith(f"{folder}/") for folder in folders)
