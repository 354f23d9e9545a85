"""The race's figures, sentences, tables and files, without a browser."""

from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from andrea import engine, saved_race
from andrea.cli_race import command
from andrea.errors import InputError
from andrea.measures import race_cost
from andrea.measures.race import RaceProgress
from andrea.measures.race_lane import Broken
from andrea.measures.race_sweep import SweepRequest, SweepResult
from andrea.requests_race import RACE_ARMS, RaceRequest
from app import i18n, race_csv, race_settings, race_start, race_sweep, race_view, readings
from app import race_drawing as drawings
from app import race_sweep_text as sweep_text
from app import readings_race as say
from app.figures import race as figures
from app.figures import race_sweep as sweep_figures
from app.figures.base import contrast, text_on
from app.figures.race_scale import scale_of
from app.race_drawing import Drawing
from app.race_frames import Frames
from app.theme import DARK, LIGHT

SMALL = RaceRequest(("pre", "post-warmup"), n_layer=1, d_model=32, steps=20, warmup=10)
UNIGRAM, BIGRAM = 3.0, 2.4


@pytest.fixture(scope="module")
def result():
    return engine.race(SMALL)


def drawing(ends, broken=None, arms=("pre", "post", "none"), loss=None):
    """Seeds by variants: held-out losses ``ends``; curves ``loss`` [seeds, variants, steps]."""
    ends = np.array(ends, dtype=np.float64)
    seeds, n = ends.shape
    loss = np.full((seeds, n, 4), 3.5) if loss is None else np.array(loss, dtype=np.float64)
    broken = broken or tuple((None,) * n for _ in range(seeds))
    steps = max(20, loss.shape[2])
    return Drawing(
        RaceRequest(arms, steps=steps), loss, loss, broken, ends, np.full((seeds, n), 12.34),
        UNIGRAM, BIGRAM,
    )  # fmt: skip


def lines(fig):
    return [trace for trace in fig.data if trace.mode == "lines+markers"]


# ---- figures ------------------------------------------------------------------------------------


def test_the_curves_are_the_numbers(result):
    drawn = drawings.drawing_of([result])
    for k, trace in enumerate(lines(race_view.loss_figure(drawn))):
        np.testing.assert_array_equal(trace.y, result.loss[k])
        assert list(trace.x) == list(range(1, 21))
        assert trace.name == say.arm_label(SMALL.arms[k])
    gradient = race_view.gradient_figure(drawn)
    assert gradient.layout.yaxis.type == "log"
    for k, trace in enumerate(lines(gradient)):
        np.testing.assert_array_equal(trace.y, result.grad_norm[k])


def test_several_seeds_are_a_median_and_a_band():
    loss = [[[4.0, 3.0]], [[5.0, 3.2]], [[4.5, np.nan]]]
    broken = ((None,), (None,), (Broken(2, "loss"),))
    fig = race_view.loss_figure(drawing([[3], [3], [3]], broken, ("pre",), loss))
    np.testing.assert_allclose(lines(fig)[0].y, [4.5, 3.1])
    band = next(trace for trace in fig.data if trace.fill == "toself")
    np.testing.assert_allclose(band.y, [5.0, 3.2, 3.0, 4.0])
    mark = next(trace for trace in fig.data if trace.marker.symbol == "x")
    assert list(mark.x) == [2]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_broke_is_marked_at_the_edge_and_explained(theme):
    curve = figures.Curve("none", "none", True, False, np.array([[5.0, 900.0, np.nan]]), [3])
    for fig in (
        figures.losses([curve], [figures.Level("letters", 3.0)], 20, theme, readings.voice()),
        figures.gradients([curve], 20, theme, readings.voice()),
    ):
        low, high = fig.layout.yaxis.range
        mark = next(trace for trace in fig.data if trace.marker.symbol == "x")
        height = mark.y[0] if fig.layout.yaxis.type != "log" else math.log10(mark.y[0])
        assert list(mark.x) == [3] and low < height < high
        drawn = np.array(lines(fig)[0].y[:2], dtype=float)
        drawn = drawn if fig.layout.yaxis.type != "log" else np.log10(drawn)
        assert (drawn < height).all()
        assert any("not finite" in (note.text or "") for note in fig.layout.annotations)


def test_the_axis_is_linear_until_somebody_explodes():
    tame = scale_of([np.array([6.1, 2.7])], [2.44, 3.03])
    assert tame.knee is None
    np.testing.assert_array_equal(tame(np.array([6.1, 2.7])), [6.1, 2.7])
    for top in (900.0, 3e12):
        wild = scale_of([np.array([top, 2.7, np.nan, np.inf])], [2.44, 3.03])
        losses = np.array([2.5, 2.7, 3.9, 4.0, 4.1, 10, top])
        heights = wild(losses)
        np.testing.assert_array_equal(heights[:4], losses[:4])
        assert (np.diff(heights) > 0).all()
        low, high = wild.ends()
        assert low < 2.44 and heights[-1] < high < 2 * wild.knee
        ticks = wild.ticks(readings.voice())
        assert len(ticks["tickvals"]) == len(ticks["ticktext"])
        assert np.diff(ticks["tickvals"]).min() > 0.19


def test_the_axes_of_a_race_that_is_on_stay_where_they_are():
    request, loss = RaceRequest(("pre",), steps=40), np.linspace(6, 2.8, 40)[None]
    early, late = (
        drawings.drawing_so_far(RaceProgress(request, n, loss[:, :n], loss[:, :n], (None,)))
        for n in (3, 36)
    )
    for draw in (race_view.loss_figure, race_view.gradient_figure):
        one, other = draw(early).layout, draw(late).layout
        assert one.xaxis.range == other.xaxis.range and one.xaxis.range[1] > 40
        assert one.yaxis.range == other.yaxis.range


def test_a_long_race_is_thinned_and_keeps_its_end():
    kept = figures.thinned(1000)
    assert len(kept) <= figures.MOST_POINTS + 1 and kept[-1] == 999 and kept[0] == 0
    assert list(figures.thinned(3)) == [0, 1, 2] and len(figures.thinned(0)) == 0


def test_no_two_variants_look_alike():
    curves = race_view.curves(
        drawing([[3.0] * 8], None, tuple(RACE_ARMS)), np.zeros((1, len(RACE_ARMS), 4))
    )
    assert len({(c.look, c.dash()) for c in curves}) == len(RACE_ARMS)
    assert len({c.symbol() for c in curves}) == len(RACE_ARMS)
    assert len({c.label for c in curves}) == len(RACE_ARMS)


def test_a_class_looks_at_one_drawing():
    now, drawn = [0.0], []
    frames = Frames(lambda: now[0])

    def draw():
        drawn.append(now[0])
        return (len(drawn),)

    assert [frames.get("a", draw, 1.0) for _ in range(3)] == [(1,)] * 3
    with i18n.use_language("it"):
        assert frames.get("a", draw, 1.0) == (2,)
    now[0] = 1.0
    assert frames.get("a", draw, 1.0) == (3,)
    assert frames.get("b", draw) == (4,)
    now[0] = 1e6
    assert frames.get("b", draw) == (4,)  # what is saved does not age
    for k in range(100):
        frames.get(k, draw)
    assert len(frames._frames) <= 32


# ---- sentences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (2.3, "uses what lies further back"),
        (2.6, "less than what the letter before tells"),
        (2.95, "how frequent each letter is, and little else"),
        (3.1, "how frequent each letter is, and little else"),
        (3.3, "not even learned how frequent"),
        (7.0, "worse than guessing blindly"),
        (4000.0, "it has exploded"),
    ],
)
def test_the_verdict_follows_the_loss(loss, words):
    assert words in say.arm_sentence(drawing([[loss]], None, ("pre",)), 0)


def test_the_sentence_gives_the_spread_and_the_seconds():
    said = say.arm_sentence(drawing([[2.6], [2.7], [2.8]], None, ("pre",)), 0)
    assert "2.70 (2.60 to 2.80 over 3 seeds)" in said and "12.3 s" in said
    with i18n.use_language("it"):
        said = say.arm_sentence(drawing([[2.6], [2.7], [2.8]], None, ("pre",)), 0)
    assert "2,70 (da 2,60 a 2,80 con 3 semi)" in said


@pytest.mark.parametrize(("what", "words"), [("loss", "the loss"), ("gradient", "the gradient")])
def test_a_break_is_worded_with_its_step(what, words):
    said = say.arm_sentence(drawing([[np.nan]], ((Broken(94, what),),), ("none",)), 0)
    assert "broke at step 94" in said and f"From there {words} was no longer" in said
    assert "nan" not in said


def test_a_break_of_one_seed_leaves_the_others_their_end():
    broken = ((None,), (Broken(7, "loss"),), (None,))
    drawn = drawing([[3.0], [np.nan], [3.2]], broken, ("none",))
    said = say.arm_sentence(drawn, 0)
    assert "broke in 1 of 3 seeds, at step 7" in said and "end at 3.10 (3.00 to 3.20" in said


def test_the_prediction_is_answered_from_the_numbers():
    arms = ("pre", "post", "pre-cut", "none", "relu")
    broken = ((None, None, None, Broken(9, "loss"), None),)
    said = say.prediction_reading(drawing([[2.7, 3.0, 900.0, np.nan, 2.5]], broken, arms))
    assert "Learns, by held-out loss: pre-norm, ReLU 2.50, pre-norm 2.70." in said
    assert "Stands still near the frequencies of letters (3.00): “post-norm”" in said
    assert "blind guessing (5.55): “pre-norm, no residual”" in said
    assert "Breaks: “no LayerNorm”." in said


def test_a_race_that_was_stopped_is_read_as_far_as_it_got():
    request = RaceRequest(("pre", "none"), steps=40)
    loss = np.array([[4.0] * 5 + [2.0] * 10, [3.0] * 15])
    progress = RaceProgress(request, 15, loss, loss, (None, Broken(15, "gradient")))
    said = say.running_sentences(drawings.drawing_so_far(progress))
    assert said[0] == "pre-norm: 2.00 on the last 10 batches."
    assert "no LayerNorm: broke at step 15" in said[1]


# ---- what is saved ------------------------------------------------------------------------------


def test_the_default_race_is_saved_with_its_provenance():
    results = race_view.default()
    assert [r.request.seed for r in results] == list(saved_race.DEFAULT_SEEDS)
    for r in results:
        assert replace(r.request, seed=0) == RaceRequest()
        assert r.provenance.date and r.provenance.device_name and len(r.weights_sha256) == 5
    assert say.prediction_reading(drawings.drawing_of(results)).startswith("Learns, by")


def test_saved_races_are_found_by_everything_but_the_seed():
    found = race_view.seeds_of(replace(saved_race.ACTIVATIONS, seed=3))
    assert len(found) == len(saved_race.ACTIVATION_SEEDS)
    assert race_view.seeds_of(RaceRequest(lr=0.02)) == []


# ---- the sweep ----------------------------------------------------------------------------------


@pytest.fixture
def sweep(result):
    """Two depths, three rates, two seeds, numbers chosen by hand."""
    request = SweepRequest(depths=(2, 12), lrs=(1e-3, 1e-2, 1e-1), seeds=(0, 1))
    loss = np.full((2, 3, 3, 2), 3.0)
    loss[:, 0, 0] = (2.5, 2.7)  # pre-norm trains at 0.001
    loss[0, 1, 1] = (2.6, 2.8)  # post-norm in two blocks at 0.01 …
    loss[0, 2, 1] = (2.4, 2.5)  # … and better with warmup
    loss[1, 2, 0] = (3.4, 3.5)  # worse with warmup
    broken = np.zeros(loss.shape, dtype=np.int64)
    broken[1, 0, 2] = (5, 0)
    broken[1, 1, 2] = (5, 9)
    loss[1, 0, 2, 0] = loss[1, 1, 2, 0] = np.nan
    return SweepResult(request, loss, broken, UNIGRAM, BIGRAM, "sha", result.provenance)


def test_the_heat_map_shows_every_mean_and_every_break(sweep):
    fig = race_sweep.figure(sweep)
    maps = [trace for trace in fig.data if trace.type == "heatmap"]
    assert len(maps) == 2
    np.testing.assert_allclose(np.array(maps[0].z, float)[0], [2.6, 3.0, 3.0])
    titles = [note.text for note in fig.layout.annotations]
    assert "<b>2 blocks</b>" in titles and "<b>12 blocks</b>" in titles
    words = [text for trace in fig.data if trace.type == "scatter" for text in trace.text]
    assert len(words) == 2 * 9 and words.count("2.60") == 2 and words.count("broke") == 1
    assert "3.00<br>broke 1/2" in words
    assert "broke at step 9" in maps[1].customdata[1][2]
    bar = fig.layout.coloraxis.colorbar
    assert bar.ticktext[1] == "3.00: letter frequencies" and bar.tickvals[1] == UNIGRAM


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_cell_s_number_can_be_read_on_its_colour(theme):
    for loss in np.linspace(2, 4, 41):
        colour = sweep_figures.shade(float(loss), UNIGRAM, theme)
        assert contrast(text_on(colour), colour) >= 4.5
    assert sweep_figures.shade(UNIGRAM, UNIGRAM, theme) == theme["mid"]
    assert sweep_figures.shade(99.0, UNIGRAM, theme) == theme["neg"]


def test_the_sweep_is_read_from_its_numbers(sweep):
    best = sweep_text.best(sweep, 0, 2)
    assert best is not None and (best.lr, best.mean, best.least) == (1e-2, 2.45, 2.4)
    assert sweep_text.trained_at(sweep, 0, 1) == [1e-2] and sweep_text.trained_at(sweep, 1, 1) == []
    assert "with 2 blocks, and at no rate tried with 12" in sweep_text.claim_sentence(sweep)
    assert "post-norm at none of the 3 rates" in sweep_text.depth_sentence(sweep, 1)
    warmup = sweep_text.warmup_sentence(sweep)
    assert "by 0.05 nats or more, in 2 cases: 2 blocks at 0.01 (2.70 → 2.45)" in warmup
    assert "12 blocks at 0.1 (broke → 3.00)" in warmup
    assert "Worse in the same sense in 1 case: 12 blocks at 0.001 (3.00 → 3.45)" in warmup
    assert "In the other 3 it makes no such difference." in warmup


def test_a_variant_that_broke_with_one_seed_has_no_best_rate_there(sweep):
    broken = sweep.broken_step.copy()
    broken[0, 2, :, 1] = 3
    assert sweep_text.best(replace(sweep, broken_step=broken), 0, 2) is None


# ---- controls, files ----------------------------------------------------------------------------


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("guide", race_settings.GUIDES)
def test_every_guide_is_possible_and_explained(guide, lang):
    request = race_settings.GUIDES[guide]
    request.check()
    assert request.lr in race_settings.RATES and request.steps % race_settings.STEP == 0
    assert request.warmup % race_settings.WARMUP_STEP == 0
    with i18n.use_language(lang):
        assert race_settings.guide_title(guide) and len(race_settings.commentary(guide)) > 60


def test_variants_in_the_address_are_checked():
    for good in ("", "pre", "post,pre", ",".join(RACE_ARMS)):
        assert race_settings._possible(good)
    for bad in ("nonsense", "pre,pre", "pre,", ","):
        assert not race_settings._possible(bad)


def test_a_race_too_long_is_refused_before_the_start(monkeypatch):
    monkeypatch.setenv("ANDREA_RACE_SECONDS", "0.001")
    error = race_start._refusal(RaceRequest(("pre",), n_layer=1, d_model=32, steps=40))
    assert isinstance(error, InputError)
    # Nobody has touched a control yet: nothing is measured, nothing refused.
    assert race_start._refusal(RaceRequest()) is None


def test_the_time_left_is_told_by_the_pace_once_there_is_one(monkeypatch):
    monkeypatch.setattr(race_cost, "probes", lambda _width: (0.0, 0.5))
    race = race_start.Mine(RaceRequest(("pre",), n_layer=1, d_model=32, steps=100))
    assert race_start.left(race, 0, 7.0) == pytest.approx(50)  # waiting: the estimate
    race.since = (10, 100.0)
    assert race_start.left(race, 12, 100.1) == pytest.approx(44)  # two steps are no pace
    assert race_start.left(race, 30, 102.0) == pytest.approx(7)  # 0.1 s a step, 70 steps


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", "about 1200 s, this host allows 240 s: choose at most 200 steps, or fewer models"),
        ("it", "circa 1200 s, questo server ne concede 240: scegli al massimo 200 passi, oppure"),
    ],
)
def test_the_button_of_a_race_too_long_is_off_and_the_reason_stands_there(lang, words, monkeypatch):
    monkeypatch.setattr(race_cost, "probes", lambda _width: (0.0, 0.01))
    monkeypatch.setenv("ANDREA_RACE_SECONDS", "240")
    for steps, refused in ((1000, True), (200, False)):
        at = AppTest.from_string(
            "from andrea.requests_race import RaceRequest\nfrom app import i18n, race_start\n"
            f"with i18n.use_language({lang!r}):\n"
            f"    race_start.offer(RaceRequest(n_layer=24, steps={steps}))",
            default_timeout=120,
        ).run()
        assert not at.exception and at.button(key="race.start").disabled == refused
        said = " ".join(element.value for element in at.get("html"))
        assert (words in said) == refused


def test_the_csv_holds_every_number_and_how_to_make_it(result):
    text = race_csv.table([result]).decode()
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert head[0] == f"# {command(SMALL)}" and result.weights_sha256[1] in head[1]
    assert result.text_sha256 in head[2]
    body = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    assert len(body) == 2 * result.loss.size + result.held_out_loss.size + 2
    losses = [float(r["value"]) for r in body if (r["arm"], r["quantity"]) == ("pre", "loss")]
    np.testing.assert_array_equal(losses, result.loss[0])
    assert {r["warmup"] for r in body if r["arm"] == "post-warmup"} == {"10"}


def test_a_stopped_race_and_one_that_broke_go_into_the_csv():
    request = RaceRequest(("none",), steps=40)
    loss = np.array([[4.0, np.nan]])
    progress = RaceProgress(request, 2, loss, loss, (Broken(2, "loss"),))
    text = race_csv.table([], progress).decode()
    assert "(stopped at step 2)" in text and ",loss,2,NaN" in text


def test_the_sweep_s_csv_holds_every_seed(sweep):
    rows = race_csv.sweep_table(sweep).decode().splitlines()
    assert race_csv.SWEEP_COMMAND in rows[0]
    assert len([row for row in rows if not row.startswith("#")]) == 1 + sweep.held_out_loss.size
    assert "2,post-warmup,0.01,1,2.5,0" in rows and "12,post,0.1,0,NaN,5" in rows
