"""Normalisation after training: what is drawn and said equals the races' numbers."""

import csv
import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from andrea import engine, saved_race
from andrea.measures.race import RaceResult
from andrea.measures.race_lane import Broken
from andrea.requests_race import RaceRequest
from app import norm_race, race_view, readings, readings_norm, readings_norm_race, saved_races
from app.figures import stream_training
from app.i18n import use_language
from app.theme import DARK, LIGHT

SMALL = RaceRequest(n_layer=2, d_model=32, steps=20)
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
languages = pytest.mark.parametrize("lang", ["en", "it"])


@cache
def small() -> tuple[RaceResult, ...]:
    return tuple(engine.race(replace(SMALL, seed=seed)) for seed in (0, 1))


def altered(**changes) -> list[RaceResult]:
    return [replace(race, **changes) for race in small()]


def streams(ends, arm="pre") -> list[RaceResult]:
    """Races in which ``arm`` has the stream ``ends`` [2, boundaries]."""
    norms = np.ones((5, 2, len(ends[0])))
    norms[SMALL.arms.index(arm)] = ends
    return altered(stream_norms=norms)


@themes
@pytest.mark.parametrize("when", [0, 1])
def test_the_figure_is_the_mean_over_seeds_with_their_spread(theme, when):
    drawn, beside = norm_race.lines(small(), when), norm_race.lines(small(), 1 - when)
    fig = stream_training.streams(drawn, beside, theme, readings.voice(), "t", "s", "p")
    lines = [trace for trace in fig.data if trace.mode == "lines+markers"]
    bands = [trace for trace in fig.data if trace.fill == "toself"]
    kept = [a for a, arm in enumerate(SMALL.arms) if when or arm != "post-warmup"]
    assert len(lines) == len(bands) == len(kept)
    for a, line, band in zip(kept, lines, bands, strict=True):
        each = np.stack([race.stream_norms[a, when] for race in small()])
        np.testing.assert_allclose(line.y, each.mean(axis=0))
        np.testing.assert_array_equal(band.y, [*each.max(axis=0), *each.min(axis=0)[::-1]])
    assert len({(line.line.color, line.line.dash) for line in lines}) == len(lines)
    assert len({line.marker.symbol for line in lines}) == len(lines)
    assert fig.layout.yaxis.type == "log"
    other = stream_training.streams(beside, drawn, theme, readings.voice(), "t", "s", "p")
    assert fig.layout.yaxis.range == other.layout.yaxis.range


def test_before_the_first_step_a_warmup_changes_nothing():
    post, warm = SMALL.arms.index("post"), SMALL.arms.index("post-warmup")
    for race in small():
        np.testing.assert_array_equal(race.stream_norms[post, 0], race.stream_norms[warm, 0])


@languages
def test_the_sentences_hold_the_numbers(lang):
    pre = np.stack([race.stream_norms[0] for race in small()]).mean(axis=0)
    with use_language(lang):
        said = readings_norm_race.told("pre", small())
        for x in pre[:, [0, 1, -1]].ravel():
            assert readings_norm.size(float(x)) in said
        pinned = readings_norm_race.told("post", small())
        assert f"√32 = {5.66 if lang == 'en' else '5,66'}" in pinned


@pytest.mark.parametrize(
    ("before", "after", "arm", "words"),
    [
        ((1, 2, 3), (1, 4, 9), "pre", "by 1.50 before training and by 2.25 after"),
        ((1, 2, 2), (1, 2, 3), "none", "after it, its length is multiplied by 1.50"),
        ((1, 2, 3), (1, 9, 9), "none", "by 1.50 before training; after it, it does not grow"),
        ((1, 2, 2), (1, 2, 0.5), "pre-cut", "does not grow, neither"),
        ((1, 5.66, 5.66), (1, 5.5, 6.1), "post", "pinned. After every block 5.66 before the first "
         "step and 5.50 to 6.10 after"),
        ((1, 5.66, 5.66), (1, 5.5, 19), "post", "γ and β have taken it away"),
        ((1, 2, 3), (1, np.inf, np.nan), "none", "no longer finite"),
    ],
)  # fmt: skip
def test_the_sentences_follow_the_numbers(before, after, arm, words):
    assert words in readings_norm_race.told(arm, streams((before, after), arm))


def test_what_was_learned_is_said_beside_counting():
    races, arms = small(), SMALL.arms
    losses = np.full((len(arms), 2), 2.7)
    losses[1:, 1] = 3.04
    losses[-1, 1] = 2336.0
    said = readings_norm_race.learned(altered(held_out_loss=losses))
    assert f"{races[0].unigram:.2f}" in said and f"{races[0].bigram:.2f}" in said
    good, others = said.split("Not clearly below")
    same, blind = others.split("Worse than blind guessing (5.55):")
    assert "pre-norm." in good and "post-norm" in same and "no LayerNorm" not in same
    assert "no LayerNorm" in blind and "says little" in blind
    mixed = [replace(races[0], held_out_loss=losses), replace(races[1], held_out_loss=losses + 1)]
    assert "with every seed" not in readings_norm_race.learned(mixed)
    losses[:, 1] = np.nan
    assert readings_norm_race.learned(altered(held_out_loss=losses)).count("pre-norm") == 2


def test_a_variant_that_broke_is_named_with_its_step():
    broken = (None, None, None, None, Broken(17, "loss"))
    races = [small()[0], replace(small()[1], broken=broken)]
    said = readings_norm_race.told("none", races)
    assert "With 1 of 2 seeds it broke" in said and "step 17" in said
    assert "broke" not in readings_norm_race.told("pre", races)


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ((2.68, 2.7), "2.69 (2.68 – 2.70)"),
        ((2.68, 2.68), "2.68"),
        ((607, 3951), "2,279 (607 – 3,951)"),
    ],
)
def test_losses_are_written_with_their_spread(losses, text):
    assert saved_races.ranged(np.array(losses)) == text


def test_the_file_holds_every_length():
    text = norm_race.csv(small()).decode()
    head = [line for line in text.splitlines() if line[0] == "#"]
    assert any("race --n-layer 2 --d-model 32 --steps 20 --seed 1 --json" in x for x in head)
    rows = list(csv.DictReader(io.StringIO("\n".join(x for x in text.splitlines() if x[0] != "#"))))
    assert len(rows) == 2 * 5 * 2 * 3
    for row in rows:
        race, a = small()[int(row["seed"])], SMALL.arms.index(row["variant"])
        when = ("before", "after").index(row["when"])
        assert float(row["stream_norm"]) == race.stream_norms[a, when, int(row["block"])]
        assert float(row["held_out_loss"]) == race.held_out_loss[a, when]


def test_the_saved_race_is_the_default_one_with_its_seeds():
    races = race_view.default()
    assert [race.request.seed for race in races] == [*saved_race.DEFAULT_SEEDS]
    assert len(norm_race.downloads(races)) == 1


def test_without_the_saved_file_the_page_says_how_to_make_it(monkeypatch):
    monkeypatch.setattr(saved_race, "races", dict)
    at = AppTest.from_string(
        "from app import norm_race, race_view\nnorm_race.show(race_view.default())",
        default_timeout=120,
    ).run()
    assert not at.exception and [code.value for code in at.code] == [saved_races.SAVE]
    assert norm_race.downloads([]) == []
