"""The model's invariants under every switch: shapes, additivity, causality, gradients, seeds."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from andrea.config import ModelConfig
from andrea.model import Andrea, Record, next_token_loss

NORMS = ("pre", "post", "none")
ACTIVATIONS = ("gelu_tanh", "gelu", "relu")
ON_OFF = (True, False)
TINY = {"n_layer": 2, "d_model": 8, "n_head": 2, "n_ctx": 9, "vocab_size": 13}

by_norm = pytest.mark.parametrize("norm", NORMS)
by_residual = pytest.mark.parametrize("residual", ON_OFF)
by_activation = pytest.mark.parametrize("act_fn", ACTIVATIONS)


def combinations(**fixed: object) -> Iterator[ModelConfig]:
    """Yield a tiny configuration for every setting of the switches that are not fixed."""
    switches = {
        "norm": NORMS,
        "residual": ON_OFF,
        "act_fn": ACTIVATIONS,
        "bias": ON_OFF,
        "norm_affine": ON_OFF,
        "tie_embeddings": ON_OFF,
        "init": ("gpt2", "xavier"),
    }
    for name, value in fixed.items():
        switches[name] = (value,)  # type: ignore[assignment]
    for values in itertools.product(*switches.values()):
        yield ModelConfig(**TINY, **dict(zip(switches, values, strict=True)))  # type: ignore[arg-type]


def scrambled(config: ModelConfig, seed: int = 0) -> Andrea:
    """Return a float64 model in which nothing is 0 or 1, so that no term can hide."""
    model = Andrea(config, seed=seed).double()
    random = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=random, dtype=torch.float64) * 0.5)
    return model


def some_ids(config: ModelConfig, batch: int = 2, length: int = 6, seed: int = 0) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.randint(config.vocab_size, (batch, length), generator=random)


def recorded(model: Andrea, ids: Tensor) -> Record:
    record: Record = {}
    with torch.no_grad():
        model(ids, record)
    return record


# -- every switch runs, and what is recorded has its name and its shape ------------------------


def shapes(c: ModelConfig, B: int, T: int) -> dict[str, tuple[int, ...]]:
    """Return the table: every activation's name and shape, written out by hand."""
    stream, heads, square = (B, T, c.d_model), (B, T, c.n_head, c.d_head), (B, c.n_head, T, T)
    table: dict[str, tuple[int, ...]] = {"embed": stream, "pos_embed": stream}
    for i in range(c.n_layer):
        block = {
            "resid_pre": stream,
            "attn.q": heads,
            "attn.k": heads,
            "attn.v": heads,
            "attn.scores": square,
            "attn.pattern": square,
            "attn.z": heads,
            "attn_out": stream,
            "resid_mid": stream,
            "mlp.pre": (B, T, c.hidden),
            "mlp.post": (B, T, c.hidden),
            "mlp_out": stream,
            "resid_post": stream,
        }
        if c.norm != "none":
            for name in ("ln1.normalized", "ln1.out", "ln2.normalized", "ln2.out"):
                block[name] = stream
        table.update({f"blocks.{i}.{name}": shape for name, shape in block.items()})
    if c.norm == "pre":
        table["ln_final.normalized"] = table["ln_final.out"] = stream
    table["logits"] = (B, T, c.vocab_size)
    return table


@by_norm
@by_residual
@by_activation
def test_every_combination_runs_and_records_the_table_of_shapes(norm, residual, act_fn):
    for config in combinations(norm=norm, residual=residual, act_fn=act_fn):
        model, ids = Andrea(config, seed=1), some_ids(config, 3, 5)
        record = recorded(model, ids)
        assert {n: tuple(t.shape) for n, t in record.items()} == shapes(config, 3, 5), config
        for name, tensor in record.items():
            wanted = tensor.isfinite()
            if name.endswith("scores"):  # the future is masked out with -inf
                wanted |= tensor.isneginf()
            assert wanted.all(), (name, config)
        assert torch.equal(record["logits"], model(ids))


@by_norm
@by_residual
def test_looking_changes_nothing(norm, residual):
    for config in combinations(norm=norm, residual=residual, init="gpt2"):
        model, ids = scrambled(config), some_ids(config)
        with torch.no_grad():
            bare = model(ids)
        looked = recorded(model, ids)["logits"]
        assert (bare - looked).abs().max() < 1e-10 * max(1.0, float(bare.abs().max()))


def test_a_record_holds_what_flowed_and_not_what_it_became():
    """Nothing recorded is overwritten later in the same pass."""
    config = ModelConfig(**TINY)
    model, ids = scrambled(config), some_ids(config)
    copies: Record = {}

    class Copying(dict):  # type: ignore[type-arg]
        def __setitem__(self, name: str, tensor: Tensor) -> None:
            copies[name] = tensor.clone()
            super().__setitem__(name, tensor)

    record = Copying()
    with torch.no_grad():
        model(ids, record)
    assert set(copies) == set(record) != set()
    assert all(torch.equal(copies[name], tensor) for name, tensor in record.items())


# -- the stream: what is added to what -----------------------------------------------------------


def normalised(x: Tensor, module: torch.nn.Module, eps: float) -> Tensor:
    """LayerNorm by its definition, not by the library's function."""
    centred = x - x.mean(-1, keepdim=True)
    y = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return y if module.gamma is None else y * module.gamma + module.beta


@by_norm
@by_residual
@by_activation
def test_every_block_keeps_the_definitions_of_its_stations(norm, residual, act_fn):
    for config in combinations(norm=norm, residual=residual, act_fn=act_fn, init="gpt2"):
        model, ids = scrambled(config), some_ids(config)
        record = recorded(model, ids)

        def close(a: Tensor, b: Tensor) -> bool:
            return torch.allclose(a, b, rtol=1e-10, atol=1e-10)

        x = record["embed"] + record["pos_embed"]
        assert close(record["embed"], model.wte[ids])
        assert close(record["pos_embed"], model.wpe[: ids.shape[1]].expand_as(x))
        for i, block in enumerate(model.blocks):
            at = {n.removeprefix(f"blocks.{i}."): t for n, t in record.items()}
            assert close(at["resid_pre"], x)
            x = at["resid_pre"] + at["attn_out"] if residual else at["attn_out"]
            if norm == "post":
                x = normalised(x, block.ln1, config.ln_eps)
                assert close(at["ln1.out"], x)
            if norm == "pre":
                assert close(at["ln1.out"], normalised(at["resid_pre"], block.ln1, config.ln_eps))
            assert close(at["resid_mid"], x)
            x = at["resid_mid"] + at["mlp_out"] if residual else at["mlp_out"]
            if norm == "post":
                x = normalised(x, block.ln2, config.ln_eps)
            if norm == "pre":
                assert close(at["ln2.out"], normalised(at["resid_mid"], block.ln2, config.ln_eps))
            assert close(at["resid_post"], x)
        if norm == "pre":
            x = normalised(x, model.ln_final, config.ln_eps)
            assert close(record["ln_final.out"], x)
        matrix = model.wte if config.tie_embeddings else model.W_U
        assert close(record["logits"], x @ matrix.T)


@pytest.mark.parametrize("norm", ["pre", "none"])
@by_activation
def test_the_stream_is_the_sum_of_what_was_written_into_it(norm, act_fn):
    config = ModelConfig(**{**TINY, "n_layer": 5}, norm=norm, act_fn=act_fn)
    record = recorded(scrambled(config), some_ids(config))
    total = record["embed"] + record["pos_embed"]
    for i in range(config.n_layer):
        total = total + record[f"blocks.{i}.attn_out"] + record[f"blocks.{i}.mlp_out"]
    last = record["blocks.4.resid_post"]
    assert (total - last).abs().max() < 1e-11 * last.abs().max()


def test_additivity_holds_in_float32_at_the_shape_of_the_shipped_model():
    config = ModelConfig(n_layer=12, d_model=192, n_head=6, vocab_size=300)
    record = recorded(Andrea(config, seed=0), some_ids(config, 1, 20))
    total = record["embed"] + record["pos_embed"]
    for i in range(12):
        total = total + record[f"blocks.{i}.attn_out"] + record[f"blocks.{i}.mlp_out"]
        mid, out = record[f"blocks.{i}.resid_mid"], record[f"blocks.{i}.mlp_out"]
        assert torch.equal(record[f"blocks.{i}.resid_post"], mid + out)
    assert (total - record["blocks.11.resid_post"]).abs().max() < 1e-5


def test_under_post_norm_the_sum_is_not_the_stream():
    """The counterpart: the additivity test could fail."""
    config = ModelConfig(**TINY, norm="post")
    record = recorded(scrambled(config), some_ids(config))
    total = record["embed"] + record["pos_embed"]
    for i in range(config.n_layer):
        total = total + record[f"blocks.{i}.attn_out"] + record[f"blocks.{i}.mlp_out"]
    assert (total - record["blocks.1.resid_post"]).abs().max() > 0.1


# -- attention -----------------------------------------------------------------------------------


@by_norm
@by_residual
def test_a_future_token_changes_nothing_earlier(norm, residual):
    """Not one recorded number of the positions before ``cut`` moves, and later ones do."""
    cut = 3
    for config in combinations(norm=norm, residual=residual, init="xavier"):
        model, ids = scrambled(config), some_ids(config)
        other = ids.clone()
        other[:, cut:] = (other[:, cut:] + 1) % config.vocab_size
        one, two = recorded(model, ids), recorded(model, other)
        for name in one:
            square = name.endswith(("scores", "pattern"))
            a, b = (t[:, :, :cut] if square else t[:, :cut] for t in (one[name], two[name]))
            assert torch.allclose(a, b, rtol=1e-11, atol=1e-11), (name, config)
            if name != "pos_embed":
                assert not torch.allclose(one[name], two[name]), (name, config)


def test_a_prefix_is_read_as_if_the_rest_did_not_exist():
    config = ModelConfig(**TINY)
    model, ids = scrambled(config), some_ids(config)
    with torch.no_grad():
        assert torch.allclose(model(ids)[:, :4], model(ids[:, :4]), rtol=1e-11, atol=1e-11)


def test_attention_reads_only_the_past_and_its_weights_sum_to_one():
    config = ModelConfig(**TINY)
    record = recorded(scrambled(config), some_ids(config))
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    for i in range(config.n_layer):
        scores, pattern = record[f"blocks.{i}.attn.scores"], record[f"blocks.{i}.attn.pattern"]
        assert scores[..., future].isneginf().all()
        assert scores[..., ~future].isfinite().all()
        assert (pattern[..., future] == 0).all()
        assert torch.allclose(pattern.sum(-1), torch.ones(()).double())
        q, k = record[f"blocks.{i}.attn.q"], record[f"blocks.{i}.attn.k"]
        by_hand = (q[0, 4, 1] * k[0, 2, 1]).sum() / math.sqrt(config.d_head)
        assert torch.allclose(scores[0, 1, 4, 2], by_hand)


def test_a_batch_is_its_texts_one_by_one():
    config = ModelConfig(**TINY)
    model, ids = scrambled(config), some_ids(config, batch=3)
    with torch.no_grad():
        alone = torch.cat([model(row[None]) for row in ids])
        assert torch.allclose(model(ids), alone, rtol=1e-11, atol=1e-11)


def test_two_tokens_one_head_by_hand():
    """Everything small enough to work out on paper, with no LayerNorm in the way.

    Width 2, embeddings the unit vectors, q = k = x, v = (x1, 2 x2), no positions. Position 1 sees
    scores (0, 1) / sqrt(2), hence weights 1 : e^0.70711 = 0.33024 : 0.66976.
    """
    config = ModelConfig(
        n_layer=1, d_model=2, n_head=1, d_mlp=1, n_ctx=2, vocab_size=2, norm="none", act_fn="relu"
    )
    model = Andrea(config, seed=0)
    attn, mlp = model.blocks[0].attn, model.blocks[0].mlp
    one = torch.eye(2)
    with torch.no_grad():
        for matrix, values in (
            (model.wte, one),
            (model.wpe, torch.zeros(2, 2)),
            (attn.W_Q, one),
            (attn.W_K, one),
            (attn.W_V, torch.tensor([[1.0, 0.0], [0.0, 2.0]])),
            (attn.W_O, one),
            (mlp.W_1, torch.tensor([[1.0], [-1.0]])),
            (mlp.W_2, torch.tensor([[1.0, 0.5]])),
            (mlp.b_2, torch.tensor([0.0, 0.25])),
        ):
            matrix.copy_(values)
    record = recorded(model, torch.tensor([[0, 1]]))
    at = {n.removeprefix("blocks.0."): t[0] for n, t in record.items()}
    a, b = 0.3302385, 0.6697615

    def is_(name: str, values: list[list[float]]) -> bool:
        return torch.allclose(at[name].squeeze(), torch.tensor(values).squeeze(), atol=1e-6)

    assert is_("attn.scores", [[0.7071068, -math.inf], [0.0, 0.7071068]])
    assert is_("attn.pattern", [[1, 0], [a, b]])
    assert is_("attn_out", [[1, 0], [a, 2 * b]])
    assert is_("resid_mid", [[2, 0], [a, 1 + 2 * b]])
    assert is_("mlp.pre", [[2.0], [a - 1 - 2 * b]])
    assert is_("mlp.post", [[2.0], [0.0]])
    assert is_("mlp_out", [[2, 1.25], [0, 0.25]])
    assert is_("resid_post", [[4, 1.25], [a, 1.25 + 2 * b]])
    assert is_("logits", [[4, 1.25], [a, 1.25 + 2 * b]])


# -- gradients -----------------------------------------------------------------------------------


@by_norm
@by_residual
@by_activation
def test_gradients_are_those_of_finite_differences(norm, residual, act_fn):
    """Central differences in float64, at two entries of every parameter."""
    config = ModelConfig(
        **TINY, norm=norm, residual=residual, act_fn=act_fn, tie_embeddings=residual
    )
    model, ids = scrambled(config), some_ids(config)
    next_token_loss(model(ids), ids).backward()
    random, h = torch.Generator().manual_seed(5), 1e-6
    for name, p in model.named_parameters():
        assert p.grad is not None, name
        flat, grad = p.data.view(-1), p.grad.view(-1)
        entries = {int(grad.abs().argmax()), int(torch.randint(len(flat), (), generator=random))}
        for i in entries:
            value, losses = float(flat[i]), []
            for shift in (h, -h):
                flat[i] = value + shift
                with torch.no_grad():
                    losses.append(float(next_token_loss(model(ids), ids)))
            flat[i] = value
            slope = (losses[0] - losses[1]) / (2 * h)
            assert float(grad[i]) == pytest.approx(slope, rel=1e-5, abs=5e-8), (name, i)


def test_gradients_can_be_taken_at_any_station():
    """The stream's gradient at the embeddings, summed by token, is the untied matrix's."""
    config = ModelConfig(**TINY, tie_embeddings=False)
    model, ids, record = scrambled(config), some_ids(config), {}
    loss = next_token_loss(model(ids, record), ids)
    streams = [n for n in record if n != "pos_embed"]
    gradients = torch.autograd.grad(loss, [record[n] for n in streams] + [model.wte])
    by_name = dict(zip(streams, gradients, strict=False))
    summed = torch.zeros_like(model.wte).index_add(0, ids.flatten(), by_name["embed"].flatten(0, 1))
    assert torch.allclose(summed, gradients[-1])
    assert torch.equal(by_name["embed"], by_name["blocks.0.resid_pre"])
    assert all(g.abs().sum() > 0 for g in gradients)


def test_loss_is_the_mean_surprise_of_the_next_token():
    logits = torch.tensor([[[0.0, math.log(3.0)], [5.0, 5.0], [9.0, 0.0]]])
    loss = next_token_loss(logits, torch.tensor([[0, 1, 0]]))
    assert float(loss) == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)


# -- fresh weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["gpt2", "xavier"])
def test_same_seed_same_model_other_seed_other_model(init):
    config = ModelConfig(**TINY, init=init)
    ids = some_ids(config)
    torch.manual_seed(1)
    one = Andrea(config, seed=7)
    torch.manual_seed(2)  # the global generator decides nothing
    again, other = Andrea(config, seed=7), Andrea(config, seed=8)
    for (name, a), b in zip(one.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(a, b), name
    assert torch.equal(one(ids), again(ids))
    assert not torch.equal(one.wte, other.wte)
    assert not torch.equal(one(ids), other(ids))


@pytest.mark.parametrize("init", ["gpt2", "xavier"])
def test_a_seed_gives_the_same_matrices_in_every_arm_of_a_comparison(init):
    first: dict[str, Tensor] = {}
    for config in combinations(init=init, tie_embeddings=True):
        for name, p in Andrea(config, seed=3).named_parameters():
            if p.dim() == 2:
                assert torch.equal(p, first.setdefault(name, p)), (name, config)
            else:
                assert (p == (1.0 if name.endswith("gamma") else 0.0)).all(), name
    assert len(first) == 2 + 2 * 6


def test_gpt2_init_is_normal_with_smaller_branch_outputs():
    config = ModelConfig(n_layer=8, d_model=128, n_head=4, vocab_size=1000, tie_embeddings=False)
    for name, p in Andrea(config, seed=0).state_dict().items():
        if p.dim() != 2:
            continue
        std = 0.02 / 4 if name.endswith(("W_O", "W_2")) else 0.02  # 4 = sqrt(2 x 8 blocks)
        assert float(p.std()) == pytest.approx(std, rel=0.03), name
        assert abs(float(p.mean())) < 4 * std / math.sqrt(p.numel()), name
        kurtosis = float((p / p.std()).pow(4).mean())
        assert kurtosis == pytest.approx(3, abs=0.3), name  # a normal's; a uniform's is 1.8


def test_xavier_init_is_uniform_within_its_bound():
    config = ModelConfig(n_layer=2, d_model=128, n_head=4, vocab_size=1000, init="xavier")
    for name, p in Andrea(config, seed=0).state_dict().items():
        if p.dim() != 2:
            continue
        if name in ("wte", "wpe"):
            assert float(p.std()) == pytest.approx(128**-0.5, rel=0.03), name
            continue
        bound = math.sqrt(6 / (640 if "mlp" in name else 256))
        assert float(p.abs().max()) == pytest.approx(bound, rel=0.01), name
        assert float(p.abs().max()) <= bound
        assert float(p.std()) == pytest.approx(bound / math.sqrt(3), rel=0.03), name


def test_text_longer_than_the_context_is_refused():
    config = ModelConfig(**TINY)
    with pytest.raises(ValueError, match="10 positions.*reads 9"):
        Andrea(config, seed=0)(torch.zeros(1, 10, dtype=torch.long))
