import dataclasses
import json
import re
import subprocess
import sys

import numpy as np
import plotly.graph_objects as go
import pytest

from andrea.requests import ModelRequest
from app import i18n
from app.figures import base
from app.figures.attention import attention_matrix
from app.figures.lens import lens_table, rank_curve
from app.figures.lens_map import lens_map
from app.figures.next_token import next_token_bars
from app.figures.norms import norm_profile, norms_of
from app.readings import voice
from tests.app.journey import (
    DARK,
    FRESH,
    LIGHT,
    NASTY,
    attended,
    mapped,
    overflowed,
    traced,
)

DRAWN = {
    "lens": lambda theme: lens_table(traced(), theme, voice()),
    "half": lambda theme: lens_table(traced(), theme, voice(), half_steps=True),
    "rank": lambda theme: rank_curve(traced(), theme, voice()),
    "norms": lambda theme: norm_profile(norms_of(traced().activations), theme, voice()),
    "head": lambda theme: attention_matrix(attended(), theme, voice(), 2, 3),
    "heads": lambda theme: attention_matrix(attended(), theme, voice(), None, 3),
    "map": lambda theme: lens_map(mapped(), theme, voice(), (1, 2)),
    "next": lambda theme: next_token_bars(traced(), theme, voice()),
}


def texts_in(value):
    """Return every string in a figure's JSON, with the key it stands under."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str):
                yield key, item
            else:
                yield from ((k or key, t) for k, t in texts_in(item))
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, str):
                yield "", item
            else:
                yield from texts_in(item)


def traces(fig: go.Figure, kind: str):
    return [trace for trace in fig.data if trace.type == kind]


@pytest.mark.parametrize("half", [False, True])
def test_the_lens_table_holds_the_lens_and_marks_the_answer(half):
    result = traced()
    rows = np.arange(0, 5, 1 if half else 2)
    fig = lens_table(result, LIGHT, voice(), half)
    (heatmap,) = traces(fig, "heatmap")
    np.testing.assert_array_equal(heatmap.z, result.lens_probs[rows])
    written = [text.split("<br>")[0] for text in traces(fig, "scatter")[0].text]
    wanted = [base.token(label, 8) for s in rows for label in result.lens_labels[s]]
    assert written == wanted
    marked = {(shape.x0 + 0.485, shape.y0 + 0.47) for shape in fig.layout.shapes}
    answer = np.argwhere(result.lens_ids[rows] == result.answer_id)
    assert marked == {(float(k), float(r)) for r, k in answer}
    assert marked  # the last row always holds the answer


def test_the_rank_curve_is_the_rank_first_place_on_top():
    result = traced()
    fig = rank_curve(result, LIGHT, voice())
    (line,) = fig.data
    np.testing.assert_array_equal(line.y, result.lens_rank)
    np.testing.assert_array_equal(line.x, [0, 0.5, 1, 1.5, 2])
    low, high = fig.layout.yaxis.range
    assert fig.layout.yaxis.type == "log" and low > np.log10(4353) and high < 0
    for before, after, symbol in zip(
        result.lens_rank, result.lens_rank[1:], line.marker.symbol[1:], strict=False
    ):
        sign = int(np.sign(after - before))
        assert symbol == {-1: "triangle-up", 0: "circle", 1: "triangle-down"}[sign]


def test_norms_are_those_of_the_recorded_vectors():
    result = traced()
    norms = norms_of(result.activations)
    a = {k: v.astype(np.float64) for k, v in result.activations.items()}
    assert norms.stream[0] == pytest.approx(np.linalg.norm(a["embed"] + a["pos_embed"]), rel=1e-6)
    assert norms.stream[4] == pytest.approx(np.linalg.norm(a["blocks.1.resid_post"]))
    assert norms.delta[3] == pytest.approx(np.linalg.norm(a["blocks.1.mlp_out"]))
    assert norms.share[3] == pytest.approx(
        np.linalg.norm(a["blocks.1.mlp_out"]) / np.linalg.norm(a["blocks.1.resid_mid"])
    )
    fig = norm_profile(norms, LIGHT, voice())
    stream, *branches = fig.data
    np.testing.assert_array_equal(stream.y, norms.stream)
    np.testing.assert_array_equal(branches[0].y, norms.delta[0::2])
    np.testing.assert_array_equal(branches[1].y, norms.share[0::2])
    np.testing.assert_array_equal(branches[2].y, norms.delta[1::2])
    np.testing.assert_array_equal(branches[3].y, norms.share[1::2])
    np.testing.assert_array_equal(branches[2].x, [1, 2])


def test_norms_of_extreme_vectors_neither_vanish_nor_overflow():
    tiny = {n: np.full(4, 1e-30, np.float32) for n in traced().activations if "blocks" in n}
    assert norms_of(tiny).stream == pytest.approx(2e-30)
    huge = {n: np.full(4, 1e30, np.float32) for n in tiny}
    assert norms_of(huge).delta == pytest.approx(2e30)
    zero = norms_of({n: np.zeros(4, np.float32) for n in tiny})
    assert np.isnan(zero.share).all()
    norm_profile(zero, LIGHT, voice())


def test_a_stream_without_finite_numbers_is_said_in_the_figure():
    fig = norm_profile(norms_of(overflowed().activations), LIGHT, voice())
    assert "no finite number from here on" in {a.text for a in fig.layout.annotations}
    assert fig.layout.shapes[0].x0 == 1
    assert np.isfinite(fig.layout.yaxis.range).all()


def test_one_head_is_drawn_with_its_mask():
    result = attended()
    n = len(result.labels)
    fig = attention_matrix(result, LIGHT, voice(), head=2, row=3)
    (heatmap,) = traces(fig, "heatmap")
    lower = np.tri(n, dtype=bool)
    np.testing.assert_array_equal(np.asarray(heatmap.z)[lower], result.pattern[2][lower])
    assert np.isnan(np.asarray(heatmap.z)[~lower]).all()
    (mask,) = traces(fig, "scatter")
    assert mask.fillpattern.shape == "/"
    x, y = np.append(mask.x, mask.x[0]), np.append(mask.y, mask.y[0])
    area = abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2
    assert area == n * (n - 1) / 2  # the cells above the diagonal, no more, no less
    assert "masked: the future" in {a.text for a in fig.layout.annotations}
    shape = fig.layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (-0.5, 3.5, 2.5, 3.5)
    assert "√32 = 5.66" in fig.layout.title.text
    assert fig.layout.yaxis.range[0] > fig.layout.yaxis.range[1]  # BOS on top
    assert fig.layout.xaxis.ticktext[0] == "&lt;bos&gt;"


def test_all_heads_are_drawn_and_masked():
    result = attended()
    fig = attention_matrix(result, LIGHT, voice(), head=None, row=1)
    heatmaps = traces(fig, "heatmap")
    assert len(heatmaps) == 12 == len(traces(fig, "scatter"))
    assert "√32" in fig.layout.title.text and "hatched: the future" in fig.layout.title.text
    lower = np.tri(len(result.labels), dtype=bool)
    for head, heatmap in enumerate(heatmaps):
        np.testing.assert_array_equal(np.asarray(heatmap.z)[lower], result.pattern[head][lower])
        assert np.isnan(np.asarray(heatmap.z)[~lower]).all()


def test_a_cell_of_the_map_knows_its_place_and_shade():
    result = mapped("<b> a")
    fig = lens_map(result, LIGHT, voice(), place=(1, 2))
    (bars,) = fig.data
    n = len(result.token_labels)
    assert bars.customdata == tuple(
        [layer, position] for layer in range(3) for position in range(n)
    )
    np.testing.assert_array_equal(bars.x, [p for _, p in bars.customdata])
    np.testing.assert_array_equal(bars.base, [layer - 0.5 for layer, _ in bars.customdata])
    for (layer, position), colour, text, hover in zip(
        bars.customdata, bars.marker.color, bars.text, bars.hovertext, strict=True
    ):
        assert colour == base.shade(LIGHT, round(float(result.probs[layer, position]), 3))
        assert text == base.token(result.labels[layer][position], 10)
        rank = i18n.integer(int(result.final_rank[layer, position]))
        assert hover.endswith(f"rank of the final answer: {rank}")
    shape = fig.layout.shapes[0]
    assert (shape.x0, shape.y0) == (1.5, 0.5)
    assert fig.layout.clickmode == "event+select"


def test_a_map_too_large_for_a_browser_leaves_blocks_out_and_says_so():
    small = mapped("<b> a")
    n = len(small.token_labels)
    deep = dataclasses.replace(
        small,
        probs=np.resize(small.probs, (2001, n)),
        labels=tuple(small.labels[i % 3] for i in range(2001)),
        final_rank=np.resize(small.final_rank, (2001, n)),
    )
    fig = lens_map(deep, LIGHT, voice(), place=(2000, 1))
    layers = [layer for layer, _ in fig.data[0].customdata][::n]
    assert layers[0] == 0 and layers[-1] == 2000 and len(layers) * n < 4000
    steps = set(np.diff(layers[1:]))
    assert len(steps) == 1 and f"every {steps.pop()} blocks" in fig.layout.title.text
    assert fig.layout.shapes[0].y1 == len(layers) - 0.5
    assert all(fig.data[0].base[::n] == np.arange(len(layers)) - 0.5)


def test_next_tokens_are_the_models_probabilities():
    result = traced()
    fig = next_token_bars(result, LIGHT, voice(), count=7)
    np.testing.assert_allclose(fig.data[0].x[:5], result.lens_probs[-1], rtol=1e-4)
    assert len(fig.data[0].x) == 7 == len(fig.layout.yaxis.ticktext)
    hot = next_token_bars(result, LIGHT, voice(), count=7, temperature=5)
    assert hot.data[0].x[0] < fig.data[0].x[0]


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_what_was_typed_is_never_read_as_markup(name, theme, lang):
    with i18n.use_language(lang):
        spec = json.loads(DRAWN[name](theme).to_json())
    ours = re.compile(r"</?b>|<br>|</?i>|</?span[^>]*>|<extra></extra>")
    for key, text in texts_in(spec):
        assert "\ufffd" not in text
        rest = ours.sub("", text)
        assert "<" not in rest and ">" not in rest, (key, text)
        if "$" in text:
            raise AssertionError(f"{key}: {text!r} could be read as TeX")


@pytest.mark.parametrize("name", DRAWN)
def test_axes_are_fixed_and_letters_are_large_enough(name):
    fig = DRAWN[name](LIGHT)
    for axis in (*fig.select_xaxes(), *fig.select_yaxes()):
        assert axis.range is not None and len(axis.range) == 2
        assert axis.fixedrange
    sizes = [int(m) for m in re.findall(r'"size":\s*(\d+)', json.dumps(fonts(fig.to_dict())))]
    assert sizes and min(sizes) >= 12


def fonts(value):
    """Return all font settings in a figure's dictionary."""
    found = []
    if isinstance(value, dict):
        for key, item in value.items():
            if key.endswith("font") and isinstance(item.get("size", 12), int):
                found.append({"size": item.get("size", 12)})
            found += fonts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            found += fonts(item)
    return found


def test_the_italian_figures_are_italian():
    with i18n.use_language("it"):
        fig = attention_matrix(attended(), LIGHT, voice(), 0, 1)
    assert "√32 = 5,66" in fig.layout.title.text
    assert "chi legge chi" in fig.layout.title.text
    assert fig.layout.separators == ",."


def test_labels_show_every_character():
    assert base.shown(" re\n") == "·re↵"
    assert base.shown("a\u202eb\x00\u200f") == "a<U+202E>b<U+0000><U+200F>"
    assert base.escaped("<b>&amp;$x$") == "&lt;b&gt;&amp;amp;&#36;x&#36;"
    assert base.token("abcdefghij", 5) == "abcd…"
    assert {"·🤗", "<F0>"} & {base.shown(label) for label in traced().labels}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_every_shade(theme):
    for p in np.linspace(0, 1, 101):
        shade = base.shade(theme, float(p))
        assert base.contrast(base.text_on(shade), shade) >= 4.5
    lights = [base.luminance(base.shade(theme, p)) for p in (0, 0.01, 0.1, 0.5, 1)]
    assert lights == sorted(lights, reverse=theme is LIGHT)
    for colour in ("ink", "mute", "acc", "neg", "pos"):
        assert base.contrast(theme[colour], theme["bg"]) >= 4.5


def test_the_smallest_and_the_deepest_are_drawn():
    bos = traced("a", ModelRequest("andrea-12m", n_layer=1), 0)
    assert len(lens_table(bos, LIGHT, voice(), True).data[0].z) == 3
    rank_curve(bos, LIGHT, voice())
    one = attended("a", ModelRequest("andrea-12m", n_layer=1), 0)
    attention_matrix(one, LIGHT, voice(), 0, 0)
    long = "word " * 130
    deep = lens_map(mapped(long), LIGHT, voice())
    assert len(deep.data[0].x) == 3 * 129 and len(deep.layout.xaxis.ticktext) <= 17
    wide = attention_matrix(attended(long), LIGHT, voice(), 0, 128)
    assert len(wide.layout.xaxis.ticktext) <= 17 and wide.layout.height < 900


def test_figures_import_neither_streamlit_nor_torch():
    names = "attention, base, lens, lens_map, next_token, norms"
    code = (
        f"import sys; from app.figures import {names}; "
        "sys.exit('streamlit' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_text_of_the_fixture_is_hostile():
    assert any("<" in label for label in traced().labels) and "$" in NASTY
    assert FRESH.n_layer == 2
