"""Residuals and gradients as a student uses it: sliders, arms, guides, and who does not wait."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from andrea import engine
from andrea.requests import GradientsRequest
from app import i18n, readings_gradients
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, open_page, settled

# Two narrow arms, one seed: a measurement takes a moment.
QUICK = {"width": "64", "seeds": "1", "arm.post": "false", "arm.pre-cut": "false"}
BLOCKS = {"it": "Blocchi", "en": "Blocks"}
READING = ".a-reading"


def readings(page: Page) -> Locator:
    """The sentences under the figures."""
    return page.locator(READING)


def expected(arm: str, norm: str, residual: bool, n_layer: int, lang: str) -> str:
    """The sentence that the numbers make, computed here."""
    result = engine.run(
        GradientsRequest(n_layer=n_layer, d_model=64, n_head=1, norm=norm, residual=residual)
    )
    with i18n.use_language(lang):
        return readings_gradients.gradient_sentence(arm, result)


LINES = """[...document.querySelector('.js-plotly-plot')
  .querySelectorAll('.scatterlayer path.js-line')].map(path => path.getAttribute('d'))"""
# The first figure is drawn, and with other lines than these.
OTHER_CURVE = f"""before => {{
  const now = {LINES};
  return now.length > 0 && JSON.stringify(now) !== JSON.stringify(before);
}}"""


def curve(page: Page) -> list[str]:
    """The shapes of the first figure's lines, as drawn."""
    page.wait_for_function(OTHER_CURVE, arg=[])
    lines: list[str] = page.evaluate(LINES)
    return lines


@pytest.mark.parametrize("lang", ["it", "en"])
def test_saved_results_stand_there_at_once_and_say_so(
    lang: str, page: Page, server: Server
) -> None:
    open_page(page, server, "gradients", lang=lang)
    saved = {"it": "Risultati salvati", "en": "Saved results"}[lang]
    expect(page.locator(".a-notice").filter(has_text=saved)).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)
    warning = {"it": "Questa figura da sola inganna", "en": "This view alone misleads"}[lang]
    expect(page.locator(".a-notice").filter(has_text=warning)).to_have_count(2)
    unit = {"it": re.compile(r"circa \d+ second"), "en": re.compile(r"about \d+ second")}[lang]
    expect(page.get_by_role("button", name=unit)).to_be_visible()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_depth_slider_changes_figure_and_sentence(
    lang: str, page: Page, server: Server
) -> None:
    open_page(page, server, "gradients", lang=lang, layers="5", **QUICK)
    expect(readings(page)).to_have_count(8)
    sentence = expected("plain", "none", False, 5, lang)
    expect(readings(page).filter(has_text=sentence)).to_have_text(sentence)
    before = curve(page)
    slider = page.get_by_role("slider", name=BLOCKS[lang])
    slider.focus()
    slider.press("ArrowRight")
    sentence = expected("plain", "none", False, 6, lang)
    expect(readings(page).filter(has_text=sentence)).to_have_text(sentence)
    page.wait_for_function(OTHER_CURVE, arg=before)


def test_another_place_of_the_norm_is_another_picture(page: Page, server: Server) -> None:
    open_page(page, server, "gradients", lang="en", layers="5", **QUICK)
    expect(readings(page)).to_have_count(8)
    sentence = expected("post", "post", True, 5, "en")
    expect(readings(page).filter(has_text=sentence)).to_have_count(0)
    page.get_by_text("post-norm", exact=True).first.click()
    expect(readings(page).filter(has_text=sentence)).to_have_text(sentence)
    settled(page)
    expect(readings(page)).to_have_count(12)
    expect(page.locator(".js-plotly-plot").first.locator(".legendtext")).to_have_count(3)


def test_five_quick_moves_give_one_answer(page: Page, server: Server) -> None:
    open_page(page, server, "gradients", lang="en", layers="7", **QUICK)
    expect(readings(page)).to_have_count(8)
    slider = page.get_by_role("slider", name="Blocks")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
        page.wait_for_timeout(120)
    last = readings(page).filter(has_text="after block 12")
    expect(last.first).to_be_visible()
    settled(page)
    expect(readings(page)).to_have_count(8)
    sentence = expected("plain", "none", False, 12, "en")
    expect(readings(page).filter(has_text=sentence)).to_have_text(sentence)
    expect(page.locator('[data-testid="stProgress"]')).to_have_count(0)


def test_a_guide_sets_every_control_whatever_the_address_said(page: Page, server: Server) -> None:
    open_page(page, server, "gradients", lang="en", layers="5", **QUICK)
    page.get_by_text("The plain stack", exact=True).click()
    expect(page.get_by_role("slider", name="Blocks")).to_have_value("24")
    settled(page)
    told = page.locator('[data-testid="stMain"]')
    expect(told).to_contain_text("vanishes below what float32 can hold at block")
    expect(told).to_contain_text("zero is a result")  # the guide's comment
    note = page.locator(".js-plotly-plot").first.locator(".annotation-text")
    expect(note).to_contain_text("vanished below float32")
    page.get_by_role("slider", name="Seeds").press("ArrowLeft")
    expect(told).not_to_contain_text("zero is a result")  # no longer what the guide showed


def test_the_theorem_shows_its_exponents(page: Page, server: Server) -> None:
    open_page(page, server, "gradients", lang="en", guide="theorem")
    expect(readings(page)).to_have_count(2)
    pre, post = readings(page).all_inner_texts()
    found = [float(re.search(r"power (\S+);", t)[1].replace("\N{MINUS SIGN}", "-"))  # type: ignore[index]
             for t in (pre, post)]  # fmt: skip
    assert -0.7 < found[0] < -0.4 and abs(found[1]) < 0.1
    expect(page.get_by_role("slider", name="Blocks")).to_be_disabled()


def test_what_costs_more_than_ten_seconds_waits_for_a_click_and_can_be_stopped(
    page: Page, server: Server
) -> None:
    heavy = {"layers": "96", "width": "256", "seeds": "8"}
    open_page(page, server, "gradients", lang="en", **heavy)
    measure = page.get_by_role("button", name=re.compile("^Measure "))
    expect(measure).to_be_visible()
    expect(readings(page)).to_have_count(0)
    measure.click()
    bar = page.locator('[data-testid="stProgress"]')
    expect(bar).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(bar).to_have_count(0)  # at the next block; the machine may be busy
    expect(measure).to_be_visible()


def test_impossible_values_are_named_and_replaced(page: Page, server: Server) -> None:
    wrong = {"guide": "nonsense", "layers": "999", "width": "100", "init": "zeros", "seeds": "-1"}
    open_page(page, server, "gradients", lang="en", **wrong)
    for key, value in wrong.items():
        expect(page.locator(".a-notice").filter(has_text=f"{key} = “{value}”")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(4)


def test_no_arm_at_all_is_said(page: Page, server: Server) -> None:
    none = {f"arm.{arm}": "false" for arm in ("pre", "post", "pre-cut", "plain")}
    open_page(page, server, "gradients", lang="en", **none)
    expect(page.locator(".a-notice").filter(has_text="Choose at least one variant")).to_be_visible()


def test_the_link_and_the_commands_repeat_the_place(new_page: NewPage, server: Server) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    open_page(page, server, "gradients", lang="en", layers="5", **QUICK)
    expect(readings(page)).to_have_count(8)
    page.get_by_role("button", name="Copy the link").click()
    expect(page.get_by_text("Link copied", exact=True)).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    query = {key: values[0] for key, values in parse_qs(urlsplit(link).query).items()}
    assert query["layers"] == "5" and query["width"] == "64" and query["init"] == "xavier"
    assert query["arm.pre"] == "true" and query["arm.post"] == "false"
    commands = page.locator('[data-testid="stCode"]').inner_text().strip().splitlines()
    assert commands[0].startswith("python -m andrea gradients --n-layer 5 --d-model 64")
    first = readings(page).all_inner_texts()
    other = new_page()
    other.goto(link)
    settled(other)
    expect(readings(other)).to_have_count(8)
    assert readings(other).all_inner_texts() == first


def test_a_saved_arm_beside_a_live_one_is_called_so(page: Page, server: Server) -> None:
    open_page(page, server, "gradients", lang="en", **{"arm.post-cut": "true"})
    expect(readings(page)).to_have_count(20)
    notice = page.locator(".a-notice").filter(has_text="Of the 5 results asked for, 4 are saved")
    expect(notice).to_be_visible()
