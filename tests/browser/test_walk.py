"""The walk in a real browser: its numbers, its keys, its size on the wire, its redrawings."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import ROOT, running_site
from tests.browser.driver import WAIT_MS, Server, Witness, settled

TEXT = "C'era una volta un re che aveva"
MODEL = {"model": "andrea-12m", "depth": "3"}
CLI = ["--model", "andrea-12m", "--n-layer", "3", "--json"]

Open = Callable[..., Page]

# Recorded numbers on the screen: [name, index, value].
NUMBERS = """() => [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')]
  .flatMap((host) => [...host.shadowRoot.querySelectorAll('[data-name][data-index][data-value]')])
  .map((n) => [n.dataset.name, n.dataset.index, n.dataset.value])"""

# What sticks out of the walk sideways, what is too small to touch.
STICKS_OUT = """() => {
  const out = [];
  const root = [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')]
    .map((host) => host.shadowRoot.querySelector('.walk')).find(Boolean);
  const edge = root.getBoundingClientRect();
  const parts = 'h3, .where, .f, .say, dl, .striphead, .legend, .ctl, .heads, .bars, .curve, ' +
    '.reads li, .bars li, .foot, svg.diagram, .slide';
  for (const n of root.querySelectorAll(parts)) {
    const b = n.getBoundingClientRect();
    const wide = n.scrollWidth > n.clientWidth + 1 && getComputedStyle(n).overflowX === 'visible';
    if (b.width && (b.left < edge.left - 1 || b.right > edge.right + 1 || wide && n.clientWidth))
      out.push(`${n.tagName} ${n.className.baseVal ?? n.className} sticks out`);
  }
  for (const n of root.querySelectorAll('button, .node, input')) {
    const b = n.getBoundingClientRect();
    const slider = n.tagName === 'INPUT' && innerWidth > 640;
    if (b.width && (b.width < 35.5 || b.height < 35.5 && !slider))
      out.push(`${n.className.baseVal ?? n.className} ${b.width} x ${b.height} is small`);
  }
  const main = document.querySelector('[data-testid="stMain"]');
  if (main.scrollWidth > main.clientWidth) out.push('the page scrolls sideways');
  return out;
}"""

FOCUSED = """() => [...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')]
  .map((host) => host.shadowRoot.activeElement?.className).find(Boolean)"""

# The walk's own frames: Streamlit may ask for some at any moment.
COUNT_FRAMES = """() => {
  const old = requestAnimationFrame;
  window.counted = 0;
  window.requestAnimationFrame = (f) => {
    window.counted += new Error().stack.includes('andrea_walk');
    return old(f);
  };
}"""


@pytest.fixture(scope="module")
def walk_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A page with nothing but the chips and the walk."""
    script = Path(__file__).with_name("walk_harness.py")
    # The settings stand beside the site's script, not beside this one.
    options = ["--browser.gatherUsageStats", "false", "--browser.serverAddress", "localhost"]
    options += ["--server.fileWatcherType", "none"]
    with running_site(tmp_path_factory.mktemp("walk"), script, *options) as running:
        yield running


@pytest.fixture
def walk_page(browser: Browser, walk_server: Server) -> Iterator[Open]:
    """A function that opens the harness; afterwards nothing may have gone wrong in the browser."""
    opened = []

    def make(query: dict[str, str] | None = None, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 1000}, **options})
        context.set_default_timeout(WAIT_MS)
        witness = Witness(urlsplit(walk_server.url).netloc)
        witness.watch(context)
        opened.append((context, witness))
        page = context.new_page()
        page.received = []  # type: ignore[attr-defined]
        page.on(
            "websocket", lambda ws: ws.on("framereceived", lambda f: page.received.append(len(f)))
        )  # type: ignore
        page.goto(f"{walk_server.url}/?{urlencode({**MODEL, **(query or {})})}")
        page.wait_for_selector(".walk:not([hidden])")
        settled(page)
        return page

    yield make
    for context, _ in opened:
        context.close()
    for _, witness in opened:
        witness.verify()


def cli(*arguments: str) -> dict[str, Any]:
    """What the terminal answers."""
    done = subprocess.run(
        [sys.executable, "-m", "andrea", "trace", *arguments],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def flat(values: Any) -> list[float]:
    """A nested list of numbers as one list, words as the numbers they stand for."""
    if isinstance(values, list):
        return [x for part in values for x in flat(part)]
    return [float(values)]


def here(page: Page) -> str:
    return page.locator(".walk").get_attribute("data-station") or ""


def at_in_address(page: Page) -> str:
    return parse_qs(urlsplit(page.url).query).get("at", [""])[0]


def shown_numbers(page: Page) -> list[tuple[str, int, float]]:
    found = page.evaluate(NUMBERS)
    return [(name, int(i), float(value)) for name, i, value in found]


def test_every_number_is_that_of_the_terminal(walk_page: Open) -> None:
    truth = cli(TEXT, *CLI)
    recorded = {
        name: flat(v) for name, v in {**truth["activations"], **truth["ln_weights"]}.items()
    }
    page = walk_page()
    page.locator("[data-part=next]").focus()
    names, stations = set(), []
    while True:
        stations.append(here(page))
        numbers = shown_numbers(page)
        assert numbers, here(page)
        for name, i, value in numbers:
            if name in recorded:  # a post-norm sum has no recorded name
                assert value == recorded[name][i] or (
                    math.isnan(value) and math.isnan(recorded[name][i])
                ), f"{here(page)}: {name}[{i}]"
                names.add(name)
        if page.locator("[data-part=next]").get_attribute("aria-disabled") == "true":
            break
        page.keyboard.press("ArrowRight")
    assert len(stations) == 33 and stations[0] == "embed" and stations[-1] == "logits"
    kinds = {name.split(".", 2)[-1] for name in names}
    assert kinds >= {"attn.q", "attn.k", "attn.v", "attn.scores", "attn.pattern", "attn.z"}
    assert kinds >= {"ln1.normalized", "mlp.pre", "mlp.post", "mlp_out", "resid_mid", "resid_post"}


def test_the_written_number_is_the_value(walk_page: Open) -> None:
    page = walk_page({"at": "2.resid_mid", "lang": "it"})
    for cell in page.locator("[data-part=formula] [data-value]").all():
        text = (cell.text_content() or "").replace("−", "-").replace(",", ".")
        assert "-" not in (cell.text_content() or "")  # the minus sign is a real one
        value = float(cell.get_attribute("data-value") or "nan")
        if "×" not in text:
            assert float(text) == pytest.approx(value, rel=5e-4)
    before, delta, after = [
        float(n.get_attribute("data-value") or "nan")
        for n in page.locator("[data-part=formula] [data-value]").all()
    ]
    assert before + delta == pytest.approx(after, rel=1e-6)
    largest = float(page.locator("[data-stat=error]").get_attribute("data-value") or "nan")
    assert 0 <= largest < 1e-5


def test_keys(walk_page: Open) -> None:
    page = walk_page({"at": "1.ln1"})
    page.locator("[data-part=next]").focus()
    way = "Right 1.qkv, Left 1.ln1, Up 2.ln1, Down 1.ln1, Down embed, Right 1.ln1, Up 2.ln1"
    steps = [tuple(step.split()) for step in way.split(", ")]
    for key, station in [*steps, ("End", "logits"), ("Home", "embed"), ("Right", "1.ln1")]:
        page.keyboard.press(key if key in ("Home", "End") else f"Arrow{key}")
        assert here(page) == station, key
    page.wait_for_function("location.search.includes('at=1.ln1')")
    # Outside the walk the keys belong to others.
    page.get_by_role("textbox").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert here(page) == "1.ln1"


def test_a_strip_is_one_tab_stop_with_arrows_inside(walk_page: Open) -> None:
    page = walk_page({"at": "2.resid_mid"})
    strip = page.locator(".cells").first
    strip.focus()
    start = int(strip.get_attribute("aria-valuenow") or -1)
    page.keyboard.press("ArrowLeft" if start else "ArrowRight")
    now = int(strip.get_attribute("aria-valuenow") or -1)
    assert now == (start - 1 if start else 1)
    assert here(page) == "2.resid_mid"  # the strip kept the key
    value = strip.get_attribute("data-value") or ""
    assert strip.get_attribute("aria-valuetext").startswith(f"component {now}: ")  # type: ignore
    in_formula = page.locator("[data-part=formula] [data-value]").first
    assert in_formula.get_attribute("data-value") == value
    assert in_formula.get_attribute("data-index") == str(now)
    page.keyboard.press("Tab")
    assert page.locator(".cells").nth(1).evaluate("n => n.getRootNode().activeElement === n")
    page.keyboard.press("Escape")
    focused = page.locator(".diagram .node.on")
    assert focused.evaluate("n => n.getRootNode().activeElement === n")
    page.keyboard.press("ArrowRight")
    assert here(page) == "2.ln2"


def test_hover_shows_the_cell_under_the_pointer(walk_page: Open) -> None:
    page = walk_page({"at": "embed"})
    strip = page.locator(".cells").nth(1)
    box = strip.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * (10.5 / 48), box["y"] + box["height"] * (2.5 / 8))
    expect(page.locator(".note").nth(1)).to_contain_text("component 106:")  # row 2 of 48, column 10
    assert (
        page.locator("[data-part=formula] [data-name=pos_embed]").get_attribute("data-index")
        == "106"
    )


def test_play_walks_and_pauses(walk_page: Open) -> None:
    page = walk_page()
    play = page.locator("[data-part=play]")
    play.click()
    expect(play).to_contain_text("Pause")
    # Two steps further, whichever the address shows first: on a busy machine it skips some.
    page.wait_for_function(r"/[?&]at=(?!embed|1\.ln1)/.test(location.search)")
    play.click()
    expect(play).to_contain_text("Play")
    stopped = here(page)
    time.sleep(1.5)
    assert here(page) == stopped


def test_stepping_sends_nothing_and_a_rerun_little(walk_page: Open) -> None:
    page = walk_page({"at": "1.ln1"})
    page.wait_for_timeout(500)
    before = len(page.received)  # type: ignore[attr-defined]
    page.locator("[data-part=next]").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(600)
    assert here(page) == "2.pattern"
    assert len(page.received) == before  # type: ignore[attr-defined]
    page.get_by_role("button", name="again").click()
    page.wait_for_function("document.body.textContent.includes('run 2')")
    settled(page)
    assert sum(page.received[before:]) <= 30_000  # type: ignore[attr-defined]
    assert here(page) == "2.pattern"
    page.wait_for_function("location.search.includes('at=2.pattern')")


@pytest.mark.parametrize(
    ("query", "limit"),
    [({"model": "andrea-mini"}, 600_000), ({"model": "andrea-120m"}, 1_500_000)],
)
def test_the_token_travels_within_its_budget(
    walk_page: Open, query: dict[str, str], limit: int
) -> None:
    long = " ".join(["parola, un re e una regina"] * 40)
    page = walk_page({**query, "depth": "12", "text": long, "at": "12.resid_post"})
    said = int(page.locator("[data-part=bytes]").get_attribute("data-bytes") or 0)
    largest = max(page.received)  # type: ignore[attr-defined]
    assert said <= largest <= said + 2_000
    assert 100_000 < largest <= limit
    expect(page.locator(".chip")).to_have_count(129)


def test_another_token_keeps_the_station(walk_page: Open) -> None:
    page = walk_page({"at": "2.mlp_post"})
    chip = page.locator(".chip").nth(3)
    chip.click()
    expect(page.locator(".det .where")).to_contain_text("position 3")
    assert here(page) == "2.mlp_post"
    expect(page.locator(".chip").nth(3)).to_have_attribute("aria-pressed", "true")


def test_taking_a_token_makes_the_text_grow(walk_page: Open) -> None:
    page = walk_page({"at": "logits"})
    first = page.locator(".bars li").first
    wanted = first.locator(".value").get_attribute("data-id") or ""
    expect(page.locator(".chip").first).to_be_visible()
    chips = page.locator(".chip").count()
    walk, draw = page.locator(".walk"), page.get_by_role("button", name="Draw one at random")
    for grown, take in ((1, first.get_by_role("button").click), (2, draw.click)):
        seen = walk.get_attribute("data-digest") or ""
        take()
        expect(page.locator(".chip")).to_have_count(chips + grown)
        expect(walk).not_to_have_attribute("data-digest", seen)  # the bars are the new ones
        if grown == 1:
            expect(page.locator(".chip").last.locator("small")).to_have_text(wanted)
        assert here(page) == "logits"
    assert page.evaluate(FOCUSED) == "draw"  # Enter draws the next one
    page.keyboard.press("Enter")
    expect(page.locator(".chip")).to_have_count(chips + 3)


def test_a_pinned_component_stays_in_hand(walk_page: Open) -> None:
    page = walk_page({"at": "1.resid_mid"})
    strip = page.locator(".cells").first
    box = strip.bounding_box()
    assert box is not None
    strip.click(position={"x": box["width"] * 7.5 / 48, "y": box["height"] * 0.5 / 8})
    in_hand = page.locator("[data-part=formula] [data-index]").first
    for station in ("1.resid_mid", "1.ln2", "1.mlp_pre", "1.mlp_post", "1.mlp_out", "1.resid_post"):
        assert here(page) == station
        if not station.startswith("1.mlp_p"):  # those have another width
            expect(in_hand).to_have_attribute("data-index", "7")
        page.locator("[data-part=next]").click()


def test_temperature_is_a_softmax_of_all_logits(walk_page: Open) -> None:
    logits = flat(cli(TEXT, *CLI)["activations"]["logits"])
    page = walk_page({"at": "logits"})
    for keys, low, high in ((0, 1.0, 1.0), (5, 1.01, 4.0)):
        slider = page.get_by_role("slider", name="temperature")
        slider.focus()
        for _ in range(keys):
            page.keyboard.press("ArrowRight")
        assert here(page) == "logits"
        T = float(page.locator(".temp output").text_content() or "nan")
        assert low <= T <= high
        total = sum(math.exp(x / T) for x in logits)
        for cell in page.locator(".bars .value").all():
            p = math.exp(logits[int(cell.get_attribute("data-id") or 0)] / T) / total
            assert float(cell.get_attribute("data-share") or "nan") == pytest.approx(p, rel=1e-3)


def test_taking_is_closed_with_a_reason(walk_page: Open) -> None:
    page = walk_page({"at": "logits", "closed": "1"})
    take = page.locator(".bars button").first
    expect(take).to_be_disabled()
    assert "not possible here" in (take.get_attribute("aria-label") or "")


def node(page: Page, kind: str) -> Locator:
    return page.locator(f'.diagram [data-kind="{kind}"]')


def test_each_variant_is_drawn_as_it_is(walk_page: Open) -> None:
    page = walk_page({"at": "2.resid_mid"})
    assert node(page, "ln1").count() == 1 and page.locator(".ghost").count() == 0
    in_branch = node(page, "ln1").bounding_box()
    stream = page.locator(".stream").first.bounding_box()
    assert in_branch and stream and in_branch["x"] > stream["x"] + stream["width"]

    page = walk_page({"at": "2.ln1", "norm": "post"})
    on_stream, addition = node(page, "ln1").bounding_box(), node(page, "resid_mid").bounding_box()
    stream = page.locator(".stream").first.bounding_box()
    assert on_stream and addition and stream
    assert on_stream["x"] < stream["x"] < on_stream["x"] + on_stream["width"]
    assert on_stream["y"] < addition["y"]  # above the addition: after it
    assert "resid_mid" in (page.locator(".det .where code").text_content() or "")

    page = walk_page({"at": "2.ln1", "norm": "none"})
    assert node(page, "ln1").count() == 0
    assert here(page) == "2.qkv"  # the nearest station that this model has

    page = walk_page({"at": "2.resid_mid", "residual": "false"})
    assert page.locator(".ghost").count() == 2
    assert page.locator(".strip.crossed").count() == 1
    expect(page.locator(".det h3")).to_have_text("First replacement")


def test_ends_of_the_walk_are_on_the_diagram(walk_page: Open) -> None:
    page = walk_page({"at": "embed"})
    node(page, "embed").click()
    assert here(page) == "embed" and node(page, "logits").count() == 0
    page.locator("[data-part=last]").click()
    assert here(page) == "logits"
    node(page, "ln_final").click()
    assert here(page) == "ln_final"
    page.locator(".lay[data-block='2']").click()
    assert here(page).startswith("2.")


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out_and_targets_are_large(walk_page: Open, lang: str, width: int) -> None:
    long = "«Perché?» chiese il precipitevolissimevolmente 👑 שלום " * 12
    page = walk_page({"text": long, "lang": lang}, viewport={"width": width, "height": 844})
    page.locator("[data-part=next]").focus()
    for _ in range(33):
        assert page.evaluate(STICKS_OUT) == [], here(page)
        page.keyboard.press("ArrowRight")


def test_picture_is_a_whole_svg(walk_page: Open) -> None:
    page = walk_page({"at": "2.mlp_post", "lang": "it"})
    with page.expect_download() as download:
        page.get_by_role("button", name="Scarica questa figura").click()
    assert download.value.suggested_filename == "walk-2.mlp_post.svg"
    text = Path(download.value.path()).read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(--" not in text and "GELU" in text and "NaN" not in text
    assert "href" not in text and "url(" not in text
    assert len(root.findall(".//{http://www.w3.org/2000/svg}rect")) > 2 * 1536


def test_user_text_is_never_markup(walk_page: Open) -> None:
    page = walk_page({"text": "<img src=x onerror=alert(1)> <b>ciao</b>", "at": "1.pattern"})
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    assert page.locator("img").count() == 0
    page.locator("[data-part=last]").click()
    assert here(page) == "logits"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_reduced_motion_is_honoured(walk_page: Open, motion: str) -> None:
    page = walk_page({"at": "1.ln1"}, reduced_motion=motion)
    page.evaluate(COUNT_FRAMES)
    page.locator("[data-part=next]").click()
    assert here(page) == "1.qkv"
    assert (page.evaluate("window.counted") == 0) == (motion == "reduce")


def test_the_address_leads_back_here(walk_page: Open) -> None:
    page = walk_page({"at": "1.ln1", "lang": "it"})
    page.locator("[data-part=next]").click()
    page.wait_for_function("location.search.includes('at=1.qkv')")
    page.reload()
    page.wait_for_selector(".walk:not([hidden])")
    assert here(page) == "1.qkv"
    assert parse_qs(urlsplit(page.url).query)["lang"] == ["it"]


def test_chips_are_one_tab_stop(walk_page: Open) -> None:
    page = walk_page()
    expect(page.locator(".chip[tabindex='0']")).to_have_count(1)
    page.locator(".chip").last.focus()
    page.keyboard.press("ArrowLeft")
    second = page.locator(".chip").nth(-2)
    assert second.evaluate("n => n.getRootNode().activeElement === n")
    expect(page.locator(".tip")).to_contain_text("nats")
    page.keyboard.press("Home")
    expect(page.locator(".tip")).to_contain_text("BOS")
    page.keyboard.press("Enter")
    expect(page.locator(".det .where")).to_contain_text("“BOS”, position 0")
