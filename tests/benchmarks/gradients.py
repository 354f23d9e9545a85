"""The laboratory: its default view, time against depth, and PyTorch's own layers beside it.

One thread, processor time. The default view (four arms of 12 blocks, width 128, two seeds) is timed
as the site asks for it, models built and hashed, and compared with eight bare forward and backward
passes. Depth goes from 12 to 96 at width 128; the fitted exponent must not pass 1.1. PyTorch's
TransformerEncoderLayer stack is as deep, wide and heavy, and keeps its streams' gradients too.
"""

from __future__ import annotations

import statistics

import numpy as np
import torch

from andrea import engine, lab
from andrea.config import ModelConfig
from andrea.measures.backward import backpropagate
from andrea.measures.gradients import slope, token_ids
from andrea.model import Andrea, next_token_loss
from andrea.requests import LAB_VOCAB, GradientsRequest
from tests.benchmarks import Row, compared, interleaved, timed
from tests.reference_stack import Reference

DEPTHS = (12, 24, 48, 96)
ROUNDS, EXPONENT, RATIO = 9, 1.10, 1.05


def default_view() -> list[Row]:
    """Time the page's default view beside the bare passes that are in it."""
    settings = lab.GUIDES[lab.DEFAULT_GUIDE]
    requests = [settings.request(arm) for arm in settings.arms]
    models = [Andrea(r.config(), seed=seed) for r in requests for seed in r.seeds]
    ids = token_ids("random", 0, requests[0].batch, requests[0].n_tokens, LAB_VOCAB)

    def bare() -> None:
        for model in models:
            next_token_loss(model(ids), ids).backward()
            model.zero_grad(set_to_none=True)

    def whole() -> None:
        for request in requests:
            engine.run(request)

    seconds = interleaved(
        {"eight bare forward and backward passes": lambda: timed(bare),
         "the default view, live": lambda: timed(whole)},
        5,
    )  # fmt: skip
    return compared(seconds)


def against_depth() -> Row:
    """Fit the exponent with which the time of one arm grows with its depth."""
    requests = {depth: GradientsRequest(n_layer=depth, d_model=128, n_head=2) for depth in DEPTHS}
    timers = {
        str(depth): (lambda request=request: timed(lambda: engine.run(request)))
        for depth, request in requests.items()
    }
    seconds = interleaved(timers, 5)
    medians = np.array([statistics.median(seconds[str(depth)]) for depth in DEPTHS])
    exponent = slope(np.array(DEPTHS, dtype=float), medians)
    listed = ", ".join(f"{1000 * t:.0f}" for t in medians)
    note = f"exponent of depth; {listed} ms at {DEPTHS}"
    return Row("96 blocks of width 128, one arm", medians[-1], exponent, EXPONENT, note)


def beside_torch(norm: str) -> list[Row]:
    """Time our backward pass beside PyTorch's layers with the same weights, streams kept."""
    config = ModelConfig(
        n_layer=12, d_model=256, n_head=4, n_ctx=64, vocab_size=LAB_VOCAB, norm=norm, init="xavier"
    )
    model, ids = Andrea(config, seed=0), token_ids("random", 0, 2, 64, LAB_VOCAB)
    reference = Reference(model)
    parameters = list(reference.parameters())

    def theirs() -> object:
        loss, streams = reference.loss(ids)
        return torch.autograd.grad(loss, [*streams, *parameters])

    def ours() -> object:
        kept: dict[str, torch.Tensor] = {}
        backpropagate(model, ids, kept.__setitem__)
        return kept

    name = f"ours, {norm}-norm"
    seconds = interleaved(
        {f"TransformerEncoderLayer, {norm}-norm": lambda: timed(theirs),
         name: lambda: timed(ours)},
        ROUNDS,
    )  # fmt: skip
    return compared(seconds, {name: RATIO})


def run() -> list[Row]:
    """Run all three."""
    torch.set_num_threads(1)
    return [*default_view(), against_depth(), *beside_torch("pre"), *beside_torch("post")]
