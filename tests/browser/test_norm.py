"""Normalisation in a real browser: what the sliders do is what the terminal computes."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from andrea import saved_race
from tests.browser.conftest import NewPage
from tests.browser.driver import Server, copied_link, offered, open_page, settled

WORDS = {
    "it": {"guess": "Sì, ma meno", "post": "post", "count": "25 LayerNorm", "fewer": "24 LayerNorm",
           "moved": "Variazione massima", "model": "Modello e varianti"},
    "en": {"guess": "Yes, but less", "post": "post", "count": "25 LayerNorms",
           "fewer": "24 LayerNorms", "moved": "Largest change", "model": "Model and switches"},
}  # fmt: skip
languages = pytest.mark.parametrize("lang", ["it", "en"])


def command(page: Page) -> Locator:
    """The terminal command that the page offers."""
    return page.locator("code").filter(has_text="andrea norm")


def written(x: float, digits: int, lang: str) -> str:
    """Write a number as the site does; a negative zero has no sign."""
    text = f"{x:,.{digits}f}" if round(x, digits) else f"{0:.{digits}f}"
    text = text.replace("-", "\N{MINUS SIGN}")
    return text.translate(str.maketrans(",.", ".,")) if lang == "it" else text


def three(x: float, lang: str) -> str:
    """Write a length as the readings do, with three digits: 0.389, 1.88, 80.7, 116."""
    return written(x, 3 if x < 1 else 2 if x < 9.995 else int(x < 99.95), lang)


def table(page: Page) -> Locator:
    """Mean, variance and length before, after the division, after gamma and beta."""
    return page.locator(".a-table").first.locator("tbody tr")


def nudge(page: Page, key: str, times: int, arrow: str = "ArrowRight") -> None:
    """Move a slider by keyboard; wait for the address, then for the page."""
    slider = page.locator(f".st-key-{key}").get_by_role("slider")
    slider.focus()
    for _ in range(times):
        slider.press(arrow)
    page.wait_for_url(re.compile(f"[?&]{key}="))
    settled(page)


def compare(page: Page, lang: str, *options: str) -> dict:
    """The table is what the command on the page computes; return the document."""
    for option in options:
        expect(command(page)).to_contain_text(option)
    made = offered(page, "norm")["applied"]
    for row, stage in ((1, "after_normalized"), (2, "after_out")):
        cells = table(page).nth(row)
        expect(cells).to_contain_text(written(made[stage]["mean"], 4, lang))
        if 0.001 < made[stage]["variance"] < 2:
            expect(cells).to_contain_text(written(made[stage]["variance"], 6, lang))
    return made


@languages
def test_gamma_beta_epsilon_and_the_prediction(lang: str, page: Page, server: Server) -> None:
    open_page(page, server, "norm", lang=lang)
    expect(page.locator(".a-reading").filter(has_text=WORDS[lang]["count"])).to_be_visible()
    still = compare(page, lang, "--streams")
    assert still["expected_variance"] == pytest.approx(still["after_normalized"]["variance"])

    page.get_by_text(WORDS[lang]["guess"], exact=True).click()
    expect(page.locator(".a-reading").first).to_contain_text("√192 = " + written(13.856, 3, lang))

    nudge(page, "gscale", 5)
    wider = compare(page, lang, "--gamma-scale 1.5")
    assert wider["after_out"]["variance"] > 1.5 * still["after_out"]["variance"]
    nudge(page, "bshift", 10)
    shifted = compare(page, lang, "--beta-shift 1.0")
    gained = shifted["after_out"]["mean"] - wider["after_out"]["mean"]
    assert gained == pytest.approx(1)
    nudge(page, "eps", 3)
    narrow = compare(page, lang, "--eps 1e-2")
    assert narrow["expected_variance"] < 0.99 * still["expected_variance"]
    assert narrow["after_normalized"]["variance"] == pytest.approx(narrow["expected_variance"])


@languages
def test_another_token_changes_nothing(lang: str, page: Page, server: Server) -> None:
    open_page(page, server, "norm", lang=lang, pos="4", layer="3")
    readings = page.locator(".a-reading").filter(has_text=WORDS[lang]["moved"])
    expect(readings).to_have_count(2)  # the function itself, and the model
    for k in (0, 1):
        expect(readings.nth(k)).to_contain_text(re.compile(r": 0\."))
    before = readings.first.inner_text()
    nudge(page, "factor", 3)
    expect(readings.first).not_to_have_text(before)
    expect(readings.first).to_contain_text(re.compile(r": 0\."))
    assert offered(page, "norm")["later_change"] == 0
    chart = page.locator(".st-key-matrix-1")
    expect(chart.get_by_text("Δ 0", exact=True)).to_have_count(6)


@languages
def test_pre_and_post(lang: str, page: Page, server: Server) -> None:
    open_page(page, server, "norm", lang=lang)
    code = page.locator("code")
    for line in ("x = x + attn(ln_1(x))", "x = ln_1(x + attn(x))"):
        expect(code.filter(has_text=line)).to_be_visible()
    streams = offered(page, "norm")["streams"]["curves"]
    arms = {(c["norm"], c["residual"], c["trained"]): c["norms"] for c in streams}
    assert len(arms) == 7
    for arm in (("pre", True, False), ("pre", True, True)):
        ends = [three(v, lang) for v in (arms[arm][0], arms[arm][-1])]
        both = page.locator(".a-reading").filter(has_text=ends[0]).filter(has_text=ends[1])
        expect(both.first).to_be_visible()
    trained = [race.stream_norms[0, 1, -1] for race in saved_race.races().values()
               if race.request.arms == saved_race.RaceRequest().arms]  # fmt: skip
    told = page.locator(".a-reading").filter(has_text=re.compile("^Pre-norm: (before|prima del)"))
    expect(told).to_contain_text(three(sum(trained) / len(trained), lang))

    page.get_by_text(WORDS[lang]["model"]).first.click()
    page.locator(".st-key-norm").get_by_text("post", exact=True).click()
    page.wait_for_url(re.compile("norm=post"))
    settled(page)
    expect(page.locator(".a-reading").filter(has_text=WORDS[lang]["fewer"])).to_be_visible()
    expect(command(page)).to_contain_text("--norm post")
    expect(page.locator(".st-key-ln")).not_to_contain_text("ln_final")
    page.locator(".st-key-residual").locator("label").last.click()
    page.wait_for_url(re.compile("residual=false"))
    settled(page)
    expect(code.filter(has_text="x = ln_1(attn(x))")).to_be_visible()
    assert len(offered(page, "norm")["layernorms"]) == 24


def test_the_link_brings_everything_back(new_page: NewPage, server: Server) -> None:
    page = new_page()
    query = {"norm": "post", "residual": "false", "pos": "3", "layer": "2", "ln": "ln2"}
    query |= {"gscale": "0.5", "bshift": "-1.5", "eps": "0.1", "learned": "false", "factor": "100"}
    query |= {"other": "6", "fresh": "4"}
    open_page(page, server, "norm", lang="it", **query)
    asked, shown = command(page).inner_text(), table(page).all_inner_texts()
    disturbed = page.locator(".a-reading").filter(has_text="«·un» è moltiplicato per 100")
    expect(disturbed).to_be_visible()
    for option in ("--seed 4", "--layer 2 --ln ln2", "--gamma-scale 0.5 --beta-shift -1.5",
                   "--no-affine"):  # fmt: skip
        assert option in asked
    link = copied_link(page)
    found = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert found["lang"] == "it" and {key: found[key] for key in query} == query
    page.goto(link, wait_until="domcontentloaded")
    settled(page)
    expect(command(page)).to_have_text(asked)
    expect(table(page)).to_have_text(shown, use_inner_text=True)
    expect(disturbed).to_be_visible()


def test_impossible_values_are_named_and_the_file_is_the_vector(page: Page, server: Server) -> None:
    open_page(page, server, "norm", lang="en", layer="99", eps="7", ln="ln9", gscale="1.23")
    notices = page.locator(".a-notice")
    for word in ("layer = “99”", "eps = “7”", "ln = “ln9”", "gscale = “1.23”"):
        expect(notices.filter(has_text=word)).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="The vector (CSV)").click()
    rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert rows[0] == "# command: " + command(page).inner_text()
    out = [float(row.split(",")[3]) for row in rows if row[0].isdigit()]
    assert out == pytest.approx(offered(page, "norm")["applied"]["out"], rel=1e-5, abs=1e-6)


def test_a_model_without_layernorm_on_a_phone(new_page: NewPage, server: Server) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    open_page(page, server, "norm", lang="en", norm="none", model="andrea-12m", depth="2")
    expect(page.get_by_text("This model has no LayerNorm.")).to_be_visible()
    expect(page.locator(".a-reading").filter(has_text="no LayerNorm at all")).to_be_visible()
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
