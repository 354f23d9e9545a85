"""The trace against NumPy by hand, against the full record, and against its own other answers."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from andrea import engine, sources
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.measures.trace import rank_of
from andrea.model import Andrea
from andrea.requests import AttentionRequest, LensMapRequest, ModelRequest, TraceRequest
from andrea.results import jsonable
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID, TextTokenizer

TEXT = "C'era una volta un re che aveva tre figlie"


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.load(sources.SHIPPED / "tokenizer.json")


def small(tokenizer: TextTokenizer, norm: str = "pre", residual: bool = True) -> LoadedModel:
    config = ModelConfig(
        n_layer=3, d_model=24, n_head=3, n_ctx=160, norm=norm, residual=residual, init="xavier"
    )
    return LoadedModel(Andrea(config, seed=5).eval().requires_grad_(False), tokenizer, "0" * 64, {})


def answer(request, loaded: LoadedModel):
    return engine.run(request, lambda _: loaded)


def full_record(loaded: LoadedModel, text: str) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    record: dict[str, torch.Tensor] = {}
    ids = torch.tensor([[BOS_ID, *loaded.tokenizer.encode(text)]])
    logits = loaded.model(ids, record)
    return logits[0], record


def numpy_lens(loaded: LoadedModel, stream: np.ndarray) -> np.ndarray:
    """The logit lens with NumPy alone: final LayerNorm anew, then the tied matrix."""
    x = stream.astype(np.float64)
    final = loaded.model.ln_final
    if final is not None:
        x = (x - x.mean()) / np.sqrt(x.var() + final.eps)
        x = x * final.gamma.numpy() + final.beta.numpy()
    return x @ loaded.model.wte.numpy().astype(np.float64).T


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("position", [0, 4, -1])
def test_every_activation_is_the_recorded_one(tokenizer, norm, residual, position):
    loaded = small(tokenizer, norm, residual)
    result = answer(TraceRequest(TEXT, position=position), loaded)
    logits, record = full_record(loaded, TEXT)
    here = result.position
    assert set(result.activations) == set(record)
    for name, array in result.activations.items():
        whole = record[name][0]
        expected = (
            whole[:, here, : here + 1] if name.endswith((".scores", ".pattern")) else whole[here]
        )
        np.testing.assert_array_equal(array, expected.numpy(), err_msg=name)
        assert not array.flags.writeable
    np.testing.assert_array_equal(result.activations["logits"], logits[here].numpy())


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_lens_is_the_final_norm_anew_and_ends_at_the_logits(tokenizer, norm):
    loaded = small(tokenizer, norm)
    result = answer(TraceRequest(TEXT), loaded)
    assert len(result.lens_names) == 2 * 3 + 1
    final = result.activations["logits"].astype(np.float64)
    for depth, name in enumerate(result.lens_names):
        logits = numpy_lens(loaded, result.activations[name])
        probs = np.exp(logits - logits.max())
        probs /= probs.sum()
        order = np.argsort(-probs, kind="stable")
        assert list(result.lens_ids[depth]) == list(order[:5])
        np.testing.assert_allclose(result.lens_probs[depth], probs[order[:5]], rtol=1e-4)
        assert result.lens_rank[depth] == 1 + (logits > logits[result.answer_id]).sum()
        np.testing.assert_allclose(
            result.lens_answer_prob[depth], probs[result.answer_id], rtol=1e-4
        )
    np.testing.assert_allclose(logits, final, atol=1e-5)
    assert result.answer_id == int(final.argmax()) == result.next_ids[0]
    assert result.lens_rank[-1] == 1


def test_surprise_is_the_loss_of_each_token(tokenizer):
    loaded = small(tokenizer)
    result = answer(TraceRequest(TEXT), loaded)
    logits, _ = full_record(loaded, TEXT)
    assert np.isnan(result.token_log_probs[0])
    for position in range(1, len(result.labels)):
        row = logits[position - 1].double().numpy()
        expected = row[result.tokens.ids[position]] - np.log(np.exp(row).sum())
        assert result.token_log_probs[position] == pytest.approx(expected, abs=1e-5)


def test_the_stream_is_a_sum_only_where_it_is_one(tokenizer):
    for norm, residual in (("pre", True), ("none", True)):
        loaded = small(tokenizer, norm, residual)
        result = answer(TraceRequest(TEXT), loaded)
        parts = [a for n, a in result.activations.items() if n.endswith(("_out", "embed"))]
        assert len(parts) == 2 + 2 * 3
        gap = np.abs(
            np.sum(parts, axis=0, dtype=np.float64)
            - result.activations["blocks.2.resid_post"].astype(np.float64)
        ).max()
        assert result.additivity_error == pytest.approx(gap, rel=1e-9)
        assert 0 < result.additivity_error < 1e-5
    for norm, residual in (("post", True), ("pre", False)):
        assert answer(TraceRequest(TEXT), small(tokenizer, norm, residual)).additivity_error is None


def test_the_map_and_the_attention_agree_with_the_trace(tokenizer):
    loaded = small(tokenizer)
    grid = answer(LensMapRequest(TEXT), loaded)
    heads = answer(AttentionRequest(TEXT, layer=1), loaded)
    assert grid.ids.shape == (4, len(grid.token_labels))
    np.testing.assert_allclose(heads.pattern.sum(-1), 1, atol=1e-6)
    assert (np.triu(heads.pattern, 1) == 0).all()
    assert np.isneginf(heads.scores[:, 0, 1:]).all()
    for position in range(len(grid.token_labels)):
        one = answer(TraceRequest(TEXT, position=position), loaded)
        assert list(grid.ids[:, position]) == list(one.lens_ids[::2, 0])
        np.testing.assert_allclose(grid.probs[:, position], one.lens_probs[::2, 0], rtol=1e-5)
        assert list(grid.final_rank[:, position]) == list(one.lens_rank[::2])
        np.testing.assert_allclose(
            heads.pattern[:, position, : position + 1],
            one.activations["blocks.1.attn.pattern"],
            atol=1e-7,
        )


def test_rank_counts_from_one_and_puts_nan_last():
    logits = torch.tensor([[1.0, 3.0, 2.0], [torch.nan, 1.0, 2.0]])
    assert rank_of(logits, torch.tensor([2, 0])).tolist() == [2, 3]


def test_what_is_offered_adds_just_its_token(tokenizer):
    """A fresh model offers any token, also such as would melt into the word before them."""
    text, melted = "C'era una volta un re che aveva perché", 0
    loaded = small(tokenizer)
    for position in range(len(tokenizer.encode(text)) + 1):
        result = answer(TraceRequest(text, position=position), loaded)
        before = text[: result.tokens.pieces[position].end]
        held = tokenizer.encode(before)
        for token, added in zip(result.next_ids.tolist(), result.next_texts, strict=True):
            if added is not None:
                assert tokenizer.encode(before + added) == [*held, token]
            elif token != BOS_ID and (alone := tokenizer.piece(token).text) is not None:
                assert tokenizer.encode(before + alone) != [*held, token]
                melted += 1
        assert sum(added is not None for added in result.next_texts) > 20
    assert melted > 0  # else this text proves nothing


def test_a_long_text_keeps_its_first_128_tokens(tokenizer):
    loaded = small(tokenizer)
    text = "una casa e un albero " * 60
    result = answer(TraceRequest(text), loaded)
    assert len(result.labels) == 129
    assert result.tokens.n_tokens_typed == len(tokenizer.encode(text)) > 128
    kept = text[: result.tokens.n_chars_used]
    assert [BOS_ID, *tokenizer.encode(kept)] == result.tokens.ids


def test_a_short_context_keeps_what_the_model_reads(tokenizer):
    config = ModelConfig(n_layer=1, d_model=8, n_head=2, n_ctx=20, vocab_size=8449)
    loaded = LoadedModel(Andrea(config, seed=0).eval(), tokenizer, "", {})
    text = "una casa e un albero " * 9
    result = answer(TraceRequest(text), loaded)
    assert len(result.labels) == 20
    assert result.tokens.n_tokens_typed == len(tokenizer.encode(text)) > 19
    assert [BOS_ID, *tokenizer.encode(text[: result.tokens.n_chars_used])] == result.tokens.ids


@pytest.mark.parametrize("text", [" ", "\n\n", "🎉", "مرحبا", "\x07\x1b[0m", "<b>ciao</b>", "�"])
def test_any_text_is_followed(tokenizer, text):
    result = answer(TraceRequest(text), small(tokenizer))
    assert b"".join(p.bytes for p in result.tokens.pieces).decode() == tokenizer.fold(text)
    assert np.isfinite(result.activations["logits"]).all()


def test_bad_input_is_refused_in_words(tokenizer):
    loaded = small(tokenizer)
    with pytest.raises(InputError, match="empty"):
        answer(TraceRequest(""), loaded)
    last = len(tokenizer.encode(TEXT))
    with pytest.raises(InputError, match=f"positions 0 to {last}"):
        answer(TraceRequest(TEXT, position=last + 1), loaded)
    with pytest.raises(InputError, match="block 4: this model has 3"):
        answer(AttentionRequest(TEXT, layer=3), loaded)
    with pytest.raises(InputError, match="no model called gpt5"):
        sources.load(ModelRequest(model="gpt5"))
    with pytest.raises(InputError, match="1 to 96"):
        sources.load(ModelRequest(model="andrea-12m", n_layer=97))
    with pytest.raises(InputError, match="Seed -1"):
        sources.load(ModelRequest(model="andrea-12m", seed=-1))


def test_too_large_a_model_is_refused_with_the_depth_that_fits(monkeypatch):
    monkeypatch.setenv("ANDREA_MEMORY_GB", "0.2")
    with pytest.raises(InputError, match="at most (\\d+) blocks") as caught:
        sources.load(ModelRequest(model="andrea-120m"))
    fits = int(str(caught.value).split("at most ")[1].split()[0])
    config = ModelRequest(model="andrea-120m").config()
    assert 4 * sources.n_parameters(config.with_(n_layer=fits)) <= 0.2e9
    assert 4 * sources.n_parameters(config.with_(n_layer=fits + 1)) > 0.2e9


def test_fresh_weights_follow_their_seed():
    first, again, other = (
        engine.run(TraceRequest(TEXT, ModelRequest(model="andrea-12m", seed=s))) for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.activations["logits"], again.activations["logits"])
    assert first.provenance.weights_sha256 == again.provenance.weights_sha256
    assert first.provenance.weights_sha256 != other.provenance.weights_sha256
    assert max(first.tokens.ids) < 4353  # the smaller vocabulary uses the first merges only


def test_json_keeps_every_field_and_every_number(tokenizer):
    loaded = small(tokenizer)
    result = answer(TraceRequest("re"), loaded)
    document = json.loads(json.dumps(jsonable(result), allow_nan=False))
    assert set(document) == {f.name for f in dataclasses.fields(result)}
    assert document["token_log_probs"][0] == "NaN"
    np.testing.assert_array_equal(
        np.array(document["activations"]["blocks.2.mlp.post"], dtype=np.float32),
        result.activations["blocks.2.mlp.post"],
    )
    assert jsonable(float("-inf")) == "-Infinity"
