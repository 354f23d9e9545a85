"""The Depth page's figures, sentences, files and its choice of saved results, without a browser."""

from __future__ import annotations

import csv
import math
import shlex
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from andrea import engine, saved_depth
from andrea.requests import ModelRequest
from andrea.requests_depth import (
    CHANGES,
    AnswersRequest,
    ChangesRequest,
    DepthRequest,
    WaterfallRequest,
)
from app import compute, depth_csv, depth_view, i18n, readings, readings_depth
from app.figures import depth, depth_curves
from app.theme import DARK, LIGHT

MODEL = ModelRequest("andrea-12m", n_layer=3)
TEXT = "The old woman opened the <b>door</b>"
SMALL = {"n_passages": 2, "n_tokens": 9}
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def drop():
    return engine.run(WaterfallRequest(TEXT, MODEL))


@pytest.fixture(scope="module")
def survey():
    one = engine.run(DepthRequest(MODEL, **SMALL))
    other = engine.run(DepthRequest(replace(MODEL, seed=1), **SMALL))
    return replace(one, sizes_init=other.sizes)


@pytest.fixture(scope="module")
def changed():
    return engine.run(ChangesRequest("block", MODEL, **SMALL))


@pytest.fixture(scope="module")
def answers():
    return engine.run(AnswersRequest(TEXT, "block", MODEL))


# ---- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_each_bar_begins_where_the_last_one_ends_and_the_sum_is_the_logit(drop, theme):
    fig = depth.waterfall(drop, theme, readings.voice())
    bars = fig.data[0]
    assert len(bars.x) == 2 * 3 + 3 + 1
    starts, lengths = np.array(bars.base, float), np.array(bars.x, float)
    np.testing.assert_allclose(starts[1:-1], (starts + lengths)[:-2], atol=1e-9)
    assert starts[-1] == 0 and lengths[-1] == pytest.approx(drop.logit, abs=1e-4)
    for value, colour in zip(lengths[:-1], bars.marker.color[:-1], strict=True):
        assert colour == theme["pos" if value >= 0 else "neg"]
    labels = fig.layout.yaxis.ticktext
    assert labels[2:4] == ("1 · attention", "1 · MLP")
    low, high = fig.layout.xaxis.range
    assert low < starts.min() and (starts + lengths).max() < high


def test_a_bar_below_zero_keeps_its_sign(drop):
    shares = np.array([-1.5, 0.001, *drop.contributions[2:]], dtype=np.float32)
    fig = depth.waterfall(replace(drop, contributions=shares), LIGHT, readings.voice())
    assert f"{MINUS}1.50" in fig.data[0].customdata[0] and fig.data[1].text[0] == f"{MINUS}1.50"
    assert fig.data[1].text[1] == "0.00"
    with i18n.use_language("it"):
        fig = depth.waterfall(replace(drop, contributions=shares), LIGHT, readings.voice())
        assert fig.data[1].text[0] == f"{MINUS}1,50"
        assert fig.layout.yaxis.ticktext[2] == "1 · attenzione"


def test_what_the_model_answers_cannot_write_html(drop):
    fig = depth.waterfall(replace(drop, answer_label="<b>x"), LIGHT, readings.voice())
    assert "&lt;b&gt;x" in fig.layout.title.text


def test_sizes_are_drawn_for_both_models_on_one_figure(survey):
    fig = depth.block_sizes(survey.sizes, survey.sizes_init, LIGHT, readings.voice())
    attention, mlp, cosine = fig.data[:3]
    np.testing.assert_array_equal(attention.y, survey.sizes.share[0::2])
    np.testing.assert_array_equal(mlp.y, survey.sizes.share[1::2])
    np.testing.assert_array_equal(cosine.y, survey.sizes.cosine)
    np.testing.assert_array_equal(fig.data[5].y, survey.sizes_init.cosine)
    assert fig.layout.yaxis.type == "log" and cosine.yaxis == "y2"
    low, high = fig.layout.yaxis.range
    drawn = np.concatenate([survey.sizes.share, survey.sizes_init.share])
    assert low < math.log10(drawn.min()) and math.log10(drawn.max()) < high
    assert len(depth.block_sizes(survey.sizes, None, LIGHT, readings.voice()).data) == 3


def test_the_lens_is_drawn_as_it_was_measured(survey):
    fig = depth_curves.lens_curves(survey, 4353, LIGHT, readings.voice())
    for g in range(2):
        np.testing.assert_array_equal(fig.data[2 * g].y, survey.rank[g])
        np.testing.assert_array_equal(fig.data[2 * g + 1].y, survey.prob[g])
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]  # 1, the first place, on top
    # A finger that scrolls the page must not zoom either row.
    assert fig.layout.yaxis.fixedrange and fig.layout.yaxis2.fixedrange
    assert fig.layout.xaxis.fixedrange and fig.layout.xaxis2.fixedrange


def test_losses_stand_beside_the_loss_of_the_model_as_it_is(changed):
    fig = depth_curves.change_curves(changed, 2, "t", LIGHT, readings.voice())
    np.testing.assert_array_equal(fig.data[0].y, changed.loss[0])
    np.testing.assert_array_equal(fig.data[1].y, changed.loss[1])
    band, *lines = fig.layout.shapes
    assert band.x0 < 2 < band.x1
    assert [line.y0 for line in lines] == pytest.approx(changed.base_loss.tolist())


def test_four_maps_of_the_heads(survey):
    fig = depth_curves.heads(survey, LIGHT, readings.voice())
    a = survey.attention
    np.testing.assert_allclose(fig.data[0].z, a.entropy / math.log(10), rtol=1e-6)
    for trace, array in zip(fig.data[1:], (a.first, a.previous, a.own), strict=True):
        np.testing.assert_array_equal(trace.z, array)
    assert "block 3, head 12" in fig.data[3].text[2][11]


# ---- sentences -----------------------------------------------------------------------------------


def test_the_prediction_is_answered_from_the_numbers(changed):
    loss = np.array([[5, 5.01, 6.5], [4, 4.01, 5.5]], dtype=np.float32)
    known = replace(changed, loss=loss, base_loss=np.array([5, 4], dtype=np.float32))
    told = readings_depth.prediction_reading(known)
    assert told.startswith("Block 3: without it the loss grows by 1.50")
    assert "without block 1 by 0.000" in told and "+0.010" in told
    broken = replace(known, loss=loss * np.nan)
    assert "not finite" in readings_depth.prediction_reading(broken)


def test_a_collapse_is_said_and_only_a_collapse(changed):
    base = {"base_loss": np.array([5, 4], dtype=np.float32), "places": (0,)}
    cut = {"loss": np.array([[14.0], [15.0]]), "cosine": np.array([[0.99999], [0.9999]])}
    told = readings_depth.change_reading(replace(changed, **base, **cut), 0)
    assert "from 5.000 to 14.000 in Italian and from 4.000 to 15.000" in told
    assert "become one vector" in told and "same probability (8.38)" in told
    mild = {"loss": np.array([[5.1], [4.1]]), "cosine": np.array([[0.4], [0.4]])}
    told = readings_depth.change_reading(replace(changed, **base, **mild), 0)
    assert "one vector" not in told and "probability" not in told


def test_the_answer_before_and_after(answers):
    same = replace(answers, base_label=" king", labels=(" king",) * 3, base_prob=0.25)
    told = readings_depth.answer_reading(same, 1)
    assert told.startswith("The answer to the text stays “·king”: 25%")
    other = replace(same, labels=(" queen",) * 3, base_ranks=np.array([7, 7, 7]))
    told = readings_depth.answer_reading(other, 2)
    assert "changes from “·king” to “·queen”" in told and "rank 7" in told


def test_the_first_token_is_judged_by_what_was_measured(survey):
    assert "this one does not" in readings_depth.sink_reading(survey)
    first = survey.attention.first.copy()
    first[1, 2] = 0.9
    value = survey.attention.first_value.copy()
    value[1, 2] = 0.2
    sinks = replace(survey, attention=replace(survey.attention, first=first, first_value=value))
    told = readings_depth.heads_reading(sinks)
    assert "head 3 of block 2 (90%)" in told[0] and "1 of 36 heads gives it more" in told[0]
    assert "0.20 times" in told[1]
    # Two queries that read three and four tokens evenly would give each 1/3 and 1/4.
    assert readings_depth.even_share(3) == pytest.approx((1 / 3 + 1 / 4) / 2)


def test_the_waterfall_is_told_from_its_bars(drop):
    shares = np.array([0, 0, 1, 5, -2, 1, 0.5, 0.5, 0.25], dtype=np.float32)
    told = readings_depth.waterfall_reading(replace(drop, contributions=shares, logit=6.25))
    assert "lies 6.25 above" in told and "“1 · MLP” (+5.00)" in told
    assert f"“2 · attention” works against it most ({MINUS}2.00)" in told
    assert "second half of the blocks adds +2.00" in told  # of six sublayers the last three


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_every_sentence_can_be_said_in_both_languages(lang, drop, survey, changed, answers):
    with i18n.use_language(lang):
        told = [
            readings_depth.waterfall_reading(drop),
            *readings_depth.sizes_reading(survey),
            *readings_depth.lens_reading(survey),
            *readings_depth.heads_reading(survey),
            readings_depth.prediction_reading(changed),
            readings_depth.change_reading(changed, 1),
            readings_depth.answer_reading(answers, 1),
            *(depth_view.place_label(change, 2) for change in CHANGES),
            *(readings_depth.change_label(change) for change in CHANGES),
        ]
    assert not any("{" in sentence or "not a number" in sentence for sentence in told)
    if lang == "it":
        assert not any(" the " in sentence for sentence in told)


# ---- files, commands, saved results --------------------------------------------------------------


def test_the_csv_holds_every_number(drop, survey, changed):
    lines = depth_csv.table(drop, survey, changed).decode().splitlines()
    assert "python -m andrea depth" in lines[0] and drop.provenance.weights_sha256 in lines[2]
    body = list(csv.DictReader(line for line in lines if not line.startswith("#")))

    def found(quantity: str, group: str = "") -> list[float]:
        return [float(r["value"]) for r in body if (r["quantity"], r["group"]) == (quantity, group)]

    shares = [float(r["value"]) for r in body if r["quantity"] == "contribution"]
    np.testing.assert_allclose(shares, drop.contributions, rtol=1e-6)
    np.testing.assert_allclose(found("lens.rank", "en"), survey.rank[1])
    np.testing.assert_allclose(found("share.mlp", "init"), survey.sizes_init.share[1::2], rtol=1e-6)
    np.testing.assert_allclose(found("loss.block", "it"), changed.loss[0], rtol=1e-6)
    np.testing.assert_allclose(found("attention.own"), survey.attention.own.ravel(), rtol=1e-6)


@pytest.mark.parametrize("text", ["a king", "it's", 'say "no"', "-x", "a $b `c`"])
def test_the_command_survives_any_text(text):
    words = shlex.split(depth_csv.command(text, "mlp"))
    assert text in words and words[words.index("--change") + 1] == "mlp"
    assert not text.startswith("-") or words[-2:] == ["--", text]


@pytest.mark.parametrize("holds", [True, False])
def test_a_saved_result_is_shown_only_if_it_holds(holds, changed, monkeypatch):
    asked = []
    monkeypatch.setattr(saved_depth, "find", lambda request: changed if holds else None)
    monkeypatch.setattr(compute, "blocks", lambda request: asked.append(request) or "live")
    shown = depth_view.changes("swap")
    assert (shown is changed) == holds
    assert asked == ([] if holds else [ChangesRequest("swap")])


def test_a_place_that_a_change_does_not_have_is_the_nearest(changed):
    assert depth_view.snapped(replace(changed, places=(1, 2)), 3) == 2
    assert depth_view.snapped(replace(changed, places=(0,)), 3) == 0


def test_saved_numbers_say_so_and_can_be_measured_live(survey, monkeypatch):
    asked = []
    monkeypatch.setattr(saved_depth, "find", lambda request: survey)
    monkeypatch.setattr(compute, "blocks", lambda request: asked.append(request) or survey)
    at = AppTest.from_string("from app import depth_view\ndepth_view.survey()", default_timeout=120)
    at.run()
    (told,) = [e.proto.body for e in at.get("html")]
    assert survey.provenance.date[:10] in told and survey.provenance.device_name in told
    assert asked == []
    at.button[0].click().run()
    assert asked == [DepthRequest()] and not at.get("html") and not at.exception
