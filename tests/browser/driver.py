"""Steering the site in a browser: open a page, wait until it has settled."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, expect

from andrea import __main__ as andrea

SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'
WAIT_MS = 120_000  # a first visit may wait for a model on a busy machine

# On a page's own address Streamlit first asks for these beside it, gets a 404 and asks at the root.
HARMLESS = ("/_stcore/health", "/_stcore/host-config")


class Trap:
    """A proxy that goes nowhere and notes who asked for it: a server that stays at home never does.

    Python's HTTP clients take their proxy from the environment, so a request to any other machine
    ends here.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of a process that is to be watched."""
        address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        names = ("http_proxy", "https_proxy", "all_proxy")
        proxies = {n: address for name in names for n in (name, name.upper())}
        return {**proxies, "no_proxy": "", "NO_PROXY": ""}

    def _listen(self) -> None:
        while True:
            try:
                caller, _ = self._socket.accept()
            except OSError:
                return  # closed
            with caller:
                caller.settimeout(30)
                try:
                    line = caller.recv(400).split(b"\r\n")[0]
                except OSError:
                    line = b"(said nothing)"
                self.asked.append(line.decode(errors="replace"))

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


@dataclass(frozen=True)
class Server:
    """A running site: its address, the file that its output goes to, the trap that it runs in."""

    url: str
    log: Path
    trap: Trap

    def output(self) -> str:
        """Everything that the server has printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


@dataclass
class Witness:
    """What a browser context did: requests, errors of scripts, errors on the console."""

    host: str
    requests: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Note everything from now on."""
        context.on("request", lambda request: self.requests.append(request.url))
        context.on("weberror", lambda error: self.page_errors.append(str(error.error)))
        context.on("console", self._console)
        context.on("page", self._sockets)

    def _sockets(self, page: Page) -> None:
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def _console(self, message: ConsoleMessage) -> None:
        source = urlsplit(message.location.get("url", "")).path
        if message.type == "error" and not source.endswith(HARMLESS):
            self.console_errors.append(message.text)

    def outside(self) -> list[str]:
        """Requests to anything but the server."""
        own = ("data", "blob", "about")
        parts = [(urlsplit(url), url) for url in self.requests]
        return [url for part, url in parts if part.scheme not in own and part.netloc != self.host]

    def verify(self) -> None:
        """Fail on any error of a script, any error on the console, any outside request."""
        assert not self.outside(), f"requests to other hosts: {self.outside()}"
        assert not self.page_errors, f"errors of scripts: {self.page_errors}"
        assert not self.console_errors, f"errors on the console: {self.console_errors}"


DRAWN = """() => !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"]')
  && [...document.querySelectorAll('[data-testid="stPlotlyChart"]')]
    .every(chart => chart.querySelector('.main-svg'))"""


def settled(page: Page) -> None:
    """Wait until the server has run the page to its end and the browser has drawn it.

    Right after a click this may be true of what stood there before: what the click brings must be
    waited for by itself.
    """
    page.wait_for_selector(SETTLED, timeout=WAIT_MS)
    page.wait_for_function(DRAWN, timeout=WAIT_MS)


def address(page: Page, condition: str) -> None:
    """Wait until a JavaScript condition holds of the address, called ``a``; spaces are ``+``.

    It is written after the page is: by the server's answer, or by the browser a moment later.
    """
    page.wait_for_function(f"() => {{ const a = location.href; return {condition} }}")


def terminal(*words: str) -> dict[str, Any]:
    """Return what ``python -m andrea`` prints to these words, as JSON."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert andrea.main(list(words)) == 0
    document: dict[str, Any] = json.loads(said.getvalue())
    return document


def offered(page: Page, subcommand: str) -> dict[str, Any]:
    """Run the terminal command that the page offers (the first); return its document."""
    command = page.locator("code").filter(has_text=f"andrea {subcommand}").first.inner_text()
    return terminal(*shlex.split(command)[3:])


def open_page(page: Page, server: Server, path: str = "", **query: str) -> None:
    """Open ``path`` of the site with a query, and wait until it has settled.

    ``open_page(page, server, "trace", lang="it")``
    """
    address = f"{server.url}/{path}" + (f"?{urlencode(query)}" if query else "")
    page.goto(address, wait_until="domcontentloaded")
    settled(page)


def copied_link(page: Page) -> str:
    """Press the (Italian) button that copies the link to this place; return what it copied."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copia il link").click()
    expect(page.get_by_role("status").filter(has_text="Link copiato")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))
