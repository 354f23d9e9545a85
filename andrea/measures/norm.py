"""What one LayerNorm reads and makes of one token, and whether another token changes anything.

Source: Ba, Kiros and Hinton 2016, "Layer Normalization", section 3, arXiv:1607.06450.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from andrea.errors import InputError
from andrea.measures.trace import Tokens, check_layer, counted_from_0, tokenise
from andrea.model import Andrea, LayerNorm, Record
from andrea.requests import NormRequest
from andrea.results import Floats, Provenance, provenance, read_only
from andrea.sources import LoadedModel


@dataclass(frozen=True)
class NormResult:
    """One LayerNorm at work. T positions (BOS is 0), D width.

    Attributes
    ----------
    inputs
        float32 [T, D], what it reads at every position. Where the model has no such LayerNorm, the
        stream that it would read under pre-norm.
    normalized, out
        float32 [D], what the model made of the token: before and after gamma and beta; ``None``
        where the model has no such LayerNorm.
    gamma, beta
        float32 [D], the learned weights; ``None`` where there are none.
    layernorms
        The names of all LayerNorms in this model, found by looking through its modules.
    later_tokens
        How many later tokens were exchanged to see whether anything moves here (where none comes
        later, one was appended and exchanged); 0 where the context has no room for one.
    later_change
        The largest |difference| that this made to the LayerNorm's output at the token; ``None``
        if none could be exchanged.
    """

    request: NormRequest
    tokens: Tokens
    labels: tuple[str, ...]
    position: int
    inputs: Floats
    normalized: Floats | None
    out: Floats | None
    gamma: Floats | None
    beta: Floats | None
    eps: float
    layernorms: tuple[str, ...]
    later_tokens: int
    later_change: float | None
    provenance: Provenance


def layernorms(model: Andrea) -> tuple[str, ...]:
    """Return the names of all LayerNorms among the model's modules."""
    return tuple(name for name, module in model.named_modules() if isinstance(module, LayerNorm))


def read_by(model: Andrea, record: Record, layer: int, ln: str) -> Tensor:
    """Return what the LayerNorm reads, (1, T, D): it depends on where it stands."""
    config, block = model.config, f"blocks.{layer}."
    if ln == "ln_final":
        return record[f"blocks.{config.n_layer - 1}.resid_post"]
    stream, branch = (
        (record[block + "resid_pre"], "attn_out")
        if ln == "ln1"
        else (record[block + "resid_mid"], "mlp_out")
    )
    if config.norm != "post":
        return stream
    delta = record[block + branch]
    return stream + delta if config.residual else delta


def check(request: NormRequest, model: Andrea, n_tokens: int) -> int:
    """Return the position counted from 0; refuse what the model does not have.

    Raises
    ------
    InputError
        Naming the value and what is allowed.
    """
    position = counted_from_0(request.position, n_tokens)
    check_layer(request.layer, model)
    allowed = ("ln1", "ln2") + (("ln_final",) if model.config.norm == "pre" else ())
    if request.ln not in allowed:
        raise InputError(
            "This model has no LayerNorm called {ln}: choose one of {allowed}.",
            ln=str(request.ln),
            allowed=", ".join(allowed),
        )
    return position


def exchanged(ids: list[int], position: int, model: Andrea) -> tuple[list[int], list[int]]:
    """Return the text and the same text with other tokens after ``position``, equally long.

    Where no token comes later one is appended to both; the two are equal where no room is left.
    """
    vocab = model.config.vocab_size
    if position == len(ids) - 1 and len(ids) < model.config.n_ctx:
        ids = [*ids, ids[-1]]
    return ids, ids[: position + 1] + [(i + 1) % vocab for i in ids[position + 1 :]]


@torch.no_grad()
def norm(request: NormRequest, loaded: LoadedModel) -> NormResult:
    """Answer a ``NormRequest``.

    Raises
    ------
    InputError
        If the text is empty, or position, block or LayerNorm do not exist.
    """
    started = time.perf_counter()
    model, tokens = loaded.model, tokenise(request.text, loaded)
    position = check(request, model, len(tokens.pieces))
    name = request.ln if request.ln == "ln_final" else f"blocks.{request.layer}.{request.ln}"
    present = name in layernorms(model)

    def recorded(ids: list[int]) -> tuple[Tensor, Record]:
        record: Record = {}
        model(torch.tensor([ids], device=model.wte.device), record)
        return read_by(model, record, request.layer, request.ln)[0], record

    inputs, record = recorded(tokens.ids)
    # Equally long texts: with another length the matrix products may round differently.
    one, two = exchanged(tokens.ids, position, model)
    later, change = len(one) - position - 1, None
    if later:
        key = f"{name}.out"
        pair = [(r[key][0] if present else x)[position] for x, r in map(recorded, (one, two))]
        change = float((pair[0] - pair[1]).abs().max())
    module = cast(LayerNorm, model.get_submodule(name)) if present else None
    gamma, beta = (module.gamma, module.beta) if module else (None, None)
    return NormResult(
        request=request,
        tokens=tokens,
        labels=tuple(piece.label for piece in tokens.pieces),
        position=position,
        inputs=read_only(inputs),
        normalized=read_only(record[f"{name}.normalized"][0, position]) if present else None,
        out=read_only(record[f"{name}.out"][0, position]) if present else None,
        gamma=None if gamma is None else read_only(gamma),
        beta=None if beta is None else read_only(beta),
        eps=model.config.ln_eps,
        layernorms=layernorms(model),
        later_tokens=later,
        later_change=change,
        provenance=provenance(request, loaded, started),
    )
