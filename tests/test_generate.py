"""The model writes: greedy is the argmax, draws follow the probabilities, a seed repeats."""

from __future__ import annotations

import json

import pytest
import torch

from andrea import cli_sample, generate, sources
from andrea.__main__ import main
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.model import Andrea
from andrea.requests import ModelRequest
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID, TextTokenizer

TINY = ModelConfig(n_layer=2, d_model=16, n_head=2, n_ctx=12, vocab_size=400, init="xavier")


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    tokenizer = TextTokenizer.load(sources.SHIPPED / "tokenizer.json").truncated(TINY.vocab_size)
    return LoadedModel(Andrea(TINY, seed=3).eval().requires_grad_(False), tokenizer, "", {})


def test_greedy_takes_the_likeliest_token_each_time(loaded: LoadedModel) -> None:
    found = generate.generate(loaded, "Oggi", tokens=5, top_k=1)
    ids = [BOS_ID, *loaded.tokenizer.encode("Oggi")]
    for token in found.ids:
        assert token == int(loaded.model(torch.tensor([ids]))[0, -1].argmax())
        ids.append(token)
    assert len(found.ids) == 5 or found.ended


def test_greedy_knows_no_chance(loaded: LoadedModel) -> None:
    first = generate.generate(loaded, "Oggi", tokens=8, top_k=1, temperature=0.3, seed=1)
    second = generate.generate(loaded, "Oggi", tokens=8, top_k=1, temperature=9.0, seed=2)
    assert first.ids == second.ids


def test_the_same_seed_writes_the_same_text_and_another_does_not(loaded: LoadedModel) -> None:
    texts = [generate.generate(loaded, "A dog", 8, top_k=50, seed=s).ids for s in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]


def test_draws_stay_among_the_top_k_and_follow_their_probabilities() -> None:
    logits = torch.tensor([2.0, -1.0, 3.0, 0.5, 2.5])
    random = torch.Generator().manual_seed(0)
    drawn = torch.tensor([generate.draw(logits, 3, 0.7, random) for _ in range(4000)])
    counts = torch.bincount(drawn, minlength=5).double() / 4000
    best = torch.tensor([0, 2, 4])
    expected = torch.zeros(5, dtype=torch.float64)
    expected[best] = (logits[best].double() / 0.7).exp() / (logits[best].double() / 0.7).exp().sum()
    assert counts[[1, 3]].sum() == 0
    assert torch.allclose(counts, expected, atol=0.03)  # 4000 draws: 0.03 is four deviations


def test_a_cold_draw_is_greedy(loaded: LoadedModel) -> None:
    greedy = generate.generate(loaded, "Oggi", 8, top_k=1)
    cold = generate.generate(loaded, "Oggi", 8, top_k=400, temperature=1e-4, seed=9)
    assert cold.ids == greedy.ids


def test_a_long_text_keeps_bos_and_its_last_tokens(loaded: LoadedModel) -> None:
    ids = [BOS_ID, *range(60, 90)]
    kept = [BOS_ID, *range(79, 90)]
    assert len(kept) == TINY.n_ctx
    expected = loaded.model(torch.tensor([kept]))[0, -1]
    assert torch.allclose(generate.next_logits(loaded.model, ids), expected, atol=1e-5)


def rigged(loaded: LoadedModel, token: int) -> LoadedModel:
    """A model that always says ``token``: its row of the unembedding alone is not zero."""
    model = Andrea(TINY, seed=0).eval().requires_grad_(False)
    assert model.ln_final is not None and model.ln_final.gamma is not None
    assert model.ln_final.beta is not None
    model.ln_final.gamma.zero_()
    model.ln_final.beta.fill_(1.0)
    model.wte.zero_()
    model.wte[token] = 1.0
    return LoadedModel(model, loaded.tokenizer, "", {})


def test_a_new_text_ends_the_writing(loaded: LoadedModel) -> None:
    found = generate.generate(rigged(loaded, BOS_ID), "Oggi", tokens=9, top_k=1)
    assert (found.ended, found.text, found.ids) == (True, "", ())


def test_an_unfinished_character_is_dropped(loaded: LoadedModel) -> None:
    found = generate.generate(rigged(loaded, 0xE2), "Oggi", tokens=3, top_k=1)
    assert found.ids == (0xE2,) * 3
    assert found.text == ""
    assert found.labels == ("<E2>",) * 3


def test_an_empty_prompt_starts_a_text(loaded: LoadedModel) -> None:
    assert len(generate.generate(loaded, "", tokens=3, top_k=2).ids) <= 3


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"tokens": 0}, "0 new tokens"),
        ({"tokens": 10**9}, "1000000000 new tokens"),
        ({"top_k": 0}, "top-k is 0"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"seed": -1}, "Seed -1"),
    ],
)
def test_impossible_settings_are_named(
    loaded: LoadedModel, settings: dict[str, float], named: str
) -> None:
    with pytest.raises(InputError, match=named):
        generate.generate(loaded, "Oggi", **settings)  # type: ignore[arg-type]


def test_ten_different_prompts_a_language() -> None:
    for prompts in generate.PROMPTS.values():
        assert len(set(prompts)) == len(prompts) == 10


@pytest.fixture
def shipped(loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> LoadedModel:
    monkeypatch.setattr(cli_sample.sources, "load", lambda request: loaded)
    assert cli_sample.sources.load(ModelRequest()) is loaded
    return loaded


def test_the_terminal_continues_a_prompt(
    shipped: LoadedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["sample", "A dog", "--tokens", "4", "--top-k", "9", "--seed", "2"]
    expected = generate.generate(shipped, "A dog", 4, top_k=9, seed=2)
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"A dog{expected.text}\n"
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ids"] == list(expected.ids)
    assert document["temperature"] == 1.0


def test_the_terminal_shows_ten_prompts_a_language(
    shipped: LoadedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "--tokens", "2"]) == 0
    out = capsys.readouterr().out
    for prompt in (p for prompts in generate.PROMPTS.values() for p in prompts):
        assert out.count(prompt + " |") == 2
    assert main(["sample", "--tokens", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [len(document[language]) for language in ("en", "it")] == [20, 20]


def test_the_terminal_refuses_in_one_line(
    shipped: LoadedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "A dog", "--tokens", "0"]) == 2
    assert capsys.readouterr().err == "andrea: 0 new tokens are not possible: choose 1 to 1000.\n"
