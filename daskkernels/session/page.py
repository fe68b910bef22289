"""Top layer: the page of running fits, a plugin of the scheduler that adds two addresses to its web server.

`daskkernels` is the page, `daskkernels/state.json` what it asks for once a second; both need no bokeh.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.http.utils import RequestHandler

from .state import Fits

TOPIC = "daskkernels"
PATH = r"(?:/.*)?/daskkernels"  # under any prefix that the scheduler was given

# What registering can fail with: a scheduler that is gone, or one without this version of the library.
_REFUSED = (OSError, ImportError, RuntimeError, AttributeError, TypeError, ValueError, LookupError)
_has_page: WeakKeyDictionary[Client, bool] = WeakKeyDictionary()


def add_page(client: Client) -> bool:
    """Put the page on the scheduler of a client, once; False where the scheduler cannot have it."""
    if client not in _has_page:
        _has_page[client] = False
        with suppress(*_REFUSED):
            client.register_plugin(FitsPage())
            _has_page[client] = True
    return _has_page[client]


def page_link(client: Client) -> str:
    """The address of the page, or "" where there is none."""
    dashboard, found, _ = client.dashboard_link.rpartition("/status")
    return f"{dashboard}/daskkernels" if found and add_page(client) else ""


class FitsPage(SchedulerPlugin):
    """Follows the events of fits on the scheduler and shows them."""

    name = "daskkernels-page"
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        """Runs on the scheduler, once."""
        self.scheduler, self.fits = scheduler, Fits()
        scheduler.handlers["daskkernels_events"] = self.receive
        routes = [
            (PATH + "/?", _Page, {"extra": {"plugin": self}}),
            (PATH + r"/state\.json", _State, {"extra": {"plugin": self}}),
        ]
        scheduler.http_application.add_handlers(r".*", routes)
        _add_tab(scheduler)

    def receive(self, events: Iterable[dict[str, Any]]) -> None:
        """Log the events of one burst, each for itself, as `Client.log_event` would."""
        for event in events:
            self.scheduler.log_event(TOPIC, event)

    def log_event(self, topic: str, msg: Any) -> None:
        """Keep the state of the fits up to date; the scheduler logs what this raises and goes on."""
        if topic == TOPIC:
            self.fits.record(msg, time.time())
            self.measure()

    def remove_client(self, scheduler: Any, client: str) -> None:
        """A client that leaves takes its running fits along."""
        self.fits.lose(client, time.time())

    def measure(self) -> None:
        """Note the memory of the fullest worker."""
        workers = self.scheduler.workers.values()
        sizes = [(int(w.metrics.get("memory", 0)), int(w.memory_limit or 0)) for w in workers]
        self.fits.note_memory(*max(sizes, default=(0, 0)), workers=len(sizes))

    def state(self) -> dict[str, Any]:
        """What the page shows."""
        self.measure()
        return self.fits.shown(time.time())


def _add_tab(scheduler: Any) -> None:
    """A tab in the dashboard's own row, where there is a dashboard."""
    dashboard = sys.modules.get("distributed.dashboard.scheduler")
    if dashboard is not None and _has_dashboard(scheduler):
        tabs = dashboard.template_variables(scheduler)["pages"]  # every page draws its row from this list
        if TOPIC not in tabs:
            tabs.append(TOPIC)


def _has_dashboard(scheduler: Any) -> bool:
    return any("Bokeh" in type(app).__name__ for app in scheduler.http_application.applications)


class _Answer(RequestHandler):
    """Not kept by browsers, and never taken for another type."""

    def set_default_headers(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")


class _State(_Answer):
    def get(self) -> None:
        self.set_header("Content-Type", "application/json; charset=utf-8")
        self.finish(json.dumps(self.extra["plugin"].state(), allow_nan=False))


class _Page(_Answer):
    def get(self) -> None:
        text, policy = whole_page()
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Content-Security-Policy", policy)
        self.finish(text)


@cache
def whole_page() -> tuple[str, str]:
    """The page with its style and script inside, and the policy that lets it run these and nothing else."""
    folder = Path(__file__).parent
    style, script = ((folder / name).read_text("utf-8") for name in ("page.css", "page.js"))
    text = (folder / "page.html").read_text("utf-8")
    text = text.replace("/* STYLE */", style).replace("/* SCRIPT */", script)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return text, policy


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
