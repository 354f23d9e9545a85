"""The model against independent ones: transformers' GPT-2 and GPT-1, PyTorch's functions, NumPy.

GPT-2 is the pre-norm block, GPT-1 the post-norm block; the model in plain NumPy below is written
from the definitions alone and covers the switches that neither has.
"""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from andrea.config import ModelConfig
from andrea.model import Andrea, Attention, LayerNorm, Record

IDS = torch.tensor([[5, 17, 17, 250, 3, 99, 0, 300], [8, 7, 6, 5, 4, 3, 2, 1]])


def randomised(config: ModelConfig, dtype: torch.dtype = torch.float32) -> Andrea:
    """Return a fresh model with biases, gammas and betas drawn at random too."""
    model = Andrea(config, seed=0).to(dtype)
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                noise = torch.randn(p.shape, generator=random).to(dtype) * 0.1
                p.copy_(noise + (1 if name.endswith("gamma") else 0))
            elif "W_" in name and config.init == "gpt2":
                p.mul_(3)  # far from the near-linear regime of fresh weights
    return model


def recorded(model: Andrea, ids: Tensor) -> Record:
    record: Record = {}
    with torch.no_grad():
        model(ids, record)
    return record


# -- transformers --------------------------------------------------------------------------------


def as_openai(model: Andrea, names: dict[str, str], **extra: Tensor) -> dict[str, Tensor]:
    """Rename our weights to OpenAI's layout: q, k, v side by side, matrices [in, out] as ours."""
    ours = model.state_dict()
    theirs = {f"transformer.{names['wte']}.weight": ours["wte"]}
    theirs[f"transformer.{names['wpe']}.weight"] = ours["wpe"]
    for i in range(model.config.n_layer):
        a, b = f"blocks.{i}.", f"transformer.h.{i}."
        for end, letter in (("weight", "W"), ("bias", "b")):
            parts = [ours[f"{a}attn.{letter}_{x}"] for x in "QKV"]
            theirs[f"{b}attn.c_attn.{end}"] = torch.cat(parts, dim=-1)
            theirs[f"{b}attn.c_proj.{end}"] = ours[f"{a}attn.{letter}_O"]
            theirs[f"{b}mlp.c_fc.{end}"] = ours[f"{a}mlp.{letter}_1"]
            theirs[f"{b}mlp.c_proj.{end}"] = ours[f"{a}mlp.{letter}_2"]
        for k in (1, 2):
            theirs[f"{b}ln_{k}.weight"] = ours[f"{a}ln{k}.gamma"]
            theirs[f"{b}ln_{k}.bias"] = ours[f"{a}ln{k}.beta"]
    return {**theirs, **extra}


def run_reference(reference: transformers.PreTrainedModel, weights: dict[str, Tensor]) -> object:
    """Give the reference our weights and run it."""
    missing = reference.load_state_dict(weights, strict=False, assign=True)
    reference.tie_weights()
    left = {n for n in missing.missing_keys if n != "lm_head.weight"}
    assert not left and not missing.unexpected_keys
    assert not any(p.is_meta for p in reference.parameters())
    with torch.no_grad():
        return reference.eval()(IDS, output_hidden_states=True, output_attentions=True)


def largest(a: Tensor, b: Tensor) -> float:
    assert a.shape == b.shape
    return float((a - b).abs().max())


@pytest.mark.parametrize(
    ("act_fn", "theirs", "shape"),
    [
        ("gelu_tanh", "gelu_new", {"n_layer": 12, "d_model": 768, "n_head": 12}),
        ("gelu", "gelu", {"n_layer": 3, "d_model": 96, "n_head": 4}),
        ("relu", "relu", {"n_layer": 3, "d_model": 96, "n_head": 4}),
    ],
)
def test_pre_norm_equals_gpt2(act_fn, theirs, shape):
    """Logits, every hidden state and every attention pattern of transformers' GPT-2."""
    config = ModelConfig(**shape, act_fn=act_fn, n_ctx=16, vocab_size=311)
    model = randomised(config)
    with torch.device("meta"):
        reference = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                n_layer=config.n_layer,
                n_embd=config.d_model,
                n_head=config.n_head,
                n_positions=config.n_ctx,
                vocab_size=config.vocab_size,
                activation_function=theirs,
                attn_implementation="eager",
                bos_token_id=0,
                eos_token_id=0,
            )
        )
    ends = model.state_dict()
    weights = as_openai(
        model,
        {"wte": "wte", "wpe": "wpe"},
        **{
            "transformer.ln_f.weight": ends["ln_final.gamma"],
            "transformer.ln_f.bias": ends["ln_final.beta"],
        },
    )
    out, record = run_reference(reference, weights), recorded(model, IDS)
    assert largest(out.logits, record["logits"]) < 1e-4
    assert len(out.hidden_states) == config.n_layer + 1
    for i in range(config.n_layer):
        assert largest(out.hidden_states[i], record[f"blocks.{i}.resid_pre"]) < 1e-4
        assert largest(out.attentions[i], record[f"blocks.{i}.attn.pattern"]) < 1e-4
    assert largest(out.hidden_states[-1], record["ln_final.out"]) < 1e-4
    # The comparison says something: there is much to differ in, and layers differ.
    assert float(out.logits.std()) > 0.1
    assert largest(out.attentions[0], out.attentions[1]) > 1e-3


def test_post_norm_equals_gpt1():
    """The post-norm block against transformers' GPT-1, which normalises after each addition."""
    config = ModelConfig(
        n_layer=4, d_model=96, n_head=4, n_ctx=16, vocab_size=311, norm="post", act_fn="gelu_tanh"
    )
    model = randomised(config)
    reference = transformers.OpenAIGPTLMHeadModel(
        transformers.OpenAIGPTConfig(
            n_layer=4,
            n_embd=96,
            n_head=4,
            n_positions=16,
            vocab_size=311,
            afn="gelu",  # the tanh form, under this name
            attn_implementation="eager",
        )
    )
    weights = as_openai(model, {"wte": "tokens_embed", "wpe": "positions_embed"})
    out, record = run_reference(reference, weights), recorded(model, IDS)
    assert largest(out.logits, record["logits"]) < 1e-4
    for i in range(config.n_layer):
        assert largest(out.hidden_states[i + 1], record[f"blocks.{i}.resid_post"]) < 1e-4
        assert largest(out.attentions[i], record[f"blocks.{i}.attn.pattern"]) < 1e-4


# -- PyTorch -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
def test_attention_equals_scaled_dot_product_attention(bias):
    config = ModelConfig(n_layer=1, d_model=48, n_head=6, bias=bias)
    attention: Attention = randomised(config, torch.float64).blocks[0].attn
    x = torch.randn(3, 11, 48, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def heads(matrix: Tensor, shift: Tensor | None) -> Tensor:
        y = x @ matrix + (0 if shift is None else shift)
        return y.reshape(3, 11, 6, 8).transpose(1, 2)

    a = attention
    z = F.scaled_dot_product_attention(
        heads(a.W_Q, a.b_Q), heads(a.W_K, a.b_K), heads(a.W_V, a.b_V), is_causal=True
    )
    expected = z.transpose(1, 2).reshape(3, 11, 48) @ a.W_O + (0 if a.b_O is None else a.b_O)
    record: Record = {}
    out = attention(x, record.__setitem__)
    assert torch.allclose(out, expected, rtol=1e-12, atol=1e-12)
    assert torch.allclose(record["z"], z.transpose(1, 2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_norm_equals_torch(affine, eps):
    config = ModelConfig(n_layer=1, d_model=48, n_head=6, norm_affine=affine, ln_eps=eps)
    ours: LayerNorm = randomised(config, torch.float64).blocks[0].ln1
    theirs = nn.LayerNorm(48, eps=eps, elementwise_affine=affine, dtype=torch.float64)
    if affine:
        theirs.load_state_dict({"weight": ours.gamma, "bias": ours.beta})
    x = torch.randn(2, 5, 48, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    x = 0.3 * x + 7
    record: Record = {}
    assert torch.allclose(ours(x), theirs(x), rtol=1e-12, atol=1e-12)
    assert torch.allclose(ours(x, record.__setitem__), theirs(x), rtol=1e-12, atol=1e-12)
    variance = x.var(-1, unbiased=False)
    assert record["normalized"].mean(-1).abs().max() < 1e-12
    # The variance is 1 only up to epsilon: var / (var + eps).
    assert torch.allclose(
        record["normalized"].var(-1, unbiased=False), variance / (variance + eps), rtol=1e-10
    )


# -- NumPy: every switch, from the definitions -----------------------------------------------------


def numpy_model(c: ModelConfig, w: dict[str, np.ndarray], ids: list[int]) -> dict[str, np.ndarray]:
    """Run one text in plain float64 NumPy, position by position and head by head."""
    zero = np.zeros(())
    T, kept = len(ids), {}

    def layer_norm(x: np.ndarray, name: str) -> np.ndarray:
        mean = x.mean(axis=-1, keepdims=True)
        y = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + c.ln_eps)
        kept[f"{name}.normalized"] = y
        return y * w.get(f"{name}.gamma", 1.0) + w.get(f"{name}.beta", 0.0)

    def act(x: np.ndarray) -> np.ndarray:
        if c.act_fn == "relu":
            return np.where(x > 0, x, 0.0)
        if c.act_fn == "gelu":
            return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    def attention(x: np.ndarray, name: str) -> np.ndarray:
        q, k, v = (x @ w[f"{name}.W_{s}"] + w.get(f"{name}.b_{s}", zero) for s in "QKV")
        z, width = np.zeros((T, c.d_model)), c.d_model // c.n_head
        for h in range(c.n_head):
            part = slice(h * width, (h + 1) * width)
            for t in range(T):
                scores = np.array([q[t, part] @ k[s, part] for s in range(t + 1)])
                share = np.exp((scores - scores.max()) / math.sqrt(width))
                for s in range(t + 1):
                    z[t, part] += share[s] / share.sum() * v[s, part]
        kept[f"{name}.z"] = z
        return z @ w[f"{name}.W_O"] + w.get(f"{name}.b_O", zero)

    def mlp(x: np.ndarray, name: str) -> np.ndarray:
        hidden = act(x @ w[f"{name}.W_1"] + w.get(f"{name}.b_1", zero))
        kept[f"{name}.post"] = hidden
        return hidden @ w[f"{name}.W_2"] + w.get(f"{name}.b_2", zero)

    x = np.array([w["wte"][token] + w["wpe"][t] for t, token in enumerate(ids)])
    for i in range(c.n_layer):
        b = f"blocks.{i}"
        for branch, name, norm, station in (
            (attention, f"{b}.attn", f"{b}.ln1", "resid_mid"),
            (mlp, f"{b}.mlp", f"{b}.ln2", "resid_post"),
        ):
            delta = branch(layer_norm(x, norm) if c.norm == "pre" else x, name)
            kept[f"{name}_out"] = delta
            x = x + delta if c.residual else delta
            if c.norm == "post":
                x = layer_norm(x, norm)
            kept[f"{b}.{station}"] = x
    if c.norm == "pre":
        x = layer_norm(x, "ln_final")
    kept["logits"] = x @ w["wte" if c.tie_embeddings else "W_U"].T
    return kept


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("act_fn", ["gelu_tanh", "gelu", "relu"])
def test_every_switch_equals_plain_numpy(norm, residual, act_fn):
    ids = [3, 1, 4, 1, 5]
    for bias, affine, tied in itertools.product([True, False], repeat=3):
        config = ModelConfig(
            n_layer=2,
            d_model=12,
            n_head=3,
            d_mlp=20,
            n_ctx=5,
            vocab_size=7,
            norm=norm,
            residual=residual,
            act_fn=act_fn,
            bias=bias,
            norm_affine=affine,
            tie_embeddings=tied,
            init="xavier",
        )
        model = randomised(config, torch.float64)
        record = recorded(model, torch.tensor([ids]))
        expected = numpy_model(config, {n: p.numpy() for n, p in model.state_dict().items()}, ids)
        assert len(expected) >= 2 * 6 + 1
        for name, values in expected.items():
            ours = record[name][0].reshape(values.shape).numpy()
            np.testing.assert_allclose(ours, values, rtol=1e-9, atol=1e-10, err_msg=name)
