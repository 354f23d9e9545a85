"""The race: a step of one arm beside PyTorch's layers and Adam, and what the default race takes.

One thread, processor time. The step is the one that the site takes (12 blocks of width 64, eight
windows of 64 bytes, the gradient's norm measured in float64); the other is a plain training step of
TransformerEncoderLayers with the same weights, the norm taken by PyTorch.
"""

from __future__ import annotations

import statistics

import torch
import torch.nn.functional as F

from andrea.measures.race_lane import BETAS, Lane
from andrea.measures.race_text import batch
from andrea.model import Andrea
from andrea.requests_race import RaceRequest
from tests.benchmarks import Row, compared, interleaved, timed
from tests.reference_stack import Reference

ROUNDS, RATIO = 15, 1.15


def run() -> list[Row]:
    """Time a step of ours and of theirs in turns; multiply it up to the default race."""
    request, windows = RaceRequest(), batch(0, 0)
    lane = Lane(request, "pre")
    model = Reference(Andrea(request.config("pre"), seed=request.seed))
    adam = torch.optim.Adam(model.parameters(), lr=request.lr, betas=BETAS, fused=True)

    def theirs() -> None:
        _, streams = model.loss(windows[:, :-1])
        logits = F.linear(model.ln(streams[-1]), model.wte.weight)
        F.cross_entropy(logits.flatten(0, 1), windows[:, 1:].flatten()).backward()
        float(torch.nn.utils.get_total_norm([p.grad for p in model.parameters()]))
        adam.step()
        adam.zero_grad(set_to_none=True)

    seconds = interleaved(
        {"a step, PyTorch's layers and Adam": lambda: timed(theirs),
         "a step of one arm": lambda: timed(lambda: lane.step(0, windows))},
        ROUNDS,
    )  # fmt: skip
    step = statistics.median(seconds["a step of one arm"])
    arm = request.steps * step
    note = f"{len(request.arms)} arms of {request.steps} steps, {arm:.1f} s each"
    whole = Row("the default race, at that rate", len(request.arms) * arm, None, None, note)
    return [*compared(seconds, {"a step of one arm": RATIO}), whole]
