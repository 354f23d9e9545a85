"""Leave out, swap or cut: what the model loses without a block, and what it would answer.

A changed model shares everything before the change with the model as it is, so that the streams of
one ordinary pass are kept and only what comes after the change is computed anew.

Source: Veit et al. 2016, "Residual Networks Behave Like Ensembles of Relatively Shallow Networks",
arXiv:1605.06431, section 4 (leave out and reorder blocks of a trained residual network).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from andrea.data import LANGUAGES, Language, passages
from andrea.errors import InputError, check_whole
from andrea.measures.backward import Check, nothing
from andrea.measures.trace import labels_of, rank_of, tokenise
from andrea.model import Andrea, Block, Record
from andrea.requests_depth import AnswersRequest, ChangesRequest, check_change, check_size
from andrea.results import Floats, Ints, Provenance, provenance, read_only, read_only_ints
from andrea.sources import LoadedModel

CHUNK = 8  # passages that pass through the model together


@dataclass(frozen=True)
class ChangesResult:
    """The loss on the shipped passages with each place changed in turn. P places.

    Attributes
    ----------
    places
        The k of each change, 1 to P; (0,) for ``"residual"``, which changes all blocks at once.
    loss
        float32 [language (it, en), P], mean cross-entropy in nats a token.
    base_loss
        float32 [language], of the model as it is.
    cosine, base_cosine
        float32 [language, P] and [language], mean cosine between different positions of the
        final stream: 1 means that all positions have become the same.
    n_positions
        How many predicted tokens each loss is the mean of.
    """

    request: ChangesRequest
    places: tuple[int, ...]
    loss: Floats
    base_loss: Floats
    cosine: Floats
    base_cosine: Floats
    n_positions: int
    provenance: Provenance


@dataclass(frozen=True)
class AnswersResult:
    """The answer at the text's last token with each place changed in turn. P places.

    ``base_label``, ``base_prob``: the answer of the model as it is. ``labels`` [P], ``probs``
    float32 [P]: the answer after the change and its probability; ``base_probs`` float32 and
    ``base_ranks`` int64 [P]: probability and rank that the first answer has then.
    """

    request: AnswersRequest
    places: tuple[int, ...]
    base_label: str
    base_prob: float
    labels: tuple[str, ...]
    probs: Floats
    base_probs: Floats
    base_ranks: Ints
    provenance: Provenance


def fixed_ids(loaded: LoadedModel, language: Language, n_passages: int, n_tokens: int) -> Tensor:
    """Return the first passages of a language, BOS and ``n_tokens`` of each: int64 (B, T).

    Raises
    ------
    InputError
        If the model's context or a passage is shorter.
    """
    check_size(n_passages, n_tokens)
    texts = passages(language)[:n_passages]
    rows = [[piece.id for piece in loaded.tokenizer.pieces(t)][: n_tokens + 1] for t in texts]
    shortest = min(loaded.model.config.n_ctx, *(len(row) for row in rows)) - 1
    check_whole("n_tokens", n_tokens, 8, shortest)
    return torch.tensor(rows, device=loaded.model.wte.device)


def blocks_of(model: Andrea) -> list[Block]:
    """Return the model's blocks, as what they are."""
    return [cast(Block, block) for block in model.blocks]


def boundaries(model: Andrea, ids: Tensor, check: Check = nothing) -> tuple[list[Tensor], ...]:
    """Return the streams at the L + 1 boundaries and the L between attention and MLP."""
    streams, halves = [model.embed(ids)], []
    for block in blocks_of(model):
        check()
        middle = block.sublayer(streams[-1], "attn", "ln1", None, "")
        halves.append(middle)
        streams.append(block.sublayer(middle, "mlp", "ln2", None, ""))
    return streams, halves


def places(change: str, n_layer: int) -> tuple[int, ...]:
    """Return the places k at which a change can be made, counted from 1.

    Raises
    ------
    InputError
        If there is no such change, or no neighbours to swap.
    """
    check_change(change)
    if change == "residual":
        return (0,)
    if change == "swap" and n_layer == 1:
        raise InputError("A single block has no neighbour to swap with.")
    return tuple(range(1, n_layer + (change != "swap")))


def cut_stream(model: Andrea, x: Tensor, check: Check) -> Tensor:
    """Run all blocks with every branch replacing the stream instead of adding to it."""
    for block in blocks_of(model):
        check()
        record: Record = {}
        for branch, norm in (("attn", "ln1"), ("mlp", "ln2")):
            block.sublayer(x, branch, norm, record, "")
            x = record[f"{branch}_out"]
            if block.norm == "post":
                x = getattr(block, norm)(x)
    return x


def changed(
    model: Andrea, streams: list[Tensor], halves: list[Tensor], change: str, check: Check = nothing
) -> Iterator[Tensor]:
    """Yield the final stream (B, T, D) with each place changed in turn, in order of ``places``.

    Parameters
    ----------
    streams, halves
        What ``boundaries`` returns for the model as it is.
    change
        As in ``ChangesRequest``.
    check
        Called between any two blocks; what it raises ends the work.
    """
    blocks = blocks_of(model)
    for k in places(change, len(blocks)):
        if change == "residual":
            yield cut_stream(model, streams[0], check)
            continue
        i, x, rest = k - 1, streams[k - 1], blocks[k:]
        if change == "first":
            x, rest = streams[k], []
        elif change == "attention":
            x = blocks[i].sublayer(x, "mlp", "ln2", None, "")
        elif change == "mlp":
            x = halves[i]
        elif change == "swap":
            rest = [blocks[k], blocks[i], *blocks[k + 1 :]]
        for block in rest:
            check()
            x = block(x)
        yield x


def summed_loss(model: Andrea, x: Tensor, ids: Tensor) -> tuple[float, float]:
    """Return summed cross-entropy over the B (T - 1) predictions, and summed mean cosine over B."""
    logits = model.unembed(x[:, :-1]).float().flatten(0, 1)
    loss = F.cross_entropy(logits, ids[:, 1:].flatten(), reduction="sum")
    unit = F.normalize(x.double(), dim=-1)
    T = x.shape[1]
    cosine = (unit.sum(1).square().sum(-1) - T) / (T * (T - 1))
    return float(loss), float(cosine.sum())


@torch.no_grad()
def changes(request: ChangesRequest, loaded: LoadedModel, check: Check = nothing) -> ChangesResult:
    """Answer a ``ChangesRequest``; the first row that is summed is the model as it is.

    Raises
    ------
    InputError
        If the change, the sample or the model is impossible.
    """
    started, model = time.perf_counter(), loaded.model
    where = places(request.change, model.config.n_layer)
    sums = torch.zeros(2, len(LANGUAGES), 1 + len(where), dtype=torch.float64)
    for g, language in enumerate(LANGUAGES):
        ids = fixed_ids(loaded, language, request.n_passages, request.n_tokens)
        for part in ids.split(CHUNK):
            streams, halves = boundaries(model, part, check)
            finals = changed(model, streams, halves, request.change, check)
            for p, x in enumerate(chain((streams[-1],), finals)):
                check()
                sums[:, g, p] += torch.tensor(summed_loss(model, x, part), dtype=torch.float64)
    n_positions = request.n_passages * request.n_tokens
    loss, cosine = sums[0] / n_positions, sums[1] / request.n_passages
    return ChangesResult(
        request=request,
        places=where,
        loss=read_only(loss[:, 1:]),
        base_loss=read_only(loss[:, 0]),
        cosine=read_only(cosine[:, 1:]),
        base_cosine=read_only(cosine[:, 0]),
        n_positions=n_positions,
        provenance=provenance(request, loaded, started),
    )


@torch.no_grad()
def answers(request: AnswersRequest, loaded: LoadedModel, check: Check = nothing) -> AnswersResult:
    """Answer an ``AnswersRequest``.

    Raises
    ------
    InputError
        If the text is empty, or the change is impossible.
    """
    started, model = time.perf_counter(), loaded.model
    where = places(request.change, model.config.n_layer)
    tokens = tokenise(request.text, loaded)
    streams, halves = boundaries(model, torch.tensor([tokens.ids], device=model.wte.device), check)
    finals = [x[0, -1] for x in changed(model, streams, halves, request.change, check)]
    logits = model.unembed(torch.stack([streams[-1][0, -1], *finals]))  # (1 + P, V)
    probs, best = logits.softmax(-1), logits.argmax(-1)
    base = best[0].expand(len(where))
    labels = labels_of(best, loaded)
    return AnswersResult(
        request=request,
        places=where,
        base_label=labels[0],
        base_prob=float(probs[0, best[0]]),
        labels=tuple(labels[1:]),
        probs=read_only(probs[1:].gather(-1, best[1:, None])[:, 0]),
        base_probs=read_only(probs[1:, best[0]]),
        base_ranks=read_only_ints(rank_of(logits[1:], base)),
        provenance=provenance(request, loaded, started),
    )
