"""Train a model on plain text: the recipe that made ``andrea-mini``, for a CPU or a CUDA device.

Every step draws its windows from a generator seeded by (seed, step), so a run that was stopped and
resumed sees the same text. A checkpoint is written every few minutes; stopping loses no more than
that. Progress is a bar on stderr and one JSON line a log step in ``log.jsonl``.

The schedule: linear warmup, flat, then linear decay to 5 %. Resuming with a larger ``--steps``
simply continues on the longer schedule.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save_file

from andrea import corpus, sources
from andrea.config import ModelConfig
from andrea.model import Andrea
from andrea.optim import Muon
from andrea.tokenizer import VOCAB_SIZE, TextTokenizer, train_tokenizer

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
        start = time.perf_counter()
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
        meta = {"step": self.step, "seconds": self.seconds, "tokens": self.tokens}
        path, fresh = self.folder / "checkpoint.safetensors", self.folder / "checkpoint.new"
        save_file(
            {n: t.contiguous().cpu() for n, t in tensors.items()},
            fresh,
            {"run": json.dumps(meta), "config": json.dumps(self.model.config.as_dict())},
        )
        os.replace(fresh, path)

    def resume(self) -> bool:
        """Continue from the folder's checkpoint, if there is one."""
        path = self.folder / "checkpoint.safetensors"
        if not path.exists():
            return False
        with safe_open(path, "pt", device=str(self.device)) as file:
            written = json.loads(file.metadata()["config"])
            if written != self.model.config.as_dict():
                raise ValueError(
                    f"{path} holds another model ({written}); choose another --out folder"
                )
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            meta = json.loads(file.metadata()["run"])
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
        self.step, self.seconds, self.tokens = meta["step"], meta["seconds"], meta["tokens"]
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


# -- the command -----------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m andrea train``."""
    add = parser.add_argument
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        "Train a small model on your own text and show it on the site.\n\n"
        "  python -m andrea train --text story.txt --out runs/mine --minutes 60\n\n"
        "Plain UTF-8 text, the more the better (a megabyte is a start). Stop it with Ctrl-C at\n"
        "any time; the same command continues where it stopped. The result, in the --out folder,\n"
        "is weights.safetensors with tokenizer.json: point ANDREA_WEIGHTS at the folder."
    )
    add("--text", nargs="+", type=Path, required=True, metavar="FILE", help="text to learn from")
    add(
        "--valid",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="held-out text, one a --text file (else the last 2 %% of each text is held out)",
    )
    add("--sources", type=Path, metavar="TSV", help="table that weights the documents by tier")
    add("--tokenizer", type=Path, metavar="JSON", help="use this tokenizer, do not learn one")
    add(
        "--out",
        type=Path,
        default=Path("runs/mine"),
        help="folder of the run (default: %(default)s)",
    )
    add("--n-layer", type=int, default=12, help="blocks (default: %(default)s)")
    add("--d-model", type=int, default=192, help="width (default: %(default)s)")
    add("--n-head", type=int, default=6, help="heads (default: %(default)s)")
    add("--vocab-size", type=int, default=VOCAB_SIZE, help="tokens to learn (default: %(default)s)")
    add("--export-only", action="store_true", help="write the weights of the checkpoint and stop")
    add("--part-mb", type=float, help="also split the weights into parts of at most so many MB")
    for field in fields(Recipe):
        kind = {"minutes": float, "precision": str}.get(field.name, type(field.default))
        add(
            "--" + field.name.replace("_", "-"),
            type=kind,
            default=field.default,
            help=f"(default: {field.default})",
        )


def load_streams(
    args: argparse.Namespace, tokenizer: TextTokenizer, texts: list[str], cache: Path
) -> tuple[list[corpus.Stream], list[corpus.Stream]]:
    """Tokenise the training and validation text, named by language or file."""
    train, valid = [], []
    if args.valid and len(args.valid) != len(args.text):
        raise ValueError("--valid needs one file for each --text file, in the same order")
    for i, (path, text) in enumerate(zip(args.text, texts, strict=True)):
        name = path.name.split(".")[0]
        weights = corpus.tier_weights(args.sources, name) if args.sources else None
        if args.valid:
            held = corpus.read_text(args.valid[i])
        else:
            text, held = corpus.split_off(text)
        print(f"tokenising {path.name} ...", file=sys.stderr)
        train.append(corpus.tokenise(name, text, tokenizer, weights))
        valid.append(corpus.tokenise(name, held, tokenizer))
    return train, valid


def main(args: argparse.Namespace) -> None:
    """Run ``python -m andrea train`` with parsed arguments."""
    from tqdm import tqdm

    recipe = Recipe(**{f.name: getattr(args, f.name) for f in fields(Recipe)})
    args.out.mkdir(parents=True, exist_ok=True)
    texts = [corpus.read_text(path) for path in args.text]
    kept = args.out / "tokenizer.json"
    if args.tokenizer:
        tokenizer = TextTokenizer.load(args.tokenizer)
    elif kept.exists():
        tokenizer = TextTokenizer.load(kept)
    else:
        print("learning the tokenizer ...", file=sys.stderr)
        paragraphs = (p + "\n\n" for text in texts for p in text.split("\n\n"))
        tokenizer = train_tokenizer(paragraphs, args.vocab_size)
    tokenizer.save(kept)
    train, valid = load_streams(args, tokenizer, texts, args.out)
    config = ModelConfig(
        n_layer=args.n_layer,
        d_model=args.d_model,
        n_head=args.n_head,
        n_ctx=recipe.context,
        vocab_size=tokenizer.vocab_size,
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(int(os.environ.get("ANDREA_THREADS", "1")))
    trainer = Trainer(config, recipe, train, valid, args.out, device)
    if trainer.resume():
        print(f"continuing at step {trainer.step}", file=sys.stderr)
    if not args.export_only:
        log_and_run(trainer, tqdm(total=100, unit="%", disable=not sys.stderr.isatty()))
    export(trainer, args)


def log_and_run(trainer: Trainer, bar: Any) -> None:
    """Train, writing the log and moving the bar; Ctrl-C keeps what was learned."""
    try:
        with (trainer.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            for line in trainer.run():
                log.write(json.dumps(line) + "\n")
                log.flush()
                bar.n = round(100 * trainer.progress(), 1)
                bar.set_postfix_str(f"loss {line['loss']:.3f}")
    except KeyboardInterrupt:
        trainer.save()
        print(f"\nstopped at step {trainer.step}; the same command continues", file=sys.stderr)
    finally:
        bar.close()


def export(trainer: Trainer, args: argparse.Namespace) -> None:
    """Write ``weights.safetensors`` (float16) with what made it in its header."""
    made = {
        "recipe": asdict(trainer.recipe),
        "step": trainer.step,
        "tokens": trainer.tokens,
        "seconds": round(trainer.seconds),
        "device": trainer.device.type,
        "precision": str(trainer.dtype).removeprefix("torch."),
        "date": time.strftime("%Y-%m-%d"),
        "texts": [path.name for path in args.text],
        "valid_loss": trainer.validate(None),
    }
    path = args.out / "weights.safetensors"
    sources.save_weights(trainer.model, path, made, part_mb=args.part_mb)
    print(json.dumps({"written": str(path), **made}))
