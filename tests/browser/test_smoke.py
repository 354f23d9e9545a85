"""Every page opens, in both languages, on a phone and on a desk, with nothing broken."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from playwright.sync_api import Page, expect

from app.registry import PAGES
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, Trap, open_page

WIDTHS = {"phone": (390, 844), "desk": (1440, 900)}

# How many pixels something sticks out sideways: the document, or the part that scrolls. What
# scrolls inside a box of its own (a wide table, a row of chips) is not counted.
STICKS_OUT = """() => Math.max(...[
    document.documentElement, document.querySelector('[data-testid="stMain"]')
].map(e => e.scrollWidth - e.clientWidth))"""


def address(entry: object) -> str:
    """The default page lives at the root."""
    return "" if entry.default else entry.url_path  # type: ignore[attr-defined]


def no_exception(page: Page) -> None:
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    expect(page.locator('[data-testid="stMain"] h1').first).to_be_visible()


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.url_path or "home")
def test_page_opens(entry: object, lang: str, new_page: NewPage, server: Server) -> None:
    for width, height in WIDTHS.values():
        page = new_page(viewport={"width": width, "height": height})
        open_page(page, server, address(entry), lang=lang)
        no_exception(page)
        expect(page.locator("html")).to_have_attribute("lang", lang)
        assert page.evaluate(STICKS_OUT) <= 0, f"something sticks out at {width} px"


def test_browser_language_decides(new_page: NewPage, server: Server) -> None:
    for locale, expected in (("it-IT", "it"), ("en-GB", "en"), ("fr-FR", "en")):
        page = new_page(locale=locale)
        open_page(page, server)
        expect(page.locator("html")).to_have_attribute("lang", expected)


def test_unknown_values_do_not_break_the_page(page: Page, server: Server) -> None:
    open_page(page, server, "", lang="xx", nonsense="<script>1</script>")
    no_exception(page)
    expect(page.locator("html")).to_have_attribute("lang", re.compile("^(it|en)$"))


def test_the_server_asks_no_other_machine(page: Page, server: Server) -> None:
    open_page(page, server)
    no_exception(page)
    assert server.trap.asked == []


def test_the_trap_catches_what_asks() -> None:
    trap = Trap()
    code = "import urllib.request as u; u.urlopen('http://example.invalid/x')"
    around = {**os.environ, **trap.environment}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True)
    trap.close()
    assert done.returncode != 0
    assert trap.asked == ["GET http://example.invalid/x HTTP/1.1"]
