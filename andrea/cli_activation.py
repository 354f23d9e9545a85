"""``python -m andrea activation``: where a model's numbers fall, and the loss with another."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import cast

from andrea import engine
from andrea.config import PRESETS, Activation
from andrea.data import DEFAULT_SENTENCES
from andrea.measures.activation import ActivationResult, PreActivationsResult, SwapResult
from andrea.measures.activation_error import Approximation, approximation
from andrea.requests import ModelRequest
from andrea.requests_activation import (
    SWAPS,
    ActivationRequest,
    PreActivationsRequest,
    SwapRequest,
)
from andrea.results import jsonable
from andrea.sources import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``activation``."""
    d, add = ActivationRequest(), parser.add_argument
    text = DEFAULT_SENTENCES["en"]
    add("text", nargs="?", default=text, help="the text that the model reads (%(default)s)")
    add("--model", default=d.model.model, help=f"one of {', '.join(PRESETS)} (%(default)s)")
    add("--seed", type=int, default=0, help="seed of fresh weights (%(default)s)")
    add("--norm", default="pre", help="pre, post or none (%(default)s)")
    add("--no-residual", action="store_true", help="branches replace the stream")
    add("--n-layer", type=int, default=None, help="blocks (default: the model's own depth)")
    add("--position", type=int, default=-1, help="token; 0 is BOS (default: the last)")
    add("--layer", type=int, default=1, help="block, 1 is the first (%(default)s)")
    add("--on-text", action="store_true", help="all blocks on the text, not on the passages")
    add("--act", default="relu", help=f"put in: one of {', '.join(SWAPS)} (%(default)s)")
    add("--passages", type=int, default=d.n_passages, help="in each language (%(default)s)")
    add("--n-tokens", type=int, default=d.n_tokens, help="of each passage (%(default)s)")
    add("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> None:
    """Answer all questions about one text and one activation.

    The JSON document has ``approximation``, ``text``, ``layers`` and ``swap``.
    """
    model = ModelRequest(
        args.model, args.seed, norm=args.norm, residual=not args.no_residual, n_layer=args.n_layer
    )
    survey = ActivationRequest("", model, args.seed, args.passages, args.n_tokens)
    if args.on_text:
        survey = replace(survey, text=args.text)
    swap = SwapRequest(cast(Activation, args.act), model, args.passages, args.n_tokens)
    loaded = load(model)
    read = engine.run(
        PreActivationsRequest(args.text, model, args.layer - 1, args.position), lambda _: loaded
    )
    layers = engine.run(survey, lambda _: loaded)
    swapped = engine.run(swap, lambda _: loaded)
    near = approximation()
    if args.json:
        whole = {"approximation": near, "text": read, "layers": layers, "swap": swapped}
        print(json.dumps(jsonable(whole), ensure_ascii=False, allow_nan=False))
        return
    print_approximation(near)
    print_text(read)
    print_layers(layers)
    print_swap(swapped)


def print_approximation(near: Approximation) -> None:
    """Print the largest differences and the errors in each format."""
    print(f"tanh form and exact GELU: {near.largest:.4g} apart at x = +-{near.at:.3f}")
    print(f"the same for Phi: {near.phi_largest:.4g} at x = +-{near.phi_at:.3f}")
    for f in near.formats:
        print(f"{f.name:9} largest error: tanh {f.tanh:.3g}, exact {f.exact:.3g}; "
              f"rounding outweighs at {f.outweighed:.1%} of the numbers")  # fmt: skip


def print_text(read: PreActivationsResult) -> None:
    """Print the share below zero on the text."""
    own = read.pre[read.position]
    print(f"block {read.request.layer + 1} at {read.labels[read.position]!r}: "
          f"{(own < 0).mean():.1%} of {own.size} pre-activations are negative")  # fmt: skip


def print_layers(result: ActivationResult) -> None:
    """Print one line a block."""
    print(f"{result.layers.n_positions} positions, {result.layers.n_units} units")
    for name, layers in (("model", result.layers), ("fresh", result.init)):
        if layers is None:
            continue
        for k, (negative, share, size, silent) in enumerate(
            zip(layers.negative, layers.cut_share, layers.cut_size, layers.silent, strict=True), 1
        ):
            print(f"{name} block {k:2}  negative {negative:6.1%}  of the output {share:+7.2%}  "
                  f"length {size:6.1%}  silent {silent}")  # fmt: skip


def print_swap(result: SwapResult) -> None:
    """Print the losses in both languages."""
    it, en = result.base_loss
    print(f"loss as it is: it {it:.5f}, en {en:.5f}")
    rows = [("all blocks", result.change_all)]
    rows += [(f"block {k}", change) for k, change in enumerate(result.change.T, 1)]
    print(f"{result.request.act_fn} in place of {result.from_act}, not retrained: change it, en")
    for name, (it, en) in rows:
        print(f"{name:10} {it:+.7f} {en:+.7f}")
