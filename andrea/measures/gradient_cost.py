"""What a measurement of gradients costs: memory before it starts, and about how many seconds.

Memory is counted: parameters, what autograd keeps of each block, the logits, the gradients that
live at one time. Seconds come from three small probes on this machine, run once: what a block
costs by itself, what an operation costs, what filling a parameter costs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import torch

from andrea import device, sources
from andrea.config import ModelConfig
from andrea.errors import InputError
from andrea.measures.backward import backpropagate
from andrea.model import Andrea
from andrea.requests import GradientsRequest, ModelRequest

FLOAT = 4  # bytes
TORCH = 64_000_000  # bytes that its libraries and buffers take besides, measured


def config_of(request: GradientsRequest) -> ModelConfig:
    """Return the configuration that is measured: the request's, or the trained weights' own."""
    if not request.trained:
        return request.config()
    request.check()
    return sources.base_config(ModelRequest())


def kept_by_block(config: ModelConfig, n_tokens: int) -> int:
    """Return how many numbers a block keeps for its way back, a position, about.

    Nine vectors of the stream's width, two of the MLP's, three rows of attention a head.
    """
    return 9 * config.d_model + 2 * config.hidden + 3 * config.n_head * n_tokens


def memory_bytes(request: GradientsRequest, n_layer: int | None = None) -> int:
    """Return the bytes that the measurement takes at its peak, about.

    Every block keeps what ``kept_by_block`` says; the head keeps the logits three times; the
    gradients of one block, and of the embedding matrix twice, live at one time.
    """
    config = config_of(request)
    depth = config.n_layer if n_layer is None else n_layer
    block = sources.n_parameters(config.with_(n_layer=2)) - sources.n_parameters(
        config.with_(n_layer=1)
    )
    outside = sources.n_parameters(config.with_(n_layer=1)) - block
    positions = request.batch * request.n_tokens
    kept = kept_by_block(config, request.n_tokens)
    head = 3 * positions * config.vocab_size + 3 * config.vocab_size * config.d_model
    return TORCH + FLOAT * (outside + depth * (block + positions * kept) + block + head)


def refuse_too_large(request: GradientsRequest) -> None:
    """Refuse an arm that needs more memory than this host allows.

    Raises
    ------
    InputError
        Naming the need, the limit and the deepest stack that fits.
    """
    need, limit = memory_bytes(request), device.memory_limit()
    if need <= limit:
        return
    config = config_of(request)
    none, one = memory_bytes(request, 0), memory_bytes(request, 1)
    most = (limit - none) // (one - none)
    gigabytes = {"need": f"{need / 1e9:.1f}", "limit": f"{limit / 1e9:.1f}"}
    if most < 1:
        raise InputError(
            "A width of {d_model} needs {need} GB, this host allows {limit} GB: choose a smaller "
            "width, fewer sequences or fewer tokens.",
            d_model=config.d_model,
            **gigabytes,
        )
    raise InputError(
        "{depth} blocks of width {d_model} need {need} GB, this host allows {limit} GB: choose at "
        "most {most} blocks.",
        depth=config.n_layer,
        d_model=config.d_model,
        most=most,
        **gigabytes,
    )


def operations(config: ModelConfig, positions: int, n_tokens: int) -> float:
    """Return the multiply-adds of one forward and backward pass: three times the forward's."""
    block = 4 * config.d_model**2 + 2 * config.d_model * config.hidden
    attention = 2 * n_tokens * config.d_model
    per_position = config.n_layer * (block + attention) + config.vocab_size * config.d_model
    return 3.0 * positions * per_position


def timed(config: ModelConfig) -> tuple[float, float]:
    """Return the seconds to build a small model, and those of its forward and backward pass."""
    started = time.perf_counter()
    model = Andrea(config, seed=0).to(device.device())
    sources.values_sha256(model)
    built = time.perf_counter() - started
    ids = torch.arange(64, device=device.device())[None] % config.vocab_size
    passes = []
    for _ in range(2):  # the first one warms up
        started = time.perf_counter()
        backpropagate(model, ids, lambda name, gradient: None)
        passes.append(time.perf_counter() - started)
    return built, min(passes)


@cache
def probes() -> tuple[float, float, float]:
    """Return seconds a block, a multiply-add and a parameter on this machine, measured once."""
    small = ModelConfig(n_layer=4, d_model=64, n_head=4, n_ctx=64, vocab_size=64)
    large = ModelConfig(n_layer=1, d_model=384, n_head=6, n_ctx=64, vocab_size=2048)
    built, heavy = timed(large)
    _, light = timed(small)
    per_operation = heavy / operations(large, 64, 64)
    rest = light - per_operation * operations(small, 64, 64)
    per_block = max(rest / small.n_layer, 1e-4)
    return per_block, per_operation, built / sources.n_parameters(large)


def estimate_seconds(request: GradientsRequest) -> float:
    """Return about how long the measurement takes on this machine, in seconds, all seeds."""
    config = config_of(request)
    per_block, per_operation, per_parameter = probes()
    positions = request.batch * request.n_tokens
    passes = per_block * config.n_layer
    passes += per_operation * operations(config, positions, request.n_tokens)
    building = per_parameter * sources.n_parameters(config)
    return len(request.seeds) * (passes + building)


def one_seed_each(request: GradientsRequest) -> tuple[GradientsRequest, ...]:
    """Return the same arm as requests of one seed each: what a page asks, one after another."""
    return tuple(replace(request, seeds=(seed,)) for seed in request.seeds)
