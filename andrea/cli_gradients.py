"""``python -m andrea gradients``: one arm of the laboratory, all seeds of it."""

from __future__ import annotations

import argparse
import json
import math
from typing import get_args

from andrea import engine
from andrea.config import Init, Norm
from andrea.measures.gradients import GradientsResult
from andrea.requests import GradientsRequest, TokenSource
from andrea.results import jsonable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``gradients``."""
    d, add = GradientsRequest(), parser.add_argument
    add("--n-layer", type=int, default=d.n_layer, help="blocks, 1 to 96; to 192 up to width 128")
    add("--d-model", type=int, default=d.d_model, help="width, 64 to 768 (%(default)s)")
    add("--n-head", type=int, default=d.n_head, help="heads; must divide the width (%(default)s)")
    add("--norm", default=d.norm, help=f"{', '.join(get_args(Norm))} (%(default)s)")
    add("--no-residual", action="store_true", help="branches replace the stream")
    add("--init", default=d.init, help=f"{', '.join(get_args(Init))} (%(default)s)")
    add("--tokens", default=d.tokens, help=f"{', '.join(get_args(TokenSource))} (%(default)s)")
    add("--batch", type=int, default=d.batch, help="sequences (%(default)s)")
    add("--n-tokens", type=int, default=d.n_tokens, help="positions a sequence (%(default)s)")
    add("--seeds", type=int, default=1, help="how many seeds, 1 to 8 (%(default)s)")
    add("--seed", type=int, default=0, help="the first of them (%(default)s)")
    add("--trained", action="store_true", help="the trained andrea-mini, as it is")
    add("--json", action="store_true", help="print one JSON document")


def gradients_request(args: argparse.Namespace) -> GradientsRequest:
    """Return the ``GradientsRequest`` of parsed arguments."""
    return GradientsRequest(
        n_layer=args.n_layer,
        d_model=args.d_model,
        n_head=args.n_head,
        norm=args.norm,
        residual=not args.no_residual,
        init=args.init,
        tokens=args.tokens,
        batch=args.batch,
        n_tokens=args.n_tokens,
        seeds=tuple(range(args.seed, args.seed + min(args.seeds, 9))),
        trained=args.trained,
    )


def command(request: GradientsRequest) -> str:
    """Return the command that repeats ``request``: what it needs, and nothing that is default.

    The seeds must follow one another, as the site's do.
    """
    d, words = GradientsRequest(), ["python -m andrea gradients"]
    shape = () if request.trained else ("n_layer", "d_model", "n_head", "norm", "init")
    for field in shape:
        words.append(f"--{field.replace('_', '-')} {getattr(request, field)}")
    if request.trained:
        words.append("--trained")
    elif not request.residual:
        words.append("--no-residual")
    for field in ("tokens", "batch", "n_tokens"):
        if getattr(request, field) != getattr(d, field):
            words.append(f"--{field.replace('_', '-')} {getattr(request, field)}")
    words.append(f"--seeds {len(request.seeds)}")
    if request.seeds[0]:
        words.append(f"--seed {request.seeds[0]}")
    return " ".join([*words, "--json"])


def run(args: argparse.Namespace) -> None:
    """Measure one arm; print the profile of its gradient through depth."""
    result = engine.run(gradients_request(args))
    if args.json:
        print(json.dumps(jsonable(result), ensure_ascii=False, allow_nan=False))
        return
    print_profile(result)


def print_profile(result: GradientsResult) -> None:
    """Print each boundary from the output back: gradient, cosine, length, mean over seeds."""
    print("boundary  ||dL/dx||    cosine   ||x||")
    rows = (result.stream_grad_norms, result.token_cosine, result.stream_norms)
    means = [row.mean(axis=0) for row in rows]
    for layer in reversed(range(len(means[0]))):
        gradient, cosine, length = (mean[layer] for mean in means)
        print(f"{layer:8}  {gradient:.3e}  {cosine:8.5f}  {length:.3e}")
    first, last = means[0][0], means[0][-1]
    ratio = first / last if last > 0 and math.isfinite(last) else math.nan
    print(f"from output to embeddings the gradient is multiplied by {ratio:.3g}")
    print(f"loss {result.loss.mean():.4f}")
    p = result.provenance
    print(
        f"{p.model}, {p.n_parameters:,} parameters, {len(result.loss)} seed(s), "
        f"weights {p.weights_sha256[:8]}, {p.device_name}, {p.seconds * 1000:.0f} ms"
    )
