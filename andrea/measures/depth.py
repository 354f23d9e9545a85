"""The blocks over many positions: how much each adds, what the lens reads, where attention goes.

Sizes and attention are means over both languages' passages, the lens is kept apart by language.
The lens is that of ``andrea.measures.trace``, asked about the token that really comes next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
from torch import Tensor

from andrea.config import ModelConfig
from andrea.data import LANGUAGES
from andrea.measures import attention_summary
from andrea.measures.ablation import CHUNK, fixed_ids
from andrea.measures.attention_summary import AttentionSummary
from andrea.measures.backward import Check, nothing
from andrea.measures.trace import rank_of
from andrea.model import Andrea, Record
from andrea.requests_depth import DepthRequest
from andrea.results import Floats, Provenance, provenance, read_only
from andrea.sources import LoadedModel


@dataclass(frozen=True)
class Sizes:
    """How much the sublayers move the stream: medians over positions, BOS left out. L blocks.

    ``share`` float32 [2 L], ||delta|| / ||stream before||, attention and MLP in turn; ``cosine``
    float32 [L], between a block's input and output; ``norm`` float32 [L + 1], ||stream||.
    """

    share: Floats
    cosine: Floats
    norm: Floats


@dataclass(frozen=True)
class DepthResult:
    """The survey of one model. L blocks, G = 2 languages (it, en).

    Attributes
    ----------
    rank, prob
        float32 [G, L + 1]: median rank (1 = first) and median probability of the token that
        really comes next, after 0 to L blocks.
    loss
        float32 [G, L + 1]: mean cross-entropy there, in nats; the loss of only the first k blocks.
    hits
        float32 [G, L + 1]: share of the positions at which the right token stands first.
    own
        float32 [G, L + 1]: share of the positions at which the token itself stands first.
    sizes, sizes_init
        Of this model, and of fresh weights in its shape (``None`` if it is itself fresh).
    attention
        Entropy and shares by block and head.
    n_positions
        Predicted tokens in each language.
    """

    request: DepthRequest
    rank: Floats
    prob: Floats
    loss: Floats
    hits: Floats
    own: Floats
    sizes: Sizes
    sizes_init: Sizes | None
    attention: AttentionSummary
    n_positions: int
    provenance: Provenance


@dataclass
class Tally:
    """Values position by position, gathered chunk by chunk; one list entry a depth."""

    share: dict[int, list[Tensor]] = field(default_factory=dict)
    cosine: dict[int, list[Tensor]] = field(default_factory=dict)
    norm: dict[int, list[Tensor]] = field(default_factory=dict)

    def sizes(self) -> Sizes:
        """Return the medians over all positions."""

        def medians(found: dict[int, list[Tensor]]) -> Floats:
            return read_only(torch.stack([torch.cat(found[k]).median() for k in sorted(found)]))

        return Sizes(medians(self.share), medians(self.cosine), medians(self.norm))


def tally_block(tally: Tally, layer: int, record: Record) -> None:
    """Add what one block did to a chunk; ``record`` holds its activations, (B, T, D)."""
    before, middle, after = (
        record[name][:, 1:].double() for name in ("resid_pre", "resid_mid", "resid_post")
    )
    for half, (x, name) in enumerate(((before, "attn_out"), (middle, "mlp_out"))):
        ratio = record[name][:, 1:].double().norm(dim=-1) / x.norm(dim=-1)
        tally.share.setdefault(2 * layer + half, []).append(ratio.flatten())
    cosine = torch.cosine_similarity(before, after, dim=-1, eps=0.0)
    tally.cosine.setdefault(layer, []).append(cosine.flatten())
    for depth, x in ((layer, before), (layer + 1, after)):
        if depth == layer + 1 or layer == 0:
            tally.norm.setdefault(depth, []).append(x.norm(dim=-1).flatten())


def read_lens(model: Andrea, x: Tensor, ids: Tensor) -> Tensor:
    """Read the lens at each of n = B (T - 1) positions: (B, T, D) -> float64 (3, n).

    The rows are ln p and rank of the next token, and 1 where the token itself stands first.
    """
    logits = model.unembed(x[:, :-1]).float().flatten(0, 1)
    right = ids[:, 1:].flatten()
    log_prob = logits.log_softmax(-1).gather(-1, right[:, None])[:, 0]
    itself = logits.argmax(-1) == ids[:, :-1].flatten()
    return torch.stack([log_prob.double(), rank_of(logits, right).double(), itself.double()])


@torch.no_grad()
def sizes_of(model: Andrea, chunks: list[Tensor], check: Check = nothing) -> Sizes:
    """Return how much each sublayer of ``model`` moves the stream over ``chunks`` of ids."""
    tally = Tally()
    for ids in chunks:
        x = model.embed(ids)
        for i, block in enumerate(model.blocks):
            check()
            record: Record = {}
            x = block(x, record)
            tally_block(tally, i, record)
    return tally.sizes()


@torch.no_grad()
def depth(request: DepthRequest, loaded: LoadedModel, check: Check = nothing) -> DepthResult:
    """Answer a ``DepthRequest``.

    Raises
    ------
    InputError
        If the sample or the model is impossible.
    """
    started, model = time.perf_counter(), loaded.model
    config, tally, chunks = model.config, Tally(), list[Tensor]()
    heads = torch.zeros(config.n_layer, 5, config.n_head, dtype=torch.float64)
    lens = []
    for language in LANGUAGES:
        rows: list[list[Tensor]] = [[] for _ in range(config.n_layer + 1)]
        ids = fixed_ids(loaded, language, request.n_passages, request.n_tokens)
        for part in ids.split(CHUNK):
            chunks.append(part)
            x = model.embed(part)
            rows[0].append(read_lens(model, x, part))
            for i, block in enumerate(model.blocks):
                check()
                record: Record = {}
                x = block(x, record)
                tally_block(tally, i, record)
                heads[i] += attention_summary.summed(record["attn.pattern"], record["attn.v"]).cpu()
                rows[i + 1].append(read_lens(model, x, part))
        lens.append(torch.stack([torch.cat(row, dim=1) for row in rows]))
    read = torch.stack(lens)  # (G, L + 1, 3, positions)
    fresh = fresh_twin(config, request.init_seed, model, check) if request.model.trained else None
    return DepthResult(
        request=request,
        rank=read_only(read[:, :, 1].median(-1).values),
        prob=read_only(read[:, :, 0].exp().median(-1).values),
        loss=read_only(-read[:, :, 0].mean(-1)),
        hits=read_only((read[:, :, 1] == 1).double().mean(-1)),
        own=read_only(read[:, :, 2].mean(-1)),
        sizes=tally.sizes(),
        sizes_init=None if fresh is None else sizes_of(fresh, chunks, check),
        attention=attention_summary.summary(heads, len(LANGUAGES) * request.n_passages),
        n_positions=request.n_passages * request.n_tokens,
        provenance=provenance(request, loaded, started),
    )


def fresh_twin(config: ModelConfig, seed: int, model: Andrea, check: Check) -> Andrea:
    """Return freshly initialised weights in the same shape, on the same device."""
    twin = Andrea(config)
    twin.initialise(seed, check)
    return twin.to(model.wte.device).eval().requires_grad_(False)
