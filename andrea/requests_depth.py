"""The questions about depth: what each block adds, and what happens without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from andrea.config import MAX_TOKENS
from andrea.data import LANGUAGES, passages
from andrea.errors import InputError, check_whole
from andrea.requests import ModelRequest

Change = Literal["block", "attention", "mlp", "swap", "first", "residual"]
CHANGES: tuple[Change, ...] = get_args(Change)


def check_size(n_passages: int, n_tokens: int) -> None:
    """Refuse a sample of the shipped passages that does not exist.

    Raises
    ------
    InputError
        Naming the field, the value and what is allowed.
    """
    most = min(len(passages(language)) for language in LANGUAGES)
    fields = (("n_passages", n_passages, 1, most), ("n_tokens", n_tokens, 8, MAX_TOKENS))
    for field, value, least, largest in fields:
        check_whole(field, value, least, largest)


def check_change(change: str) -> None:
    """Refuse a change that is not known.

    Raises
    ------
    InputError
        Naming the changes that are.
    """
    if change not in CHANGES:
        raise InputError(
            "There is no change called {value}: choose one of {allowed}.",
            value=change,
            allowed=", ".join(CHANGES),
        )


@dataclass(frozen=True)
class WaterfallRequest:
    """What each sublayer adds directly to the logit of the answer to ``text``."""

    text: str
    model: ModelRequest = ModelRequest()


@dataclass(frozen=True)
class DepthRequest:
    """The blocks over many positions: sizes, the lens, where attention goes.

    Parameters
    ----------
    model
        Which model; a trained one is set beside fresh weights of the same shape.
    init_seed
        Seed of those fresh weights.
    n_passages, n_tokens
        Shipped passages in each language, and tokens of each (BOS not counted).
    """

    model: ModelRequest = ModelRequest()
    init_seed: int = 0
    n_passages: int = 16
    n_tokens: int = 64


@dataclass(frozen=True)
class ChangesRequest:
    """The loss on the shipped passages with one thing changed, at every place in turn.

    Parameters
    ----------
    change
        ``"block"``, ``"attention"``, ``"mlp"``: leave it out in block k. ``"swap"``: blocks k and
        k + 1 in the other order. ``"first"``: only the first k. ``"residual"``: all blocks,
        without their residual connections.
    model, n_passages, n_tokens
        As in ``DepthRequest``.
    """

    change: Change = "block"
    model: ModelRequest = ModelRequest()
    n_passages: int = 16
    n_tokens: int = 64


@dataclass(frozen=True)
class AnswersRequest:
    """The answer to ``text`` with one thing changed, at every place in turn."""

    text: str
    change: Change = "block"
    model: ModelRequest = ModelRequest()


DepthQuestion = WaterfallRequest | DepthRequest | ChangesRequest | AnswersRequest
