"""GELU and ReLU in a real browser: the slider inside the figure, and numbers as the terminal's."""

from __future__ import annotations

import math
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.driver import Server, offered, open_page, settled

WORDS = {
    "it": {"guess": "Circa la metà", "all": "Nel complesso dei blocchi", "exact": "GELU esatta",
           "token": "il token", "swap": "GELU esatta al posto della forma con tanh, in tutti"},
    "en": {"guess": "About half", "all": "Over all blocks", "exact": "exact GELU",
           "token": "the token", "swap": "Exact GELU in place of the tanh form, in all"},
}  # fmt: skip
languages = pytest.mark.parametrize("lang", ["it", "en"])


def command(page: Page) -> Locator:
    """The terminal command that the page offers."""
    return page.locator("code").filter(has_text="andrea activation")


def written(x: float, digits: int, lang: str) -> str:
    """Write a number as the site does."""
    text = f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return text.replace(".", ",") if lang == "it" else text


def reading(page: Page, words: str) -> Locator:
    """The reading that has ``words`` in it."""
    return page.locator(".a-reading").filter(has_text=words)


@languages
def test_the_slider_steps_without_the_server(lang: str, page: Page, server: Server) -> None:
    sent: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: sent.append(frame)))
    open_page(page, server, "gelu", lang=lang)
    chart = page.locator(".st-key-curves")
    rail = chart.locator(".slider-rail-touch-rect")
    expect(rail).to_be_visible()
    expect(chart.get_by_text("x · Φ(x) =")).to_contain_text(written(-0.1587, 4, lang))
    box = rail.bounding_box()
    assert box is not None and sent
    before, values = len(sent), set()
    for share in (0.2, 0.55, 0.9):
        rail.click(position={"x": share * box["width"], "y": box["height"] / 2})
        said = chart.locator(".slider-label").filter(has_text="x = ").text_content() or ""
        x = float(said.split("=")[1].strip().replace("\N{MINUS SIGN}", "-").replace(",", "."))
        assert x == pytest.approx(-4 + 8 * share, abs=0.3)
        phi = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        formula = f"{written(x, 1, lang)} · {written(phi, 4, lang)} = {written(x * phi, 4, lang)}"
        expect(chart.get_by_text("x · Φ(x) =")).to_contain_text(formula)
        values.add(x)
    assert len(values) == 3 and len(sent) == before


@languages
def test_the_numbers_are_the_terminals(lang: str, page: Page, server: Server) -> None:
    open_page(page, server, "gelu", lang=lang)
    document = offered(page, "activation")
    layers = document["layers"]["layers"]
    expect(reading(page, written(document["approximation"]["largest"], 6, lang))).to_be_visible()
    page.get_by_text(WORDS[lang]["guess"], exact=True).click()
    mean = sum(layers["negative"]) / len(layers["negative"])
    expect(reading(page, WORDS[lang]["all"])).to_contain_text(f"{100 * mean:.0f}")

    swap = document["swap"]
    for base, change in zip(swap["base_loss"], swap["change_all"], strict=True):
        for loss in (base, base + change):
            expect(reading(page, written(loss, 3, lang)).last).to_be_visible()
    page.locator(".st-key-choose-act").get_by_text(WORDS[lang]["exact"]).click()
    page.wait_for_url(re.compile("act=gelu"))
    settled(page)
    expect(reading(page, WORDS[lang]["swap"])).to_be_visible()
    assert max(abs(x) for x in offered(page, "activation")["swap"]["change_all"]) < 1e-3

    page.locator(".st-key-choose-over").get_by_text(WORDS[lang]["token"], exact=True).click()
    page.wait_for_url(re.compile("over=token"))
    settled(page)
    read = offered(page, "activation")["text"]
    own = read["pre"][read["position"]]
    most = max(own)
    expect(reading(page, written(most, 2 if abs(most) < 9.995 else 1, lang)).last).to_be_visible()


def test_the_link_and_the_file(new_page: NewPage, server: Server) -> None:
    page = new_page()
    query = {"pos": "3", "layer": "2", "over": "token", "act": "gelu", "model": "andrea-12m",
             "depth": "2", "seed": "5"}  # fmt: skip
    open_page(page, server, "gelu", lang="it", **query)
    expect(page.locator(".a-notice").filter(has_text="indirizzo")).to_have_count(0)
    asked = command(page).inner_text()
    for option in ("--layer 2", "--position 3", "--act gelu", "--seed 5 --n-layer 2"):
        assert option in asked
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copia il link").click()
    expect(page.get_by_role("status").filter(has_text="Link copiato")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    found = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert found["lang"] == "it" and {key: found[key] for key in query} == query
    page.goto(link, wait_until="domcontentloaded")
    settled(page)
    assert command(page).inner_text() == asked
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Tutti i numeri (CSV)").click()
    rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "# command: " + asked
    pre = [float(row.rsplit(",", 1)[1]) for row in rows if row.startswith("pre,")]
    read = offered(page, "activation")["text"]
    assert pre == pytest.approx(read["pre"][3], rel=1e-5, abs=1e-6)


def test_impossible_values_are_named_on_a_phone(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    open_page(page, server, "gelu", lang="en", layer="99", over="all", act="swish", pos="77")
    notices = page.locator(".a-notice")
    for word in ("layer", "over", "swish", "pos"):
        expect(notices.filter(has_text=word).first).to_be_visible()
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
