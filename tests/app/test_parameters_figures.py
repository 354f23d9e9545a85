"""What Parameters draws and writes equals the count, to the unit."""

import csv
import io
import shlex

import pytest

from andrea import engine
from andrea.__main__ import build_parser
from andrea.cli_parameters import parameters_request
from andrea.config import PRESETS
from andrea.measures.parameters import ParametersResult
from andrea.requests import ParametersRequest
from app import parameters_controls as controls
from app import parameters_text as text
from app import parameters_view as view
from app import readings
from app.figures import parameters as figures
from app.figures.base import contrast
from app.i18n import use_language
from app.theme import DARK, LIGHT

ASKED = [
    {},
    {"preset": "gpt2"},
    {"tie_embeddings": False, "bias": False, "norm_affine": False},
    {"norm": "none", "n_layer": 1},
    {"norm": "post", "n_layer": 24},
    {"n_layer": 25},
    {"preset": "andrea-mini", "n_layer": 96},
]
asked = pytest.mark.parametrize("asked", ASKED, ids=str)


def count(**wanted) -> ParametersResult:
    return engine.run(ParametersRequest(**wanted))


@asked
def test_every_area_is_a_count_and_areas_add_up(asked):
    result = count(**asked)
    areas = figures.nodes(result, readings.voice())
    assert len({area.id for area in areas}) == len(areas)
    by_id = {area.id: area for area in areas}
    assert by_id["model"].value == result.total
    assert by_id["blocks"].value == result.trunk.total
    children: dict[str, int] = {}
    for area in areas:
        children[area.parent] = children.get(area.parent, 0) + area.value
    for parent, inside in children.items():
        if parent:
            assert by_id[parent].value == inside, parent
    leaves = [area for area in areas if area.id not in children]
    assert sum(area.value for area in leaves) == result.total
    for row in result.rows:
        drawn = [a for a in leaves if a.id.split(".", 1)[-1] == row.kind or a.id == row.kind]
        assert sum(area.value for area in drawn) == row.total, row.kind


@asked
def test_the_map_carries_these_areas(asked):
    result = count(**asked)
    areas = figures.nodes(result, readings.voice())
    trace = figures.parameter_map(result, LIGHT, readings.voice()).data[0]
    assert list(trace.values) == [area.value for area in areas]
    assert trace.branchvalues == "total"
    for area, words in zip(areas, trace.text, strict=True):
        assert not area.parent or f"{area.value:,}" in words


def test_tied_weights_are_drawn_once_and_marked():
    voice = readings.voice()
    tied = [a for a in figures.nodes(count(), voice) if a.tied]
    assert [(a.id, a.value, a.detail) for a in tied] == [("wte", 6_488_832, "[8449 × 768]")]
    assert "W_U" in tied[0].label
    trace = figures.parameter_map(count(), LIGHT, voice).data[0]
    marked = [label for label, p in zip(trace.labels, trace.marker.pattern.shape, strict=True) if p]
    assert marked == [tied[0].label]
    untied = figures.nodes(count(tie_embeddings=False), voice)
    assert not any(a.tied for a in untied)
    assert {a.id: a.value for a in untied}["W_U"] == 6_488_832


@pytest.mark.parametrize("depth", [1, 2, 12, 24, 25, 47, 48, 49, 96, 192])
def test_spans_cover_every_block_once(depth):
    spans = figures.spans(depth)
    assert [n for a, b in spans for n in range(a, b + 1)] == [*range(1, depth + 1)]
    assert len(spans) <= figures.MOST_BLOCKS


def test_the_map_opens_where_it_is_told():
    voice = readings.voice()
    for place in view.PLACES:
        assert figures.parameter_map(count(), LIGHT, voice, place).data[0].level == place
    assert figures.parameter_map(count(), LIGHT, voice, "nowhere").data[0].level == "model"


@asked
def test_the_bar_is_the_shares(asked):
    result = count(**asked)
    bars = figures.share_bar([("a", result)], LIGHT, readings.voice()).data
    assert [bar.x[0] for bar in bars] == [group.share for group in result.groups]
    assert sum(bar.x[0] for bar in bars) == pytest.approx(1)
    both = figures.share_bar([("a", result), ("b", count())], LIGHT, readings.voice()).data
    assert sum(bar.x[0] for bar in both) == result.total
    assert sum(bar.x[1] for bar in both) == count().total


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_on_areas_can_be_read(theme):
    trace = figures.parameter_map(count(), theme, readings.voice()).data[0]
    for fill, ink in zip(trace.marker.colors, trace.textfont.color, strict=True):
        assert contrast(fill, ink) >= 4.5


@asked
def test_csv_adds_up_and_says_how_to_make_it_again(asked):
    result = count(**asked)
    request = ParametersRequest(**asked)
    lines = view.table_csv(result, controls.command(request)).decode().splitlines()
    assert lines[0] == f"# command: {controls.command(request)}"
    rows = list(csv.DictReader(io.StringIO("\n".join(x for x in lines if x[0] != "#"))))
    assert sum(int(row["total"]) for row in rows) == result.total
    assert [row["tensor"] for row in rows] == [row.kind for row in result.rows]
    assert [row["numbers"] for row in rows] == [row.formula.numbers for row in result.rows]


@pytest.mark.parametrize(
    "request_",
    [
        ParametersRequest(),
        ParametersRequest("gpt2", n_layer=7),
        ParametersRequest("andrea-mini", d_model=512, n_head=8, d_mlp=1365, bias=False),
        ParametersRequest("andrea-12m", vocab_size=257, n_ctx=64, tie_embeddings=False),
        ParametersRequest(d_model=48, n_head=6, norm_affine=False, d_mlp=192),
    ],
    ids=str,
)
def test_the_command_asks_for_the_same(request_):
    words = shlex.split(controls.command(request_))
    assert words[:3] == ["python", "-m", "andrea"]
    parsed = parameters_request(build_parser().parse_args(words[3:]))
    assert parsed.config() == request_.config()


def test_two_commands_where_no_preset_will_do():
    a, b = ParametersRequest(n_layer=3), ParametersRequest("gpt2")
    assert view.commands(a, None) == controls.command(a)
    assert view.commands(a, b).endswith("--n-layer 3 --compare gpt2 --json")
    changed = ParametersRequest("gpt2", n_layer=4)
    assert len(view.commands(a, changed).splitlines()) == 2


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_set_on_the_sliders(name):
    values = controls.values(PRESETS[name])
    assert values["d_model"] in controls.WIDTHS
    assert values["vocab_size"] in controls.VOCABULARIES
    assert values["n_ctx"] in controls.CONTEXTS
    assert values["expansion"] in controls.EXPANSIONS
    assert values["n_head"] in controls.heads(int(values["d_model"]))
    assert controls.hidden(str(values["expansion"]), int(values["d_model"])) == PRESETS[name].hidden


@pytest.mark.parametrize("width", controls.WIDTHS)
def test_every_slider_position_is_a_model(width):
    for expansion in controls.EXPANSIONS:
        for n_head in controls.heads(width):
            wide = controls.hidden(expansion, width)
            ParametersRequest(d_model=width, n_head=n_head, d_mlp=wide).config()


@pytest.mark.parametrize("lang", ["it", "en"])
def test_sentences_carry_the_numbers(lang):
    result, gpt2 = count(measure_flops=True), count(preset="gpt2")
    with use_language(lang):
        total = "92.331.264" if lang == "it" else "92,331,264"
        assert total in text.total_reading(result)
        assert ("6.488.832" if lang == "it" else "6,488,832") in text.tying_reading(result)
        assert ("7,9" if lang == "it" else "7.9") in text.prediction_reading(result, gpt2)
        assert ("220.595.712" if lang == "it" else "220,595,712") in text.measured_reading(result)
        assert ("4.718.592" if lang == "it" else "4,718,592") in text.swiglu_reading(result)
        for statement in result.reconciliation:
            assert "{" not in text.reading_of(statement)
        assert text.memory_reading(result)
        assert text.bytes_text(369_325_056) == "369 MB"
        assert text.bytes_text(1_477_300_224) == ("1,48 GB" if lang == "it" else "1.48 GB")
        assert text.bytes_text(7) == ("7 byte" if lang == "it" else "7 bytes")
        assert text.flops_text(661_787_136) == "662 MFLOP"
