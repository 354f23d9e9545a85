"""The activation: against erf and finite differences, against recorded numbers, and swapped."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea import engine, sources
from andrea.__main__ import main
from andrea.config import ModelConfig
from andrea.data import passages
from andrea.errors import InputError
from andrea.measures import activation_curves as curves
from andrea.measures.activation import BINS, EDGES, layers_of, with_activation
from andrea.measures.activation_error import approximation
from andrea.model import ACTIVATIONS, Andrea, Record, next_token_loss
from andrea.requests import ModelRequest
from andrea.requests_activation import ActivationRequest, PreActivationsRequest, SwapRequest
from andrea.sources import LoadedModel
from andrea.tokenizer import TextTokenizer

TEXT = "C'era una volta un re"
SHAPE = {"n_layer": 3, "d_model": 24, "n_head": 3, "n_ctx": 40, "init": "xavier"}
SIZE = {"n_passages": 2, "n_tokens": 12}
GRID = np.linspace(-7, 7, 281)


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(sources.SHIPPED / "tokenizer.json")


def small(tokenizer, **more) -> LoadedModel:
    """A small model whose MLP biases are no zeros and whose branches are large enough to tell."""
    model = Andrea(ModelConfig(**(SHAPE | more)), seed=5).eval().requires_grad_(False)
    random = torch.Generator().manual_seed(1)
    for name, p in model.named_parameters():
        if name.endswith((".b_1", ".b_2")):
            p.add_(0.5 * torch.randn(p.shape, generator=random))
    return LoadedModel(model, tokenizer, "0" * 64, {})


def rows(tokenizer, language) -> list[list[int]]:
    texts = passages(language)[: SIZE["n_passages"]]
    return [[p.id for p in tokenizer.pieces(t)][: SIZE["n_tokens"] + 1] for t in texts]


# -- the curves ------------------------------------------------------------------------------------


def test_values_against_erf_and_against_pytorch():
    for x, got in zip(GRID, curves.gelu(GRID), strict=True):
        assert got == pytest.approx(0.5 * x * (1 + math.erf(x / math.sqrt(2))), abs=1e-15)
    wide = torch.tensor(GRID)
    ours = {"gelu": curves.gelu, "gelu_tanh": curves.gelu_tanh, "relu": curves.relu}
    for name, function in ours.items():
        np.testing.assert_allclose(function(GRID), ACTIVATIONS[name](wide).numpy(), atol=1e-14)
    assert curves.gelu(0.0) == 0 and curves.phi(0.0) == 0.5


@pytest.mark.parametrize(
    ("function", "slope"),
    [(curves.gelu, curves.gelu_slope), (curves.gelu_tanh, curves.gelu_tanh_slope),
     (curves.relu, curves.relu_slope), (curves.phi, curves.density)],
)  # fmt: skip
def test_derivatives_against_finite_differences(function, slope):
    x, h = GRID[np.abs(GRID) > 0.01], 1e-5
    np.testing.assert_allclose(slope(x), (function(x + h) - function(x - h)) / (2 * h), atol=1e-9)


def test_minimum_range_of_the_slope_and_the_kink():
    at, value = curves.MINIMUM
    assert (round(at, 4), round(value, 5)) == (-0.7518, -0.16997)
    assert curves.gelu_slope(at) == pytest.approx(0, abs=1e-12)
    assert curves.gelu(at) == pytest.approx(value, abs=1e-15) and value <= curves.gelu(GRID).min()
    ends = curves.gelu_slope(np.array([-curves.STEEPEST, curves.STEEPEST]))
    assert ends == pytest.approx([-0.129, 1.129], abs=5e-4)
    slopes = curves.gelu_slope(GRID)
    assert ends[0] <= slopes.min() and slopes.max() <= ends[1]
    assert curves.relu_slope([-1e-9, 1e-9]).tolist() == [0, 1] and np.isnan(curves.relu_slope(0))


def test_the_approximation_and_where_rounding_outweighs_it():
    near = approximation()
    assert near.largest == pytest.approx(4.732e-4, abs=1e-7)
    assert near.at == pytest.approx(2.699, abs=1e-3)
    assert near.phi_largest == pytest.approx(1.79e-4, abs=1e-6)
    assert near.phi_at == pytest.approx(2.592, abs=1e-3)
    assert np.abs(near.difference).max() <= near.largest
    found = {f.name: f for f in near.formats}
    assert found["float32"].exact < 1e-6 < 4.7e-4 < found["float32"].tanh < 4.8e-4
    # Half a unit in the last place at 4 to 6: 2^(2 - 8) in bfloat16, 2^(2 - 11) in float16.
    assert 2**-7 * 0.9 < found["bfloat16"].exact <= 2**-6
    assert 2**-10 * 0.9 < found["float16"].exact <= 2**-9
    for name in ("bfloat16", "float16"):
        assert found[name].exact > near.largest
        assert found[name].outweighed > 0.4 > found["float32"].outweighed


# -- inside the model ------------------------------------------------------------------------------


@pytest.mark.parametrize("act_fn", ["gelu_tanh", "relu"])
def test_the_text_is_what_the_model_recorded(tokenizer, act_fn):
    loaded = small(tokenizer, act_fn=act_fn)
    request = PreActivationsRequest(TEXT, layer=1, position=-2)
    result = engine.run(request, lambda _: loaded)
    record: Record = {}
    loaded.model(torch.tensor([result.tokens.ids]), record)
    np.testing.assert_array_equal(result.pre, record["blocks.1.mlp.pre"][0])
    np.testing.assert_array_equal(result.post, record["blocks.1.mlp.post"][0])
    assert result.position == len(result.labels) - 2 and not result.pre.flags.writeable


def test_shares_and_histograms_against_the_recorded_numbers(tokenizer):
    loaded = small(tokenizer)
    loaded.model.blocks[1].mlp.b_1[:3] = -50.0  # three units that can never fire
    loaded.model.blocks[2].mlp.b_1[0] = 50.0  # one beyond the histogram
    result = engine.run(ActivationRequest(**SIZE), lambda _: loaded).layers
    ids = torch.tensor(rows(tokenizer, "it") + rows(tokenizer, "en"))
    record: Record = {}
    loaded.model(ids, record)
    assert result.n_positions == 4 * SIZE["n_tokens"] and result.n_units == 96
    for k in range(3):
        pre = record[f"blocks.{k}.mlp.pre"][:, 1:].reshape(-1, 96)
        post = record[f"blocks.{k}.mlp.post"][:, 1:].reshape(-1, 96)
        W = loaded.model.blocks[k].mlp.W_2
        part = torch.stack([(p[x < 0] @ W[x < 0]) for p, x in zip(post, pre, strict=True)])
        whole = post @ W
        assert result.negative[k] == pytest.approx((pre < 0).float().mean().item())
        share = (part * whole).sum() / whole.square().sum()
        assert result.cut_share[k] == pytest.approx(share.item(), abs=1e-5)
        assert result.cut_size[k] == pytest.approx((part.norm() / whole.norm()).item(), rel=1e-5)
        assert result.silent[k] == int((pre.max(0).values <= 0).sum())
        counts = np.histogram(pre.double().numpy(), EDGES)[0]
        np.testing.assert_array_equal(result.counts[k], counts)
        outside = [(pre < EDGES[0]).sum(), (pre > EDGES[-1]).sum()]
        assert result.outside[k].tolist() == [int(x) for x in outside]
        assert result.counts[k].sum() + result.outside[k].sum() == pre.numel()
    assert result.silent[1] >= 3 and result.outside[2, 1] > 0
    assert result.counts.shape == (3, BINS)


def test_the_part_below_zero_is_what_relu_cuts(tokenizer):
    gelu, relu = small(tokenizer), small(tokenizer, act_fn="relu")
    chunks = [torch.tensor(rows(tokenizer, "en"))]
    assert (layers_of(gelu.model, chunks).cut_size > 0).all()
    for name in ("cut_share", "cut_size"):
        assert not getattr(layers_of(relu.model, chunks), name).any()


def test_a_text_of_ones_own_and_the_fresh_twin(tokenizer):
    loaded = small(tokenizer)
    request = ActivationRequest(TEXT, ModelRequest("andrea-mini"), init_seed=3)
    result = engine.run(request, lambda _: loaded)
    ids = [p.id for p in tokenizer.pieces(TEXT)]
    assert result.layers.n_positions == len(ids) - 1
    twin = Andrea(loaded.model.config, seed=3)
    expected = layers_of(twin.requires_grad_(False), [torch.tensor([ids])])
    np.testing.assert_array_equal(result.init.counts, expected.counts)
    fresh = ActivationRequest(TEXT, ModelRequest("andrea-12m", 1))
    assert engine.run(fresh, lambda _: loaded).init is None


# -- the swap --------------------------------------------------------------------------------------


def rebuilt(model: Andrea, act_fn: str) -> Andrea:
    """The same weights in a model that was built with another activation from the start."""
    other = Andrea(model.config.with_(act_fn=act_fn))
    other.load_state_dict(model.state_dict())
    return other.eval().requires_grad_(False)


def loss(model: Andrea, ids: Tensor) -> float:
    return float(next_token_loss(model(ids), ids))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("act_fn", ["relu", "gelu"])
def test_the_swapped_loss_against_a_model_built_that_way(tokenizer, norm, act_fn):
    loaded = small(tokenizer, norm=norm)
    result = engine.run(SwapRequest(act_fn, **SIZE), lambda _: loaded)
    assert result.from_act == "gelu_tanh" and result.n_positions == 24
    for g, language in enumerate(("it", "en")):
        ids = torch.tensor(rows(tokenizer, language))
        base, other = loss(loaded.model, ids), rebuilt(loaded.model, act_fn)
        assert result.base_loss[g] == pytest.approx(base, abs=1e-5)
        assert result.change_all[g] == pytest.approx(loss(other, ids) - base, abs=2e-6)
        for k in range(3):
            one = rebuilt(loaded.model, "gelu_tanh")
            one.blocks[k].mlp.act = torch.nn.ReLU() if act_fn == "relu" else torch.nn.GELU()
            assert result.change[g, k] == pytest.approx(loss(one, ids) - base, abs=2e-6)
    if act_fn == "relu":
        assert np.abs(result.change_all).min() > 1e-3


def test_the_models_own_activation_changes_nothing_and_the_model_is_left_alone(tokenizer):
    loaded = small(tokenizer)
    before = {name: p.clone() for name, p in loaded.model.named_parameters()}
    acts = [block.mlp.act for block in loaded.model.blocks]
    same = engine.run(SwapRequest("gelu_tanh", **SIZE), lambda _: loaded)
    assert not same.change.any() and not same.change_all.any()
    twin = with_activation(loaded.model, "relu")
    assert twin.blocks[0].mlp.W_1.data_ptr() == loaded.model.blocks[0].mlp.W_1.data_ptr()
    assert [block.mlp.act for block in loaded.model.blocks] == acts
    assert loaded.model.config.act_fn == "gelu_tanh"
    for name, p in loaded.model.named_parameters():
        torch.testing.assert_close(p, before[name], rtol=0, atol=0)


# -- refusals and the terminal ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "word"),
    [(PreActivationsRequest(TEXT, layer=3), "block 4"),
     (PreActivationsRequest(TEXT, position=99), "Position 99"),
     (PreActivationsRequest(""), "empty"),
     (SwapRequest("swish", **SIZE), "relu, gelu, gelu_tanh"),
     (ActivationRequest(n_passages=0), "n_passages"),
     (SwapRequest(n_tokens=999), "n_tokens")],
)  # fmt: skip
def test_what_is_impossible_is_refused_by_name(tokenizer, request_, word):
    with pytest.raises(InputError, match=word):
        engine.run(request_, lambda _: small(tokenizer))


def test_the_terminal_says_the_same(capsys):
    model = ["--model", "andrea-12m", "--n-layer", "1", "--seed", "2"]
    more = ["--passages", "1", "--n-tokens", "8", "--position", "3"]
    assert main(["activation", TEXT, *model, *more, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    request = ModelRequest("andrea-12m", 2, n_layer=1)
    swapped = engine.run(SwapRequest("relu", request, 1, 8))
    assert document["swap"]["change_all"] == pytest.approx(swapped.change_all.tolist())
    read = engine.run(PreActivationsRequest(TEXT, request, position=3))
    assert document["text"]["pre"][3] == pytest.approx(read.pre[3].tolist())
    assert document["approximation"]["largest"] == approximation().largest
    assert main(["activation", TEXT, *model, *more, "--on-text"]) == 0
    said = capsys.readouterr().out
    assert "model block  1" in said and "relu in place of gelu_tanh" in said
    assert main(["activation", TEXT, *model, "--layer", "2"]) == 2
