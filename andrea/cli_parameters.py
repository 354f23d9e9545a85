"""``python -m andrea parameters``: where the parameters of a model sit, counted and explained."""

from __future__ import annotations

import argparse
import json

from andrea import engine
from andrea.config import PRESETS
from andrea.measures.parameters import ParametersResult, compare
from andrea.requests import ParametersRequest
from andrea.results import jsonable


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``parameters``."""
    add = parser.add_argument
    add("--preset", default="andrea-120m", help=f"one of {', '.join(PRESETS)} (%(default)s)")
    for name, meaning in (
        ("n-layer", "blocks"),
        ("d-model", "width of the stream"),
        ("n-head", "attention heads; must divide the width"),
        ("d-mlp", "width of the MLP's hidden layer"),
        ("vocab-size", "vocabulary entries"),
        ("n-ctx", "longest context"),
    ):
        add(f"--{name}", type=int, default=None, help=f"{meaning} (default: the preset's)")
    add("--norm", default="pre", help="pre, post or none (%(default)s)")
    add("--no-bias", action="store_true", help="no biases in the linear maps")
    add("--untied", action="store_true", help="an unembedding matrix of its own")
    add("--no-norm-affine", action="store_true", help="LayerNorms without gamma and beta")
    add("--measure-flops", action="store_true", help="also count a forward pass, op by op")
    add("--compare", metavar="PRESET", default=None, help="a second configuration beside it")
    add("--json", action="store_true", help="print one JSON document")


def parameters_request(args: argparse.Namespace) -> ParametersRequest:
    """Return the ``ParametersRequest`` of parsed arguments."""
    return ParametersRequest(
        args.preset,
        n_layer=args.n_layer,
        d_model=args.d_model,
        n_head=args.n_head,
        d_mlp=args.d_mlp,
        vocab_size=args.vocab_size,
        n_ctx=args.n_ctx,
        norm=args.norm,
        bias=not args.no_bias,
        norm_affine=not args.no_norm_affine,
        tie_embeddings=not args.untied,
        measure_flops=args.measure_flops,
    )


def print_count(result: ParametersResult) -> None:
    """Print the table of one configuration, its costs and the lesson's statements."""
    for row in result.rows:
        shape = " × ".join(str(n) for n in row.shape)
        note = f"= {row.tied_to}, counted once" if row.tied_to else row.formula.numbers
        print(f"{row.kind:16} [{shape}]".ljust(36) + f"{row.total:>13,}  {note}")
    print(f"{'total'.ljust(36)}{result.total:>13,}  {result.closed_form.numbers}")
    for group in (*result.groups, result.trunk):
        print(f"{group.name.ljust(36)}{group.total:>13,}  {group.share:.1%}")
    for cost in result.costs.lines():
        print(f"{cost.name.ljust(30)}{cost.value:>19,}  {cost.formula.text}")
    if result.costs.flops_measured is not None:
        print(f"{'forward, measured'.ljust(30)}{result.costs.flops_measured:>19,.0f}")
    print("\nthe lesson and the model cards, on ANDREA-12M, 120M and 480M:")
    for statement in result.reconciliation:
        print(f"[{statement.verdict}] {statement.claim} {statement.in_words()}")


def run_parameters(args: argparse.Namespace) -> None:
    """Count one configuration, or two side by side."""
    result = engine.run(parameters_request(args))
    if args.compare is None:
        if args.json:
            print(json.dumps(jsonable(result), ensure_ascii=False, allow_nan=False))
        else:
            print_count(result)
        return
    other = engine.run(ParametersRequest(args.compare))
    differences = compare(result, other)
    if args.json:
        document = {"a": result, "b": other, "differences": differences}
        print(json.dumps(jsonable(document), ensure_ascii=False, allow_nan=False))
        return
    print(f"{'':22}{args.preset:>20}{args.compare:>20}")
    for d in differences:
        ratio = "" if d.ratio is None else f"  × {d.ratio:.3g}"
        print(f"{d.name:22}{d.a:>20,}{d.b:>20,}{ratio}")
