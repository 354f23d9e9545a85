"""The race as students use it: watched, stopped, shared, waited for, broken, and said in words."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from app import i18n, readings_race
from tests.browser.conftest import NewPage
from tests.browser.driver import WAIT_MS, Server, open_page, settled, terminal

TINY = {"race.blocks": "1", "race.width": "32", "race.arms": "pre,post"}
# Longer than any test looks at it, also where two models of this size take 20 ms a step.
LONG = TINY | {"race.blocks": "12", "race.width": "64", "race.steps": "1000"}
START = {"it": "Avvia la gara", "en": "Start the race"}
STOP = {"it": "Ferma", "en": "Stop"}
OWN = ".st-key-own-loss .js-plotly-plot"

# How many points each line of the race's own figure has, the two levels' shapes not counted.
POINTS = """() => {
    const plot = document.querySelector('.st-key-own-loss .js-plotly-plot');
    return plot && plot._fullData ? plot._fullData.map(trace => trace.x.length) : [];
}"""


def notice(page: Page, text: str | re.Pattern[str]) -> Locator:
    return page.locator(".a-notice").filter(has_text=text)


def seen(what: Locator) -> None:
    expect(what).to_be_visible(timeout=WAIT_MS)  # the machine may be busy with other races


def start(page: Page, server: Server, lang: str = "en", **query: str) -> None:
    """Open the page and press the button."""
    open_page(page, server, "race", lang=lang, **query)
    page.get_by_role("button", name=START[lang]).click()


def stop(page: Page, lang: str = "en") -> None:
    page.get_by_role("button", name=STOP[lang], exact=True).click()


def more_points(page: Page, than: int) -> int:
    """Wait until every line has more points than ``than``; return how many."""
    page.wait_for_function(
        f"n => {{ const p = ({POINTS})(); return p.length > 0 && Math.min(...p) > n }}",
        arg=than,
        timeout=WAIT_MS,
    )
    points: list[int] = page.evaluate(POINTS)
    return min(points)


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_saved_race_is_there_ones_own_grows_and_stays_after_the_stop(
    lang: str, page: Page, server: Server
) -> None:
    open_page(page, server, "race", lang=lang, **LONG)
    saved = {"it": "Gara salvata: 12 blocchi × 64", "en": "Saved: 12 blocks × 64"}[lang]
    seen(notice(page, saved))
    for word in {"it": ["lettere", "coppie"], "en": ["letters", "pairs"]}[lang]:
        level = page.locator(".st-key-saved-loss .annotation-text").filter(has_text=word)
        seen(level)
    expect(page.locator('[data-testid="stProgress"]')).to_have_count(
        0, timeout=WAIT_MS
    )  # nothing runs unasked
    page.get_by_role("button", name=START[lang]).click()
    first = more_points(page, 0)
    second = more_points(page, first)
    assert 0 < first < second
    stop(page, lang)
    stopped = {"it": r"Fermata da te al passo (\d+) di 1\.000", "en": r"at step (\d+) of 1,000"}
    said = notice(page, re.compile(stopped[lang]))
    seen(said)
    step = int(re.search(stopped[lang], said.inner_text())[1])  # type: ignore[index]
    assert step >= second
    expect(page.locator('[data-testid="stProgress"]')).to_have_count(0, timeout=WAIT_MS)
    if step <= 300:  # a longer curve is drawn thinned
        assert more_points(page, step - 1) == step
    # Other settings: the race that was drawn stays, under its own name.
    slider = page.get_by_role("slider", name={"it": "Blocchi", "en": "Blocks"}[lang])
    slider.focus()
    slider.press("ArrowRight")
    settled(page)
    before = {"it": "la gara di prima", "en": "the race of before"}[lang]
    seen(page.get_by_text(before))
    seen(said)
    seen(page.locator(OWN))


def test_equal_races_are_shared_and_different_ones_wait_their_turn(
    new_page: NewPage, server: Server
) -> None:
    one, same, other = new_page(), new_page(), new_page()
    start(one, server, **LONG)
    more_points(one, 0)
    # Who comes later is told, and so is who has loaded the page anew; the button joins the race.
    open_page(same, server, "race", lang="en", **LONG)
    seen(notice(same, "This very race has been started here already"))
    same.get_by_role("button", name=START["en"]).click()
    shared = "1 other visitor watches this very race"
    seen(notice(one, shared))
    seen(notice(same, shared))
    start(other, server, **LONG | {"race.seed": "7"})
    waiting = other.get_by_text("Waiting: 1 race comes before yours")
    seen(waiting)
    stop(one)
    expect(notice(same, shared)).to_have_count(0, timeout=WAIT_MS)  # alone now, and still running
    more_points(same, more_points(same, 0))
    seen(waiting)
    stop(same)
    more_points(other, 0)
    stop(other)
    seen(notice(other, "Stopped by you"))


def test_the_page_s_losses_are_the_terminal_s_and_there_for_everybody(
    new_page: NewPage, server: Server
) -> None:
    page, other = new_page(), new_page()
    settings = TINY | {"race.steps": "20", "race.seed": "3"}
    start(page, server, **settings)
    seen(notice(page, "Your race: 1 block × 32"))
    more_points(page, 19)
    command = page.locator("code").filter(has_text="--sweep --json").inner_text().splitlines()[0]
    told = terminal(*shlex.split(command)[3:])
    drawn = page.evaluate(
        "() => document.querySelector('.st-key-own-loss .js-plotly-plot')"
        "._fullData.map(trace => [...trace.y])"
    )
    np.testing.assert_allclose(drawn, told["loss"], rtol=1e-6)
    with i18n.use_language("en"):
        ends = [readings_race.loss_text(end) for _, end in told["held_out_loss"]]
    tables = page.locator(".a-table").filter(has_text="post-norm")
    own = tables.nth(1).locator("tbody tr")  # the first is the saved race's
    assert [own.nth(k).locator("td").nth(1).inner_text() for k in (0, 1)] == ends
    # Somebody else finds it there at once, without starting anything.
    open_page(other, server, "race", lang="en", **settings)
    seen(notice(other, "Somebody has run this race here"))
    assert more_points(other, 19) == 20


def test_what_is_no_longer_a_number_is_marked_and_worded(page: Page, server: Server) -> None:
    # So deep that it breaks at the second step with any seed: no rounding comes in between.
    wild = {"race.blocks": "24", "race.width": "32", "race.arms": "none", "race.lr": "0.1"}
    start(page, server, "it", **wild, **{"race.steps": "20"})
    seen(notice(page, "La tua gara: 24 blocchi"))
    broke = r"si è rotta al passo \d+\. Lì il gradiente non era più un numero finito"
    seen(page.locator(".a-reading").filter(has_text=re.compile(broke)))
    for figure in ("loss", "gradient"):
        note = page.locator(f".st-key-own-{figure} .annotation-text").filter(
            has_text="✖ non finito"
        )
        seen(note)


def test_impossible_values_are_named(page: Page, server: Server) -> None:
    wrong = {
        "race.arms": "nonsense", "race.lr": "0.5", "race.blocks": "99", "race.width": "48",
        "race.steps": "47", "race.warmup": "-3", "race.seed": "-1",
    }  # fmt: skip
    open_page(page, server, "race", lang="en", **wrong)
    for key, value in wrong.items():
        seen(notice(page, f"{key} = “{value}”"))
    expect(page.locator(".st-key-race-steps input")).to_have_value("40")
    expect(page).to_have_url(re.compile(r"race\.steps=40\b"))


def test_a_guide_sets_every_control(page: Page, server: Server) -> None:
    open_page(page, server, "race", lang="en", **TINY)
    page.get_by_text("GELU and ReLU", exact=True).last.click()
    expect(page.get_by_role("slider", name="Blocks")).to_have_value("6")
    expect(page.locator(".st-key-race-steps input")).to_have_value("300")
    # Saved races of these settings are there at once, with the spread of their seeds.
    seen(notice(page, "Saved: 6 blocks × 64"))
    reading = page.locator(".a-reading").filter(has_text="pre-norm, ReLU: held-out loss")
    seen(reading.filter(has_text="over 5 seeds"))
    expect(page).to_have_url(re.compile(r"race\.arms=pre(%2C|,)relu"))
