"""The questions about the activation: where a model's numbers fall on it, what another costs."""

from __future__ import annotations

from dataclasses import dataclass

from andrea.config import Activation
from andrea.errors import InputError
from andrea.requests import ModelRequest

SWAPS: tuple[Activation, ...] = ("relu", "gelu", "gelu_tanh")


def check_act(act_fn: str) -> None:
    """Refuse an activation that is not known.

    Raises
    ------
    InputError
        Naming those that are.
    """
    if act_fn not in SWAPS:
        raise InputError(
            "There is no activation called {value}: choose one of {allowed}.",
            value=act_fn,
            allowed=", ".join(SWAPS),
        )


@dataclass(frozen=True)
class PreActivationsRequest:
    """What the activation of one block reads on ``text``, unit by unit at every position.

    ``layer`` 0 is the first block; ``position`` 0 is BOS, -1 the last token.
    """

    text: str
    model: ModelRequest = ModelRequest()
    layer: int = 0
    position: int = -1


@dataclass(frozen=True)
class ActivationRequest:
    """The same in every block over many positions.

    Parameters
    ----------
    text
        A text; empty: the shipped passages of both languages.
    model
        Which model; a trained one is set beside fresh weights of the same shape.
    init_seed
        Seed of those fresh weights.
    n_passages, n_tokens
        Shipped passages in each language, and tokens of each (BOS not counted).
    """

    text: str = ""
    model: ModelRequest = ModelRequest()
    init_seed: int = 0
    n_passages: int = 8
    n_tokens: int = 64


@dataclass(frozen=True)
class SwapRequest:
    """The loss on the shipped passages with another activation, in all blocks and in each."""

    act_fn: Activation = "relu"
    model: ModelRequest = ModelRequest()
    n_passages: int = 8
    n_tokens: int = 64


ActivationQuestion = PreActivationsRequest | ActivationRequest | SwapRequest
