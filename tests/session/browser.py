"""A headless Chromium that tests look at pages with, told what to do through its own debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")


class Browser:
    """One browser with one open page at a time."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM
        self._runner, self._numbers = asyncio.Runner(), itertools.count(1)
        self._socket: WebSocketClientConnection | None = None
        self.messages: list[str] = []  # what the page wrote to the console, and its errors
        command = [
            CHROMIUM,
            *OPTIONS,
            "--remote-debugging-port=0",
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._port = _port(folder / "DevToolsActivePort", self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._socket is not None:
            self._runner.run(_closed(self._socket))
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._runner.close()

    def open(self, address: str, *, dark: bool = False, width: int = 1180) -> None:
        """Show a page."""
        if self._socket is None:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/json") as answer:
                target = next(found for found in json.load(answer) if found["type"] == "page")
            self._socket = self._runner.run(_connected(target["webSocketDebuggerUrl"]))
        self.messages.clear()
        for method in ("Page.enable", "Runtime.enable", "Log.enable"):
            self._ask(method)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", features=[scheme])
        self._ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        self._ask("Emulation.setScrollbarsHidden", hidden=True)
        self._ask("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript is on the page."""
        found = self._ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def text(self) -> str:
        """What can be read."""
        return str(self.value("document.body.innerText"))

    def wait_for(self, expression: str, seconds: float = 30.0) -> None:
        """Return when the expression is true."""
        limit = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            assert time.monotonic() < limit, f"never true: {expression}\n{self.text()}\n{self.messages}"
            time.sleep(0.1)

    def photograph(self, path: Path) -> None:
        """The whole page as an image."""
        found = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def _ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._runner.run(self._answer(method, parameters))

    async def _answer(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        assert self._socket is not None
        number = next(self._numbers)
        await self._socket.write_message(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            text = await asyncio.wait_for(self._socket.read_message(), 30)
            assert text is not None, "the browser is gone"
            message = json.loads(text)
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])
            if message.get("method") in (
                "Runtime.exceptionThrown",
                "Log.entryAdded",
                "Runtime.consoleAPICalled",
            ):
                self.messages.append(json.dumps(message["params"]))


async def _connected(address: str) -> WebSocketClientConnection:
    return await websocket_connect(address, max_message_size=2**27)


async def _closed(socket: WebSocketClientConnection) -> None:
    socket.close()
    while await asyncio.wait_for(socket.read_message(), 10) is not None:
        pass


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    limit = time.monotonic() + 60
    while not (file.exists() and file.read_text().count("\n")):
        assert process.poll() is None, "chromium ended"
        assert time.monotonic() < limit, "chromium does not start"
        time.sleep(0.1)
    return int(file.read_text().splitlines()[0])
