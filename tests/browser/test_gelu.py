"""GELU and ReLU in a real browser: the point on the curves, and numbers as the terminal's."""

from __future__ import annotations

import math
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from andrea import saved_race
from andrea.measures.race_pairs import pairs
from app import race_view
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, copied_link, offered, open_page, settled

WORDS = {
    "it": {"guess": "Circa la metà", "all": "Nel complesso dei blocchi", "exact": "GELU esatta",
           "token": "il token", "place": "Posizione del punto",
           "kink": "nessuna: c’è lo spigolo",
           "swap": "GELU esatta al posto della forma con tanh, in tutti"},
    "en": {"guess": "About half", "all": "Over all blocks", "exact": "exact GELU",
           "token": "the token", "place": "Position of the point",
           "kink": "none: the kink",
           "swap": "Exact GELU in place of the tanh form, in all"},
}  # fmt: skip
languages = pytest.mark.parametrize("lang", ["it", "en"])


def command(page: Page) -> Locator:
    """The terminal command that the page offers; that of the swap may stand under it."""
    return page.locator("code").filter(has_text="andrea activation").first


def written(x: float, digits: int, lang: str) -> str:
    """Write a number as the site does."""
    text = f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return text.replace(".", ",") if lang == "it" else text


def reading(page: Page, words: str) -> Locator:
    """The reading that has ``words`` in it."""
    return page.locator(".a-reading").filter(has_text=words)


def at(x: float) -> dict[str, float]:
    """What the formulas must show at x, computed here."""
    phi = 0.5 * (1 + math.erf(x / math.sqrt(2)))
    normal = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    u, du = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3), math.sqrt(2 / math.pi)
    t, dt = math.tanh(u), du * (1 + 3 * 0.044715 * x**2) / math.cosh(u) ** 2
    exact, tanh, relu = x * phi, 0.5 * x * (1 + t), max(x, 0.0)
    return {"gelu": exact, "gelu_slope": phi + x * normal, "tanh": tanh,
            "tanh_slope": 0.5 * (1 + t) + 0.5 * x * dt, "difference": tanh - exact,
            "relu": relu, "relu_slope": float(x > 0), "cut": exact - relu}  # fmt: skip


def result(text: str, lang: str) -> float:
    """The number after the last equals sign, as the language writes it."""
    last = text.split("=")[-1].strip()
    assert "-" not in last and ("," if lang == "en" else ".") not in last
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    last = last.replace(" × 10", "e").translate(raised)
    return float(last.replace(",", ".").replace("\N{MINUS SIGN}", "-"))


def shown_at(page: Page, x: float, lang: str) -> None:
    """The point stands at x, and every line of the formulas ends in the right number."""
    point = page.locator("section.point")
    slider = page.get_by_role("slider", name=WORDS[lang]["place"])
    expect(slider).to_have_attribute("aria-valuetext", f"x = {written(x, 2, lang)}")
    expect(point.locator("output")).to_have_text(f"x = {written(x, 2, lang)}")
    for name, value in at(x).items():
        text = point.locator(f"[data-line={name}]").inner_text()
        if name == "relu_slope" and x == 0:
            assert text == WORDS[lang]["kink"]
            continue
        digits = max(4, 2 - math.floor(math.log10(abs(value)))) if value else 4
        assert result(text, lang) == pytest.approx(value, abs=0.51 * 10.0**-digits, rel=0), name


@languages
def test_the_point_steps_without_the_server(lang: str, page: Page, server: Server) -> None:
    # What the browser asks: a server that is slow may still be answering the first visit.
    asked: list[object] = []
    page.on("websocket", lambda ws: ws.on("framesent", lambda frame: asked.append(frame)))
    open_page(page, server, "gelu", lang=lang)
    slider = page.get_by_role("slider", name=WORDS[lang]["place"])
    shown_at(page, -1, lang)
    before = len(asked)
    slider.focus()
    for keys, x in (
        ("End", 4),
        ("Home", -4),
        ("PageUp", -3.2),
        ("ArrowRight " * 3, -3.05),
        ("PageUp " * 3, -0.65),
        ("ArrowRight " * 13, 0),
        ("ArrowLeft", -0.05),
    ):
        for key in keys.split():
            page.keyboard.press(key)
        shown_at(page, x, lang)
    drawing = page.locator("section.point .drawing")
    box = drawing.bounding_box()
    assert box is not None
    drawing.click(position={"x": 34 + (box["width"] - 50) * (2.7 + 4) / 8, "y": 90})
    shown_at(page, 2.7, lang)
    page.keyboard.press("ArrowRight")  # a click in the drawing leaves the keys with the slider
    shown_at(page, 2.75, lang)
    phi = 0.5 * (1 + math.erf(2.75 / math.sqrt(2)))
    numbers = f"{written(2.75, 2, lang)} · {written(phi, 4, lang)} = {written(2.75 * phi, 4, lang)}"
    expect(page.locator("[data-line=gelu]")).to_have_text(f"x · Φ(x) = {numbers}")
    live = page.locator("section.point [aria-live=polite]")
    expect(live).to_contain_text(f"GELU {written(2.75 * phi, 4, lang)}")
    page.wait_for_url(re.compile(r"[?&]x=2\.75"))
    page.wait_for_timeout(300)
    assert before and len(asked) == before
    # Another control runs the page again, another language writes it anew: the point stays.
    page.locator(".st-key-choose-over").get_by_text(WORDS[lang]["token"], exact=True).click()
    page.wait_for_url(re.compile("over=token"))
    settled(page)
    shown_at(page, 2.75, lang)
    other = "en" if lang == "it" else "it"
    page.locator(".st-key-lang").get_by_text(other).click()
    expect(page.get_by_role("slider", name=WORDS[other]["place"])).to_be_visible()
    settled(page)
    shown_at(page, 2.75, other)
    page.wait_for_url(re.compile(r"[?&]x=2\.75"))


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

    raced = pairs(race_view.seeds_of(saved_race.ACTIVATIONS), "pre", "relu")
    for number in (raced.mean, raced.deviation):
        expect(reading(page, "GELU − ReLU")).to_contain_text(written(number, 4, lang))

    page.locator(".st-key-choose-over").get_by_text(WORDS[lang]["token"], exact=True).click()
    page.wait_for_url(re.compile("over=token"))
    settled(page)
    read = offered(page, "activation")["text"]
    own = read["pre"][read["position"]]
    most = max(own)
    expect(reading(page, written(most, 2 if abs(most) < 9.995 else 1, lang)).last).to_be_visible()

    page.locator("a[href^='race?']").click()  # the race's page stands at these settings
    page.wait_for_url(re.compile("/race[?]"))
    settled(page)
    expect(page.locator("code").filter(has_text="--arms pre relu --n-layer 6 --steps 300 --json")
           ).to_be_visible()  # fmt: skip


def test_the_link_and_the_file(new_page: NewPage, server: Server) -> None:
    page = new_page()
    query = {"pos": "3", "layer": "2", "over": "token", "act": "gelu", "model": "andrea-12m",
             "depth": "2", "seed": "5", "x": "-0.65"}  # fmt: skip
    open_page(page, server, "gelu", lang="it", **(query | {"x": "-0.75"}))
    expect(page.locator(".a-notice").filter(has_text="indirizzo")).to_have_count(0)
    asked = command(page).inner_text()
    for option in ("--layer 2", "--position 3", "--act gelu", "--seed 5 --n-layer 2"):
        assert option in asked
    # The swap is the trained model's, whichever the page is at.
    expect(page.locator("code").filter(has_text="andrea activation").last
           ).to_have_text("python -m andrea activation --act gelu --json")  # fmt: skip
    shown_at(page, -0.75, "it")
    page.get_by_role("slider", name=WORDS["it"]["place"]).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(r"x=-0\.65"))
    link = copied_link(page)
    found = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert found["lang"] == "it" and {key: found[key] for key in query} == query
    page.goto(link, wait_until="domcontentloaded")
    settled(page)
    expect(command(page)).to_have_text(asked)
    shown_at(page, -0.65, "it")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Tutti i numeri (CSV)").click()
    rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "# command: " + asked
    pre = [float(row.rsplit(",", 1)[1]) for row in rows if row.startswith("pre,")]
    read = offered(page, "activation")["text"]
    assert pre == pytest.approx(read["pre"][3], rel=1e-5, abs=1e-6)


def test_impossible_values_are_named_on_a_phone(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    open_page(
        page, server, "gelu", lang="en", layer="99", over="all", act="swish", pos="77", x="9,5"
    )
    notices = page.locator(".a-notice")
    for word in (
        "layer = “99” (block)",
        "over = “all” (numbers in the histogram)",
        "act = “swish” (activation)",
        "pos = “77”",
        "x = “9,5” (place of the point)",
    ):
        expect(notices.filter(has_text=word)).to_be_visible()  # fmt: skip
    expect(page.locator("section.point [role=status]")).to_have_count(0)
    shown_at(page, -1, "en")
    page.wait_for_function("() => !location.search.includes('x=')")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
