"""How long the stream's vectors are through depth: grown under pre-norm, pinned under post-norm.

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3,
arXiv:2002.04745.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from andrea.config import PRESETS, Norm
from andrea.measures.layernorm import Doubles
from andrea.measures.trace import tokenise
from andrea.model import Andrea, Block
from andrea.requests import ModelRequest, StreamNormsRequest
from andrea.results import Provenance, provenance
from andrea.sources import LoadedModel, values_sha256

ARMS: tuple[tuple[Norm, bool], ...] = (
    ("pre", True), ("post", True), ("none", True), ("pre", False), ("post", False), ("none", False),
)  # fmt: skip


@dataclass(frozen=True)
class StreamCurve:
    """One arm. ``norms`` float64 [L + 1]: mean length ||x|| of the stream over the text's tokens.

    The stream is read before the first block and after each one; BOS is left out, since trained
    models park a vector of its own size there: ``bos_norms`` has it.
    """

    trained: bool
    norm: Norm
    residual: bool
    norms: Doubles
    bos_norms: Doubles


@dataclass(frozen=True)
class StreamNormsResult:
    """The stream's length through depth: six arms of fresh weights, then trained ones, if any.

    ``init`` and ``seed`` belong to the fresh weights, whose values are the same in all arms;
    ``fresh_sha256`` is theirs, ``provenance`` is that of the model asked for.
    """

    request: StreamNormsRequest
    labels: tuple[str, ...]
    curves: tuple[StreamCurve, ...]
    init: str
    seed: int
    fresh_sha256: str
    provenance: Provenance


def rearranged(model: Andrea, norm: Norm, residual: bool) -> Iterator[Block]:
    """Yield the model's blocks under other switches, without copying or touching a weight.

    ``model`` must have LayerNorms in its blocks (norm ``pre`` or ``post``).
    """
    for block in model.blocks:
        other = cast(Block, copy(block))
        other.norm, other.residual = norm, residual
        yield other


def curve(model: Andrea, ids: Tensor, norm: Norm, residual: bool, trained: bool) -> StreamCurve:
    """Measure one arm: ids (1, T) through ``model``'s blocks under these switches."""
    x = model.embed(ids)
    lengths = [x]
    for block in rearranged(model, norm, residual):
        x = block(x)
        lengths.append(x)
    # In float64: the squares of a vanishing stream are below what float32 can hold.
    found = torch.stack([y[0].cpu().double().norm(dim=-1) for y in lengths]).numpy()  # (L + 1, T)
    found.setflags(write=False)
    return StreamCurve(trained, norm, residual, found[:, 1:].mean(-1), found[:, 0])


@torch.no_grad()
def stream_norms(request: StreamNormsRequest, loaded: LoadedModel) -> StreamNormsResult:
    """Answer a ``StreamNormsRequest``; ``loaded`` is the model as :func:`plain` asks for it.

    Raises
    ------
    InputError
        If the text is empty.
    """
    started = time.perf_counter()
    tokens = tokenise(request.text, loaded)
    model, sha = loaded.model, loaded.sha256
    ids = torch.tensor([tokens.ids], device=model.wte.device)
    curves = []
    if request.model.trained:
        curves.append(curve(model, ids, "pre", True, True))
        config = model.config.with_(init=PRESETS[request.model.model].init)
        model = Andrea(config, seed=request.model.seed).to(ids.device)
        sha = values_sha256(model)
    fresh = [curve(model, ids, arm, residual, False) for arm, residual in ARMS]
    return StreamNormsResult(
        request=request,
        labels=tuple(piece.label for piece in tokens.pieces),
        curves=(*fresh, *curves),
        init=model.config.init,
        seed=request.model.seed,
        fresh_sha256=sha,
        provenance=provenance(request, loaded, started),
    )


def plain(model: ModelRequest) -> ModelRequest:
    """Return the model whose weights all arms share: with LayerNorms, with the residual."""
    return replace(model, norm="pre", residual=True)
