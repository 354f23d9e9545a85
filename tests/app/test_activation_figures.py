"""What GELU and ReLU draws and writes equals the measured numbers."""

import csv
import math
import shlex
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from andrea import cli_activation, engine
from andrea.__main__ import build_parser
from andrea.measures import activation_curves as curves
from andrea.measures.activation import EDGES, HALF
from andrea.measures.activation_error import approximation
from andrea.requests import ModelRequest
from andrea.requests_activation import ActivationRequest, PreActivationsRequest, SwapRequest
from app import activation_files, activation_view, readings, readings_activation
from app.figures import activation as figures
from app.figures import activation_blocks
from app.i18n import use_language
from app.theme import DARK, LIGHT

TEXT = "C'era una volta <b>un</b> re"
MODEL = ModelRequest("andrea-12m", 4, n_layer=2)
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
languages = pytest.mark.parametrize("lang", ["it", "en"])


@cache
def found():
    """One fresh model's answers."""
    return (
        engine.run(PreActivationsRequest(TEXT, MODEL, 1, 3)),
        engine.run(ActivationRequest("", MODEL, 0, 2, 16)),
        engine.run(SwapRequest("relu", MODEL, 2, 16)),
    )


# -- the curves ------------------------------------------------------------------------------------


@themes
def test_curves_minimum_and_slope_range_are_marked(theme):
    fig = figures.gelu_curves(theme, readings.voice())
    lines = [t for t in fig.data if t.mode == "lines"]
    functions = (curves.gelu, curves.gelu_slope, curves.relu, curves.relu_slope,
                 curves.gelu_tanh, curves.gelu_tanh_slope)  # fmt: skip
    for trace, function in zip(lines, functions, strict=True):
        np.testing.assert_allclose(trace.y, function(np.asarray(trace.x)))
    marks = [(t.x[0], t.y[0]) for t in fig.data if t.mode == "markers" and len(t.x) == 1]
    root = math.sqrt(2)
    expected = [(-0.75179, -0.16997), (-root, -0.12890), (root, 1.12890)]
    np.testing.assert_allclose(marks, expected, atol=1e-4)
    words = " ".join(a.text for a in fig.layout.annotations)
    for part in ("minimum −0.16997 at x = −0.7518", "−0.129", "1.129", "≈ 0", "≈ x"):
        assert part in words


def test_the_gap_is_drawn_with_its_greatest_values():
    near = approximation()
    fig = figures.gap(near, DARK, readings.voice())
    x = np.asarray(fig.data[0].x)
    np.testing.assert_allclose(
        fig.data[0].y, 1e4 * (curves.gelu_tanh(x) - curves.gelu(x)), atol=1e-9
    )
    peaks = [(t.x[0], t.y[0]) for t in fig.data[1:]]
    np.testing.assert_allclose(peaks, [(-2.699, 4.732), (2.699, 4.732)], atol=2e-3)
    low, high = fig.layout.yaxis.range
    assert low < min(fig.data[0].y) and max(fig.data[0].y) < high
    text = readings_activation.approximation_reading(near)
    for part in ("0.000473", "±2.699", "0.000179", "±2.592"):
        assert part in text


# -- inside the model ------------------------------------------------------------------------------


@pytest.mark.parametrize("over", ["passages", "text", "token"])
def test_the_histogram_and_the_dots_are_the_recorded_numbers(over):
    read, every, _swap = found()
    fig = activation_view.inside_figure(read, every, over)
    bars = next(t for t in fig.data if t.type == "bar")
    values = {"text": read.pre[1:], "token": read.pre[3]}.get(over)
    expected = every.layers.counts[1] if values is None else np.histogram(values, EDGES)[0]
    assert [int(c[2].replace(",", "")) for c in bars.customdata] == expected.tolist()
    np.testing.assert_allclose(bars.y, expected / expected.sum())
    for centre, colour in zip(bars.x, bars.marker.color, strict=True):
        assert colour == LIGHT["neg" if centre < 0 else "pos"]
    dots = next(t for t in fig.data if t.mode == "markers")
    order = sorted(range(read.pre.shape[1]), key=lambda u: -read.pre[3][u])
    largest = order[:6] + order[::-1][:6]
    np.testing.assert_array_equal(dots.x, read.pre[3][largest])
    np.testing.assert_array_equal(dots.y, read.post[3][largest])
    assert [int(c[0].replace(",", "")) - 1 for c in dots.customdata] == largest
    assert bars.x[-1] < fig.layout.xaxis.range[1] and HALF <= fig.layout.xaxis.range[1]


@themes
def test_block_by_block_and_swap_are_the_measured_numbers(theme):
    _read, every, swap = found()
    fig = activation_blocks.by_block(every, theme, readings.voice())
    layers = every.layers
    expected = (layers.negative, layers.cut_size, layers.silent)
    for trace, values in zip(fig.data, expected, strict=True):  # a fresh model has no twin
        np.testing.assert_array_equal(trace.y, values)
    fig = activation_blocks.swap(swap, "t", theme, readings.voice())
    for trace, values in zip(fig.data, swap.change, strict=True):
        np.testing.assert_array_equal(trace.y, values)
    low, high = fig.layout.yaxis.range
    assert low <= swap.change.min() and swap.change.max() <= high


# -- sentences, file, command ----------------------------------------------------------------------


@languages
def test_sentences_say_the_numbers(lang):
    read, every, swap = found()
    with use_language(lang):
        voice = readings.voice()
        said = readings_activation.prediction_reading(every)
        assert voice.percent(float(every.layers.negative.mean()), 0) in said
        said = readings_activation.histogram_reading(np.array([-7.0, -1.0, -1.0, 3.0]), HALF)
        assert voice.percent(0.75, 0) in said and "±6" in said
        said = readings_activation.counted_reading(every.layers, 1, HALF)
        assert voice.integer(64 * 1536) in said
        said = readings_activation.dots_reading(read, activation_view.largest(read))
        for unit in (read.pre[3].argmax(), read.pre[3].argmin()):
            assert voice.integer(int(unit) + 1) in said
        assert read.labels[3].strip() in said
        said = readings_activation.cut_reading(every.layers, 1)
        assert voice.percent(float(every.layers.cut_size[1]), 0) in said
        assert "64" in said and voice.integer(1536) in said
        said = readings_activation.swap_reading(swap)
        for g in (0, 1):
            assert voice.number(float(swap.base_loss[g]), 3) in said
            assert readings_activation.change(float(swap.change_all[g])) in said
        assert "32" in readings_activation.swap_notice(swap)


def test_a_change_has_a_sign_and_enough_digits():
    written = [readings_activation.change(x) for x in (0.0372, -0.0006, 0.00021, -4e-6)]
    assert written == ["+0.037", "−0.001", "+0.000210", "−0.000004"]


def test_the_file_holds_the_numbers_and_the_command_repeats_them():
    read, every, swap = found()
    said = activation_files.command(read, "gelu", 2)
    words = shlex.split(said)
    args = build_parser().parse_args(words[3:])
    assert args.run is cli_activation.run and args.text == TEXT
    assert (args.layer, args.position, args.act, args.passages) == (2, 3, "gelu", 2)
    assert (args.model, args.seed, args.n_layer) == ("andrea-12m", 4, 2)
    lines = activation_files.table(read, every, swap, said).decode().splitlines()
    assert lines[0] == f"# command: {said}"
    body = [line for line in lines if not line.startswith("#")]
    rows = list(csv.DictReader(body))
    pre = [float(r["value"]) for r in rows if r["quantity"] == "pre"]
    np.testing.assert_array_equal(np.float32(pre), read.pre[3])
    bins = [int(r["value"]) for r in rows if r["quantity"].startswith("histogram")]
    np.testing.assert_array_equal(np.reshape(bins, (2, -1)), every.layers.counts)
    change = [float(r["value"]) for r in rows
              if r["quantity"] == "loss change relu" and r["block"] != "all"]  # fmt: skip
    np.testing.assert_array_equal(np.float32(change), swap.change.ravel())
    near = approximation()
    gap = [float(r["value"]) for r in rows if r["quantity"] == "tanh form minus exact GELU"]
    np.testing.assert_array_equal(gap, near.difference)
    errors = [float(r["value"]) for r in rows if r["quantity"] == "largest error of the exact form"]
    assert errors == [f.exact for f in near.formats]


def test_the_commands_have_the_seed_of_the_fresh_weights_and_the_swap_its_own():
    read, _every, swap = found()
    trained = replace(read, request=PreActivationsRequest(TEXT, ModelRequest()))
    args = build_parser().parse_args(
        shlex.split(activation_files.command(trained, "relu", 8, 9))[3:]
    )
    assert (args.model, args.seed) == ("andrea-mini", 9)
    assert "--seed" not in activation_files.command(trained, "relu", 8, 0)
    assert activation_files.command(read, "relu", 8, 4).count("--seed 4") == 1
    for act_fn in ("relu", "gelu"):
        said = activation_files.swap_command(replace(swap, request=SwapRequest(act_fn)))
        args = build_parser().parse_args(shlex.split(said)[3:])
        default = SwapRequest()
        assert (args.act, args.model, args.norm) == (act_fn, "andrea-mini", "pre")
        assert (args.passages, args.n_tokens) == (default.n_passages, default.n_tokens)


def test_no_silent_unit_is_said_without_two_negations():
    layers = replace(found()[1].layers, silent=np.array([0, 3]))
    assert "Each of its" in readings_activation.cut_reading(layers, 0)
    assert "3 of" in readings_activation.cut_reading(layers, 1)
    written = [readings_activation.signed_part(x) for x in (0.037, -0.021, 0.0)]
    assert written == ["+3.7%", "−2.1%", "0.0%"]


def test_errors_in_the_table_keep_their_digits():
    assert activation_view.error(8.9e-7) == "8.9 × 10⁻⁷"
    assert activation_view.error(0.000473) == "0.000473"


def test_a_text_like_an_option_stays_a_text():
    read = engine.run(PreActivationsRequest("--json", MODEL))
    words = shlex.split(activation_files.command(read, "relu", 8))
    assert build_parser().parse_args(words[3:]).text == "--json"
