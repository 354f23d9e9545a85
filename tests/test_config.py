"""Configurations: what is allowed, what is refused, and how many weights each variant has."""

import dataclasses
import math

import pytest
import torch

from andrea.config import MAX_LAYERS, PRESETS, ModelConfig, preset
from andrea.model import Andrea

LESSON = {"tie_embeddings": True, "bias": True}
MICROGPT = {"tie_embeddings": False, "bias": False, "norm_affine": False}


def count(config: ModelConfig) -> int:
    """Count the weights of a model that is laid out but never filled."""
    with torch.device("meta"):
        model = Andrea(config)
    assert all(p.is_meta for p in model.parameters())
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "switches", "total"),
    [
        ("andrea-120m", LESSON, 92_331_264),
        ("andrea-120m", {"bias": False}, 92_248_320),
        ("andrea-120m", {"tie_embeddings": False}, 98_820_096),
        ("andrea-120m", {"tie_embeddings": False, "bias": False}, 98_737_152),
        ("andrea-120m", MICROGPT, 98_698_752),
        ("andrea-12m", {**MICROGPT, "vocab_size": 2305}, 12_780_288),
        ("andrea-480m", MICROGPT, 480_513_024),
        ("gpt2", {}, 124_439_808),
    ],
)
def test_published_and_lesson_counts(name, switches, total):
    assert count(preset(name).with_(**switches)) == total


def test_the_default_is_andrea_120m():
    assert ModelConfig() == preset("andrea-120m")
    assert count(ModelConfig()) == 92_331_264


def test_parts_of_andrea_120m():
    with torch.device("meta"):
        model = Andrea(preset("andrea-120m"))
    sizes = {n: p.numel() for n, p in model.named_parameters()}
    assert sum(n for name, n in sizes.items() if name.startswith("blocks.")) == 85_054_464
    assert sum(n for name, n in sizes.items() if name.startswith("blocks.7.")) == 7_087_872
    assert sum(n for name, n in sizes.items() if name.startswith("blocks.7.attn")) == 2_362_368
    assert sum(n for name, n in sizes.items() if name.startswith("blocks.7.mlp")) == 4_722_432
    assert sizes["wte"] == 6_488_832
    assert sizes["wpe"] == 786_432
    assert sizes["blocks.0.mlp.W_1"] == sizes["blocks.0.mlp.W_2"] == 2_359_296


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("tied", [True, False])
def test_counts_equal_the_formula(name, norm, bias, affine, tied):
    """The count from first principles: what each matrix, bias and LayerNorm brings."""
    c = preset(name).with_(norm=norm, bias=bias, norm_affine=affine, tie_embeddings=tied)
    d, m = c.d_model, 4 * c.d_model
    matrices = c.n_layer * (4 * d * d + 2 * d * m)
    biases = c.n_layer * (4 * d + m + d) if bias else 0
    layer_norms = {"pre": 2 * c.n_layer + 1, "post": 2 * c.n_layer, "none": 0}[norm]
    norms = layer_norms * 2 * d if affine else 0
    embeddings = (c.vocab_size * (1 if tied else 2) + c.n_ctx) * d
    assert count(c) == matrices + biases + norms + embeddings


def test_presets_have_the_published_shapes():
    shapes = {
        n: (c.n_layer, c.d_model, c.n_head, c.hidden, c.vocab_size) for n, c in PRESETS.items()
    }
    assert shapes["andrea-12m"] == (6, 384, 12, 1536, 4353)
    assert shapes["andrea-120m"] == (12, 768, 12, 3072, 8449)
    assert shapes["andrea-480m"] == (16, 1536, 24, 6144, 8449)
    assert shapes["gpt2"] == (12, 768, 12, 3072, 50257)
    assert shapes["andrea-mini"][0] == 12 and shapes["andrea-mini"][4] == 8449
    assert PRESETS["andrea-mini"].n_ctx == 256


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("n_layer", 0, "from 1 up"),
        ("n_layer", -3, "from 1 up"),
        ("n_layer", 2.0, "whole number"),
        ("n_layer", "12", "whole number"),
        ("n_layer", True, "whole number"),
        ("n_layer", MAX_LAYERS + 1, str(MAX_LAYERS)),
        ("d_model", 0, "from 1 up"),
        ("d_model", "wide", "whole number"),
        ("d_model", None, "whole number"),
        ("n_head", 0, "from 1 up"),
        ("n_head", 5, "[1, 2, 3, 4, 6, 8, 12"),
        ("d_mlp", 0, "from 1 up"),
        ("d_mlp", 3.5, "whole number"),
        ("n_ctx", 0, "from 1 up"),
        ("vocab_size", -1, "from 1 up"),
        ("norm", "layer", "pre, post, none"),
        ("norm", None, "pre, post, none"),
        ("act_fn", "swiglu", "gelu_tanh, gelu, relu"),
        ("init", "zeros", "gpt2, xavier"),
        ("residual", "yes", "true or false"),
        ("bias", 1, "true or false"),
        ("norm_affine", None, "true or false"),
        ("tie_embeddings", "no", "true or false"),
        ("ln_eps", 0.0, "between 0 and 1"),
        ("ln_eps", 1.0, "between 0 and 1"),
        ("ln_eps", math.nan, "between 0 and 1"),
        ("ln_eps", "small", "between 0 and 1"),
    ],
)
def test_impossible_values_name_field_value_and_what_is_allowed(field, value, allowed):
    with pytest.raises(ValueError) as caught:
        ModelConfig(**{field: value})
    message = str(caught.value)
    assert message.startswith(f"{field} is {value!r}")
    assert allowed in message
    assert "\n" not in message


def test_unknown_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match="model is 'gpt-9'.*andrea-mini.*andrea-120m.*gpt2"):
        preset("gpt-9")


def test_width_of_the_mlp_follows_the_model_unless_it_was_set():
    assert ModelConfig(d_model=64, n_head=4).hidden == 256
    assert ModelConfig().with_(d_model=64, n_head=4).hidden == 256
    assert ModelConfig(d_mlp=100).with_(d_model=64, n_head=4).hidden == 100
    assert ModelConfig().with_(d_model=64, n_head=4, d_mlp=10).hidden == 10


def test_with_validates_again_and_leaves_the_original_alone():
    config = ModelConfig()
    with pytest.raises(ValueError, match="n_head is 7"):
        config.with_(n_head=7)
    assert config.with_(norm="post") != config
    assert config.norm == "pre"
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.norm = "post"  # type: ignore[misc]


def test_a_configuration_survives_a_dictionary():
    config = preset("andrea-mini").with_(norm="post", residual=False, act_fn="relu", d_mlp=7)
    assert ModelConfig(**config.as_dict()) == config
    assert hash(ModelConfig(**config.as_dict())) == hash(config)
