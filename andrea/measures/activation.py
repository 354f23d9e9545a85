"""Where a model's own numbers fall on its activation, and what another activation would cost.

The output of an MLP is a sum over its units, activation times a row of W_2. Cut into the units with
a negative pre-activation and the others, it is the sum of two vectors; b_2 belongs to neither.

Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units", arXiv:1606.08415.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from andrea.config import Activation
from andrea.data import LANGUAGES
from andrea.measures.ablation import CHUNK, blocks_of, boundaries, fixed_ids, summed_loss
from andrea.measures.backward import Check, nothing
from andrea.measures.depth import fresh_twin
from andrea.measures.trace import Tokens, check_layer, counted_from_0, tokenise
from andrea.model import MLP, Andrea, Record
from andrea.requests_activation import (
    ActivationRequest,
    PreActivationsRequest,
    SwapRequest,
    check_act,
)
from andrea.results import Floats, Ints, Provenance, provenance, read_only, read_only_ints
from andrea.sources import LoadedModel

HALF, BINS = 6.0, 120  # the histograms run from -HALF to HALF
EDGES = np.linspace(-HALF, HALF, BINS + 1)


@dataclass(frozen=True)
class PreActivationsResult:
    """One block's activation at work on a text. T positions (BOS is 0), M units.

    ``pre``, ``post`` float32 [T, M]: what the activation reads and hands on; ``position`` counted
    from 0; ``labels`` [T].
    """

    request: PreActivationsRequest
    tokens: Tokens
    labels: tuple[str, ...]
    position: int
    pre: Floats
    post: Floats
    provenance: Provenance


@dataclass(frozen=True)
class Layers:
    """A sample's pre-activations block by block, BOS left out. L blocks, M units.

    Attributes
    ----------
    negative
        float32 [L], share of all pre-activations that are below 0.
    cut_share
        float32 [L], the part of the MLP's output (without b_2) that comes from negative
        pre-activations, measured along the output: sum of part . output over sum of
        ||output||^2. The rest comes from the positive ones; it can be below 0.
    cut_size
        float32 [L], sqrt(sum ||part||^2 / sum ||output||^2): how long that part is beside the
        whole.
    silent
        int64 [L], units whose pre-activation is above 0 at no position.
    counts
        int64 [L, 120], histogram over [-6, 6]; ``outside`` int64 [L, 2]: below, above.
    n_positions, n_units
        Positions in the sample; M.
    """

    negative: Floats
    cut_share: Floats
    cut_size: Floats
    silent: Ints
    counts: Ints
    outside: Ints
    n_positions: int
    n_units: int


@dataclass(frozen=True)
class ActivationResult:
    """``layers`` of this model, ``init`` of fresh weights in its shape (none if it is fresh)."""

    request: ActivationRequest
    layers: Layers
    init: Layers | None
    provenance: Provenance


@dataclass(frozen=True)
class SwapResult:
    """The loss with another activation; nothing is retrained. L blocks.

    ``base_loss`` float32 [language (it, en)]: of the model as it is, in nats a token, mean over
    ``n_positions`` predictions; ``change_all`` float32 [language] and ``change`` float32
    [language, L]: what is added with the other activation in all blocks, and in one.
    ``from_act`` is the model's own activation.
    """

    request: SwapRequest
    from_act: str
    base_loss: Floats
    change_all: Floats
    change: Floats
    n_positions: int
    provenance: Provenance


@torch.no_grad()
def pre_activations(request: PreActivationsRequest, loaded: LoadedModel) -> PreActivationsResult:
    """Answer a ``PreActivationsRequest``.

    Raises
    ------
    InputError
        If the text is empty, or position or block do not exist.
    """
    started, model = time.perf_counter(), loaded.model
    tokens = tokenise(request.text, loaded)
    position = counted_from_0(request.position, len(tokens.pieces))
    check_layer(request.layer, model)
    x, record = model.embed(torch.tensor([tokens.ids], device=model.wte.device)), Record()
    for block in blocks_of(model)[: request.layer + 1]:
        x = block(x, record)
    return PreActivationsResult(
        request=request,
        tokens=tokens,
        labels=tuple(piece.label for piece in tokens.pieces),
        position=position,
        pre=read_only(record["mlp.pre"][0]),
        post=read_only(record["mlp.post"][0]),
        provenance=provenance(request, loaded, started),
    )


class Tally:
    """Sums over a sample, gathered chunk by chunk, for one block."""

    def __init__(self, n_units: int) -> None:
        self.sums = np.zeros(3)  # part . output, ||part||^2, ||output||^2
        self.counts = np.zeros(BINS + 2, np.int64)
        self.n, self.negative = 0, 0
        self.fired = np.zeros(n_units, bool)

    def add(self, mlp: MLP, record: Record) -> None:
        """Add a chunk; ``record`` holds ``mlp.pre`` and ``mlp.post``, (B, T, M)."""
        pre, post = (record[f"mlp.{name}"][:, 1:].flatten(0, 1) for name in ("pre", "post"))
        below = pre < 0
        part, whole = ((p @ mlp.W_2).double() for p in (post * below, post))
        sums = ((part * whole).sum(), part.square().sum(), whole.square().sum())
        self.sums += np.array([float(s) for s in sums])
        values = pre.double().cpu().numpy()
        self.counts += np.histogram(values, [-np.inf, *EDGES, np.inf])[0]
        self.n += len(values)
        self.negative += int(below.sum())
        self.fired |= (values > 0).any(0)


def layers_of(model: Andrea, chunks: list[Tensor], check: Check = nothing) -> Layers:
    """Return what the activations of ``model`` read over ``chunks`` of ids (B, T)."""
    blocks = blocks_of(model)
    tallies = [Tally(model.config.hidden) for _ in blocks]
    for ids in chunks:
        x = model.embed(ids)
        for block, tally in zip(blocks, tallies, strict=True):
            check()
            record: Record = {}
            x = block(x, record)
            tally.add(block.mlp, record)
    sums = torch.tensor(np.stack([t.sums for t in tallies]))
    counts = torch.tensor(np.stack([t.counts for t in tallies]))
    n, units = tallies[0].n, model.config.hidden
    return Layers(
        negative=read_only(torch.tensor([t.negative / (t.n * units) for t in tallies])),
        cut_share=read_only(sums[:, 0] / sums[:, 2]),
        cut_size=read_only((sums[:, 1] / sums[:, 2]).sqrt()),
        silent=read_only_ints(torch.tensor([int((~t.fired).sum()) for t in tallies])),
        counts=read_only_ints(counts[:, 1:-1]),
        outside=read_only_ints(counts[:, [0, -1]]),
        n_positions=n,
        n_units=units,
    )


def sample(request: ActivationRequest, loaded: LoadedModel) -> list[Tensor]:
    """Return the ids that a request is about, in chunks (B, T)."""
    if request.text:
        ids = tokenise(request.text, loaded).ids
        return [torch.tensor([ids], device=loaded.model.wte.device)]
    size = (request.n_passages, request.n_tokens)
    return [part for lang in LANGUAGES for part in fixed_ids(loaded, lang, *size).split(CHUNK)]


@torch.no_grad()
def activation(
    request: ActivationRequest, loaded: LoadedModel, check: Check = nothing
) -> ActivationResult:
    """Answer an ``ActivationRequest``.

    Raises
    ------
    InputError
        If the text or the sample is impossible.
    """
    started, model = time.perf_counter(), loaded.model
    chunks = sample(request, loaded)
    fresh = None
    if request.model.trained:
        fresh = fresh_twin(model.config, request.init_seed, model, check)
    return ActivationResult(
        request=request,
        layers=layers_of(model, chunks, check),
        init=None if fresh is None else layers_of(fresh, chunks, check),
        provenance=provenance(request, loaded, started),
    )


def with_activation(model: Andrea, act_fn: Activation) -> Andrea:
    """Return a model with another activation that shares the weights; ``model`` stays as it is."""
    with torch.device("meta"):
        twin = Andrea(model.config.with_(act_fn=act_fn))
    twin.load_state_dict(model.state_dict(), assign=True)
    return twin.eval().requires_grad_(False)


@torch.no_grad()
def swap(request: SwapRequest, loaded: LoadedModel, check: Check = nothing) -> SwapResult:
    """Answer a ``SwapRequest``.

    Raises
    ------
    InputError
        If the activation or the sample is impossible.
    """
    started, model = time.perf_counter(), loaded.model
    check_act(request.act_fn)
    twin = with_activation(model, request.act_fn)
    blocks, swapped = blocks_of(model), blocks_of(twin)
    L = len(blocks)
    sums = torch.zeros(len(LANGUAGES), 2 + L, dtype=torch.float64)
    for g, language in enumerate(LANGUAGES):
        ids = fixed_ids(loaded, language, request.n_passages, request.n_tokens)
        for part in ids.split(CHUNK):
            streams, halves = boundaries(model, part, check)
            sums[g, 0] += summed_loss(model, streams[-1], part)[0]
            sums[g, 1] += summed_loss(model, boundaries(twin, part, check)[0][-1], part)[0]
            for k in range(L):
                x = swapped[k].sublayer(halves[k], "mlp", "ln2", None, "")
                for block in blocks[k + 1 :]:
                    check()
                    x = block(x)
                sums[g, 2 + k] += summed_loss(model, x, part)[0]
    n_positions = request.n_passages * request.n_tokens
    loss = sums / n_positions
    return SwapResult(
        request=request,
        from_act=model.config.act_fn,
        base_loss=read_only(loss[:, 0]),
        change_all=read_only(loss[:, 1] - loss[:, 0]),
        change=read_only(loss[:, 2:] - loss[:, :1]),
        n_positions=n_positions,
        provenance=provenance(request, loaded, started),
    )
