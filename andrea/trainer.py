"""A training run: its recipe, its steps, and how it is stopped and resumed.

Every step draws its windows from a generator seeded by (seed, step), so a run that was stopped and
resumed sees the same text and ends with the same weights. A checkpoint is written every few
minutes; stopping loses no more than that.

The schedule: linear warmup, flat, then linear decay to 5 %. Resuming with a larger ``steps`` simply
continues on the longer schedule.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from andrea import corpus
from andrea.checkpoint import Start, read_checkpoint
from andrea.config import ModelConfig
from andrea.model import Andrea
from andrea.optim import Muon

KEPT = ("step", "seconds", "tokens", "processor_seconds", "origin")  # in a checkpoint's header
FINAL_LR_SHARE = 0.05
VALID_WINDOWS = 48  # windows a language for the running figure; the last one takes them all


@dataclass(frozen=True)
class Recipe:
    """Everything that decides a training run besides the text and the model's shape."""

    steps: int = 4000
    minutes: float | None = None
    batch: int = 8
    context: int = 256
    lr: float = 0.02
    lr_adam: float = 0.003
    warmup: int = 60
    flat: float = 0.3
    clip: float = 1.0
    seed: int = 0
    precision: str = "auto"
    checkpoint_minutes: float = 3.0
    log_every: int = 20
    valid_every: int = 500

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "context", "log_every", "valid_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be 1 or more")
        for name in ("lr", "lr_adam", "clip", "checkpoint_minutes"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}: it must be above 0")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise ValueError(f"minutes is {self.minutes}: it must be above 0")
        if self.warmup < 0:
            raise ValueError(f"warmup is {self.warmup}: it must be 0 or more")
        if not 0 <= self.flat <= 1:
            raise ValueError(f"flat is {self.flat}: it is a share between 0 and 1")
        if self.precision not in ("auto", "float32", "bfloat16"):
            raise ValueError(f"precision is {self.precision!r}: auto, float32 or bfloat16")

    def rate(self, step: int, progress: float) -> float:
        """Return the learning rate's factor at ``step``, ``progress`` of the way (0..1)."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        left = (1 - progress) / max(1e-9, 1 - self.flat)
        return min(1.0, FINAL_LR_SHARE + (1 - FINAL_LR_SHARE) * max(0.0, left))


def fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 products are quicker than float32 here: measured, since CPUs differ."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    if device.type != "cpu":
        return False
    seconds = []
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.ones(1024, 256, dtype=dtype), torch.ones(256, 1024, dtype=dtype)
        (a @ b).sum()
        start = time.perf_counter()
        for _ in range(5):
            a @ b
        seconds.append(time.perf_counter() - start)
    return seconds[1] < 0.8 * seconds[0]


class Trainer:
    """One run: the model, its optimisers, the text, and a folder to stop and resume in."""

    def __init__(
        self,
        config: ModelConfig,
        recipe: Recipe,
        train: list[corpus.Stream],
        valid: list[corpus.Stream],
        folder: Path,
        device: torch.device,
    ) -> None:
        self.recipe, self.train, self.valid, self.folder = recipe, train, valid, folder
        self.device = device
        for streams, part in ((train, ""), (valid, " (held-out part)")):
            for stream in streams:  # before hours of training, not after
                stream.check_holds(recipe.context + 1, part)
        self.model = Andrea(config, seed=recipe.seed).to(device)
        bf16 = recipe.precision == "bfloat16" or (
            recipe.precision == "auto" and fast_bfloat16(device)
        )
        self.dtype = torch.bfloat16 if bf16 else torch.float32
        named = dict(self.model.named_parameters())
        matrices = [p for n, p in named.items() if p.dim() == 2 and n.startswith("blocks.")]
        rest = [p for n, p in named.items() if not (p.dim() == 2 and n.startswith("blocks."))]
        self.optimisers: list[torch.optim.Optimizer] = [
            Muon(matrices, lr=recipe.lr, dtype=self.dtype),
            torch.optim.AdamW(
                rest, lr=recipe.lr_adam, betas=(0.9, 0.95), weight_decay=0.0, fused=True
            ),
        ]
        self.base_rates = [group["lr"] for o in self.optimisers for group in o.param_groups]
        self.step, self.seconds, self.tokens = 0, 0.0, 0
        self.processor_seconds: float | None = 0.0  # all threads; None: an older run kept no count
        self.origin: dict[str, Any] | None = None  # of the weights that it began with, if not fresh

    # -- one step ------------------------------------------------------------------------------

    def batch(self) -> torch.Tensor:
        """Draw this step's windows: as many of each text as evenly as possible."""
        random = np.random.default_rng([self.recipe.seed, self.step])
        counts = np.full(len(self.train), self.recipe.batch // len(self.train))
        extra = (np.arange(self.recipe.batch % len(self.train)) + self.step) % len(self.train)
        counts[extra] += 1
        drawn = [
            stream.windows(random, int(count), self.recipe.context + 1)
            for stream, count in zip(self.train, counts, strict=True)
            if count
        ]
        return torch.from_numpy(np.concatenate(drawn)).to(self.device)

    def loss(self, ids: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of the next token over windows [B, context + 1], in nats."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype is torch.bfloat16):
            logits = self.model(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    def progress(self) -> float:
        """How far the run is, 0 to 1: by steps, or by minutes where a time budget is set."""
        by_steps = self.step / self.recipe.steps
        by_time = self.seconds / (60 * self.recipe.minutes) if self.recipe.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def take_step(self) -> dict[str, float]:
        """Train on one batch and return the figures to log."""
        start, busy = time.perf_counter(), time.process_time()
        factor = self.recipe.rate(self.step, self.progress())
        groups = [group for o in self.optimisers for group in o.param_groups]
        for group, base in zip(groups, self.base_rates, strict=True):
            group["lr"] = base * factor
        loss = self.loss(self.batch())
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        value = float(loss.detach())
        took = time.perf_counter() - start
        self.step += 1
        self.seconds += min(took, 30.0)  # a paused process should not eat a time budget
        self.tokens += self.recipe.batch * self.recipe.context
        if self.processor_seconds is not None:
            self.processor_seconds += time.process_time() - busy
        return {
            "step": self.step,
            "loss": value,
            "grad_norm": float(norm),
            "rate": factor,
            "tokens": self.tokens,
            "seconds": round(self.seconds, 1),
            "tokens_per_second": round(self.recipe.batch * self.recipe.context / took),
        }

    @torch.no_grad()
    def validate(self, windows: int | None = VALID_WINDOWS) -> dict[str, float]:
        """Return nats a token on each held-out text, in windows of the full context."""
        losses = {}
        for stream in self.valid:
            grid = stream.blocks(self.recipe.context + 1, windows)
            parts = [
                float(self.loss(torch.from_numpy(grid[i : i + 8]).to(self.device)))
                * len(grid[i : i + 8])
                for i in range(0, len(grid), 8)
            ]
            losses[stream.name] = sum(parts) / len(grid)
        return losses

    # -- stopping and resuming -----------------------------------------------------------------

    def save(self) -> None:
        """Write a checkpoint, whole or not at all."""
        tensors = {f"model.{n}": p.detach() for n, p in self.model.named_parameters()}
        for k, optimiser in enumerate(self.optimisers):
            for i, state in optimiser.state_dict()["state"].items():
                for name, value in state.items():
                    tensors[f"optimiser.{k}.{i}.{name}"] = torch.as_tensor(value)
        meta = {name: getattr(self, name) for name in KEPT}
        path, fresh = self.folder / "checkpoint.safetensors", self.folder / "checkpoint.new"
        save_file(
            {n: t.contiguous().cpu() for n, t in tensors.items()},
            fresh,
            {"run": json.dumps(meta), "config": json.dumps(self.model.config.as_dict())},
        )
        os.replace(fresh, path)

    def begin_from(self, start: Start) -> None:
        """Begin with the weights of another run; optimisers and counters are this run's own."""
        self.model.load_state_dict(start.weights)
        self.origin = start.origin

    def resume(self) -> bool:
        """Continue from the folder's checkpoint, if there is one."""
        path = self.folder / "checkpoint.safetensors"
        if not path.exists():
            return False
        tensors, meta, written = read_checkpoint(path, self.device)
        if written != self.model.config.as_dict():
            raise ValueError(
                f"{path} holds another model ({written}); repeat the command that began it, or "
                "choose another --out folder"
            )
        self.model.load_state_dict(
            {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
        )
        for k, optimiser in enumerate(self.optimisers):
            state: dict[int, dict[str, torch.Tensor]] = {}
            for name, tensor in tensors.items():
                if name.startswith(f"optimiser.{k}."):
                    _, _, i, field = name.split(".")
                    state.setdefault(int(i), {})[field] = tensor
            optimiser.load_state_dict({**optimiser.state_dict(), "state": state})
        for name in KEPT:
            setattr(self, name, meta.get(name))
        return True

    # -- the loop ------------------------------------------------------------------------------

    def run(self) -> Iterator[dict[str, Any]]:
        """Train to the end of the budget, yielding what is logged; checkpoint on the way."""
        saved = time.monotonic()
        while self.progress() < 1:
            line: dict[str, Any] = self.take_step()
            if not math.isfinite(line["loss"]):
                raise ValueError(
                    f"the loss is no longer a number at step {self.step}: "
                    "lower --lr and start again in a new --out folder"
                )
            if self.step % self.recipe.valid_every == 0:
                line["valid"] = self.validate()
            if time.monotonic() - saved > 60 * self.recipe.checkpoint_minutes:
                self.save()
                saved = time.monotonic()
            if self.step % self.recipe.log_every == 0 or "valid" in line:
                yield line
        self.save()
