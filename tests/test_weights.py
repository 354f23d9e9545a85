"""The trained model that ships: its file, its card, and that it has something to say.

``ANDREA_WEIGHTS`` points these tests at another folder (with its card), before it is shipped.
"""

from __future__ import annotations

import json
import time
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors import safe_open

from andrea import evaluate, sources
from andrea.corpus import DOCUMENT_BREAK, Stream, tokenise
from andrea.data import DEFAULT_SENTENCES, LANGUAGES, Language, passages
from andrea.generate import PROMPTS, generate, next_logits
from andrea.requests import ModelRequest
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID
from tests.test_data import STOP_WORDS

MOST_BYTES = 32_000_000
every_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    started = time.perf_counter()
    model = sources.load(ModelRequest())
    print(f"loaded in {time.perf_counter() - started:.2f} s")
    return model


def stream(language: Language, loaded: LoadedModel) -> Stream:
    return tokenise(language, DOCUMENT_BREAK.join(passages(language)), loaded.tokenizer)


def test_the_file_is_the_model_that_the_lesson_describes(loaded: LoadedModel) -> None:
    path = sources.weights_folder() / "weights.safetensors"
    config, made = sources.read_header(path)
    assert (config.n_layer, config.vocab_size) == (12, 8449)
    assert (config.norm, config.act_fn) == ("pre", "gelu_tanh")
    assert config.residual and config.bias and config.norm_affine and config.tie_embeddings
    assert config.n_ctx > 128  # BOS and the 128 tokens that the site shows
    assert loaded.tokenizer.vocab_size == 8449
    assert path.stat().st_size <= MOST_BYTES
    assert made["tokens"] > 0
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert {t.dtype for t in tensors.values()} == {torch.float16}
    assert all(torch.isfinite(t).all() for t in tensors.values())
    assert sum(t.numel() for t in tensors.values()) == sources.n_parameters(config)


def test_the_card_speaks_of_this_file(loaded: LoadedModel) -> None:
    folder = sources.weights_folder()
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    evaluation = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    assert loaded.sha256 == evaluation["weights_sha256"]
    assert f"`{loaded.sha256}`" in card
    assert f"`{sources.file_sha256(folder / 'tokenizer.json')}`" in card
    for report in evaluation["languages"].values():
        assert f"**{report['loss']:.3f}**" in card
    for name in ("SOURCES.md", "lens.svg", "loss.svg"):
        assert (folder / name).exists() and f"({name})" in card


@every_language
def test_it_knows_far_more_than_how_frequent_words_are(
    language: Language, loaded: LoadedModel
) -> None:
    """The frequencies are those of the very passages, which no model could know beforehand."""
    tokens = stream(language, loaded).tokens
    counts = np.array(list(Counter(tokens.tolist()).values())) / len(tokens)
    entropy = -float((counts * np.log(counts)).sum())
    loss = evaluate.loss(loaded, tokens)
    print(f"{language}: {loss:.3f} nats a token on the passages; their frequencies {entropy:.3f}")
    assert loss < entropy - 1.0


@every_language
def test_the_next_word_is_of_the_right_language(language: Language, loaded: LoadedModel) -> None:
    """The little words that only one language has: those of the prompt's outweigh the other's."""
    words = [label.strip().lower() for label in loaded.tokenizer.labels]
    other: Language = "en" if language == "it" else "it"
    is_own, is_foreign = (
        torch.tensor([word in STOP_WORDS[n] for word in words]) for n in (language, other)
    )
    own = foreign = 0.0
    for prompt in PROMPTS[language]:
        ids = [BOS_ID, *loaded.tokenizer.encode(prompt)]
        chance = next_logits(loaded.model, ids).softmax(-1)
        own, foreign = own + float(chance[is_own].sum()), foreign + float(chance[is_foreign].sum())
    count = len(PROMPTS[language])
    print(
        f"{language}: {own / count:.1%} little words, {foreign / count:.2%} of the other language"
    )
    assert own > 10 * foreign
    assert own / count > 0.05


@every_language
def test_the_first_guesses_after_the_default_sentence_are_words(
    language: Language, loaded: LoadedModel
) -> None:
    """A guess is the whole or the beginning of a word of the language's passages, or a sign."""
    ids = [BOS_ID, *loaded.tokenizer.encode(DEFAULT_SENTENCES[language])]
    best = next_logits(loaded.model, ids).topk(5).indices.tolist()
    labels = [loaded.tokenizer.labels[i] for i in best]
    print(f"{DEFAULT_SENTENCES[language]} ... {labels}")
    known = {
        word[:n] for word in evaluate.words(" ".join(passages(language))) for n in range(1, 30)
    }
    assert all(label[0] == " " or not label[0].isalnum() for label in labels)  # a new word begins
    assert sum(not (w := evaluate.words(label)) or w[0] in known for label in labels) >= 4


@every_language
def test_what_it_writes_stays_in_its_language(language: Language, loaded: LoadedModel) -> None:
    other: Language = "en" if language == "it" else "it"
    text = [w for p in PROMPTS[language][:4] for w in evaluate.words(generate(loaded, p, 20).text)]
    own, foreign = (sum(word in STOP_WORDS[n] for word in text) for n in (language, other))
    print(f"{language}: {own} little words of its own, {foreign} of the other, in {len(text)}")
    assert own >= 0.1 * len(text) > 0
    assert foreign <= 0.1 * own


def test_the_lens_sharpens_with_depth(loaded: LoadedModel) -> None:
    found = evaluate.lens_test(loaded, [stream(n, loaded) for n in LANGUAGES], positions=40)
    rank = found.geometric_mean_rank
    print("rank of the final answer:", [f"{r:.1f}" for r in rank])
    assert rank[0] > rank[3] > rank[6] > rank[9] > rank[12] == 1
    assert rank[0] > 20
