"""How good is a trained model? Measured on held-out text, beside an n-gram, and by its samples.

For each language: the loss over the whole held-out text, what Kneser-Ney n-grams of the same tokens
reach there, and ten prompts continued. For the model: at how many blocks the logit lens already
ranks the final answer high. Everything is written to one JSON document, from which the model card
is made.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from andrea.config import MAX_TOKENS
from andrea.corpus import Stream
from andrea.generate import PROMPTS, generate
from andrea.kneser_ney import KneserNey
from andrea.measures.trace import rank_of
from andrea.sources import LoadedModel

NEW_TOKENS = 30
TOP_K = 5
LOOP = 4  # so many tokens that come twice in a row of NEW_TOKENS are a loop
CURVE_POINTS = 120
DISCOUNT = 0.75
SETTINGS = {
    "new_tokens": NEW_TOKENS,
    "top_k": TOP_K,
    "temperature": 1.0,
    "seed": 0,
    "loop_tokens": LOOP,
    "discount": DISCOUNT,
}


@dataclass(frozen=True)
class Sample:
    """A prompt with what follows it: the likeliest token each time, and one draw (seed 0)."""

    prompt: str
    greedy: str
    drawn: str
    greedy_loops: bool
    drawn_loops: bool


@dataclass(frozen=True)
class LanguageReport:
    """One language: losses in nats a token on the whole held-out text, and samples.

    ``n_predicted`` tokens are predicted: all but the very first. ``kneser_ney`` by order, counted
    on this language's training text; ``kneser_ney_together`` the longest order, counted on all
    languages' text. ``words_known`` is the share of the samples' words that the training text
    holds, in ``[greedy, drawn]``.
    """

    n_documents: int
    n_predicted: int
    n_characters: int
    loss: float
    loss_per_character: float
    kneser_ney: dict[str, float]
    kneser_ney_together: dict[str, float]
    samples: list[Sample]
    words_known: list[float]


@dataclass(frozen=True)
class LensTest:
    """Rank of the final answer after 0 to L blocks, over held-out positions (1 = first).

    All lists have L + 1 entries. ``blocks_that_improve`` counts the blocks after which the mean
    rank is better than before.
    """

    n_positions: int
    context: int
    seed: int
    mean_rank: list[float]
    median_rank: list[float]
    geometric_mean_rank: list[float]
    share_first: list[float]
    blocks_that_improve: int


@torch.no_grad()
def loss(loaded: LoadedModel, tokens: np.ndarray) -> float:
    """Return the mean loss, in nats a token, of every token but the first.

    The text is read in windows of the model's context, side by side: a window's first tokens have
    little before them, as at the start of a text. Only the last window may be shorter.
    """
    ids = torch.from_numpy(tokens.astype(np.int64)).to(loaded.model.wte.device)
    total = 0.0
    for start in range(0, len(ids) - 1, loaded.model.config.n_ctx):
        window = ids[start : start + loaded.model.config.n_ctx + 1]
        logits = loaded.model(window[None, :-1])[0].float()
        total += float(F.cross_entropy(logits, window[1:], reduction="sum"))
    return total / (len(ids) - 1)


@torch.no_grad()
def lens_test(
    loaded: LoadedModel, streams: list[Stream], positions: int = 200, seed: int = 0
) -> LensTest:
    """Read the logit lens at random held-out positions, as many in each text.

    Each position is the last of a text of up to 128 tokens, the most that the site shows.
    """
    model, random = loaded.model, np.random.default_rng(seed)
    context = min(MAX_TOKENS, model.config.n_ctx)
    ranks = []
    for i in range(positions):
        tokens = streams[i % len(streams)].tokens.astype(np.int64)
        end = int(random.integers(min(context, len(tokens)), len(tokens) + 1))
        ids = torch.from_numpy(tokens[max(0, end - context) : end])[None]
        x = model.embed(ids.to(model.wte.device))
        depths = [x[0, -1]]
        for block in model.blocks:
            x = block(x)
            depths.append(x[0, -1])
        logits = model.unembed(torch.stack(depths))
        ranks.append(rank_of(logits, logits[-1].argmax().expand(len(depths))).cpu().numpy())
    table = np.array(ranks, dtype=np.float64)  # (positions, L + 1)
    mean = table.mean(0)
    return LensTest(
        n_positions=positions,
        context=context,
        seed=seed,
        mean_rank=mean.tolist(),
        median_rank=np.median(table, 0).tolist(),
        geometric_mean_rank=np.exp(np.log(table).mean(0)).tolist(),
        share_first=(table == 1).mean(0).tolist(),
        blocks_that_improve=int((np.diff(mean) < 0).sum()),
    )


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case."""
    return re.findall(r"[^\W\d_]+", text.lower())


def new_words(prompt: str, text: str) -> list[str]:
    """Return the whole words that ``text`` adds: not the prompt's last, not the one cut off."""
    return words(prompt + text)[len(words(prompt)) : -1]


def loops(ids: tuple[int, ...]) -> bool:
    """Whether some ``LOOP`` tokens in a row come twice."""
    runs = [ids[i : i + LOOP] for i in range(len(ids) - LOOP + 1)]
    return len(set(runs)) < len(runs)


def samples(
    loaded: LoadedModel, prompts: tuple[str, ...], known: set[str]
) -> tuple[list[Sample], list[float]]:
    """Continue each prompt twice; return the samples and the share of their words in ``known``."""
    found, shares = [], []
    runs = [[generate(loaded, p, NEW_TOKENS, top_k) for p in prompts] for top_k in (1, TOP_K)]
    for greedy, drawn in zip(*runs, strict=True):
        one = Sample(greedy.prompt, greedy.text, drawn.text, loops(greedy.ids), loops(drawn.ids))
        found.append(one)
    for run in runs:
        added = [word for c in run for word in new_words(c.prompt, c.text)]
        shares.append(sum(word in known for word in added) / max(1, len(added)))
    return found, shares


def n_grams(texts: list[Stream], held: Stream, vocab_size: int, orders: range) -> dict[str, float]:
    """Return the Kneser-Ney losses on ``held``, in nats a token, by order."""
    counted = [text.tokens for text in texts]
    return {
        str(order): -float(
            KneserNey(counted, vocab_size, order, DISCOUNT).log_probabilities(held.tokens).mean()
        )
        for order in orders
    }


def language_report(
    loaded: LoadedModel, name: str, held: Stream, train: dict[str, tuple[Stream, str]]
) -> LanguageReport:
    """Measure one language; ``train`` holds each language's training tokens and text."""
    own, text = train[name]
    everything = [stream for stream, _ in train.values()]
    size = loaded.tokenizer.vocab_size
    characters = len(loaded.tokenizer.decode(held.tokens.tolist()).decode("utf-8"))
    mean = loss(loaded, held.tokens)
    found, known = samples(loaded, PROMPTS.get(name, ()), set(words(text)))
    return LanguageReport(
        n_documents=len(held.starts) - 1,
        n_predicted=len(held.tokens) - 1,
        n_characters=characters,
        loss=mean,
        loss_per_character=mean * (len(held.tokens) - 1) / characters,
        kneser_ney=n_grams([own], held, size, range(1, 5)),
        kneser_ney_together=n_grams(everything, held, size, range(4, 5)),
        samples=found,
        words_known=known,
    )


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a training log, each step once (a resumed run repeats a few)."""
    lines = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)
    return [line for _, line in sorted({line["step"]: line for line in lines}.items())]


def curve(log: list[dict[str, Any]]) -> dict[str, Any]:
    """Thin a log to what a picture needs: tokens seen, training loss (averaged), held-out losses.

    ``train`` is a list of [tokens, loss], ``valid`` one such list a language.
    """
    valid: dict[str, list[list[float]]] = {}
    for line in log:
        for name, value in line.get("valid", {}).items():
            valid.setdefault(name, []).append([line["tokens"], value])
    groups = np.array_split(np.arange(len(log)), min(CURVE_POINTS, len(log)) or 1)
    train = [
        [log[group[-1]]["tokens"], float(np.mean([log[i]["loss"] for i in group]))]
        for group in groups
        if len(group)
    ]
    return {"train": train, "valid": valid}
