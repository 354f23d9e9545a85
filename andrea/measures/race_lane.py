"""One arm of a race: a small model, its optimiser, a step at a time.

Nothing saves an arm from itself: no gradient is clipped. An arm whose loss or gradient is no
longer a finite number has broken; it stops there, with the weights that it had.

Source: Vaswani et al. 2017, "Attention Is All You Need", section 5.3, arXiv:1706.03762 (Adam's
betas).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea import device, sources
from andrea.measures.gradients import Doubles, mean_length, norm64
from andrea.measures.race_text import held_out
from andrea.model import Andrea
from andrea.requests_race import BATCH, RaceRequest

BETAS = (0.9, 0.98)
LENGTH_WINDOWS = 8  # held-out windows on which the stream's length is measured


@dataclass(frozen=True)
class Broken:
    """Where an arm broke: at which step (counted from 1), and what was no longer finite."""

    step: int
    what: str  # "loss" or "gradient"


def next_byte_loss(model: Andrea, windows: Tensor) -> Tensor:
    """Mean cross-entropy of each next byte, in nats: int64 (N, T + 1) -> scalar."""
    return F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


class Lane:
    """One arm: its model, its optimiser, its figures so far."""

    def __init__(self, request: RaceRequest, arm: str) -> None:
        self.request, self.arm = request, arm
        self.model = Andrea(request.config(arm), seed=request.seed).to(device.device())
        self.model.requires_grad_(True)
        self.start_sha256 = sources.values_sha256(self.model)
        self.adam = torch.optim.Adam(
            self.model.parameters(),
            lr=request.lr,
            betas=BETAS,
            fused=device.device().type != "mps",
        )
        self.loss = np.full(request.steps, math.nan)
        self.grad_norm = np.full(request.steps, math.nan)
        self.broken: Broken | None = None
        self.seconds = 0.0
        self.held_out_loss: list[float] = []
        self.stream_norms: list[Doubles] = []

    def step(self, step: int, windows: Tensor) -> None:
        """Take one step of Adam on ``windows``, unless the arm breaks here."""
        started = time.perf_counter()
        for group in self.adam.param_groups:
            group["lr"] = self.request.rate(self.arm, step)
        loss = next_byte_loss(self.model, windows)
        self.loss[step] = float(loss.detach())
        if math.isfinite(self.loss[step]):
            loss.backward()
            # Summed in float64: squares of a large gradient that is still finite would overflow.
            gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
            self.grad_norm[step] = math.hypot(*map(norm64, gradients))
            if math.isfinite(self.grad_norm[step]):
                self.adam.step()
            else:
                self.broken = Broken(step + 1, "gradient")
            self.adam.zero_grad(set_to_none=True)
        else:
            self.broken = Broken(step + 1, "loss")
        self.seconds += time.perf_counter() - started

    @torch.no_grad()
    def look(self) -> None:
        """Measure the held-out loss and the stream's lengths as the weights stand."""
        windows = held_out().to(device.device())
        parts = [(next_byte_loss(self.model, part), len(part)) for part in windows.split(BATCH)]
        self.held_out_loss.append(sum(float(loss) * n for loss, n in parts) / len(windows))
        x = self.model.embed(windows[:LENGTH_WINDOWS, :-1])
        lengths = [mean_length(x)]
        for block in self.model.blocks:
            x = block(x)
            lengths.append(mean_length(x))
        self.stream_norms.append(np.array(lengths))
