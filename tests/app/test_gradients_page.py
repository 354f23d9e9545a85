"""The laboratory's figures, sentences and saved results, without a browser."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from andrea import engine, lab, saved
from andrea.cli_gradients import command
from andrea.requests import GradientsRequest
from app import gradients_view, i18n, lab_csv, lab_guides, readings, readings_gradients
from app.figures import gradient_sweep, gradients
from app.figures.gradients import TINY, Line
from app.theme import DARK, LIGHT

SMALL = {"n_layer": 4, "d_model": 64, "n_head": 1, "n_tokens": 8}


@pytest.fixture(scope="module")
def usable():
    return engine.run(GradientsRequest(**SMALL, seeds=(0, 1)))


def with_stream(result, *values, **more):
    rows = np.array([values, values], dtype=np.float64)
    return replace(result, stream_grad_norms=rows, **more)


def line(values, norm="pre", residual=True):
    values = np.array(values, dtype=np.float64)
    return Line("arm <b>", norm, residual, np.arange(values.shape[1], dtype=float), values)


def drawn(lines, theme=LIGHT):
    return gradients.profile(lines, theme, readings.voice(), "title", "unit", "place")


# ---- figures ------------------------------------------------------------------------------------


def test_a_profile_is_logarithmic_and_shows_the_spread():
    fig = drawn([line([[1.0, 1e-3, 1e-6], [2.0, 3e-3, 1e-6]])])
    assert fig.layout.yaxis.type == "log"
    band, median = fig.data
    assert band.fill == "toself" and max(band.y) == 2.0
    np.testing.assert_allclose(median.y, [1.5, 2e-3, 1e-6])
    low, high = fig.layout.yaxis.range
    assert low < -6 and high > np.log10(2)
    assert "<b>" not in median.name


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_vanished_or_broke_is_marked_at_the_edge_never_left_out(theme):
    fig = drawn([line([[0.0, TINY / 2, 1e-20, 1.0]]), line([[1.0, np.inf, np.nan, 2.0]])], theme)
    low, high = fig.layout.yaxis.range
    vanished = next(t for t in fig.data if t.marker.symbol == "triangle-down")
    broken = next(t for t in fig.data if t.marker.symbol == "x")
    assert list(vanished.x) == [0, 1] and list(broken.x) == [1, 2]
    assert low < np.log10(vanished.y[0]) < np.log10(1e-20)
    assert np.log10(2.0) < np.log10(broken.y[0]) < high
    assert "vanished below float32" in vanished.hovertemplate
    text = fig.layout.annotations[0].text
    assert "vanished below float32" in text and "not finite" in text


def test_a_profile_of_nothing_but_zeros_is_drawn():
    fig = drawn([line([[0.0, 0.0]])])
    assert sum(len(t.x) for t in fig.data if t.marker.symbol == "triangle-down") == 2


def test_ticks_are_written_in_the_language():
    with i18n.use_language("it"):
        ticks = gradients.power_ticks(-1.2, 0.4, readings.voice())
    assert list(ticks["ticktext"]) == ["0,1", "0,2", "0,5", "1", "2"]
    assert gradients.power_ticks(-40.0, 2.0, readings.voice())["ticktext"][0] == (
        "10<sup>\N{MINUS SIGN}40</sup>"
    )


def test_a_sweep_draws_fit_and_theory():
    depths = np.array([6.0, 12.0, 24.0, 48.0])
    values = np.array([2 / np.sqrt(depths), 2 / np.sqrt(depths)])
    swept = gradient_sweep.Sweep(Line("pre", "pre", True, depths, values), -0.5, -0.5)
    fig = gradient_sweep.sweep([swept], LIGHT, readings.voice())
    points, fit, theory = fig.data
    np.testing.assert_allclose(fit.y, points.y, rtol=1e-12)
    np.testing.assert_allclose(theory.y, points.y, rtol=1e-12)
    assert fig.layout.xaxis.type == fig.layout.yaxis.type == "log"


# ---- sentences ----------------------------------------------------------------------------------


def test_the_sentence_follows_the_numbers(usable):
    def say(result):
        return readings_gradients.gradient_sentence("pre", result)

    assert "multiplied by 40.0, and stays usable" in say(with_stream(usable, 4, 1, 1, 1, 0.1))
    assert "shrinks to 1.0 × 10⁻⁶" in say(with_stream(usable, 1e-6, 1e-3, 1, 1, 1))
    assert "grows 1.0 × 10⁷ times" in say(with_stream(usable, 1e7, 1, 1, 1, 1))
    assert "vanishes below what float32 can hold at block 1" in say(
        with_stream(usable, 0, 1e-40, 1e-9, 1, 1)
    )
    assert "overflows float32 at block 2" in say(with_stream(usable, np.nan, np.inf, np.inf, 9, 1))
    forward = np.array([[1.0, 1e30, np.inf, np.nan, np.nan]] * 2)
    broken = with_stream(usable, *[np.nan] * 5, stream_norms=forward)
    assert "in block 2 on its way forward" in say(broken)


def test_collapse_is_said_and_the_healthy_view_is_warned_of(usable):
    cosine = np.array([[0.0, 0.5, 0.9995, 0.9999, 0.99999]] * 2)
    collapsed = with_stream(usable, 4, 1, 1, 1, 1, token_cosine=cosine)
    sentence = readings_gradients.cosine_sentence("pre-cut", collapsed)
    assert "collapse" in sentence and "From block 2 on" in sentence and "0.99999" in sentence
    warning = readings_gradients.size_warning({"pre": usable, "pre-cut": collapsed})
    assert warning and "pre-norm, no residual" in warning and "pre-norm, residual" not in warning
    assert readings_gradients.size_warning({"pre": usable}) is None
    zero = replace(usable, token_cosine=np.full((2, 5), np.nan))
    assert "zero or not finite" in readings_gradients.cosine_sentence("plain", zero)


def test_the_flat_profile_of_a_vanishing_stream_is_warned_of(usable):
    flat = usable.weight_grad_norms | {"mlp.W_2": np.full((2, 4), 3e-6)}
    plain = with_stream(usable, 1e-6, 1e-4, 1e-2, 1, 1, weight_grad_norms=flat)
    warning = readings_gradients.weights_warning({"plain": plain}, "mlp.W_2")
    assert warning and "1.00 only" in warning and "1.0 × 10⁻⁶" in warning
    assert readings_gradients.weights_warning({"pre": usable}, "mlp.W_2") is None


def test_the_prediction_is_answered_from_the_saved_numbers():
    answer = readings_gradients.prediction_reading(lab_guides.lesson())
    assert "lost in “plain stack, neither”" in answer
    assert "“pre-norm, no residual”" in answer


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
@pytest.mark.parametrize("guide", lab.GUIDES)
def test_every_guide_has_a_commentary(guide, lang):
    with i18n.use_language(lang):
        assert len(lab_guides.commentary(guide)) > 150


# ---- what is saved, what is taken along ---------------------------------------------------------


def test_every_fresh_guide_is_saved_with_its_provenance():
    for guide in lab.GUIDES:
        for request in lab.guide_requests(guide):
            result = saved.gradients().get(request)
            if request.trained:
                continue
            assert result is not None, f"run `python -m andrea.saved`: {request}"
            assert result.config == request.config()
            assert len(result.weights_sha256) == len(request.seeds)
            assert result.provenance.date and result.provenance.device_name


def test_a_saved_result_is_what_a_measurement_gives():
    request = lab.GUIDES["twelve"].request("pre-cut")
    stored, live = saved.find(request), engine.run(request)
    assert stored is not None and stored.weights_sha256 == live.weights_sha256
    np.testing.assert_allclose(stored.stream_grad_norms, live.stream_grad_norms, rtol=1e-3)
    np.testing.assert_allclose(stored.token_cosine, live.token_cosine, atol=1e-4)
    np.testing.assert_allclose(stored.loss, live.loss, rtol=1e-4)


def test_saved_numbers_of_other_trained_weights_do_not_count(monkeypatch):
    request = lab.GUIDES["trained"].request(lab.TRAINED_ARM)
    stored = saved.gradients().get(request)
    assert stored is not None
    monkeypatch.setattr(saved, "trained_sha256", lambda: "another")
    assert saved.find(request) is None
    monkeypatch.setattr(saved, "trained_sha256", lambda: stored.weights_sha256[0])
    assert saved.find(request) is stored


def test_results_survive_writing_and_reading():
    request = GradientsRequest(**SMALL, norm="none", residual=False, init="gpt2", seeds=(3,))
    result = engine.run(request)
    result = replace(result, token_cosine=np.array([[0.1, np.nan, np.inf, -np.inf, 1.0]]))
    back = saved.result_of(saved.rounded(saved.jsonable(result)))
    assert back.request == request and back.config == result.config
    np.testing.assert_allclose(back.stream_grad_norms, result.stream_grad_norms, rtol=1e-5)
    np.testing.assert_array_equal(back.token_cosine[0, 1:], [np.nan, np.inf, -np.inf, 1.0])


def test_arms_and_requests_name_each_other():
    settings = lab.GUIDES["twelve"]
    for arm in lab.ARM_NAMES:
        assert lab.arm_of(settings.request(arm)) == arm


def test_the_csv_holds_every_number_and_how_to_make_it(usable):
    lines = lab_csv.table([usable]).decode().splitlines()
    assert command(usable.request) in lines[0]
    body = [row.split(",") for row in lines if not row.startswith("#")][1:]
    weights = sum(v.size for v in usable.weight_grad_norms.values())
    assert len(body) == 3 * usable.token_cosine.size + usable.loss.size + weights
    first = next(row for row in body if row[8:10] == ["stream_grad_norms", "0"])
    assert float(first[-1]) == usable.stream_grad_norms[0, 0]


def test_commands_repeat_what_is_shown():
    twelve, sweep = lab.GUIDES["twelve"], lab.GUIDES["theorem"]
    assert len(gradients_view.commands(twelve, "twelve").splitlines()) == 4
    assert len(gradients_view.commands(sweep, "theorem").splitlines()) == 8
