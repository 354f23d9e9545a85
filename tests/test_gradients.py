"""The gradient laboratory: against autograd, PyTorch's own layers, finite differences, theory."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea import engine
from andrea.__main__ import main
from andrea.cli_gradients import command
from andrea.config import PRESETS, ModelConfig
from andrea.errors import InputError
from andrea.measures import gradient_cost
from andrea.measures.backward import backpropagate
from andrea.measures.gradients import (
    GradientsResult,
    mean_cosine,
    measure,
    norm64,
    slope,
    token_ids,
)
from andrea.model import Andrea, next_token_loss
from andrea.requests import GradientsRequest
from tests.reference_stack import Reference

DEPTHS = np.array([6.0, 12.0, 24.0, 48.0])
SEEDS = (0, 1, 2)
ARMS = [(norm, residual) for norm in ("pre", "post", "none") for residual in (True, False)]


@cache
def arm(
    n_layer: int, norm: str, residual: bool = True, seeds: tuple[int, ...] = SEEDS
) -> GradientsResult:
    return engine.run(
        GradientsRequest(
            n_layer=n_layer, d_model=256, n_head=4, norm=norm, residual=residual, seeds=seeds
        )
    )


def small(norm: str, residual: bool, **more) -> ModelConfig:
    sizes = {"n_layer": 3, "d_model": 16, "n_head": 2, "n_ctx": 12, "vocab_size": 29}
    return ModelConfig(**(sizes | {"norm": norm, "residual": residual, "init": "xavier"} | more))


def found_by(model: Andrea, ids: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    gradients: dict[str, Tensor] = {}
    loss, _ = backpropagate(model, ids, gradients.__setitem__)
    return loss, gradients


def distance(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())


# ---- the numbers of the theory and of the lesson ------------------------------------------------


def last_w2(norm: str) -> np.ndarray:
    results = [arm(int(L), norm) for L in DEPTHS]
    return np.array([r.weight_grad_norms["mlp.W_2"][:, -1].mean() for r in results])


def test_last_w2_gradient_against_depth_follows_xiong_2020(capsys):
    pre, post = (slope(DEPTHS, last_w2(norm)) for norm in ("pre", "post"))
    with capsys.disabled():
        print(f"\nexponents of depth: pre-norm {pre:.3f} (theory -0.5), post {post:.3f} (theory 0)")
    assert -0.7 < pre < -0.4
    assert abs(post) < 0.1


def test_the_residual_stack_keeps_its_gradient_at_any_depth():
    first = [arm(int(L), "pre").stream_grad_norms[:, 0].mean() for L in DEPTHS]
    assert all(0.5 < size < 2 for size in first)


@pytest.mark.parametrize(("n_layer", "below"), [(12, 1e-4), (48, 1e-17)])
def test_the_plain_stack_loses_its_gradient(n_layer, below):
    result = arm(n_layer, "none", residual=False, seeds=(0,))
    ratio = result.stream_grad_norms[:, 0] / result.stream_grad_norms[:, -1]
    assert (ratio > 0).all() and (ratio < below).all()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_layernorm_saves_the_size_but_the_tokens_collapse(norm):
    for n_layer in (12, 24):
        result = arm(n_layer, norm, residual=False)
        ratio = result.stream_grad_norms[:, 0] / result.stream_grad_norms[:, -1]
        assert (ratio > 1).all() and (ratio < 100).all()
        assert (result.token_cosine[:, -1] > 0.999).all()
        assert (np.abs(result.token_cosine[:, 0]) < 0.05).all()
    assert (arm(12, "pre").token_cosine[:, -1] < 0.95).all()


# ---- exactness ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "residual"), ARMS)
@pytest.mark.parametrize("tied", [True, False])
def test_block_by_block_equals_autograd_over_the_whole_graph(norm, residual, tied):
    model = Andrea(small(norm, residual, tie_embeddings=tied), seed=3).double()
    ids = token_ids("random", 5, 2, 10, 29)
    loss, found = found_by(model, ids)
    record: dict[str, Tensor] = {}
    whole = next_token_loss(model(ids, record), ids)
    streams = {f"boundary.{i}": record[f"blocks.{i}.resid_pre"] for i in range(3)}
    streams["boundary.3"] = record["blocks.2.resid_post"]
    inputs = dict(model.named_parameters()) | streams
    expected = torch.autograd.grad(whole, list(inputs.values()))
    assert set(found) == set(inputs)
    assert float(loss) == pytest.approx(float(whole.detach()), abs=1e-12)
    for name, gradient in zip(inputs, expected, strict=True):
        torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-13, msg=name)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gradients_equal_those_of_pytorchs_own_layers(norm):
    config = small(norm, True, n_layer=6, d_model=64, n_head=4, n_ctx=64, vocab_size=499)
    model = Andrea(config, seed=1)
    with torch.no_grad():  # biases that matter
        random = torch.Generator().manual_seed(2)
        for name, p in model.named_parameters():
            if ".b_" in name:
                p.normal_(0, 0.1, generator=random)
    ids = token_ids("random", 0, 2, 48, 499)
    _, found = found_by(model, ids)
    reference = Reference(model)
    loss, streams = reference.loss(ids)
    parameters = dict(reference.named_parameters())
    expected = torch.autograd.grad(loss, [*streams, *parameters.values()])
    for i in range(7):
        assert distance(found[f"boundary.{i}"], expected[i]) < 1e-5, i
    theirs = dict(zip(parameters, expected[7:], strict=True))
    assert distance(found["wte"], theirs["wte.weight"]) < 1e-5
    for i in range(6):
        ours, layer = f"blocks.{i}.", f"layers.{i}."
        qkv = torch.cat([found[f"{ours}attn.W_{kind}"].T for kind in "QKV"])
        pairs = {"self_attn.in_proj_weight": qkv}
        pairs["self_attn.out_proj.weight"] = found[f"{ours}attn.W_O"].T
        pairs["linear1.weight"] = found[f"{ours}mlp.W_1"].T
        pairs["linear2.weight"] = found[f"{ours}mlp.W_2"].T
        pairs["linear1.bias"] = found[f"{ours}mlp.b_1"]
        pairs["norm1.weight"] = found[f"{ours}ln1.gamma"]
        pairs["norm2.bias"] = found[f"{ours}ln2.beta"]
        for name, gradient in pairs.items():
            assert distance(gradient, theirs[layer + name]) < 1e-5, name


@pytest.mark.parametrize(("norm", "residual"), ARMS)
def test_gradients_equal_finite_differences(norm, residual):
    model = Andrea(small(norm, residual, n_layer=2), seed=4).double()
    ids = token_ids("random", 1, 1, 8, 29)
    _, found = found_by(model, ids)
    step, random = 1e-6, np.random.default_rng(0)
    with torch.no_grad():
        for name in ("wte", "wpe", "blocks.0.attn.W_Q", "blocks.0.mlp.W_2", "blocks.1.mlp.b_1"):
            flat = dict(model.named_parameters())[name].view(-1)
            size = float(found[name].abs().max())
            biggest = found[name].reshape(-1).abs().argsort(descending=True)[:40].numpy()
            for i in random.choice(biggest, 3, replace=False):
                old, losses = float(flat[i]), []
                for sign in (1, -1):
                    flat[i] = old + sign * step
                    losses.append(float(next_token_loss(model(ids), ids)))
                flat[i] = old
                numeric = (losses[0] - losses[1]) / (2 * step)
                exact = float(found[name].reshape(-1)[i])
                assert numeric == pytest.approx(exact, rel=2e-4, abs=1e-5 * size + 1e-9), name


def test_norms_are_those_of_the_gradients():
    model = Andrea(small("pre", True), seed=0)
    ids = token_ids("random", 0, 2, 9, 29)
    _, found = found_by(model, ids)
    measured = measure(model, ids)
    for i in range(4):
        exact = float(found[f"boundary.{i}"].double().norm())
        assert measured.stream_grad_norms[i] == pytest.approx(exact, rel=1e-12)
    for i in range(3):
        both = [found[f"blocks.{i}.ln1.{part}"].double().flatten() for part in ("gamma", "beta")]
        assert measured.weight_grad_norms["ln1"][i] == pytest.approx(float(torch.cat(both).norm()))
        exact = float(found[f"blocks.{i}.attn.W_Q"].double().norm())
        assert measured.weight_grad_norms["attn.W_Q"][i] == pytest.approx(exact, rel=1e-12)
    assert {k: v.shape for k, v in measured.weight_grad_norms.items() if "." not in k} == {
        **dict.fromkeys(("wte", "wpe", "ln_final"), (1,)),
        **dict.fromkeys(("ln1", "ln2"), (3,)),
    }


# ---- zeros, infinities, cosines -----------------------------------------------------------------


def test_norms_survive_where_squares_would_not():
    assert norm64(torch.full((4,), 1e-30)) == pytest.approx(2e-30, rel=1e-6)
    assert norm64(torch.full((4,), 1e30)) == pytest.approx(2e30, rel=1e-6)
    assert norm64(torch.zeros(3)) == 0.0
    assert norm64(torch.tensor([1.0, torch.inf])) == np.inf
    assert np.isnan(norm64(torch.tensor([1.0, torch.nan])))
    x = torch.randn(70_001, generator=torch.Generator().manual_seed(0))
    assert norm64(x) == pytest.approx(float(x.double().norm()), rel=1e-13)


def test_mean_cosine_counts_pairs_of_different_positions():
    apart = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    assert mean_cosine(apart) == pytest.approx(0)
    assert mean_cosine(torch.tensor([[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]])) == pytest.approx(1)
    assert mean_cosine(torch.tensor([[[1.0, 0.0], [-2.0, 0.0]]])) == pytest.approx(-1)
    x = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(1))
    pairs = F.cosine_similarity(x[:, :, None], x[:, None, :], dim=-1)
    exact = pairs[:, ~torch.eye(7, dtype=torch.bool)].mean()
    assert mean_cosine(x) == pytest.approx(float(exact), abs=1e-6)
    assert np.isnan(mean_cosine(torch.zeros(1, 2, 3)))


def test_a_gradient_below_float32_is_reported_as_it_is():
    request = GradientsRequest(
        n_layer=24, d_model=64, n_head=2, norm="none", residual=False, init="gpt2", n_tokens=16
    )
    result = engine.run(request)
    assert result.stream_grad_norms[0, 0] == 0  # every component has underflowed
    assert result.stream_grad_norms[0, -1] > 0
    assert (result.weight_grad_norms["mlp.W_1"][0, :4] == 0).all()


def test_an_overflow_is_reported_as_it_is():
    model = Andrea(small("none", True), seed=0)
    with torch.no_grad():
        model.blocks[1].mlp.W_1.mul_(1e20)
        model.blocks[1].mlp.W_2.mul_(1e25)
    measured = measure(model, token_ids("random", 0, 1, 8, 29))
    assert not np.isfinite(measured.stream_grad_norms[0])
    assert not np.isfinite(measured.loss)
    assert np.isfinite(measured.stream_norms[0]) and not np.isfinite(measured.stream_norms[-1])


# ---- requests, tokens, cancelling, cost ---------------------------------------------------------


def test_same_seed_same_result_and_seeds_are_independent():
    sizes = {"n_layer": 2, "d_model": 64, "n_head": 2, "n_tokens": 16}
    once = engine.run(GradientsRequest(**sizes, seeds=(7, 8)))
    again = engine.run(GradientsRequest(**sizes, seeds=(8,)))
    np.testing.assert_array_equal(once.stream_grad_norms[1:], again.stream_grad_norms)
    for kind, rows in again.weight_grad_norms.items():
        np.testing.assert_array_equal(once.weight_grad_norms[kind][1:], rows)
    assert once.weights_sha256[1:] == again.weights_sha256
    assert not np.array_equal(once.stream_grad_norms[0], once.stream_grad_norms[1])
    assert not once.stream_grad_norms.flags.writeable


def test_the_arms_of_a_comparison_share_their_weights():
    sizes = {"n_layer": 2, "d_model": 64, "n_head": 2, "n_tokens": 8}
    streams = [
        engine.run(GradientsRequest(**sizes, norm=norm, residual=residual)).stream_norms[0, 0]
        for norm, residual in ARMS
    ]
    assert len(set(streams)) == 1


def test_full_size_is_andrea_120m():
    request = GradientsRequest(n_layer=12, d_model=768, n_head=12, init="gpt2")
    assert request.config() == PRESETS["andrea-120m"]


def test_text_tokens_start_with_bos_and_follow_the_passages():
    ids = token_ids("it", 0, 3, 128, 8449)
    assert ids.shape == (3, 128) and (ids[:, 0] == 256).all() and (ids[:, 1:] != 256).all()
    assert torch.equal(ids[1:], token_ids("it", 0, 3, 128, 8449)[1:])
    assert not torch.equal(ids, token_ids("it", 1, 3, 128, 8449))
    assert not torch.equal(ids, token_ids("en", 0, 3, 128, 8449))


class Stop(BaseException):
    """As Streamlit stops a run: no Exception."""


def test_the_check_ends_the_work_between_blocks():
    request = GradientsRequest(n_layer=6, d_model=64, n_head=2, n_tokens=8, seeds=(0, 1))
    total = 0

    def count() -> None:
        nonlocal total
        total += 1

    engine.run(request, check=count)
    assert total > 2 * (6 * 6 + 6 * 2)  # each matrix when it is filled, each block there and back
    for last in (1, 20, total // 2, total - 1):
        calls = 0

        def check(last: int = last) -> None:
            nonlocal calls
            calls += 1
            if calls == last:
                raise Stop

        with pytest.raises(Stop):
            engine.run(request, check=check)
        assert calls == last
    engine.run(GradientsRequest(n_layer=1, d_model=64, n_head=2, n_tokens=8))  # slot is free


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n_layer": 97}, "from 1 to 96"),
        ({"n_layer": 193, "d_model": 128}, "from 1 to 192"),
        ({"d_model": 2048}, "from 64 to 768"),
        ({"n_head": 5}, "choose one of 1, 2, 4"),
        ({"n_head": 0}, "choose one of 1, 2, 4"),
        ({"seeds": ()}, "1 to 8 different seeds"),
        ({"seeds": (1, 1)}, "1 to 8 different seeds"),
        ({"seeds": (-1,)}, "0 to 2147483647"),
        ({"norm": "sideways"}, "allowed are pre, post, none"),
        ({"tokens": "fr"}, "random, it, en"),
        ({"batch": 9}, "from 1 to 8"),
        ({"n_tokens": 129}, "from 8 to 128"),
    ],
)
def test_what_is_impossible_is_refused_in_words(change, says):
    with pytest.raises(InputError, match=says):
        engine.run(GradientsRequest(**change))


def test_too_large_names_the_deepest_stack_that_fits(monkeypatch):
    monkeypatch.setenv("ANDREA_MEMORY_GB", "0.3")
    request = GradientsRequest(n_layer=96)
    with pytest.raises(InputError) as refused:
        engine.run(request)
    most = refused.value.values["most"]
    assert 1 <= most < 96
    limit = 0.3e9
    assert gradient_cost.memory_bytes(request, most) <= limit
    assert gradient_cost.memory_bytes(request, most + 1) > limit
    monkeypatch.setenv("ANDREA_MEMORY_GB", "0.001")
    with pytest.raises(InputError, match="choose a smaller width"):
        engine.run(request)


def test_the_estimate_grows_with_what_is_asked():
    base = GradientsRequest(n_layer=12, d_model=128)
    estimate = gradient_cost.estimate_seconds
    assert estimate(base) > 0
    for change in ({"n_layer": 24}, {"d_model": 256}, {"batch": 4}, {"seeds": (0, 1)}):
        assert estimate(GradientsRequest(**{"n_layer": 12, "d_model": 128} | change)) > estimate(
            base
        )


def test_terminal_prints_the_same_numbers(capsys):
    request = GradientsRequest(
        n_layer=2, d_model=64, n_head=2, norm="post", residual=False, n_tokens=16, seeds=(3, 4)
    )
    words = command(request).split()[3:]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    result = engine.run(request)
    np.testing.assert_array_equal(document["stream_grad_norms"], result.stream_grad_norms)
    np.testing.assert_array_equal(
        document["weight_grad_norms"]["attn.W_V"], result.weight_grad_norms["attn.W_V"]
    )
    assert document["request"]["seeds"] == [3, 4] and len(document["loss"]) == 2
    assert main(["gradients", "--n-layer", "500"]) == 2
    assert "from 1 to 96" in capsys.readouterr().err
