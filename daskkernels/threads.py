"""Layer 0: one BLAS thread for each task.

More runnable threads than cores cost a factor, BLAS threads that spin after a product cost a core, and their
number changes rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .callers import warn


class BlasThreadsWarning(UserWarning):
    """Another thread holds the number of BLAS threads, so that a fit runs on more than one for each task."""


@cache
def _pools() -> ThreadpoolController:
    """The thread pools of this process; looking for them takes 3 ms, as long as a Lloyd iteration."""
    return ThreadpoolController()


def limit_for_good() -> None:
    """One BLAS thread in this process from now on, for processes that only run tasks."""
    ThreadpoolController().limit(limits=1, user_api="blas")


_lock = threading.Lock()
_users = 0
_limiter: Any = None
_before = 1


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """One BLAS thread in this process while any fit is under way; limits around each task would race."""
    global _users
    with _lock:
        if _users == 0:
            _limit()
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _restore()


def _limit() -> None:
    global _limiter, _before
    _before = _count()
    _limiter = _pools().limit(limits=None, user_api="blas")  # changes nothing, notes what there is
    _in_some_thread(lambda: _pools().limit(limits=1, user_api="blas"), lambda: _count() <= 1)
    if _count() > 1:
        warn(
            "another thread holds the number of BLAS threads: this fit may be slower and differ in the last "
            "bits; fit in the main thread, or start Python with OPENBLAS_NUM_THREADS=1",
            BlasThreadsWarning,
        )


def _restore() -> None:
    _in_some_thread(_limiter.restore_original_limits, lambda: _count() == _before)


def _in_some_thread(function: Callable[[], Any], done: Callable[[], bool]) -> None:
    """threadpoolctl lets the thread that set a limit first set it alone while it lives: one that ends at once
    leaves the way free for others. Where that does nothing, this thread may be the one.
    """
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join()
    if not done():
        function()


def _count() -> int:
    """The largest number of threads of any BLAS in this process."""
    return max((pool["num_threads"] for pool in _pools().info() if pool["user_api"] == "blas"), default=1)
