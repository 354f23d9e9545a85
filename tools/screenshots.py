"""Take the pictures of the README from the running site: ``python -m tools.screenshots``.

``--all FOLDER`` takes every page in both languages, light and dark, on a desk and on a phone, for
a critical look at all of them.
"""

from __future__ import annotations

import argparse
import itertools
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, sync_playwright

from app.registry import PAGES
from tools.find_chromium import NONE, find

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
SIZES = {"desk": (1440, 1000), "phone": (390, 844)}
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'
DRAWN_SECONDS = 3  # Plotly and the walk draw after the page has settled

# name, page, query, language, dark, size
Shot = tuple[str, str, dict[str, str], str, bool, str]
README: tuple[Shot, ...] = (
    ("home", "", {}, "en", False, "desk"),
    ("trace-light", "trace", {"at": "4.resid_mid"}, "it", False, "desk"),
    ("trace-dark", "trace", {"at": "7.pattern"}, "en", True, "desk"),
    ("trace-phone", "trace", {"at": "9.mlp_post"}, "it", False, "phone"),
    ("gradients", "gradients", {}, "en", False, "desk"),
    ("parameters", "parameters", {}, "en", False, "desk"),
)


@contextmanager
def site() -> Iterator[str]:
    """Run the site on a free port and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app" / "main.py")]
    command += ["--server.port", str(port), "--server.headless", "true"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2):
                    break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def shoot(
    browser: Browser, address: str, target: Path, query: dict[str, str], dark: bool, size: str
) -> None:
    """Take one picture; a phone's is as long as the page, a desk's as high as the screen."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{address}?{urlencode(query)}")
    page.wait_for_selector(SETTLED, timeout=120_000)
    time.sleep(DRAWN_SECONDS)
    walk = page.locator('[data-part="place"]')
    if size == "desk" and walk.count():
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 250)")
        time.sleep(1)
    page.screenshot(path=target)
    context.close()
    print(target)


def main() -> None:
    """Take the README's pictures, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every page, every way")
    folder = parser.parse_args().all
    path = find()
    if path is None:
        raise SystemExit(NONE)
    shots = README
    if folder is not None:
        ways = itertools.product(PAGES, ("it", "en"), (False, True), SIZES)
        shots = tuple(
            (
                f"{entry.url_path}-{lang}-{'dark' if dark else 'light'}-{size}",
                "" if entry.default else entry.url_path,
                {},
                lang,
                dark,
                size,
            )
            for entry, lang, dark, size in ways
        )
    target = folder or ROOT / "docs" / "img"
    target.mkdir(parents=True, exist_ok=True)
    with site() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for name, page, query, lang, dark, size in shots:
            place = target / f"{name}.png"
            shoot(browser, f"{address}/{page}", place, {"lang": lang, **query}, dark, size)
        browser.close()


if __name__ == "__main__":
    main()
