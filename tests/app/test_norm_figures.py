"""What Normalisation draws and writes equals the measured numbers."""

import csv
import io
import shlex
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from andrea import cli_norm, engine
from andrea.__main__ import build_parser
from andrea.measures.layernorm import apply, disturb, layer_norm
from andrea.measures.norm import NormResult
from andrea.measures.stream_norms import StreamCurve
from andrea.requests import ModelRequest, NormRequest, StreamNormsRequest
from app import compute, norm_view, readings, readings_norm
from app.figures import norm as figures
from app.figures.base import contrast, text_on
from app.i18n import use_language
from app.norm_controls import ROWS, Settings, window
from app.norm_files import command, vector_csv
from app.norm_picture import code, placement_svg
from app.theme import DARK, LIGHT

TEXT = "C'era una volta un re che aveva tre figlie"
MODEL = ModelRequest("andrea-12m", seed=2, n_layer=2)
LABELS = {"attention": "attention", "attn": "attention", "mlp": "MLP", "layernorm": "LN"}
themes = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
languages = pytest.mark.parametrize("lang", ["en", "it"])


@cache
def found(position=3, layer=1, ln="ln2", **model) -> NormResult:
    asked = ModelRequest("andrea-12m", 2, n_layer=2, **model)
    return engine.run(NormRequest(TEXT, asked, position, layer, ln))


def arm(values, norm="pre", residual=True, trained=False) -> StreamCurve:
    norms = np.array(values, np.float64)
    return StreamCurve(trained, norm, residual, norms, norms)


# -- figures ---------------------------------------------------------------------------------------


@themes
def test_histograms_hold_every_number_and_mark_mean_and_deviation(theme):
    result = found()
    made = Settings(gamma_scale=2.0, beta_shift=-1.0).applied(result)
    fig = figures.histograms(result.inputs[3], made.out, theme, readings.voice())
    bars = [trace for trace in fig.data if trace.type == "bar"]
    lines = [trace for trace in fig.data if trace.type == "scatter"]
    for bar, values in zip(bars, (result.inputs[3], made.out), strict=True):
        assert sum(bar.y) == 384
        half = figures.span_of(values)
        counts, _edges = np.histogram(values.astype(np.float64), figures.BINS, (-half, half))
        np.testing.assert_array_equal(bar.y, counts)
    deviation, mean = lines[2], lines[3]
    assert mean.x[0] == mean.x[1] == pytest.approx(made.after_out.mean)
    spread = np.sqrt(made.after_out.variance)
    np.testing.assert_allclose(deviation.x, [mean.x[0] - spread, mean.x[0] + spread])


def test_a_vector_that_is_not_finite_is_drawn_without_a_fall():
    made = apply(np.full(8, 3.0), eps=0.0)
    fig = figures.histograms(np.full(8, 3.0), made.out, LIGHT, readings.voice())
    assert sum(fig.data[0].y) == 8
    strips = figures.strips([("a", made.out)], LIGHT, readings.voice(), "t", "s")
    assert np.isnan(strips.data[0].customdata).all()


@pytest.mark.parametrize(("most", "half"), [(0.0, 0.05), (0.3, 0.5), (4.9, 5), (7000.0, 7350.0)])
def test_axes_move_in_steps(most, half):
    assert figures.span_of(np.array([most, -most / 2, np.nan])) == pytest.approx(half)


def test_strips_carry_the_values_each_on_its_own_scale():
    result = found()
    made = Settings().applied(result)
    strip = norm_view.strip_figure(result, made).data[0]
    rows = (result.inputs[3], made.normalized, made.out)
    np.testing.assert_allclose(strip.customdata, np.stack(rows))
    np.testing.assert_allclose(np.abs(strip.z).max(axis=1), 1)
    np.testing.assert_array_equal(np.sign(strip.z), np.sign(strip.customdata))


@themes
@languages
def test_the_matrix_is_the_numbers_and_frames_the_averaged_row(theme, lang):
    values = np.array([[0.5, -0.004, 12.3], [3.0, -250.0, 0.0]])
    m = figures.Matrix(values, ("a", "<b>"), values.mean(1), values.var(1), 1, 12.3, ("", "Δ 0"), 9)
    with use_language(lang):
        fig = figures.matrix(m, theme, readings.voice(), "t", "s")
    written = {(a.x, a.y): a.text for a in fig.layout.annotations if isinstance(a.x, int)}
    comma = "," if lang == "it" else "."
    assert written[0, 0] == f"0{comma}50" and written[2, 0] == f"12{comma}3"
    assert written[1, 0] == f"0{comma}00" and written[1, 1] == "−250"
    frame = fig.layout.shapes[0]
    assert (frame.y0, frame.y1, frame.x0, frame.x1) == (0.5, 1.5, -0.5, 2.5)
    heat = fig.data[0]
    np.testing.assert_allclose(heat.z, np.clip(values / 12.3, -1, 1))
    assert "&lt;b&gt;" in heat.text[1][0] and "−82" in heat.text[1][0]  # mean of its row: -82.3
    for row in heat.z:
        for share in row:
            fill = figures.signed_shade(theme, float(share))
            assert contrast(fill, text_on(fill)) >= 4.5


@pytest.mark.parametrize("residual", [True, False])
def test_pictures_and_code_say_where_the_layernorm_stands(residual):
    for norm in ("pre", "post"):
        svg = placement_svg(norm, residual, LABELS, "what it shows", LIGHT)
        assert svg.count(">LN<") == 2 and svg.count("<circle") == 2 * residual
    assert code("pre", True) == "x = x + attn(ln_1(x))\nx = x + mlp(ln_2(x))"
    assert code("post", True) == "x = ln_1(x + attn(x))\nx = ln_2(x + mlp(x))"
    assert code("pre", False) == "x = attn(ln_1(x))\nx = mlp(ln_2(x))"
    assert code("post", False) == "x = ln_1(attn(x))\nx = ln_2(mlp(x))"


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_lines_of_code_are_what_the_model_does(norm):
    """Run the two lines themselves beside a real block."""
    import torch

    from andrea.config import ModelConfig
    from andrea.model import Andrea

    for residual in (True, False):
        config = ModelConfig(n_layer=1, d_model=8, n_head=2, n_ctx=9, vocab_size=20, norm=norm,
                             residual=residual)  # fmt: skip
        block = Andrea(config, seed=0).blocks[0]
        x = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(0))
        names = {"x": x, "ln_1": block.ln1, "ln_2": block.ln2,
                 "attn": lambda y, b=block: b.attn(y, lambda *a: None),
                 "mlp": lambda y, b=block: b.mlp(y, lambda *a: None)}  # fmt: skip
        exec(code(norm, residual), {}, names)
        torch.testing.assert_close(names["x"], block(x))


def test_stream_lines_are_the_curves():
    lengths = engine.run(StreamNormsRequest(TEXT, MODEL))
    drawn = []
    for residual in (True, False):
        fig = norm_view.stream_figure(lengths, residual)
        drawn += [trace for trace in fig.data if trace.showlegend is not False]
    assert len(drawn) == len(lengths.curves) == 6
    for trace, c in zip(drawn, lengths.curves, strict=True):
        assert list(trace.x) == [0, 1, 2]
        np.testing.assert_allclose(np.asarray(trace.y), c.norms)


def test_switches_share_one_answer_and_the_seed_counts():
    one, two, other = (
        compute.answer(StreamNormsRequest(TEXT, ModelRequest("andrea-12m", seed, norm, True, 1)))
        for seed, norm in ((4, "pre"), (4, "none"), (5, "pre"))
    )
    assert one is two and one.fresh_sha256 != other.fresh_sha256
    mini = ModelRequest("andrea-mini", n_layer=1)
    seeds = [compute.answer(StreamNormsRequest(TEXT, replace(mini, seed=s))) for s in (0, 1)]
    first, second = (r.curves for r in seeds)
    assert first[-1].trained and second[-1].trained
    np.testing.assert_array_equal(first[-1].norms, second[-1].norms)
    assert first[0].norms[1] != second[0].norms[1]


# -- sentences -------------------------------------------------------------------------------------


@languages
def test_the_prediction_names_the_longest_and_the_shortest(lang):
    result = found()
    lengths = np.linalg.norm(result.inputs.astype(np.float64), axis=-1)
    with use_language(lang):
        said = readings_norm.prediction_reading(result)
    assert result.labels[int(lengths.argmax())] in said
    comma = "," if lang == "it" else "."
    assert f"√384 = 19{comma}596" in said
    ratio = f"{lengths.max() / lengths.min():.2f}".replace(".", comma)
    assert ratio in said


def test_the_prediction_does_not_say_equal_where_epsilon_counts():
    result = found()
    near_zero = result.inputs * np.float32(1e-3)
    short = np.concatenate([near_zero[:1] * np.float32(0.1), near_zero[1:]])
    assert readings_norm.prediction_reading(result).startswith("No.")
    assert "ε counts" in readings_norm.prediction_reading(replace(result, inputs=short))


def test_the_sum_in_the_variance_sentence_can_be_done_again():
    x = np.random.default_rng(0).normal(0.01, 0.028, 192)
    said = readings_norm.variance_reading(apply(x, gamma_scale=0.03))
    before, after = x.var(), x.var() / (x.var() + 1e-5)
    assert f"{before:.6f} ÷ ({before:.6f} + 1.0 × 10⁻⁵)" in said and f"{after:.6f}" in said
    assert f"{0.03**2 * after:.6f}" in said and "mean 0," in said


def test_variance_sentence_shows_the_quotient():
    said = readings_norm.variance_reading(apply(np.array([1.0, 3.0, 5.0, 7.0]), eps=1.0))
    assert "variance 0.833333" in said and "5.00 ÷ (5.00 + 1)" in said
    equal = readings_norm.variance_reading(apply(np.full(4, 2.0), eps=0.0))
    assert "not a number" in equal


@pytest.mark.parametrize(
    ("values", "norm", "words"),
    [
        ([1, 2, 4], "pre", "grows from 1.00 to 4.00 in 2 blocks, 4.00 times"),
        ([1, 13.9, 13.9], "post", "1.00 at the embedding to 13.9 after every block"),
        ([1, 4, 13.9], "post", "between 4.00 and 13.9"),
        ([1, 1e-4, 1e-9], "none", "vanishes"),
        ([1, 1.01, 1.02], "none", "from 1.00 to 1.02"),
        ([1, np.inf, np.nan], "none", "not finite"),
    ],
)
def test_stream_sentences_follow_the_numbers(values, norm, words):
    assert words in readings_norm.stream_sentence(arm(values, norm))


@languages
@pytest.mark.parametrize(("norm", "count"), [("pre", "5"), ("post", "4"), ("none", "")])
def test_the_count_is_said(lang, norm, count):
    with use_language(lang):
        said = readings_norm.count_reading(found(norm=norm))
    assert count in said and (norm != "pre" or {"5", "4", "1"} <= set(said))


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_where_it_stands_is_said_under_every_switch(norm, residual):
    places = [("ln1", 0), ("ln2", 1)] + [("ln_final", 0)] * (norm == "pre")
    said = [
        readings_norm.where_reading(found(3, layer, ln, norm=norm, residual=residual))
        for ln, layer in places
    ]
    assert len(set(said)) == len(places)


def test_moved_or_not_is_said():
    result = found()
    moved = disturb(result.inputs, result.position, 5, -10.0)
    said = readings_norm.disturbed_reading(result, moved, 5, -10.0)
    assert "−10" in said and ": 0." in said
    assert ": 0." in readings_norm.later_reading(result)


def test_rms_sentence_follows_the_mean():
    x = np.random.default_rng(0).normal(0, 1, 64)
    assert "nearly the same" in readings_norm.rms_reading(apply(x - x.mean()))
    assert "part" in readings_norm.rms_reading(apply(x + 2))


# -- settings, command, file -----------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 5, -1])
def test_the_window_holds_the_token_among_its_neighbours(position):
    result = found(position)
    rows = window(result)
    assert result.position in rows and len(rows) == ROWS
    assert rows == [*range(rows[0], rows[0] + ROWS)]
    short = engine.run(NormRequest("re", MODEL))
    assert window(short) == [*range(len(short.labels))]


@pytest.mark.parametrize(
    "settings",
    [Settings(), Settings(0.0, -3.0, "0.1", False), Settings(2.5, 0.1, "1e-8")],
    ids=str,
)
@pytest.mark.parametrize("text", [TEXT, "-5 gradi", 'un "re" --json'])
def test_the_command_asks_for_the_same(settings, text):
    request = NormRequest(text, MODEL, 2, 1, "ln2")
    words = shlex.split(command(request, settings))
    assert words[:3] == ["python", "-m", "andrea"]
    args = build_parser().parse_args(words[3:])
    assert cli_norm.norm_request(args) == request and args.json and args.streams
    result = found(2)
    made = cli_norm.applied(result, args)
    np.testing.assert_array_equal(made.out, settings.applied(result).out)


def test_the_command_has_the_seed_of_the_fresh_streams():
    words = shlex.split(command(NormRequest(TEXT), Settings(), 7))
    args = build_parser().parse_args(words[3:])
    assert (args.model, args.seed, args.streams) == ("andrea-mini", 7, True)
    assert "--seed 2" in command(NormRequest(TEXT, MODEL), Settings(), 2)
    assert "--seed" not in command(NormRequest(TEXT), Settings(), 0)


def test_csv_holds_the_vector():
    result = found()
    settings = Settings(gamma_scale=0.5)
    made = settings.applied(result)
    asked = command(result.request, settings)
    text = vector_csv(result, made, asked).decode()
    assert text.splitlines()[0] == f"# command: {asked}" and "--gamma-scale 0.5" in asked
    rows = list(csv.DictReader(io.StringIO("\n".join(x for x in text.splitlines() if x[0] != "#"))))
    np.testing.assert_allclose([float(r["out"]) for r in rows], made.out)
    np.testing.assert_allclose([float(r["rms"]) for r in rows], made.rms)
    before = np.array([float(r["before"]) for r in rows])
    np.testing.assert_allclose(
        layer_norm(before), [float(r["normalized"]) for r in rows], atol=1e-6
    )
