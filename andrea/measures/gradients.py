"""How the gradient of the loss travels back through a stack, and whether its tokens stay apart.

All norms are taken in float64: the squares of a vanishing gradient are below what float32 can
hold long before the gradient is. Zero and non-finite values are results and are kept.

Sources: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", section 3,
arXiv:2002.04745 (gradients at initialisation by depth and norm placement); Dong et al. 2021,
"Attention is not all you need", arXiv:2103.03404 (collapse of the tokens without skips).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from andrea import device, sources
from andrea.config import PRESETS, ModelConfig
from andrea.data import passages
from andrea.measures.backward import Check, backpropagate, nothing
from andrea.measures.gradient_cost import config_of, refuse_too_large
from andrea.model import Andrea
from andrea.requests import GradientsRequest, ModelRequest, TokenSource
from andrea.results import Provenance, here_and_now
from andrea.sources import SHIPPED
from andrea.tokenizer import BOS_ID, TextTokenizer

Doubles = npt.NDArray[np.float64]
CHUNK = 65_536  # numbers squared at once in float64: 512 KB stay in the cache


@dataclass(frozen=True)
class GradientsResult:
    """One arm, measured. S seeds, L blocks, L + 1 boundaries (0: embeddings; l: after block l).

    Attributes
    ----------
    stream_grad_norms
        float64 [S, L + 1], ||dL/dx_l|| over batch, positions and width together. The stream at a
        boundary is what the next block reads.
    weight_grad_norms
        By kind, float64 [S, L]: ||dL/dW|| of each block's matrix; [S, 1] for ``wte``, ``wpe``,
        ``ln_final``. ``ln1``, ``ln2``, ``ln_final`` take gamma and beta together.
    token_cosine
        float64 [S, L + 1], mean cosine between two different positions of one sequence; NaN where
        a position's vector is zero or not finite.
    stream_norms
        float64 [S, L + 1], mean length ||x|| of a position's vector.
    loss
        float64 [S], mean cross-entropy of the next token, in nats.
    config
        Shape and switches that were measured.
    weights_sha256
        Of each seed's weights, [S].
    """

    request: GradientsRequest
    stream_grad_norms: Doubles
    weight_grad_norms: dict[str, Doubles]
    token_cosine: Doubles
    stream_norms: Doubles
    loss: Doubles
    config: ModelConfig
    weights_sha256: tuple[str, ...]
    provenance: Provenance


def norm64(x: Tensor) -> float:
    """Return the Euclidean norm of all numbers of ``x``, squared and summed in float64."""
    if x.device.type == "mps":  # has no float64
        x = x.cpu()
    total = torch.zeros((), dtype=torch.float64, device=x.device)
    for part in x.detach().reshape(-1).split(CHUNK if x.device.type == "cpu" else x.numel()):
        wide = part.double()
        total += wide.dot(wide)
    return float(total.sqrt())


def mean_cosine(x: Tensor) -> float:
    """Return the mean cosine between different positions: (B, T, D) -> a number in [-1, 1].

    With unit vectors u_t the pairs sum to |sum_t u_t|^2 - T, over T (T - 1) ordered pairs.
    """
    wide = x.detach().cpu().double()
    T = wide.shape[-2]
    unit = wide / wide.norm(dim=-1, keepdim=True)
    pairs = unit.sum(-2).square().sum(-1) - T
    return float((pairs / (T * (T - 1))).mean())


def mean_length(x: Tensor) -> float:
    """Return the mean Euclidean length of a position's vector: (B, T, D) -> a number."""
    return float(x.detach().cpu().double().norm(dim=-1).mean())


def kind_of(name: str) -> tuple[str, int]:
    """Return kind and layer of a parameter: ``blocks.3.ln1.beta`` is ``("ln1", 3)``."""
    parts = name.split(".")
    layer = int(parts[1]) if parts[0] == "blocks" else 0
    parts = parts[2:] if parts[0] == "blocks" else parts
    return (parts[0] if parts[0].startswith("ln") else ".".join(parts)), layer


@dataclass(frozen=True)
class Measured:
    """One seed: what ``GradientsResult`` stacks."""

    stream_grad_norms: Doubles
    weight_grad_norms: dict[str, Doubles]
    token_cosine: Doubles
    stream_norms: Doubles
    loss: float


def measure(model: Andrea, ids: Tensor, check: Check = nothing) -> Measured:
    """Return all norms of one backward pass; ``check`` is called between blocks."""
    L = model.config.n_layer
    boundary = np.zeros(L + 1)
    squares: dict[str, Doubles] = {}
    for name, _ in model.named_parameters():
        kind, _layer = kind_of(name)
        squares.setdefault(kind, np.zeros(L if name.startswith("blocks.") else 1))

    def visit(name: str, gradient: Tensor) -> None:
        size = norm64(gradient)
        if name.startswith("boundary."):
            boundary[int(name.split(".")[1])] = size
        else:
            kind, layer = kind_of(name)
            squares[kind][layer] = np.hypot(squares[kind][layer], size)

    loss, streams = backpropagate(model, ids, visit, check)
    check()
    return Measured(
        boundary,
        squares,
        np.array([mean_cosine(x) for x in streams]),
        np.array([mean_length(x) for x in streams]),
        float(loss),
    )


def token_ids(source: TokenSource, seed: int, batch: int, n_tokens: int, vocab_size: int) -> Tensor:
    """Return int64 (batch, n_tokens): random ids, or BOS and shipped text, chosen by ``seed``.

    Sequence ``b`` starts at the beginning of passage ``seed * batch + b`` (round the list) and
    runs on into the next ones.
    """
    if source == "random":
        random = torch.Generator().manual_seed(seed)
        return torch.randint(vocab_size, (batch, n_tokens), generator=random)
    tokenizer = TextTokenizer.load(SHIPPED / "tokenizer.json").truncated(vocab_size)
    texts = passages(source)
    rows = []
    for b in range(batch):
        first, row = seed * batch + b, [BOS_ID]
        while len(row) < n_tokens:
            row += tokenizer.encode(texts[first % len(texts)] + "\n\n")
            first += 1
        rows.append(row[:n_tokens])
    return torch.tensor(rows)


def model_of(request: GradientsRequest, seed: int, check: Check) -> tuple[Andrea, str]:
    """Return one seed's model, ready for gradients, and the hash of its weights."""
    if request.trained:  # a copy of its own: the shared one wants no gradients
        loaded = sources.load_trained(ModelRequest())
        model, sha256 = loaded.model, loaded.sha256
    else:
        model = Andrea(request.config())
        model.initialise(seed, check)
        sha256 = sources.values_sha256(model, check)
    return model.to(device.device()).eval().requires_grad_(True), sha256


def name_of(request: GradientsRequest, config: ModelConfig) -> str:
    """Return the preset's name if the arm is one, else its shape."""
    if request.trained:
        return ModelRequest().model
    known = (n for n, p in PRESETS.items() if n != ModelRequest().model and p == config)
    return next(known, f"{config.n_layer} x {config.d_model}")


def one_seed(request: GradientsRequest, seed: int, check: Check) -> tuple[Measured, str]:
    """Build, measure and let go of one seed's model; return its numbers and its hash."""
    model, sha256 = model_of(request, seed, check)
    vocab_size = model.config.vocab_size
    ids = token_ids(request.tokens, seed, request.batch, request.n_tokens, vocab_size)
    return measure(model, ids.to(device.device()), check), sha256


def gradients(request: GradientsRequest, check: Check = nothing) -> GradientsResult:
    """Answer a ``GradientsRequest``: one backward pass a seed.

    Parameters
    ----------
    request
        The arm.
    check
        Called between seeds and between blocks; what it raises ends the work.

    Raises
    ------
    InputError
        If a value is out of range, or the arm needs more memory than this host allows.
    """
    started = time.perf_counter()
    refuse_too_large(request)
    config = config_of(request)
    rows, hashes = [], []
    for seed in request.seeds:
        check()
        row, sha256 = one_seed(request, seed, check)
        rows.append(row)
        hashes.append(sha256)
    return GradientsResult(
        request=request,
        stream_grad_norms=stacked([row.stream_grad_norms for row in rows]),
        weight_grad_norms={
            kind: stacked([row.weight_grad_norms[kind] for row in rows])
            for kind in rows[0].weight_grad_norms
        },
        token_cosine=stacked([row.token_cosine for row in rows]),
        stream_norms=stacked([row.stream_norms for row in rows]),
        loss=stacked([np.array(row.loss) for row in rows]),
        config=config,
        weights_sha256=tuple(hashes),
        provenance=provenance_of(request, config, hashes, started),
    )


def joined(results: Sequence[GradientsResult]) -> GradientsResult:
    """Join results of one arm, a seed each, into the result of all these seeds."""
    first, hashes = results[0], [h for r in results for h in r.weights_sha256]
    seeds = tuple(seed for r in results for seed in r.request.seeds)
    return replace(
        first,
        request=replace(first.request, seeds=seeds),
        stream_grad_norms=stacked([row for r in results for row in r.stream_grad_norms]),
        weight_grad_norms={
            kind: stacked([row for r in results for row in r.weight_grad_norms[kind]])
            for kind in first.weight_grad_norms
        },
        token_cosine=stacked([row for r in results for row in r.token_cosine]),
        stream_norms=stacked([row for r in results for row in r.stream_norms]),
        loss=stacked([row for r in results for row in r.loss]),
        weights_sha256=tuple(hashes),
        provenance=replace(
            first.provenance,
            weights_sha256=one_hash(hashes),
            seconds=sum(r.provenance.seconds for r in results),
        ),
    )


def one_hash(hashes: Sequence[str]) -> str:
    """Return the hash of one seed's weights, or the hash of several seeds' hashes."""
    if len(set(hashes)) == 1:
        return hashes[0]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def stacked(arrays: Sequence[Doubles]) -> Doubles:
    """Stack along a new first axis, read-only."""
    array = np.stack(arrays)
    array.setflags(write=False)
    return array


def provenance_of(
    request: GradientsRequest, config: ModelConfig, hashes: list[str], started: float
) -> Provenance:
    """Return where the numbers come from."""
    return Provenance(
        model=name_of(request, config),
        trained=request.trained,
        as_trained=True,
        config=config.as_dict(),
        n_parameters=sources.n_parameters(config),
        seed=request.seeds[0],
        weights_sha256=one_hash(hashes),
        **here_and_now(started),
    )


def slope(depths: Doubles, values: Doubles) -> float:
    """Return the exponent p of the least-squares fit values ~ depths^p, on log-log axes."""
    return float(np.polyfit(np.log(depths), np.log(values), 1)[0])
