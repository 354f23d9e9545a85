"""The whole text at once: who reads whom in a block, and the lens' first guess everywhere.

The logit lens is that of ``andrea.measures.trace``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from andrea.errors import InputError
from andrea.measures.trace import Kept, labels_of, rank_of, tokenise
from andrea.requests import AttentionRequest, LensMapRequest
from andrea.results import Floats, Ints, Provenance, provenance, read_only, read_only_ints
from andrea.sources import LoadedModel


@dataclass(frozen=True)
class AttentionResult:
    """All heads of one layer: ``scores`` and ``pattern`` float32 [head, query_pos, key_pos].

    ``scores`` are q . k / sqrt(d_head); where the mask forbids, they are -inf and the pattern 0.
    """

    request: AttentionRequest
    labels: tuple[str, ...]
    layer: int
    d_head: int
    scores: Floats
    pattern: Floats
    provenance: Provenance


@dataclass(frozen=True)
class LensMapResult:
    """The lens' first guess after the embedding and after each block, at every position.

    ``ids`` int64 and ``probs`` float32 [L + 1, T]; ``labels`` the guesses, [L + 1][T];
    ``final_rank`` int64 [L + 1, T], the rank at that depth of the position's final answer.
    """

    request: LensMapRequest
    token_labels: tuple[str, ...]
    ids: Ints
    probs: Floats
    labels: tuple[tuple[str, ...], ...]
    final_rank: Ints
    provenance: Provenance


@torch.no_grad()
def attention(request: AttentionRequest, loaded: LoadedModel) -> AttentionResult:
    """Answer an ``AttentionRequest``.

    Raises
    ------
    InputError
        If the text is empty or there is no such layer.
    """
    started = time.perf_counter()
    model, tokens = loaded.model, tokenise(request.text, loaded)
    if not 0 <= request.layer < model.config.n_layer:
        raise InputError(
            "There is no block {block}: this model has {n_layer}.",
            block=request.layer + 1,
            n_layer=model.config.n_layer,
        )
    prefix = f"blocks.{request.layer}.attn."
    record = Kept(None, (prefix + "scores", prefix + "pattern"))
    x = model.embed(torch.tensor([tokens.ids], device=model.wte.device))
    for i, block in enumerate(model.blocks[: request.layer + 1]):
        x = block(x, record, f"blocks.{i}.")
    return AttentionResult(
        request=request,
        labels=tuple(piece.label for piece in tokens.pieces),
        layer=request.layer,
        d_head=model.config.d_head,
        scores=read_only(record[prefix + "scores"]),
        pattern=read_only(record[prefix + "pattern"]),
        provenance=provenance(request, loaded, started),
    )


@torch.no_grad()
def lens_map(request: LensMapRequest, loaded: LoadedModel) -> LensMapResult:
    """Answer a ``LensMapRequest``; one depth is unembedded at a time, to keep memory small."""
    started = time.perf_counter()
    model, tokens = loaded.model, tokenise(request.text, loaded)
    ids = torch.tensor([tokens.ids], device=model.wte.device)
    depths = [model.embed(ids)[0]]
    for block in model.blocks:
        depths.append(block(depths[-1][None])[0])
    final = model.unembed(depths[-1]).argmax(-1)
    rows = []
    for x in depths:
        lens = model.unembed(x)
        best = lens.softmax(-1).max(-1)
        rows.append((best.indices, best.values, rank_of(lens, final)))
    guesses, probs, ranks = (torch.stack(column) for column in zip(*rows, strict=True))
    return LensMapResult(
        request=request,
        token_labels=tuple(piece.label for piece in tokens.pieces),
        ids=read_only_ints(guesses),
        probs=read_only(probs),
        labels=tuple(tuple(labels_of(row, loaded)) for row in guesses),
        final_rank=read_only_ints(ranks),
        provenance=provenance(request, loaded, started),
    )
