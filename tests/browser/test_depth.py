"""Depth as a student uses it: predict, write a sentence, take a block away, take the link along."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from andrea import engine
from andrea.requests_depth import AnswersRequest, ChangesRequest, WaterfallRequest
from app import i18n, readings_depth
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, address, open_page

TEXT = {"it": "La vecchia aprì la porta e vide", "en": "The old woman opened the door and saw"}


def reading(page: Page, text: str) -> Locator:
    return page.locator(".a-reading").filter(has_text=text)


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_page_shows_what_is_measured(lang: str, page: Page, server: Server) -> None:
    open_page(page, server, "depth", lang=lang, text=TEXT[lang])
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    drop = engine.run(WaterfallRequest(TEXT[lang]))
    with i18n.use_language(lang):
        told = readings_depth.waterfall_reading(drop)
    # The error's last digits may differ between two processes; what comes before may not.
    expect(reading(page, told[: told.index("×") - 4])).to_have_count(1)
    bars = page.locator(".js-plotly-plot").first.locator(".barlayer .point")
    expect(bars).to_have_count(len(drop.contributions) + 1)
    expect(page.locator('[role="alert"]')).to_have_count(0)


def test_a_change_and_a_place_give_their_own_numbers(page: Page, server: Server) -> None:
    open_page(page, server, "depth", lang="en", text=TEXT["en"], change="mlp", block="3")
    losses = engine.run(ChangesRequest("mlp"))
    answers = engine.run(AnswersRequest(TEXT["en"], "mlp"))
    expect(page.get_by_text("Without the MLP of block 3")).to_be_visible()
    expect(reading(page, readings_depth.change_reading(losses, 3))).to_have_count(1)
    expect(reading(page, readings_depth.answer_reading(answers, 3))).to_have_count(1)
    slider = page.get_by_role("slider", name="Block")
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_text("Without the MLP of block 4")).to_be_visible()
    expect(reading(page, readings_depth.change_reading(losses, 4))).to_have_count(1)


def test_without_the_residual_it_collapses_and_the_address_knows(
    page: Page, server: Server
) -> None:
    open_page(page, server, "depth", lang="en")
    page.get_by_text("cut every residual", exact=True).click()
    expect(reading(page, "same probability")).to_have_count(1)
    expect(page.get_by_role("slider", name="Block")).to_be_disabled()
    address(page, "a.includes('change=residual')")
    expect(page.locator(".js-plotly-plot")).to_have_count(4)  # one place needs no curve


def test_the_prediction_is_answered(page: Page, server: Server) -> None:
    open_page(page, server, "depth", lang="en")
    page.get_by_role("button", name="Show me").click()
    told = readings_depth.prediction_reading(engine.run(ChangesRequest("block")))
    expect(reading(page, told)).to_have_count(1)


def test_bad_input_is_named_and_the_page_goes_on(page: Page, server: Server) -> None:
    open_page(page, server, "depth", lang="en", change="explode", block="99")
    notices = page.locator(".a-notice")
    expect(notices.filter(has_text="explode")).to_have_count(1)
    expect(notices.filter(has_text="99")).to_have_count(1)
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    box = page.get_by_role("textbox", name="Sentence")
    box.fill("")
    box.press("Enter")
    expect(page.locator('[role="alert"]').filter(has_text="The text is empty")).to_be_visible()


def test_it_fits_a_phone_in_the_dark(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    open_page(page, server, "depth", lang="it")
    expect(page.locator(".js-plotly-plot")).to_have_count(5)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    command = page.locator('[data-testid="stCode"]').last
    expect(command).to_contain_text(re.compile(r"python -m andrea depth .*--change block --json"))
