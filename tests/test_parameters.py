"""The parameter count: against its formula, another library, PyTorch's counters and a pencil."""

import itertools
import json
import random

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from andrea import __main__ as terminal
from andrea import engine
from andrea.config import PRESETS, ModelConfig
from andrea.errors import InputError
from andrea.measures.formula import evaluate, formula
from andrea.measures.parameters import compare
from andrea.measures.reconciliation import judge, judge_share, reconciliation
from andrea.measures.tensors import GROUPS
from andrea.model import Andrea
from andrea.requests import ParametersRequest

SWITCHES = list(
    itertools.product(("pre", "post", "none"), (True, False), (True, False), (True, False))
)
SHAPES = [
    {},
    {"preset": "andrea-mini"},
    {"preset": "andrea-12m", "n_layer": 3},
    {"n_layer": 2, "d_model": 48, "n_head": 6, "d_mlp": 100, "vocab_size": 71, "n_ctx": 13},
    {"n_layer": 1, "d_model": 1, "n_head": 1, "d_mlp": 1, "vocab_size": 1, "n_ctx": 1},
]


def count(**asked):
    return engine.run(ParametersRequest(**asked))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("norm", "bias", "affine", "tied"), SWITCHES)
def test_count_equals_the_formula_under_every_switch(shape, norm, bias, affine, tied):
    result = count(**shape, norm=norm, bias=bias, norm_affine=affine, tie_embeddings=tied)
    config = ModelConfig(**result.config)
    with torch.device("meta"):
        tensors = sum(p.numel() for p in Andrea(config).parameters())
    assert result.total == tensors == result.closed_form.value
    assert evaluate(result.closed_form.numbers) == tensors
    assert sum(row.total for row in result.rows) == tensors
    for row in result.rows:
        assert row.total == row.each * row.copies == row.formula.value
        assert row.copies == (config.n_layer if row.part == "blocks" else not row.tied_to)
    assert tuple(g.name for g in result.groups) == GROUPS
    assert sum(g.total for g in result.groups) == tensors
    assert sum(g.share for g in result.groups) == pytest.approx(1)
    assert result.trunk.total == sum(r.total for r in result.rows if r.part == "blocks")
    assert [r.kind for r in result.rows if r.tied_to] == (["W_U"] if tied else [])
    assert {r.kind for r in result.rows if r.copies} == {
        name.split(".", 2)[-1] if name.startswith("blocks.") else name
        for name, _ in Andrea(config.with_(n_layer=1, vocab_size=2)).named_parameters()
    }


def other_library(config: ModelConfig) -> int:
    sizes = {"n_positions": config.n_ctx, "n_embd": config.d_model, "n_inner": config.d_mlp}
    theirs = transformers.GPT2Config(
        n_layer=config.n_layer,
        n_head=config.n_head,
        vocab_size=config.vocab_size,
        tie_word_embeddings=config.tie_embeddings,
        **sizes,
    )
    with torch.device("meta"):
        model = transformers.GPT2LMHeadModel(theirs)
    model.tie_weights()
    return sum(p.numel() for p in model.parameters())


def test_gpt2_small_is_gpt2_small():
    assert count(preset="gpt2").total == other_library(PRESETS["gpt2"]) == 124_439_808


@pytest.mark.parametrize("seed", range(6))
def test_count_equals_another_librarys(seed):
    draw = random.Random(seed)
    n_head = draw.randint(1, 5)
    asked = {
        "n_layer": draw.randint(1, 5),
        "n_head": n_head,
        "d_model": n_head * draw.randint(2, 20),
        "d_mlp": draw.randint(1, 200),
        "vocab_size": draw.randint(2, 500),
        "n_ctx": draw.randint(1, 90),
        "tie_embeddings": draw.random() < 0.5,
    }
    result = count(**asked)
    assert result.total == other_library(ModelConfig(**result.config))


def test_a_case_by_pencil():
    """One block, width 2, hidden 3, three words, four positions, written out by hand."""
    sizes = {"n_layer": 1, "d_model": 2, "n_head": 1, "d_mlp": 3, "vocab_size": 3, "n_ctx": 4}
    result = count(**sizes)
    by_hand = {
        "wte": 6, "wpe": 8, "ln1.gamma": 2, "ln1.beta": 2,
        "attn.W_Q": 4, "attn.W_K": 4, "attn.W_V": 4, "attn.W_O": 4,
        "attn.b_Q": 2, "attn.b_K": 2, "attn.b_V": 2, "attn.b_O": 2,
        "ln2.gamma": 2, "ln2.beta": 2, "mlp.W_1": 6, "mlp.b_1": 3, "mlp.W_2": 6, "mlp.b_2": 2,
        "ln_final.gamma": 2, "ln_final.beta": 2, "W_U": 0,
    }  # fmt: skip
    assert {r.kind: r.total for r in result.rows} == by_hand
    assert list(by_hand) == [r.kind for r in result.rows]
    assert result.total == 67
    assert result.closed_form.numbers == (
        "3 × 2 + 4 × 2 + 1 × (4 × 2² + 2 × 2 × 3 + 5 × 2 + 3 + 4 × 2) + 2 × 2"
    )
    costs = {c.name: c.value for c in result.costs.lines()}
    assert costs["weights_float32"] == 268
    assert costs["weights_bfloat16"] == 134
    assert costs["weights_int8"] == 67
    assert costs["adam_moments"] == 536
    assert costs["training_float32"] == 67 * 16
    assert costs["training_mixed"] == 67 * 16
    assert costs["kv_cache_float32"] == 2 * 4 * 2 * 4  # keys and values, four positions, two wide
    # A token: Q, K, V, O are 2x2, the MLP 2x3 and 3x2, the unembedding 2x3; two FLOPs a weight.
    assert costs["forward_matrices"] == 2 * (4 * 4 + 6 + 6 + 6)
    assert costs["forward_attention"] == 2 * 4 * 2 + 2 * 4 * 2  # scores, then weighted sums
    assert costs["forward"] == 68 + 32
    assert costs["training"] == 300


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        ({"preset": "andrea-120m"}, 92_331_264),
        ({"preset": "andrea-120m", "bias": False}, 92_248_320),
        ({"preset": "andrea-120m", "tie_embeddings": False}, 98_820_096),
        ({"preset": "andrea-120m", "tie_embeddings": False, "bias": False}, 98_737_152),
    ],
    ids=str,
)
def test_known_totals(asked, total):
    assert count(**asked).total == total


MICROGPT = {"tie_embeddings": False, "bias": False, "norm_affine": False}


def test_the_published_counts_are_microgpts_layout():
    assert count(preset="andrea-120m", **MICROGPT).total == 98_698_752
    assert count(preset="andrea-12m", vocab_size=2305, **MICROGPT).total == 12_780_288
    assert count(preset="andrea-480m", **MICROGPT).total == 480_513_024


# -- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("tied", [True, False])
def test_flops_equal_those_of_a_real_forward(norm, tied):
    sizes = {"n_layer": 3, "d_model": 24, "n_head": 4, "vocab_size": 50, "n_ctx": 17, "d_mlp": 31}
    result = count(**sizes, norm=norm, tie_embeddings=tied, measure_flops=True)
    config = ModelConfig(**result.config)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        Andrea(config, seed=0)(torch.randint(50, (2, 17)))
    value = {c.name: c.value for c in result.costs.flops}["forward"]
    assert counter.get_total_flops() == 2 * 17 * value
    assert result.costs.flops_measured == value


def test_flops_measured_without_data_equal_the_formula_at_full_size():
    result = count(measure_flops=True)
    assert result.costs.flops_measured == 220_595_712
    assert count().costs.flops_measured is None


def test_training_flops_equal_a_real_backward():
    """Forward and backward of the matrices: the embeddings' look-up has no matrix product."""
    config = ModelConfig(n_layer=2, d_model=16, n_head=2, vocab_size=30, n_ctx=8)
    model = Andrea(config, seed=0)
    with FlopCounterMode(display=False) as counter:
        model(torch.randint(30, (1, 8))).sum().backward()
    rows = count(n_layer=2, d_model=16, n_head=2, vocab_size=30, n_ctx=8).costs.flops
    assert counter.get_total_flops() == 8 * {c.name: c.value for c in rows}["training"]


def test_bytes_equal_those_of_real_tensors_and_of_adamw():
    asked = {"n_layer": 2, "d_model": 16, "n_head": 2, "vocab_size": 30, "n_ctx": 8}
    result = count(**asked)
    model = Andrea(ModelConfig(**result.config), seed=0)
    costs = {c.name: c.value for c in result.costs.bytes}
    size = sum(p.nbytes for p in model.parameters())
    assert costs["weights_float32"] == size
    assert costs["weights_bfloat16"] == sum(p.nbytes for p in model.bfloat16().parameters())
    model = Andrea(ModelConfig(**result.config), seed=0)
    optimiser = torch.optim.AdamW(model.parameters())
    record = {}
    ids = torch.zeros(1, 8, dtype=torch.int64)
    model(ids, record).sum().backward()
    optimiser.step()
    moments = [s[k] for s in optimiser.state.values() for k in ("exp_avg", "exp_avg_sq")]
    assert costs["adam_moments"] == sum(m.nbytes for m in moments)
    gradients = sum(p.grad.nbytes for p in model.parameters())
    assert costs["training_float32"] == size + gradients + costs["adam_moments"]
    cached = [record[f"blocks.{i}.attn.{x}"].nbytes for i in range(2) for x in "kv"]
    assert costs["kv_cache_float32"] == sum(cached)


def test_memory_is_this_machines():
    costs = count().costs
    assert 0 < costs.memory_limit <= costs.memory_total
    assert costs.memory_total > 500_000_000


def test_swiglu_at_two_thirds_costs_what_two_matrices_cost():
    result = count()
    two = sum(r.each for r in result.rows if r.kind in ("mlp.W_1", "mlp.W_2"))
    assert result.swiglu.value == two == 8 * 768**2
    assert count(d_mlp=4096).swiglu.value == 2 * 768 * 4096  # two thirds of it is not whole


# -- the lesson -----------------------------------------------------------------------------------


def test_verdicts_on_the_lesson():
    found = {s.id: (s.verdict, s.counted) for s in reconciliation()}
    assert found["trunk-85m"] == ("holds", 85_054_464)
    assert found["ln-25"] == ("holds", 25)
    assert found["w1-w2-size"] == ("holds", 4_718_592)
    assert found["mlp-56m"] == ("holds", 56_623_104)
    assert found["mlp-half"] == ("depends", pytest.approx(0.6133, abs=5e-5))
    assert found["emb-13m"] == ("does not hold", 6_488_832)
    assert found["total-120m"] == ("does not hold", 92_331_264)
    assert found["two-thirds"] == ("does not hold", pytest.approx(0.9212, abs=5e-5))
    assert found["card-120m"] == ("depends", 98_698_752)
    assert found["card-12m"] == ("depends", 12_780_288)
    assert found["card-480m"] == ("depends", 480_513_024)


def test_readings_say_what_was_counted():
    words = {s.id: s.in_words() for s in reconciliation()}
    assert "7,087,872" in words["trunk-85m"]
    assert "61.33%" in words["mlp-half"] and "57.30%" in words["mlp-half"]
    assert "12,977,664" in words["emb-13m"]
    assert "from 92,209,920 to 98,820,096" in words["total-120m"]
    assert "124,439,808" in words["total-120m"] and "41,808" in words["total-120m"]
    assert "68.35%" in words["two-thirds"]
    assert "98,737,152" in words["card-120m"] and "92,331,264" in words["card-120m"]
    assert all("{" not in sentence for sentence in words.values())


def test_a_verdict_follows_from_the_numbers():
    assert judge(True) == "holds"
    assert judge(False, [False, True]) == "depends"
    assert judge(False, [False]) == "does not hold"
    assert judge_share(0.5, 0.54, []) == "holds"
    assert judge_share(0.5, 0.58, []) == "depends"
    assert judge_share(0.5, 0.7, [0.41]) == "depends"
    assert judge_share(0.5, 0.7, [0.61]) == "does not hold"


# -- formulas, requests, terminal -----------------------------------------------------------------


def test_a_formula_is_its_text():
    found = formula("2 × (d_model² + n_ctx) - d_model / 3", {"d_model": 6, "n_ctx": 5})
    assert found.numbers == "2 × (6² + 5) - 6 / 3"
    assert found.value == 80
    with pytest.raises(KeyError):
        formula("d_modal", {"d_model": 6})
    with pytest.raises(ValueError, match="not whole"):
        evaluate("7 / 3")
    with pytest.raises(ValueError, match="not a formula"):
        evaluate("__import__('os')")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"preset": "gpt-9"}, ["gpt-9", "andrea-120m"]),
        ({"n_head": 7}, ["7", "768", "6, 8, 12"]),
        ({"n_layer": 0}, ["n_layer", "0", "192"]),
        ({"n_layer": 193}, ["n_layer", "193", "192"]),
        ({"d_model": -8}, ["d_model", "-8"]),
        ({"vocab_size": 10**12}, ["vocab_size", "1000000"]),
        ({"norm": "layer"}, ["norm", "layer", "pre, post, none"]),
    ],
    ids=str,
)
def test_impossible_requests_are_refused_in_words(asked, words):
    with pytest.raises(InputError) as caught:
        count(**asked)
    assert all(word in str(caught.value) for word in words)


def test_width_carries_the_hidden_layer_along():
    assert count(d_model=96, n_head=8).config["d_mlp"] == 384
    assert count(d_model=96, n_head=8, d_mlp=100).config["d_mlp"] == 100


def test_the_largest_model_counts_without_overflow():
    asked = {"n_layer": 192, "d_model": 32_768, "d_mlp": 262_144, "n_head": 512}
    asked |= {"vocab_size": 1_000_000, "n_ctx": 1_000_000}
    result = count(**asked)
    assert result.total == result.closed_form.value > 4e12


def test_comparison_lists_what_differs_and_nothing_else():
    a, b = count(), count(preset="gpt2")
    found = {d.name: (d.a, d.b) for d in compare(a, b)}
    assert found["vocab_size"] == (8449, 50257)
    assert found["wte"] == (6_488_832, 38_597_376)
    assert found["total"] == (92_331_264, 124_439_808)
    assert "wpe" not in found and "n_layer" not in found and "mlp.W_1" not in found
    assert compare(a, count()) == ()
    untied = {d.name: d for d in compare(a, count(tie_embeddings=False))}
    assert untied["W_U"].a == 0 and untied["W_U"].b == 6_488_832 and untied["W_U"].ratio is None
    assert untied["tie_embeddings"].a == 1 and untied["tie_embeddings"].b == 0


def test_terminal_prints_one_document(capsys):
    assert terminal.main(["parameters", "--preset", "andrea-120m", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["total"] == 92_331_264
    assert sum(row["total"] for row in document["rows"]) == 92_331_264
    assert {s["id"] for s in document["reconciliation"]} >= {"trunk-85m", "total-120m"}
    switches = ["--no-bias", "--untied", "--no-norm-affine", "--json"]
    assert terminal.main(["parameters", *switches]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 98_698_752


def test_terminal_compares(capsys):
    assert terminal.main(["parameters", "--compare", "gpt2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"]["total"], document["b"]["total"]) == (92_331_264, 124_439_808)
    assert any(d["name"] == "vocab_size" for d in document["differences"])


def test_terminal_prints_a_table(capsys):
    assert terminal.main(["parameters"]) == 0
    printed = capsys.readouterr().out
    assert "92,331,264" in printed and "[does not hold]" in printed


@pytest.mark.parametrize("bad", [["--n-head", "7"], ["--preset", "gpt-9"], ["--n-layer", "x"]])
def test_terminal_refuses_in_one_line(bad, capsys):
    try:
        status = terminal.main(["parameters", *bad])
    except SystemExit as stop:
        status = stop.code
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == 1
