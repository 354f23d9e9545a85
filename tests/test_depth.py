"""What blocks do: against hooks written differently, NumPy by hand, models built without a block.

The oracles know nothing of ``andrea.measures``: a block is removed by giving a copy of the model
zeros to write, or another list of blocks; the logit is taken apart by NumPy from PyTorch's hooks.
"""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from andrea import engine, saved, saved_depth
from andrea.__main__ import main
from andrea.config import PRESETS
from andrea.data import passages
from andrea.errors import InputError
from andrea.measures import ablation, attention_summary
from andrea.measures.depth import sizes_of
from andrea.model import Andrea
from andrea.requests import ModelRequest
from andrea.requests_depth import (
    CHANGES,
    AnswersRequest,
    ChangesRequest,
    DepthRequest,
    WaterfallRequest,
)
from andrea.sources import SHIPPED, LoadedModel
from andrea.tokenizer import TextTokenizer

TEXT = "Once upon a time there was a king who had"
L, D, H = 4, 32, 2
SMALL = {"n_passages": 3, "n_tokens": 12}


@cache
def loaded(norm: str = "pre", residual: bool = True, n_layer: int = L) -> LoadedModel:
    """A model with weights of some size everywhere, biases, gamma and beta included."""
    tokenizer = TextTokenizer.load(SHIPPED / "tokenizer.json")
    config = PRESETS["andrea-mini"].with_(
        n_layer=n_layer, d_model=D, n_head=H, n_ctx=64, vocab_size=tokenizer.vocab_size,
        norm=norm, residual=residual,
    )  # fmt: skip
    model = Andrea(config, seed=1)
    random = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=random) * 0.15)
    model.eval().requires_grad_(False)
    return LoadedModel(model, tokenizer, "0" * 64, {})


def run(request, **which):
    return engine.run(request, lambda _: loaded(**which))


def text_ids() -> Tensor:
    return torch.tensor([[piece.id for piece in loaded().tokenizer.pieces(TEXT)]])


def passage_ids(language: str, n_passages: int, n_tokens: int) -> Tensor:
    tokenizer = loaded().tokenizer
    rows = [[p.id for p in tokenizer.pieces(t)][: n_tokens + 1] for t in passages(language)]
    return torch.tensor(rows[:n_passages])


# ---- models changed by hand ----------------------------------------------------------------------


class Silent(nn.Module):
    """A branch that writes zeros."""

    def forward(self, x: Tensor, keep: object) -> Tensor:
        return torch.zeros_like(x)


def by_hand(model: Andrea, change: str, k: int) -> Andrea:
    """Return a copy of ``model`` with the change built into its modules."""
    other = copy.deepcopy(model)
    blocks = list(other.blocks)
    i = k - 1
    if change == "block":
        del blocks[i]
    elif change == "swap":
        blocks[i], blocks[k] = blocks[k], blocks[i]
    elif change == "first":
        blocks = blocks[:k]
    elif change == "residual":
        for block in blocks:
            block.residual = False
    else:
        setattr(blocks[i], {"attention": "attn", "mlp": "mlp"}[change], Silent())
    other.blocks = nn.ModuleList(blocks)
    return other


@pytest.mark.parametrize("norm", ["pre", "none"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_the_model_built_that_way(change: str, norm: str) -> None:
    result = run(ChangesRequest(change, **SMALL), norm=norm)
    answers = run(AnswersRequest(TEXT, change), norm=norm)
    model = loaded(norm).model
    first = int(model(text_ids())[0, -1].argmax())
    count = {"swap": L - 1, "residual": 1}.get(change, L)
    assert (
        result.places
        == answers.places
        == ((0,) if change == "residual" else tuple(range(1, count + 1)))
    )
    for p, k in enumerate(result.places):
        other = by_hand(model, change, k)
        for g, language in enumerate(("it", "en")):
            ids = passage_ids(language, **SMALL)
            logits = other(ids)
            expected = F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]),
                                       ids[:, 1:].reshape(-1))  # fmt: skip
            assert result.loss[g, p] == pytest.approx(float(expected), rel=2e-5)
        last = other(text_ids())[0, -1]
        assert answers.labels[p] == loaded().tokenizer.labels[int(last.argmax())]
        assert answers.base_probs[p] == pytest.approx(float(last.softmax(-1)[first]), rel=1e-4)
        assert answers.base_ranks[p] == int((last > last[first]).sum()) + 1


def test_without_its_residual_a_post_norm_model_is_that_model_too() -> None:
    result = run(ChangesRequest("residual", **SMALL), norm="post")
    other = by_hand(loaded("post").model, "residual", 0)
    ids = passage_ids("en", **SMALL)
    logits = other(ids)
    expected = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert result.loss[1, 0] == pytest.approx(float(expected), rel=2e-5)


def test_the_base_is_the_model_as_it_is_and_its_tokens_cosine() -> None:
    result = run(ChangesRequest("swap", **SMALL))
    for g, language in enumerate(("it", "en")):
        ids = passage_ids(language, **SMALL)
        record: dict[str, Tensor] = {}
        logits = loaded().model(ids, record)
        expected = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        assert result.base_loss[g] == pytest.approx(float(expected), rel=2e-5)
        cosines = []
        for x in record[f"blocks.{L - 1}.resid_post"].double().numpy():
            unit = x / np.sqrt((x**2).sum(1, keepdims=True))
            gram = unit @ unit.T
            cosines.append(gram[~np.eye(len(x), dtype=bool)].mean())
        assert result.base_cosine[g] == pytest.approx(np.mean(cosines), abs=1e-6)


def test_only_what_comes_after_a_change_is_computed_again() -> None:
    """Removing each of L blocks in turn runs L + (L - 1) + ... + 0 of them, and no more."""
    ran: list[int] = []
    model = loaded().model
    blocks = {id(block): i for i, block in enumerate(model.blocks)}
    handles = [b.register_forward_hook(lambda m, *_: ran.append(blocks[id(m)]))
               for b in model.blocks]  # fmt: skip
    streams, halves = ablation.boundaries(model, text_ids())
    assert ran == []  # boundaries runs the sublayers themselves
    list(ablation.changed(model, streams, halves, "block"))
    for handle in handles:
        handle.remove()
    assert ran == [i for k in range(1, L + 1) for i in range(k, L)]


# ---- attribution ---------------------------------------------------------------------------------


def hooked_parts(model: Andrea, ids: Tensor) -> list[np.ndarray]:
    """Return what each part adds at the last position, caught by PyTorch's own hooks."""
    found: list[np.ndarray] = [
        model.wte[ids[0, -1]].double().numpy(),
        model.wpe[ids.shape[1] - 1].double().numpy(),
    ]
    handles = [
        branch.register_forward_hook(
            lambda module, args, out: found.append(out[0, -1].double().numpy())
        )
        for block in model.blocks
        for branch in (block.attn, block.mlp)
    ]
    model(ids)
    for handle in handles:
        handle.remove()
    return found


@pytest.mark.parametrize("norm", ["pre", "none"])
def test_the_bars_are_the_logit_taken_apart_by_hand(norm: str) -> None:
    result, model = run(WaterfallRequest(TEXT), norm=norm), loaded(norm).model
    parts = hooked_parts(model, text_ids())
    logits = model(text_ids())[0, -1].double().numpy()
    answer = int(logits.argmax())
    assert result.answer_id == answer
    unembedding = model.wte.double().numpy()
    # Another road to the same number: every logit of every part, then centred over the vocabulary.
    x = sum(parts)
    expected = []
    for part in parts:
        if norm == "pre":
            part = (part - part.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)
            part = part * model.ln_final.gamma.double().numpy()
        all_logits = unembedding @ part
        expected.append(all_logits[answer] - all_logits.mean())
    if norm == "pre":
        all_logits = unembedding @ model.ln_final.beta.double().numpy()
        expected.append(all_logits[answer] - all_logits.mean())
    np.testing.assert_allclose(result.contributions, expected, atol=1e-5)
    assert result.logit == pytest.approx(logits[answer] - logits.mean(), abs=1e-6)
    assert abs(result.contributions.sum() - result.logit) < 1e-4
    assert result.error < 1e-4 and result.additivity_error < 1e-4
    assert len(result.names) == len(expected)


@pytest.mark.parametrize("which", [{"norm": "post"}, {"residual": False}])
def test_a_stream_that_is_no_sum_is_refused(which) -> None:
    with pytest.raises(InputError, match="no sum"):
        run(WaterfallRequest(TEXT), **which)


# ---- the survey ----------------------------------------------------------------------------------


def test_lens_sizes_and_attention_by_hand() -> None:
    result, model = run(DepthRequest(**SMALL)), loaded().model
    shares: list[list[float]] = [[] for _ in range(2 * L)]
    cosines: list[list[float]] = [[] for _ in range(L)]
    heads = np.zeros((L, H, 5))
    for g, language in enumerate(("it", "en")):
        ids = passage_ids(language, **SMALL)
        record: dict[str, Tensor] = {}
        model(ids, record)
        logs: list[list[float]] = [[] for _ in range(L + 1)]
        ranks: list[list[int]] = [[] for _ in range(L + 1)]
        own: list[list[bool]] = [[] for _ in range(L + 1)]
        for b in range(ids.shape[0]):
            for depth in range(L + 1):
                name = f"blocks.{depth}.resid_pre" if depth < L else f"blocks.{L - 1}.resid_post"
                for t in range(ids.shape[1] - 1):
                    x = record[name][b, t].double().numpy()
                    y = (x - x.mean()) / math.sqrt(x.var() + 1e-5)
                    y = y * model.ln_final.gamma.numpy() + model.ln_final.beta.numpy()
                    logits = model.wte.double().numpy() @ y
                    right = logits[ids[b, t + 1]]
                    logs[depth].append(right - np.logaddexp.reduce(logits))
                    own[depth].append(logits.argmax() == ids[b, t])
                    ranks[depth].append(1 + int((logits > right + 1e-5).sum()))
            for i in range(L):
                names = ("resid_pre", "attn_out", "resid_mid", "mlp_out", "resid_post")
                parts = {n: record[f"blocks.{i}.{n}"][b].double().numpy() for n in names}
                for t in range(1, ids.shape[1]):
                    norm = {n: math.sqrt((x[t] ** 2).sum()) for n, x in parts.items()}
                    shares[2 * i].append(norm["attn_out"] / norm["resid_pre"])
                    shares[2 * i + 1].append(norm["mlp_out"] / norm["resid_mid"])
                    dot = float(parts["resid_pre"][t] @ parts["resid_post"][t])
                    cosines[i].append(dot / norm["resid_pre"] / norm["resid_post"])
                pattern = record[f"blocks.{i}.attn.pattern"][b].double().numpy()
                value = record[f"blocks.{i}.attn.v"][b].double().numpy()
                for h in range(H):
                    rows = [pattern[h, q] for q in range(2, ids.shape[1])]
                    length = [math.sqrt((v[h] ** 2).sum()) for v in value]
                    heads[i, h] += [
                        np.mean([-sum(p * math.log(p) for p in row if p > 0) for row in rows]),
                        np.mean([row[0] for row in rows]),
                        np.mean([row[q + 1] for q, row in enumerate(rows)]),
                        np.mean([row[q + 2] for q, row in enumerate(rows)]),
                        length[0] / np.mean(length[1:]),
                    ]
        for depth in range(L + 1):
            assert result.loss[g, depth] == pytest.approx(-np.mean(logs[depth]), rel=1e-5)
            rank = sorted(ranks[depth])[(len(ranks[depth]) - 1) // 2]
            assert abs(result.rank[g, depth] - rank) <= 1  # float32 may tie
            assert result.prob[g, depth] == pytest.approx(
                sorted(np.exp(logs[depth]))[(len(logs[depth]) - 1) // 2], rel=1e-3
            )
            assert result.own[g, depth] == pytest.approx(np.mean(own[depth]))
            assert result.hits[g, depth] == pytest.approx(np.mean(np.array(ranks[depth]) == 1))
    middle = lambda rows: [sorted(row)[(len(row) - 1) // 2] for row in rows]  # noqa: E731
    np.testing.assert_allclose(result.sizes.share, middle(shares), rtol=1e-5)
    np.testing.assert_allclose(result.sizes.cosine, middle(cosines), rtol=1e-5)
    for k, name in enumerate(attention_summary.FIELDS):
        np.testing.assert_allclose(
            getattr(result.attention, name), heads[..., k] / 6, rtol=1e-5, err_msg=name
        )


def test_the_last_depth_of_the_lens_is_the_model_and_only_the_first_k_are_the_lens() -> None:
    survey, first = run(DepthRequest(**SMALL)), run(ChangesRequest("first", **SMALL))
    np.testing.assert_allclose(survey.loss[:, 1:], first.loss, rtol=1e-5)
    np.testing.assert_allclose(survey.loss[:, -1], first.base_loss, rtol=1e-5)


def test_two_tokens_by_hand() -> None:
    """Three positions, one head: a query that reads a quarter, a quarter and a half."""
    pattern = torch.tensor([[[[1.0, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]]])
    value = torch.tensor([[[[3.0, 4.0]], [[6.0, 8.0]], [[0.0, 30.0]]]])
    found = attention_summary.summed(pattern, value)[:, 0].tolist()
    assert found == pytest.approx([1.5 * math.log(2), 0.25, 0.25, 0.5, 5 / 20])


def test_trained_weights_stand_beside_fresh_ones_of_the_same_shape() -> None:
    result = run(DepthRequest(init_seed=7, **SMALL))
    fresh = Andrea(loaded().model.config, seed=7)
    chunks = [passage_ids(language, **SMALL) for language in ("it", "en")]
    np.testing.assert_array_equal(result.sizes_init.share, sizes_of(fresh, chunks).share)
    alone = run(DepthRequest(ModelRequest("andrea-12m"), **SMALL))
    assert alone.sizes_init is None


# ---- bad input, stopping, the terminal, what is saved -------------------------------------------


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ChangesRequest("blok", **SMALL), "no change called blok"),
        (DepthRequest(n_passages=0), "n_passages is 0"),
        (DepthRequest(n_tokens=129), "n_tokens is 129"),
        (DepthRequest(n_tokens=100), "from 8 to 63"),  # this model's context is 64
        (WaterfallRequest(""), "The text is empty"),
        (AnswersRequest("", "block"), "The text is empty"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(request_, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(request_)


def test_a_single_block_has_no_neighbour() -> None:
    with pytest.raises(InputError, match="no neighbour"):
        run(ChangesRequest("swap", **SMALL), n_layer=1)


@pytest.mark.parametrize("request_", [DepthRequest(**SMALL), *(ChangesRequest(c, **SMALL)
                                      for c in CHANGES)])  # fmt: skip
def test_long_work_can_be_stopped_between_blocks(request_) -> None:
    class MovedOnError(Exception):
        pass

    asked = 0

    def check() -> None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise MovedOnError

    with pytest.raises(MovedOnError):
        engine.run(request_, lambda _: loaded(), check)
    assert asked == 4


def test_the_terminal_gives_the_same_numbers(capsys) -> None:
    arguments = ["depth", TEXT, "--model", "andrea-12m", "--n-layer", "2", "--change", "mlp",
                 "--passages", "2", "--n-tokens", "9"]  # fmt: skip
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    model = ModelRequest("andrea-12m", n_layer=2)
    changes = engine.run(ChangesRequest("mlp", model, 2, 9))
    assert told["changes"]["loss"] == changes.loss.tolist()
    assert set(told) == {"waterfall", "depth", "changes", "answers"}
    assert len(told["waterfall"]["contributions"]) == 2 * 2 + 3
    assert main(arguments) == 0
    assert "off by" in capsys.readouterr().out
    assert main([*arguments, "--change", "nothing"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_what_is_saved_counts_only_for_its_own_weights(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(saved_depth, "FILE", tmp_path / "saved" / "depth.json")
    monkeypatch.setattr(saved_depth.sources, "load", lambda _: loaded())
    small = [DepthRequest(**SMALL), ChangesRequest("residual", **SMALL)]
    monkeypatch.setattr(saved_depth, "default_requests", lambda: small)
    tmp_path.joinpath("saved").mkdir()
    assert main(["depth", "--save"]) == 0
    try:
        monkeypatch.setattr(saved, "trained_sha256", lambda: "0" * 64)
        for request in small:
            live, back = run(request), saved_depth.find(request)
            assert back is not None and back.request == request
            np.testing.assert_allclose(back.loss, live.loss, rtol=1e-5)
        survey = saved_depth.find(small[0])
        np.testing.assert_allclose(
            survey.sizes_init.share, run(small[0]).sizes_init.share, rtol=1e-5
        )
        assert saved_depth.find(replace(small[0], n_passages=1)) is None
        monkeypatch.setattr(saved, "trained_sha256", lambda: "another")
        assert saved_depth.find(small[0]) is None
    finally:
        saved_depth.stored.cache_clear()
