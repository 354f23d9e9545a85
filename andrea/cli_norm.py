"""``python -m andrea norm``: what one LayerNorm reads and makes of one token."""

from __future__ import annotations

import argparse
import json
from typing import Any

from andrea import engine
from andrea.config import PRESETS
from andrea.measures.layernorm import Applied, Statistics, apply
from andrea.measures.norm import NormResult
from andrea.measures.stream_norms import StreamNormsResult
from andrea.requests import ModelRequest, NormRequest, StreamNormsRequest
from andrea.results import jsonable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``norm``."""
    add = parser.add_argument
    add("text", help="the text that the model reads")
    add("--model", default="andrea-mini", help=f"one of {', '.join(PRESETS)} (%(default)s)")
    add("--seed", type=int, default=0, help="seed of fresh weights (%(default)s)")
    add("--norm", default="pre", help="pre, post or none (%(default)s)")
    add("--no-residual", action="store_true", help="branches replace the stream")
    add("--n-layer", type=int, default=None, help="blocks (default: the model's own depth)")
    add("--position", type=int, default=-1, help="token; 0 is BOS (default: the last)")
    add("--layer", type=int, default=1, help="block, 1 is the first (%(default)s)")
    add("--ln", default="ln1", help="ln1, ln2 or ln_final (%(default)s)")
    add("--gamma-scale", type=float, default=1.0, help="multiplies gamma (%(default)s)")
    add("--beta-shift", type=float, default=0.0, help="is added to beta (%(default)s)")
    add("--eps", type=float, default=None, help="epsilon (default: the model's)")
    add("--no-affine", action="store_true", help="start from gamma 1 and beta 0, not the learned")
    add("--streams", action="store_true", help="also the stream's length under every placement")
    add("--json", action="store_true", help="print one JSON document")


def norm_request(args: argparse.Namespace) -> NormRequest:
    """Return the ``NormRequest`` of parsed arguments."""
    model = ModelRequest(
        args.model, args.seed, norm=args.norm, residual=not args.no_residual, n_layer=args.n_layer
    )
    return NormRequest(args.text, model, args.position, args.layer - 1, args.ln)


def applied(result: NormResult, args: argparse.Namespace) -> Applied:
    """Apply LayerNorm with the settings asked for to the vector that the model recorded."""
    return apply(
        result.inputs[result.position],
        result.gamma,
        result.beta,
        gamma_scale=args.gamma_scale,
        beta_shift=args.beta_shift,
        eps=result.eps if args.eps is None else args.eps,
        learned=not args.no_affine,
    )


def run(args: argparse.Namespace) -> None:
    """Print the vector's numbers before and after, and LayerNorm beside RMSNorm.

    The JSON document is the result with ``applied`` (the settings) and, with ``--streams``,
    ``streams`` beside it.
    """
    request = norm_request(args)
    result = engine.run(request)
    made = applied(result, args)
    streams = engine.run(StreamNormsRequest(args.text, request.model)) if args.streams else None
    if args.json:
        document: dict[str, Any] = {**jsonable(result), "applied": jsonable(made)}
        if streams is not None:
            document["streams"] = jsonable(streams)
        print(json.dumps(document, ensure_ascii=False, allow_nan=False))
        return
    print_vector(result, made)
    if streams is not None:
        print_streams(streams)


def print_vector(result: NormResult, made: Applied) -> None:
    """Print one line a stage."""
    here = request_name(result.request)
    print(f"{here} at {result.labels[result.position]!r}, position {result.position}")
    stages: tuple[tuple[str, Statistics], ...] = (
        ("before", made.before),
        ("normalised", made.after_normalized),
        ("after gamma, beta", made.after_out),
        ("RMSNorm", made.after_rms),
    )
    for name, s in stages:
        print(f"{name:18} mean {s.mean:+.6f}  variance {s.variance:.6f}  length {s.norm:.4f}")
    print(f"var / (var + eps) = {made.expected_variance:.9f}, eps = {made.eps:g}")
    print(f"cosine between LayerNorm and RMSNorm {made.rms_cosine:.6f}")
    if result.later_change is not None:
        print(f"{result.later_tokens} later token(s) exchanged: largest change here "
              f"{result.later_change:g}")  # fmt: skip
    print(f"{len(result.layernorms)} LayerNorms in this model")


def request_name(request: NormRequest) -> str:
    """Return the LayerNorm's name, blocks counted from 1."""
    return request.ln if request.ln == "ln_final" else f"block {request.layer + 1}, {request.ln}"


def print_streams(result: StreamNormsResult) -> None:
    """Print one line an arm: the stream's mean length after each block."""
    for c in result.curves:
        arm = "trained" if c.trained else f"{c.norm}{'' if c.residual else ', no residual'}"
        print(f"{arm:20} " + " ".join(f"{x:.3g}" for x in c.norms))
