"""Find a Chromium for the browser tests, or get one: ``python -m tools.find_chromium --install``.

In this order: the one that ``ANDREA_CHROMIUM`` names; one on the PATH under a usual name; one where
macOS keeps applications; the one that Playwright installed. With ``--install``: Debian's package
where we are root on Debian, otherwise Playwright's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.make_venv import apt_install, may_install

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
MAC = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
NONE = """\
No Chromium was found, and none could be installed. The browser tests need one: install Chromium or
Google Chrome, or say where one is with ANDREA_CHROMIUM=/path/to/chromium."""


def playwrights_own() -> str | None:
    """Where Playwright would keep its Chromium, whether or not it is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def candidates() -> Iterator[str | None]:
    """Yield every place to look, in order."""
    named = os.environ.get("ANDREA_CHROMIUM")
    if named:
        yield named
        return  # a named one that does not work is a mistake to hear about, not to work around
    yield from (shutil.which(name) for name in NAMES)
    yield from MAC
    yield playwrights_own()


def runs(path: str) -> bool:
    """Whether the file says its version: a stub that only points to another installer does not."""
    if not Path(path).is_file():
        return False
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and any(c.isdigit() for c in done.stdout.decode(errors="replace"))


def find() -> str | None:
    """Return the path of a Chromium that starts, or nothing."""
    return next((path for path in candidates() if path and runs(path)), None)


def install() -> str | None:
    """Get a Chromium from the system's packages or from Playwright; return its path or nothing."""
    if may_install() and apt_install("chromium", "fonts-liberation"):
        return find()
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    print("Installing Playwright's Chromium", flush=True)
    return find() if subprocess.call(command) == 0 else None


def main() -> int:
    """Print the path of a Chromium; exit status 1 and a sentence if there is none."""
    path = find()
    if path is None and "--install" in sys.argv and not os.environ.get("ANDREA_CHROMIUM"):
        path = install()
    if path is None:
        print(NONE, file=sys.stderr)
        return 1
    print(f"Chromium: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
