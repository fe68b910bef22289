"""Top layer: the events of a fit on their way to the scheduler, in bursts, from the client's own loop.

A fit never waits for them while it works and never fails for them: where the scheduler is gone they are lost.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from distributed import Client

from ..events import Event, FitEnded, FitStarted, Iteration, Planned, StageEnded, StageProgress, StageStarted
from .page import TOPIC, add_page

BURST_SECONDS = 0.2  # between two messages to the scheduler: at most five a second
LAST_SECONDS = 0.5  # that the end of a fit waits for its last events to arrive; a few milliseconds are usual
MOST_WAITING = 2000  # events; the oldest go first where the scheduler does not answer
MESSAGE_LENGTH = 300
NAMES: dict[type[Any], str] = {
    FitStarted: "fit-started",
    Planned: "planned",
    StageStarted: "stage-started",
    StageProgress: "stage-progress",
    StageEnded: "stage-ended",
    Iteration: "iteration",
    FitEnded: "fit-ended",
}
# What a message can fail with where the scheduler, the connection or the loop is gone or does not know us.
GONE = (OSError, RuntimeError, AttributeError, LookupError, TypeError, ValueError, ImportError)


class Forwarder:
    """A sink for one fit: its events as plain dicts under the topic "daskkernels" of the scheduler."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._in_bursts = add_page(client)
        self._common: dict[str, Any] = {}  # in every record of the fit
        self._progressed = 0.0  # when progress was last forwarded
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MOST_WAITING)
        self._lock = threading.Lock()
        self._sending = False
        self._hurry = asyncio.Event()
        self._arrived = threading.Event()

    def __call__(self, event: Event) -> None:
        """Take one event; only the last of a fit waits, shortly, for all to arrive."""
        if isinstance(event, FitStarted):
            self._common = {"fit": event.fit, "estimator": event.estimator}
        if isinstance(event, StageProgress) and self._too_soon():
            return
        with self._lock:
            self._waiting.append(self._record(event))
            start, self._sending = not self._sending, True
        if start:
            self._on_loop(self._send)
        if isinstance(event, FitEnded):
            self._on_loop(self._hurry.set)
            self._arrived.wait(LAST_SECONDS)

    def _too_soon(self) -> bool:
        now = time.monotonic()
        if now - self._progressed < BURST_SECONDS:
            return True
        self._progressed = now
        return False

    def _record(self, event: Event) -> dict[str, Any]:
        """The event as values that JSON knows."""
        found = {"event": NAMES[type(event)], "time": time.time(), **self._common}
        found |= {name: _plain(value) for name, value in vars(event).items()}
        if isinstance(event, FitStarted):
            found["client"] = self._client.id
        return found

    def _on_loop(self, function: Any) -> None:
        loop: Any = self._client.loop
        with suppress(RuntimeError, AttributeError):  # the loop is closed
            loop.add_callback(function)

    async def _send(self) -> None:
        """Runs in the client's loop until nothing is waiting."""
        while records := self._taken():
            try:
                await self._deliver(records)
            except GONE:
                with self._lock:  # stays "sending": nobody is asked again
                    self._waiting.clear()
                self._arrived.set()
                return
            if records[-1]["event"] == "fit-ended":
                self._arrived.set()
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), BURST_SECONDS)

    def _taken(self) -> list[dict[str, Any]]:
        with self._lock:
            records = list(self._waiting)
            self._waiting.clear()
            self._sending = bool(records)
        return records

    async def _deliver(self, records: list[dict[str, Any]]) -> None:
        """One message, or one for each record where the scheduler has no page that takes them together."""
        scheduler: Any = self._client.scheduler
        if self._in_bursts:
            await scheduler.daskkernels_events(events=records)
            return
        for record in records:
            await scheduler.log_event(topic=TOPIC, msg=record)


def _plain(value: Any) -> Any:
    """Python's own numbers; what is not finite is None, as in JSON."""
    if isinstance(value, dict):
        return {str(name): _plain(found) for name, found in value.items()}
    if isinstance(value, str):
        return value[:MESSAGE_LENGTH]
    if isinstance(value, bool | int):
        return value
    number = float(value)
    return number if math.isfinite(number) else None
