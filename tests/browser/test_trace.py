"""Follow a token as a student does it, and its numbers against the terminal's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.driver import Server, address, open_page, settled

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {"it": "La nonna apre la porta e vede", "en": "The old man opened the door and saw"}
BOXES = {"it": "Frase", "en": "Sentence"}
BLOCK = ["ln1", "qkv", "pattern", "attn_out", "resid_mid"]
BLOCK += ["ln2", "mlp_pre", "mlp_post", "mlp_out", "resid_post"]


def terminal(*args: str) -> dict[str, Any]:
    """What the terminal says to the same question."""
    done = subprocess.run(
        [sys.executable, "-m", "andrea", *args, "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def at(page: Page) -> str:
    """The walk's station in the address."""
    return parse_qs(page.evaluate("location.search").lstrip("?")).get("at", ["embed"])[0]


def go_to_block(page: Page, block: int) -> None:
    """Click a block of the tower and wait until the walk stands there."""
    page.locator(f'[data-block="{block}"]').click()
    page.wait_for_function(f"location.search.includes('at={block}.')")


def step(page: Page, key: str) -> str:
    """Press a key in the walk; return the station that the address then names."""
    before = at(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => (new URLSearchParams(location.search).get('at') ?? 'embed') !== before",
        arg=before,
    )
    return at(page)


def write(page: Page, label: str, text: str) -> None:
    box = page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Enter")
    settled(page)


# The map of Plotly hears clicks.
LISTENS = """() => [...document.querySelectorAll('.js-plotly-plot')]
  .some(plot => plot.querySelector('.bars') && plot._ev?._events?.plotly_selected)"""


def chip(page: Page, position: int) -> Any:
    return page.locator('[role="group"] button[aria-pressed]').nth(position)


def numbers_shown(page: Page) -> list[tuple[str, int, float]]:
    """Every number in the walk that names the tensor it comes from."""
    found = page.locator("[data-name][data-index][data-value]").evaluate_all(
        "all => all.map(e => [e.dataset.name, +e.dataset.index, +e.dataset.value])"
    )
    return [(name, int(index), float(value)) for name, index, value in found]


def flat(value: Any) -> list[float]:
    return [x for row in value for x in flat(row)] if isinstance(value, list) else [float(value)]


@pytest.mark.parametrize("lang", ["it", "en"])
def test_a_whole_block_by_keyboard_shows_the_terminals_numbers(
    lang: str, page: Page, server: Server
) -> None:
    open_page(page, server, "trace", lang=lang)
    write(page, BOXES[lang], SENTENCES[lang])
    expected = terminal("trace", SENTENCES[lang], "--position", "3")
    chips = page.locator('[role="group"] button[aria-pressed]')
    expect(chips).to_have_count(len(expected["labels"]))
    expect(chip(page, 0)).to_have_text(re.compile("^BOS"))
    chip(page, 3).click()
    expect(chip(page, 3)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".det .where")).to_contain_text(re.compile("posi(tion|zione) 3"))

    go_to_block(page, 2)
    steps = page.get_by_role("slider", name=re.compile("stazione|station", re.I)).first
    steps.focus()
    while at(page) != "2.ln1":
        step(page, "ArrowLeft" if at(page).startswith("2.") else "ArrowRight")
    seen, checked = [], 0
    for _ in BLOCK:
        seen.append(at(page).removeprefix("2."))
        for name, index, value in numbers_shown(page):
            recorded = flat(expected["activations"].get(name, []))
            if recorded:
                assert value == pytest.approx(recorded[index], rel=1e-5, abs=1e-6), (name, index)
                checked += 1
        step(page, "ArrowRight")
    assert seen == BLOCK
    assert at(page) == "3.ln1"
    assert checked >= 3 * len(BLOCK)


def test_stepping_asks_nothing_of_the_server(page: Page, server: Server) -> None:
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append("sent")))
    open_page(page, server, "trace", lang="en")
    before = len(sent)
    go_to_block(page, 1)
    page.get_by_role("slider", name=re.compile("station", re.I)).first.focus()
    for _ in range(25):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("/at=[34]\\./.test(location.search)")
    assert len(sent) == before


def test_a_link_reproduces_the_place(new_page: NewPage, server: Server) -> None:
    page = new_page()
    query = {"lang": "it", "text": "Un re", "pos": "1", "at": "5.mlp_post", "norm": "post"}
    open_page(page, server, "trace", **query)
    expect(chip(page, 1)).to_have_attribute("aria-pressed", "true")
    assert at(page) == "5.mlp_post"
    expected = terminal("trace", "Un re", "--position", "1", "--norm", "post")
    expect(page.locator('[data-name="blocks.4.mlp.post"][data-value]').first).to_be_visible()
    shown = [n for n in numbers_shown(page) if n[0] == "blocks.4.mlp.post"]
    assert shown
    for name, index, value in shown:
        assert value == pytest.approx(expected["activations"][name][index], rel=1e-5, abs=1e-6)
    expect(page.get_by_text("pre-norm").first).to_be_visible()  # trained otherwise: said in words


def test_the_sentence_grows_by_the_token_taken(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", text="The king", at="logits")
    expected = terminal("trace", "The king")
    page.get_by_role("button", name=re.compile("take", re.I)).first.click()
    settled(page)
    expect(page.get_by_label("Sentence", exact=True)).to_have_value(
        "The king" + expected["next_texts"][0]
    )
    settled(page)
    pressed = page.locator('[role="group"] button[aria-pressed="true"]').first
    expect(pressed).to_contain_text(str(expected["next_ids"][0]))


STRANGE = {
    "spaces": "   ",
    "emoji": "ciao 🎉🎉",
    "right to left": "مرحبا يا صديقي",
    "html": "<b onclick=alert(1)>ciao</b> & <script>alert(1)</script>",
    "control": "a\x07b\x1bc",
    "typographic": "l\u2019uomo \u00abdice\u00bb\u2026",
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_text_is_followed(kind: str, page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="it", text=STRANGE[kind])
    expect(chip(page, 0)).to_be_visible()
    assert "\ufffd" not in page.locator('[data-testid="stMain"]').inner_text()
    if kind == "typographic":
        expect(page.get_by_text("letti come altri")).to_be_visible()


def test_no_text_is_answered(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="it")
    write(page, "Frase", "")
    expect(page.get_by_role("alert")).to_contain_text("scrivi")


def test_a_very_long_text_is_cut_and_the_page_says_so(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en")
    write(page, "Sentence", "one two three " * 8000)
    settled(page)
    expect(page.get_by_text("112,000 characters")).to_be_visible()
    expect(page.get_by_text("the first 128 are followed")).to_be_visible()
    expect(page.locator('[role="group"] button[aria-pressed]')).to_have_count(129)
    address(page, "a.length < 8000")


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"depth": "99"}, "depth"),
        ({"norm": "sideways"}, "norm"),
        ({"model": "gpt9"}, "model"),
        ({"pos": "77"}, "pos"),
        ({"pos": "abc"}, "pos"),
        ({"at": "<b>"}, "at"),
    ],
)
def test_nonsense_in_the_address_is_named(
    query: dict[str, str], named: str, page: Page, server: Server
) -> None:
    open_page(page, server, "trace", lang="en", **query)
    expect(page.get_by_text(f"{named} = “")).to_be_visible()
    expect(chip(page, 0)).to_be_visible()


def test_the_switches_change_the_walk(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", model="andrea-12m", norm="none", residual="false")
    expect(page.get_by_text("freshly initialised").first).to_be_visible()
    expect(page.locator("[data-block]")).to_have_count(7)  # the embedding and six blocks
    expect(page.locator('[data-kind="qkv"]')).not_to_have_count(0)
    expect(page.locator('[data-kind="ln1"]')).to_have_count(0)


def test_a_click_on_the_map_moves_the_walk(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", text="Once upon a time there was")
    page.get_by_role("tab", name="The map").click()
    settled(page)
    bars = page.locator(".js-plotly-plot .bars .point path")
    expect(bars.first).to_be_visible()
    page.wait_for_function(LISTENS)  # drawn first, wired a moment later
    bars.nth(bars.count() // 2).click(force=True)
    settled(page)
    expect(page.locator('[role="group"] button[aria-pressed="true"]')).to_have_count(1)
    page.wait_for_function("location.search.includes('resid_post')")


def test_the_copied_link_holds_the_place_reached_in_the_browser(
    new_page: NewPage, server: Server
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    open_page(page, server, "trace", lang="it", text="Il gatto dorme", pos="2")
    go_to_block(page, 7)
    there = at(page)
    page.get_by_role("button", name="Copia il link").click()
    expect(page.get_by_text("Link copiato").first).to_be_visible()
    query = parse_qs(page.evaluate("navigator.clipboard.readText()").split("?")[1])
    assert {k: v[0] for k, v in query.items()} == {
        "lang": "it", "text": "Il gatto dorme", "model": "andrea-mini", "seed": "0",
        "norm": "pre", "residual": "true", "depth": "12", "pos": "2", "at": there,
    }  # fmt: skip


def test_the_downloaded_numbers_are_the_terminals(page: Page, server: Server) -> None:
    open_page(page, server, "trace", lang="en", text="The king")
    expected = terminal("trace", "The king")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="This token's numbers").click()
    lines = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert any(expected["provenance"]["weights_sha256"] in line for line in lines[:20])
    rows = [line.split(",") for line in lines if line.startswith("blocks.3.resid_mid,")]
    values = [float(row[-1]) for row in rows]
    recorded = expected["activations"]["blocks.3.resid_mid"]
    assert values == pytest.approx(recorded, rel=1e-5, abs=1e-6)
