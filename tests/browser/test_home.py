"""Home in a real browser: the language, the picture, the way to the pages, the theme, a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from app import i18n, theme
from app.registry import PAGES
from app.state import MAX_CHARS
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, address, open_page, settled

UNFOLDED = """() => {
  const controls = document.querySelector('.st-key-model_controls details');
  return controls.open && !controls.getAnimations({ subtree: true }).length;
}"""
TITLES = {"it": "Dentro un blocco del transformer", "en": "Inside one block of a transformer"}


def rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[i : i + 2], 16) for i in (1, 3, 5)))


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_address_decides_the_language_and_the_switch_changes_it(
    lang: str, page: Page, server: Server
) -> None:
    other = {"it": "en", "en": "it"}[lang]
    open_page(page, server, lang=lang)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_have_text(TITLES[lang])
    page.locator(".st-key-lang button", has_text=other).click()
    expect(heading).to_have_text(TITLES[other])
    page.wait_for_function("lang => document.documentElement.lang === lang", arg=other)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_wears_the_palette_of_the_visitors_theme(
    scheme: str, new_page: NewPage, server: Server
) -> None:
    page = new_page(color_scheme=scheme)
    open_page(page, server)
    palette = {"light": theme.LIGHT, "dark": theme.DARK}[scheme]
    ground = page.locator('[data-testid="stApp"]')
    expect(ground).to_have_css("background-color", rgb(palette["bg"]))
    lead = page.locator(".a-lead")
    expect(lead).to_have_css("color", rgb(palette["mute"]))


def test_the_picture_is_drawn_with_real_cells_and_has_a_name(page: Page, server: Server) -> None:
    open_page(page, server, lang="en")
    drawing = page.get_by_role("img", name=re.compile("Diagram of a block"))
    expect(drawing).to_be_visible()
    box = drawing.bounding_box()
    assert box is not None and box["height"] > 400
    colours = drawing.locator('rect[height="14"]').evaluate_all(
        "cells => new Set(cells.map(c => c.getAttribute('fill'))).size"
    )
    assert colours > 20


def test_every_page_has_a_card_that_leads_to_it(page: Page, server: Server) -> None:
    for entry in PAGES:
        if entry.default:
            continue
        open_page(page, server, lang="it")
        page.locator(f".st-key-card_{entry.url_path} a").click()
        page.wait_for_url(re.compile(rf"/{entry.url_path}\b.*lang=it"))
        settled(page)
        with i18n.use_language("it"):
            expect(page).to_have_title(i18n._(entry.title))


def test_on_a_phone_nothing_lies_over_the_page(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, locale="it-IT")
    open_page(page, server)
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_be_visible()
    on_top = heading.evaluate(
        "h => { const b = h.getBoundingClientRect();"
        "const e = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);"
        "return h.contains(e) || e.contains(h) }"
    )
    assert on_top
    switch = page.locator(".st-key-lang").bounding_box()
    assert switch is not None and switch["x"] + switch["width"] <= 390 and switch["y"] < 60


def test_an_impossible_language_is_named_and_no_deploy_button_shows(
    page: Page, server: Server
) -> None:
    open_page(page, server, lang="xx")
    expect(page.locator(".a-notice")).to_contain_text("xx")
    expect(page.locator('[data-testid="stAppDeployButton"]')).to_have_count(0)
    address(page, "!a.includes('lang=xx')")


def test_a_long_text_is_cut_in_the_address_too(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", text="word " * 1000)
    box = page.get_by_label("Sentence", exact=True)
    page.wait_for_function("location.search.length < 4000")
    expect(box).to_have_value(("word " * 1000)[:MAX_CHARS])
    expect(page.get_by_text("5,000 characters: the first 2,000 are kept")).to_be_visible()
    box.fill("x" * 100_000)
    box.press("Enter")
    expect(page.get_by_text("100,000 characters: the first 2,000 are kept")).to_be_visible()
    expect(box).to_have_value("x" * MAX_CHARS)
    page.wait_for_function("location.search.length < 4000 && location.search.includes('xxx')")


def test_an_impossible_depth_is_named_and_leaves_the_address(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="it", depth="300")
    expect(page.locator(".a-notice").first).to_contain_text("depth = «300»")
    address(page, "!a.includes('depth=')")


def test_a_new_model_brings_its_own_depth(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", depth="3")
    controls = page.locator(".st-key-model_controls")
    expect(controls).to_contain_text("3 blocks")
    controls.locator("summary").click()
    page.wait_for_function(UNFOLDED)  # while the controls unfold, a list that opens closes again
    controls.get_by_role("combobox", name="Model").press("ArrowDown")
    page.get_by_role("option", name="andrea-12m").click()
    expect(controls).to_contain_text("freshly initialised, seed 0 · 6 blocks")
    settled(page)
    page.wait_for_function(
        "location.search.includes('model=andrea-12m') && !location.search.includes('depth')"
    )
    expect(controls.locator('[data-testid="stSlider"]')).to_be_visible()  # still unfolded
