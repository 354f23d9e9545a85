"""Let the model write: continue a text one token at a time.

At each step the model's logits at the last position become probabilities; the likeliest ``top_k``
tokens stay in the draw, and one is taken by chance, weighted by its probability. ``top_k=1`` always
takes the likeliest token (greedy). A temperature below 1 sharpens the probabilities, one above 1
flattens them: p is proportional to exp(logit / temperature).

Source: Fan et al. 2018, arXiv:1805.04833, section 5 (drawing from the top k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from andrea.data import DEFAULT_SENTENCES, EXAMPLES
from andrea.errors import InputError, check_seed
from andrea.model import Andrea
from andrea.sources import LoadedModel
from andrea.tokenizer import BOS_ID

MOST_NEW_TOKENS = 1000

# Ten a language: what samples are drawn from, here and in the model card.
PROMPTS: dict[str, tuple[str, ...]] = {
    "en": (DEFAULT_SENTENCES["en"], *EXAMPLES["en"], "One morning the king said to his"),
    "it": (DEFAULT_SENTENCES["it"], *EXAMPLES["it"], "Una mattina il re disse a sua"),
}


@dataclass(frozen=True)
class Continuation:
    """What the model wrote after ``prompt``, and how it was drawn.

    ``ids`` and ``labels`` hold one entry a new token; ``text`` is what they add to the prompt (a
    character that the last tokens left unfinished is dropped). ``ended`` tells that the model began
    a new text (it drew BOS) and stopped there.
    """

    prompt: str
    text: str
    ids: tuple[int, ...]
    labels: tuple[str, ...]
    ended: bool
    top_k: int
    temperature: float
    seed: int


def check(tokens: int, top_k: int, temperature: float, seed: int) -> None:
    """Refuse impossible settings.

    Raises
    ------
    InputError
        Naming the setting, its value and what is allowed.
    """
    if not 1 <= tokens <= MOST_NEW_TOKENS:
        raise InputError(
            "{tokens} new tokens are not possible: choose 1 to {most}.",
            tokens=tokens,
            most=MOST_NEW_TOKENS,
        )
    if top_k < 1:
        raise InputError("top-k is {top_k}: it must be 1 (the likeliest) or more.", top_k=top_k)
    if not (math.isfinite(temperature) and temperature > 0):
        raise InputError(
            "The temperature is {temperature}: it must be above 0 (top-k 1 always takes the "
            "likeliest token).",
            temperature=temperature,
        )
    check_seed(seed)


def next_logits(model: Andrea, ids: list[int]) -> Tensor:
    """Return the logits [V] of the token after ``ids``; only the last n_ctx positions are read.

    A text longer than the context keeps its BOS in front, as in training.
    """
    if len(ids) > model.config.n_ctx:
        ids = [*ids[:1], *ids[len(ids) - model.config.n_ctx + 1 :]]
    x = model.embed(torch.tensor([ids], device=model.wte.device))
    for block in model.blocks:
        x = block(x)
    return model.unembed(x[0, -1]).float().cpu()


def draw(logits: Tensor, top_k: int, temperature: float, random: torch.Generator) -> int:
    """Draw one token id from logits [V] by the seeded generator ``random``."""
    best = logits.topk(min(top_k, len(logits)))
    if top_k == 1:
        return int(best.indices[0])
    probabilities = (best.values.double() / temperature).softmax(-1)
    return int(best.indices[torch.multinomial(probabilities, 1, generator=random)])


@torch.no_grad()
def generate(
    loaded: LoadedModel,
    prompt: str,
    tokens: int = 30,
    top_k: int = 5,
    temperature: float = 1.0,
    seed: int = 0,
) -> Continuation:
    """Continue ``prompt`` by at most ``tokens`` tokens.

    Parameters
    ----------
    loaded
        The model and its tokenizer.
    prompt
        The text to continue; empty: the model begins a text of its own.
    tokens, top_k, temperature, seed
        See the module's docstring. The same arguments give the same text.

    Returns
    -------
    Continuation
        What was written; fewer tokens where the model began a new text.

    Raises
    ------
    InputError
        If a setting is impossible.
    """
    check(tokens, top_k, temperature, seed)
    random = torch.Generator().manual_seed(seed)
    ids = [BOS_ID, *loaded.tokenizer.encode(prompt)]
    first = len(ids)
    ended = False
    while len(ids) < first + tokens and not ended:
        drawn = draw(next_logits(loaded.model, ids), top_k, temperature, random)
        ended = drawn == BOS_ID
        if not ended:
            ids.append(drawn)
    new = ids[first:]
    return Continuation(
        prompt=prompt,
        text=loaded.tokenizer.decode(new).decode("utf-8", "ignore"),
        ids=tuple(new),
        labels=tuple(loaded.tokenizer.labels[i] for i in new),
        ended=ended,
        top_k=top_k,
        temperature=temperature,
        seed=seed,
    )
