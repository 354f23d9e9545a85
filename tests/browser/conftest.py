"""A real server and a real Chromium for the tests in this folder."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.driver import WAIT_MS, Server, Trap, Witness
from tools.find_chromium import NONE, find

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
START_SECONDS = 120

# Every expectation waits as long as everything else does: on a busy machine five seconds, which is
# Playwright's own patience, are sometimes too few.
expect.set_options(timeout=WAIT_MS)

NewPage = Callable[..., Page]


def free_port() -> int:
    """Return a port that nothing listens on.

    Not one that the system deals out by itself: until the server listens, which takes seconds, a
    browser's connection or another worker's server might be given the same.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 20
    while True:
        port = 10_000 + 1000 * worker + random.SystemRandom().randrange(1000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            return port


def wait_until_healthy(server: Server, process: subprocess.Popen[bytes]) -> None:
    """Poll the server until it says ok; fail with what it printed if it does not."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.url}/_stcore/health", timeout=10) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the site did not start within {START_SECONDS} s:\n{server.output()}")


@contextlib.contextmanager
def running_site(folder: Path, script: Path, *options: str) -> Iterator[Server]:
    """Start a script of Streamlit's from another folder as a user might, on a port of its own."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(script), *options]
    # No --server.address: listening everywhere is when Streamlit would ask for this machine's own.
    command += ["--server.port", str(port), "--server.headless", "true"]
    running = Server(f"http://127.0.0.1:{port}", folder / "server.log", Trap())
    # No race is too long: how long one takes is the machine's affair, not the tests'.
    own = {"NO_COLOR": "1", "ANDREA_RACE_SECONDS": "1000000"}
    around = {**os.environ, **running.trap.environment, **own}
    with running.log.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=around, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until_healthy(running, process)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        running.trap.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The site; every worker has its own."""
    with running_site(tmp_path_factory.mktemp("server"), ROOT / "app" / "main.py") as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of this folder."""
    path = find()
    if path is None:
        pytest.fail(NONE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def new_page(browser: Browser, server: Server) -> Iterator[NewPage]:
    """A function that opens a page in a fresh context; its arguments are Playwright's.

    When the test is over, every page is asked: no error of a script, none on the console, and no
    request to another host than the server. The server may not have stumbled either: the site
    turns an exception into a polite sentence for the visitor, and into a traceback in its output.
    """
    already = len(server.output())
    opened: list[tuple[BrowserContext, Witness]] = []

    def make(**options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        context.set_default_timeout(WAIT_MS)
        witness = Witness(urlsplit(server.url).netloc)
        witness.watch(context)
        opened.append((context, witness))
        return context.new_page()

    yield make
    for context, _ in opened:
        context.close()
    for _, witness in opened:
        witness.verify()
    said = server.output()[already:]
    assert "Traceback" not in said, said[-4000:]


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page 1440 pixels wide, watched as ``new_page`` says."""
    return new_page()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the end of the server's output beside a failed test."""
    report = yield
    running = getattr(item, "funcargs", {}).get("server")
    if report.failed and isinstance(running, Server):
        report.sections.append(("site's output", running.output()[-4000:]))
    return report
