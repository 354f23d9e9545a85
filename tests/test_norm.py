"""LayerNorm and RMSNorm: against PyTorch's, by hand, in the model, and through its depth."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

from andrea import engine, sources
from andrea.__main__ import main
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.measures import layernorm as ln
from andrea.measures.stream_norms import ARMS, curve
from andrea.model import Andrea
from andrea.requests import ModelRequest, NormRequest, StreamNormsRequest
from andrea.sources import LoadedModel
from andrea.tokenizer import TextTokenizer

TEXT = "C'era una volta un re"
SHAPE = {"n_layer": 3, "d_model": 24, "n_head": 3, "n_ctx": 40}
SWITCHES = [(n, r) for n in ("pre", "post", "none") for r in (True, False)]


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(sources.SHIPPED / "tokenizer.json")


def small(tokenizer, norm="pre", residual=True, **more) -> LoadedModel:
    """A small model whose gammas and betas are no ones and zeros."""
    config = ModelConfig(**(SHAPE | {"norm": norm, "residual": residual, "init": "xavier"} | more))
    model = Andrea(config, seed=5).eval().requires_grad_(False)
    random = torch.Generator().manual_seed(1)
    for name, p in model.named_parameters():
        if name.endswith((".gamma", ".beta")):
            p.add_(0.3 * torch.randn(p.shape, generator=random))
    return LoadedModel(model, tokenizer, "0" * 64, {})


def asked(loaded: LoadedModel, **more):
    return engine.run(NormRequest(TEXT, **more), lambda _: loaded)


# -- the function ----------------------------------------------------------------------------------


def test_by_hand_on_four_numbers():
    """Mean of 1, 3, 5, 7 is 4; deviations -3, -1, 1, 3; variance (9 + 1 + 1 + 9) / 4 = 5."""
    x, root = np.array([1.0, 3.0, 5.0, 7.0]), math.sqrt(5)
    assert ln.layer_norm(x, eps=0) == pytest.approx([-3 / root, -1 / root, 1 / root, 3 / root])
    # With epsilon 4 the divisor is sqrt(5 + 4) = 3; gamma 2 and beta 10 come after.
    assert ln.layer_norm(x, 2.0, 10.0, 4.0) == pytest.approx([8, 10 - 2 / 3, 10 + 2 / 3, 12])
    # Mean of squares (1 + 9 + 25 + 49) / 4 = 21: RMSNorm leaves the mean of 4 / sqrt(21).
    assert ln.rms_norm(x, eps=0) == pytest.approx(x / math.sqrt(21))
    assert ln.rms_norm(x, eps=4.0) == pytest.approx(x / 5)
    made = ln.apply(x, eps=4.0)
    assert (made.before.mean, made.before.variance, made.before.mean_square) == (4, 5, 21)
    assert made.expected_variance == pytest.approx(5 / 9)
    assert made.after_normalized.variance == pytest.approx(5 / 9)
    assert made.before.norm == pytest.approx(math.sqrt(84))
    # x . (x - 4) = 20, |x| = sqrt(84), |x - 4| = sqrt(20)
    assert made.rms_cosine == pytest.approx(20 / math.sqrt(84 * 20))
    assert ln.over_tokens(np.array([[1.0, 5.0], [3.0, 5.0]]), 0.0)[:, 0] == pytest.approx([-1, 1])


@pytest.mark.parametrize("eps", [1e-8, 1e-5, 1e-2, 10.0])
@pytest.mark.parametrize("size", [1e-3, 1.0, 300.0])
def test_against_pytorchs_own(eps, size):
    random = torch.Generator().manual_seed(3)
    x = size * torch.randn(5, 24, generator=random, dtype=torch.float64) + size / 3
    gamma, beta = torch.randn(2, 24, generator=random, dtype=torch.float64)
    theirs = torch.nn.LayerNorm(24, eps=eps, dtype=torch.float64)
    rms = torch.nn.RMSNorm(24, eps=eps, dtype=torch.float64)
    with torch.no_grad():
        theirs.weight.copy_(gamma)
        theirs.bias.copy_(beta)
        rms.weight.copy_(gamma)
        ours = ln.layer_norm(x.numpy(), gamma.numpy(), beta.numpy(), eps)
        np.testing.assert_allclose(ours, theirs(x).numpy(), rtol=1e-10, atol=1e-12)
        ours = ln.rms_norm(x.numpy(), gamma.numpy(), eps)
        np.testing.assert_allclose(ours, rms(x).numpy(), rtol=1e-10, atol=1e-12)
    batch = torch.nn.BatchNorm1d(24, eps=eps, affine=False, dtype=torch.float64).train()
    np.testing.assert_allclose(ln.over_tokens(x.numpy(), eps), batch(x).numpy(), rtol=1e-9)


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.1, 10.0])
def test_mean_zero_and_variance_up_to_epsilon(eps):
    x = np.random.default_rng(0).normal(3, 0.7, 192)
    made = ln.apply(x, eps=eps)
    assert made.after_normalized.mean == pytest.approx(0, abs=1e-12)
    assert made.after_normalized.variance == pytest.approx(x.var() / (x.var() + eps))
    assert made.expected_variance == pytest.approx(made.after_normalized.variance)
    assert made.after_rms.mean == pytest.approx(x.mean() / math.sqrt((x**2).mean() + eps))
    assert made.after_rms.mean > 0.5  # what RMSNorm keeps


def test_without_a_mean_the_two_are_one():
    x = np.random.default_rng(0).normal(0, 2, 64)
    x -= x.mean()
    made = ln.apply(x)
    np.testing.assert_allclose(made.normalized, made.rms, rtol=1e-12)
    assert made.rms_cosine == pytest.approx(1)


def test_sliders_act_after_the_division():
    x = np.random.default_rng(0).normal(1, 2, 64)
    gamma, beta = np.random.default_rng(1).normal(1, 0.3, (2, 64))
    made = ln.apply(x, gamma, beta, gamma_scale=2.0, beta_shift=-1.0, eps=1e-3)
    np.testing.assert_allclose(made.out, ln.layer_norm(x, 2 * gamma, beta - 1, 1e-3))
    bare = ln.apply(x, gamma, beta, gamma_scale=2.0, beta_shift=-1.0, learned=False)
    assert bare.after_out.mean == pytest.approx(-1)
    assert bare.after_out.variance == pytest.approx(4 * bare.after_normalized.variance)


def test_size_is_lost_and_equal_numbers_become_beta():
    x = np.random.default_rng(0).normal(0, 1, 64)
    np.testing.assert_allclose(ln.layer_norm(1000 * x, eps=0), ln.layer_norm(x, eps=0), rtol=1e-9)
    assert (ln.layer_norm(np.full(8, 3.0), beta=0.25) == 0.25).all()
    assert np.isnan(ln.layer_norm(np.full(8, 3.0), eps=0.0)).all()
    assert math.isnan(ln.apply(np.zeros(8), eps=0.0).expected_variance)


@pytest.mark.parametrize("factor", [-5.0, 0.0, 100.0])
def test_another_token_changes_nothing_here(factor):
    x = np.random.default_rng(0).normal(1, 2, (6, 24))
    found = ln.disturb(x, 2, 4, factor)
    assert found.per_token == 0
    assert found.per_batch > 0.01
    np.testing.assert_array_equal(np.delete(found.matrix, 4, 0), np.delete(x, 4, 0))
    np.testing.assert_array_equal(found.matrix[4], factor * x[4])
    assert ln.disturb(x, 2, 2, -5.0).per_token > 1  # its own change does show


# -- in the model ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "residual"), SWITCHES)
@pytest.mark.parametrize("which", ["ln1", "ln2"])
def test_the_vector_is_what_that_layernorm_reads(tokenizer, norm, residual, which):
    loaded = small(tokenizer, norm, residual)
    found = asked(loaded, position=2, layer=1, ln=which)
    caught = {}
    if norm == "none":
        record = {}
        loaded.model(torch.tensor([found.tokens.ids]), record)
        stream = record["blocks.1." + ("resid_pre" if which == "ln1" else "resid_mid")]
        np.testing.assert_array_equal(found.inputs, stream[0].numpy())
        assert found.normalized is found.out is found.gamma is found.beta is None
        assert found.layernorms == ()
        return
    module = loaded.model.get_submodule(f"blocks.1.{which}")
    hook = module.register_forward_hook(lambda m, args, out: caught.update(x=args[0], y=out))
    loaded.model(torch.tensor([found.tokens.ids]))
    hook.remove()
    np.testing.assert_allclose(found.inputs, caught["x"][0].numpy(), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found.out, caught["y"][0, 2].numpy(), rtol=1e-5, atol=1e-6)
    made = ln.apply(found.inputs[2], found.gamma, found.beta, eps=found.eps)
    np.testing.assert_allclose(made.normalized, found.normalized, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(made.out, found.out, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("position", [0, 3, -1])
def test_later_tokens_change_nothing_earlier_ones_do(tokenizer, position):
    loaded = small(tokenizer)
    found = asked(loaded, position=position, layer=2, ln="ln2")
    assert found.later_change == 0
    T = len(found.labels)
    assert found.later_tokens == max(1, T - 1 - found.position)
    if found.position:
        changed = engine.run(
            NormRequest("D" + TEXT[1:], position=found.position, layer=2, ln="ln2"),
            lambda _: loaded,
        )
        assert np.abs(changed.inputs[found.position] - found.inputs[found.position]).max() > 1e-4


def test_a_full_context_has_no_room_for_a_later_token(tokenizer):
    found = asked(small(tokenizer, n_ctx=4))
    assert len(found.labels) == 4
    assert (found.later_tokens, found.later_change) == (0, None)


def test_25_layernorms_counted():
    pre = Andrea(ModelConfig(n_layer=12, d_model=8, n_head=2, vocab_size=300), seed=0)
    kinds = [m for m in pre.modules() if type(m).__name__ == "LayerNorm"]
    tokenizer = TextTokenizer.load(sources.SHIPPED / "tokenizer.json").truncated(300)
    found = asked(LoadedModel(pre, tokenizer, "0" * 64, {}), ln="ln_final")
    assert len(found.layernorms) == len(kinds) == 25
    assert sum(name.startswith("blocks.") for name in found.layernorms) == 24
    np.testing.assert_allclose(found.out, found.normalized)  # fresh: gamma 1, beta 0


@pytest.mark.parametrize(("norm", "count"), [("pre", 7), ("post", 6), ("none", 0)])
def test_the_count_follows_the_placement(tokenizer, norm, count):
    assert len(asked(small(tokenizer, norm)).layernorms) == count


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"position": 99}, "99"),
        ({"layer": 3}, "4"),
        ({"layer": -1}, "0"),
        ({"ln": "ln3"}, "ln3"),
    ],
)
def test_what_there_is_not_is_refused(tokenizer, more, word):
    with pytest.raises(InputError, match=word):
        asked(small(tokenizer), **more)
    with pytest.raises(InputError, match="ln_final"):
        asked(small(tokenizer, "post"), ln="ln_final")


# -- through depth ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "residual"), SWITCHES)
def test_an_arm_is_the_model_built_that_way(tokenizer, norm, residual):
    base = ModelConfig(**SHAPE)
    ids = torch.tensor([tokenizer.encode(TEXT)])
    shared = Andrea(base, seed=3).requires_grad_(False)
    found = curve(shared, ids, norm, residual, False)
    record = {}
    Andrea(base.with_(norm=norm, residual=residual), seed=3)(ids, record)
    streams = [record["blocks.0.resid_pre"]] + [record[f"blocks.{i}.resid_post"] for i in range(3)]
    for depth, x in enumerate(streams):
        lengths = x.detach()[0].double().norm(dim=-1)
        assert found.norms[depth] == pytest.approx(float(lengths[1:].mean()), rel=1e-5)
        assert found.bos_norms[depth] == pytest.approx(float(lengths[0]), rel=1e-5)
    assert (shared.config, shared.blocks[0].norm, shared.blocks[0].residual) == (base, "pre", True)


def test_grows_under_pre_norm_and_is_pinned_under_post_norm():
    """Twelve fresh blocks of width 384: what the page's picture says, with its numbers."""
    request = StreamNormsRequest(TEXT, ModelRequest("andrea-12m", seed=1, norm="none", n_layer=12))
    found = engine.run(request)
    arms = {(c.norm, c.residual): c.norms for c in found.curves}
    assert list(arms) == list(ARMS) and not any(c.trained for c in found.curves)
    assert all(len(norms) == 13 for norms in arms.values())
    assert (np.diff(arms["pre", True]) > 0).all()
    assert arms["pre", True][-1] > 3 * arms["pre", True][0]
    np.testing.assert_allclose(arms["post", True][1:], math.sqrt(384), rtol=1e-3)
    assert arms["none", False][-1] < 1e-20
    assert np.ptp(arms["none", True]) < 0.1 * arms["none", True][0]
    assert (found.init, found.seed, found.fresh_sha256) == (
        "gpt2",
        1,
        found.provenance.weights_sha256,
    )


# -- the terminal ----------------------------------------------------------------------------------


def test_terminal_json_and_settings(capsys):
    words = ["norm", TEXT, "--model", "andrea-12m", "--n-layer", "2", "--position", "1", "--layer"]
    words += ["2", "--ln", "ln2", "--gamma-scale", "0.5", "--beta-shift", "2", "--eps", "0.1"]
    assert main([*words, "--streams", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["request"]["layer"] == 1 and said["position"] == 1
    x = np.array(said["inputs"][1])
    np.testing.assert_allclose(said["applied"]["out"], ln.layer_norm(x, 0.5, 2.0, 0.1), rtol=1e-6)
    assert said["applied"]["expected_variance"] == pytest.approx(x.var() / (x.var() + 0.1))
    assert len(said["streams"]["curves"]) == 6 and len(said["layernorms"]) == 5
    assert main(words) == 0
    assert "5 LayerNorms in this model" in capsys.readouterr().out


def test_terminal_refuses_with_status_2(capsys):
    assert main(["norm", TEXT, "--model", "andrea-12m", "--layer", "7", "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and "7" in said.err
    assert main(["norm", TEXT, "--model", "andrea-12m", "--eps", "-1"]) == 2
