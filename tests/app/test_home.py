from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from andrea import device, sources
from andrea.requests import ModelRequest, TraceRequest
from app import compute, picture, theme

ROOT = Path(__file__).resolve().parents[2]
WORDS = {name: name for name in ("attention", "mlp", "layernorm", "stream", "in", "out")}


@pytest.fixture(scope="module", params=["it", "en"])
def home(request):
    at = AppTest.from_file(str(ROOT / "app/main.py"), default_timeout=120)
    at.query_params["lang"] = request.param
    at.run()
    assert not at.exception
    return at


def text(at):
    return "\n".join(e.proto.body for e in at.get("html"))


def test_five_sentences_say_what_a_block_is(home):
    (steps,) = [e.proto.body for e in home.get("html") if e.proto.body.startswith("<ol")]
    assert steps.count("<li>") == 5


def test_it_says_which_model_on_which_machine_and_how_far_it_was_trained(home):
    config, made = sources.read_header(sources.weights_folder() / "weights.safetensors")
    shown = text(home).replace(".", "").replace(",", "")
    assert device.name().replace(".", "").replace(",", "") in shown
    count = sources.n_parameters(config)
    for fact in ("andrea-mini", str(count), str(made["step"]), str(made["tokens"])):
        assert fact in shown


def cells(svg):
    return [part.split('"')[0] for part in svg.split('height="14" fill="')[1:]]


@pytest.mark.parametrize("palette", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_the_strips_show_the_numbers(palette):
    result = compute.answer(TraceRequest("one two", ModelRequest("andrea-12m", n_layer=1)))
    names = ("resid_pre", "attn_out", "mlp_out", "resid_post")
    values = {name: result.activations[f"blocks.0.{name}"] for name in names}
    limit = max(np.abs(values[name][: picture.CELLS]).max() for name in names)
    wanted = [
        theme.signed_colour(float(v), float(limit), palette)
        for name in names
        for v in values[name][: picture.CELLS]
    ]
    svg = picture.block_svg(WORDS, "alt", palette, values)
    assert [colour for colour in cells(svg) if colour != "none"] == wanted


def test_the_picture_has_a_name_and_its_words_are_escaped():
    svg = picture.block_svg({**WORDS, "in": "<b>"}, 'a "quoted" name', theme.LIGHT)
    assert 'role="img" aria-label="a &quot;quoted&quot; name"' in svg
    assert "<b>" not in svg and "&lt;b&gt;" in svg
    assert 'height="14" fill="#' not in svg  # no numbers, no strips
