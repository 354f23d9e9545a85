"""Parameters in a real browser: the count on the screen is the terminal's, in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.driver import Server, copied_link, open_page, settled, terminal

WORDS = {
    "it": {"thousands": ".", "compare": "confronta due configurazioni",
           "untie": "embedding condivisi",
           "bias": "bias", "affine": "γ e β nelle LayerNorm", "guess": "circa un terzo"},
    "en": {"thousands": ",", "compare": "compare two configurations",
           "untie": "tied embeddings",
           "bias": "biases", "affine": "γ and β in the LayerNorms", "guess": "about a third"},
}  # fmt: skip
# The map hears clicks: while it moves in or out it does not.
AT_REST = """() => {
  const map = document.querySelector('.st-key-map .js-plotly-plot');
  return map?._ev?._events?.plotly_redraw && !map._transitioning;
}"""
languages = pytest.mark.parametrize("lang", ["it", "en"])


def counted(*options: str) -> dict:
    """Ask the terminal's command the same question."""
    return terminal("parameters", *options, "--json")


def written(n: int, lang: str) -> str:
    return f"{n:,}".replace(",", WORDS[lang]["thousands"])


def main_reading(page: Page) -> Locator:
    """The sentence under the controls, which begins with the total."""
    return page.locator(".a-reading").filter(has_text=re.compile(r"^[\d.,]+ param")).first


def command(page: Page) -> Locator:
    """The terminal command that the page offers."""
    return page.locator("code").filter(has_text="andrea parameters")


def flip(page: Page, lang: str, key: str) -> None:
    """Press one of the switches."""
    page.get_by_text(WORDS[lang][key], exact=True).first.click()
    settled(page)


def table_numbers(page: Page, lang: str) -> dict[str, int]:
    """Read the table: tensor and number of parameters."""
    rows = page.locator(".a-table").filter(has_text="attn.W_Q").last.locator("tbody tr")
    cells = rows.evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.innerText))")
    thousands = WORDS[lang]["thousands"]
    return {row[0]: int(row[2].replace(thousands, "")) for row in cells}


@languages
def test_the_numbers_are_the_terminals(lang: str, page: Page, server: Server) -> None:
    """The table, a guess, a slider by keyboard, a comparison, and the published count."""
    open_page(page, server, "parameters", lang=lang)
    asked = counted("--preset", "andrea-120m")
    expect(main_reading(page)).to_contain_text(written(92_331_264, lang))
    shown = table_numbers(page, lang)
    for row in asked["rows"]:
        assert shown[row["kind"]] == row["total"], row["kind"]
    assert list(shown.values())[-1] == asked["total"] == 92_331_264
    title = page.locator(".st-key-map").locator(".gtitle, .g-gtitle").first
    expect(title).to_contain_text(written(asked["total"], lang))

    page.get_by_text(WORDS[lang]["guess"], exact=True).click()
    expect(page.locator(".a-reading").first).to_contain_text(written(7_275_264, lang))

    flip(page, lang, "compare")
    table = page.locator(".a-table").filter(has_text="vocab_size").first
    expect(table).to_contain_text(written(124_439_808, lang))
    marked = table.locator("tr.mark td:first-child").all_inner_texts()
    assert len(marked) == len(counted("--compare", "gpt2")["differences"])
    assert "≠ vocab_size" in marked and "≠ wte" in marked and "≠ wpe" not in marked

    slider = page.locator(".st-key-n_layer").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    total = counted("--n-layer", "13")["total"]
    expect(main_reading(page)).to_contain_text(written(total, lang))
    page.wait_for_url(re.compile("n_layer=13"))
    slider.press("ArrowLeft")
    expect(main_reading(page)).to_contain_text(written(92_331_264, lang))

    for key in ("bias", "untie", "affine"):
        flip(page, lang, key)
    total = counted("--no-bias", "--untied", "--no-norm-affine")["total"]
    assert total == 98_698_752
    expect(main_reading(page)).to_contain_text(written(total, lang))
    expect(command(page)).to_contain_text("--no-bias --untied --no-norm-affine --compare gpt2")


def test_sizes_stay_possible_and_a_preset_sets_them(page: Page, server: Server) -> None:
    open_page(page, server, "parameters", lang="en")
    slider = page.locator(".st-key-d_model").get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")  # 768 to 1024, which twelve heads do not divide
    total = counted("--d-model", "1024", "--n-head", "8")["total"]
    expect(main_reading(page)).to_contain_text(written(total, "en"))
    expect(command(page)).to_contain_text(re.compile(r"--d-model 1024 --n-head (8|16) "))
    page.locator(".st-key-preset").get_by_role("combobox").click()
    page.get_by_role("option", name="gpt2").click()
    expect(main_reading(page)).to_contain_text("124,439,808")
    expect(page.locator(".st-key-vocab_size")).to_contain_text("50257")
    expect(command(page)).to_have_text("python -m andrea parameters --preset gpt2 --json")


def test_the_link_brings_everything_back(new_page: NewPage, server: Server) -> None:
    page = new_page()
    query = {"preset": "andrea-12m", "d_model": "512", "expansion": "8/3", "tied": "false"}
    query |= {"into": "b1", "compare": "true", "b.preset": "andrea-mini", "b.n_layer": "3"}
    open_page(page, server, "parameters", lang="it", **query)
    total = main_reading(page).inner_text().split()[0]
    asked = command(page).inner_text()
    assert "--preset andrea-12m" in asked and "--d-mlp 1365" in asked
    assert "--preset andrea-mini --n-layer 3" in asked
    link = copied_link(page)
    found = {key: value[0] for key, value in parse_qs(urlsplit(link).query).items()}
    assert found["lang"] == "it" and 512 % int(found["n_head"]) == 0
    assert {key: found[key] for key in query} == query
    page.goto(link, wait_until="domcontentloaded")
    settled(page)
    assert main_reading(page).inner_text().split()[0] == total
    assert command(page).inner_text() == asked


def test_impossible_values_are_named(page: Page, server: Server) -> None:
    open_page(page, server, "parameters", lang="en", n_layer="9999", vocab_size="7", into="cellar")
    notices = page.locator(".a-notice")
    for word in ("n_layer", "vocab_size", "into"):
        expect(notices.filter(has_text=word)).to_be_visible()
    expect(main_reading(page)).to_contain_text("92,331,264")


def test_in_and_out_of_the_map_operations_and_the_file(page: Page, server: Server) -> None:
    open_page(page, server, "parameters", lang="en")
    page.locator(".st-key-places").get_by_text("one block", exact=True).click()
    chart = page.locator(".st-key-map")
    expect(chart.locator("g.slice", has_text="2,359,296").first).to_be_visible()
    page.wait_for_url(re.compile("into=b1"))
    page.wait_for_function(AT_REST)
    chart.locator("g.slice", has_text="MLP").locator("path").first.click()
    expect(chart.locator("g.slice", has_text="W_Q")).to_have_count(0)
    page.wait_for_function(AT_REST)
    chart.locator("g.pathbar", has_text="block 1").first.click()
    expect(chart.locator("g.slice", has_text="W_Q")).to_have_count(1)

    page.get_by_text("check the formula operation by operation", exact=True).click()
    expect(page.locator(".a-reading").filter(has_text="220,595,712")).to_be_visible()

    with page.expect_download() as waiting:
        page.get_by_role("button", name="The table (CSV)").click()
    rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("# command: python -m andrea parameters --preset andrea-120m")
    assert sum(int(row.split(",")[5]) for row in rows[4:]) == 92_331_264
