"""The terminal's commands: arguments to a request, the result to JSON or to a few lines.

To add a command, write ``add_arguments`` and ``run`` for it and list it in ``COMMANDS``.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from typing import Any

import torch

from andrea import (
    cli_activation,
    cli_depth,
    cli_evaluate,
    cli_gradients,
    cli_norm,
    cli_race,
    cli_sample,
    device,
    engine,
    sources,
)
from andrea.cli_parameters import add_parameters, run_parameters
from andrea.config import PRESETS
from andrea.measures.overview import AttentionResult, LensMapResult
from andrea.requests import (
    TRAINED,
    AttentionRequest,
    LensMapRequest,
    ModelRequest,
    TraceRequest,
)
from andrea.results import Provenance, jsonable

Command = tuple[
    str, str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], None]
]


def print_json(value: Any) -> None:
    """Print one JSON document: a result dataclass, or plain data."""
    print(json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False))


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the model and its switches."""
    add = parser.add_argument
    add("--model", default="andrea-mini", help=f"one of {', '.join(PRESETS)} (%(default)s)")
    add("--seed", type=int, default=0, help="seed of fresh weights (%(default)s)")
    add("--norm", default="pre", help="pre, post or none (%(default)s)")
    add("--no-residual", action="store_true", help="branches replace the stream")
    add("--n-layer", type=int, default=None, help="blocks (default: the model's own depth)")


def model_request(args: argparse.Namespace) -> ModelRequest:
    """Return the ``ModelRequest`` of parsed arguments."""
    return ModelRequest(
        args.model, args.seed, norm=args.norm, residual=not args.no_residual, n_layer=args.n_layer
    )


def add_text(parser: argparse.ArgumentParser) -> None:
    """Add the text, the model's options and ``--json``."""
    parser.add_argument("text", help="the text that the model reads")
    add_model(parser)
    add_json(parser)


def signature(p: Provenance) -> str:
    """Return one line that says what answered."""
    kind = "trained" if p.trained else f"fresh weights, seed {p.seed}"
    return (
        f"{p.model} ({kind}), {p.n_parameters:,} parameters, weights {p.weights_sha256[:8]}, "
        f"{p.device_name}, {p.seconds * 1000:.0f} ms"
    )


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``trace``."""
    add_text(parser)
    parser.add_argument(
        "--position", type=int, default=-1, help="token to follow; 0 is BOS (default: the last)"
    )


def run_trace(args: argparse.Namespace) -> None:
    """Follow one token and print what the model would say after each block."""
    result = engine.run(TraceRequest(args.text, model_request(args), args.position))
    if args.json:
        print_json(result)
        return
    print(f"following {result.labels[result.position]!r}, position {result.position}")
    for name, labels, probs, rank in zip(
        result.lens_names, result.lens_labels, result.lens_probs, result.lens_rank, strict=True
    ):
        guesses = "  ".join(f"{w!r} {p:.1%}" for w, p in zip(labels, probs, strict=True))
        print(f"{name:22} rank of {result.answer_label!r}: {rank:5}   {guesses}")
    print(signature(result.provenance))


def add_attention(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention``."""
    add_text(parser)
    parser.add_argument("--layer", type=int, default=1, help="block, 1 is the first (%(default)s)")


def run_attention(args: argparse.Namespace) -> None:
    """Print the attention patterns of one block."""
    result: AttentionResult = engine.run(
        AttentionRequest(args.text, model_request(args), args.layer - 1)
    )
    if args.json:
        print_json(result)
        return
    for head, pattern in enumerate(result.pattern):
        print(f"head {head + 1}")
        for label, row in zip(result.labels, pattern, strict=True):
            print(f"{label!r:>14} " + " ".join(f"{p:4.2f}" for p in row))
    print(signature(result.provenance))


def run_lens_map(args: argparse.Namespace) -> None:
    """Print the first guess at every token after every block."""
    result: LensMapResult = engine.run(LensMapRequest(args.text, model_request(args)))
    if args.json:
        print_json(result)
        return
    for depth, labels in reversed(list(enumerate(result.labels))):
        print(f"after {depth:2} blocks  " + " ".join(f"{label!r:>12}" for label in labels))
    print(" " * 17 + " ".join(f"{label!r:>12}" for label in result.token_labels))
    print(signature(result.provenance))


def run_info(args: argparse.Namespace) -> None:
    """Print which weights and which device answer here."""
    config, made = sources.read_header(sources.weights_folder() / "weights.safetensors")
    info: dict[str, Any] = {
        "trained": {
            "model": TRAINED,
            "config": config.as_dict(),
            "n_parameters": sources.n_parameters(config),
            "weights_sha256": sources.file_sha256(sources.weights_folder() / "weights.safetensors"),
            "made": made,
        },
        "presets": {
            name: {"config": c.as_dict(), "n_parameters": sources.n_parameters(c)}
            for name, c in PRESETS.items()
        },
        "device": device.device().type,
        "device_name": device.name(),
        "threads": device.threads(),
        "memory_limit_bytes": device.memory_limit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if args.json:
        print_json(info)
        return
    print(f"device   {info['device_name']} ({info['device']}), {info['threads']} thread(s)")
    print(
        f"trained  {TRAINED}, {info['trained']['n_parameters']:,} parameters, "
        f"{made.get('tokens', 0):,} tokens seen, validation loss {made.get('valid_loss')}"
    )
    for name in PRESETS:
        print(f"preset   {name}: {info['presets'][name]['n_parameters']:,} parameters")


COMMANDS: list[Command] = [
    ("trace", "follow one token through every block", add_trace, run_trace),
    ("attention", "all heads of one block", add_attention, run_attention),
    ("lens-map", "the first guess at every token and depth", add_text, run_lens_map),
    ("sample", "let the model continue a text", cli_sample.add_arguments, cli_sample.run),
    ("parameters", "where the parameters sit, counted", add_parameters, run_parameters),
    (
        "gradients",
        "the gradient on its way back, arm by arm",
        cli_gradients.add_arguments,
        cli_gradients.run,
    ),
    ("norm", "one LayerNorm at work, step by step", cli_norm.add_arguments, cli_norm.run),
    (
        "depth",
        "what each block adds, and the loss without it",
        cli_depth.add_arguments,
        cli_depth.run,
    ),
    (
        "activation",
        "GELU and ReLU: where the model's numbers fall, and the loss with another",
        cli_activation.add_arguments,
        cli_activation.run,
    ),
    ("race", "train small models side by side", cli_race.add_arguments, cli_race.run),
    (
        "evaluate",
        "measure the trained model on held-out text",
        cli_evaluate.add_evaluate,
        cli_evaluate.run_evaluate,
    ),
    ("card", "write the model card", cli_evaluate.add_card, cli_evaluate.run_card),
    ("info", "which weights and which device answer here", add_json, run_info),
]
