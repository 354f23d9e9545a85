"""``python -m andrea race``: small models trained side by side on the shipped text."""

from __future__ import annotations

import argparse
import json
import sys
from typing import get_args

from andrea import engine, saved_race
from andrea.config import Init
from andrea.measures.race import RaceResult
from andrea.measures.race_sweep import SweepRequest, SweepResult, sweep
from andrea.requests_race import RACE_ARMS, RACE_WIDTHS, RaceRequest, in_order
from andrea.results import jsonable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``race``."""
    d, add = RaceRequest(), parser.add_argument
    known = ", ".join(RACE_ARMS)
    add("--arms", nargs="+", default=d.arms, metavar="ARM", help=f"of {known} ({' '.join(d.arms)})")
    add("--lr", type=float, default=d.lr, help="learning rate (%(default)s)")
    add("--warmup", type=int, default=d.warmup, help="steps of warmup, where one is (%(default)s)")
    add("--n-layer", type=int, default=d.n_layer, help="blocks, 1 to 24 (%(default)s)")
    add("--d-model", type=int, default=d.d_model, help=f"one of {RACE_WIDTHS} (%(default)s)")
    add("--steps", type=int, default=d.steps, help="steps, 20 to 1000 (%(default)s)")
    add("--seed", type=int, default=d.seed, help="of weights and batches (%(default)s)")
    add("--init", default=d.init, help=f"{', '.join(get_args(Init))} (%(default)s)")
    add("--sweep", action="store_true", help="every learning rate and depth instead (minutes)")
    add("--save", action="store_true", help="run again what the site shows at once (minutes)")
    add("--json", action="store_true", help="print one JSON document")


def race_request(args: argparse.Namespace) -> RaceRequest:
    """Return the ``RaceRequest`` of parsed arguments.

    Raises
    ------
    InputError
        If a value is out of range.
    """
    shape = (args.warmup, args.n_layer, args.d_model, args.steps, args.seed, args.init)
    request = RaceRequest(tuple(args.arms), args.lr, *shape)
    request.check()
    return RaceRequest(in_order(request.arms), args.lr, *shape)


def command(request: RaceRequest) -> str:
    """Return the command that repeats ``request``: what it needs, and nothing that is default."""
    d, words = RaceRequest(), ["python -m andrea race"]
    if request.arms != d.arms:
        words.append("--arms " + " ".join(request.arms))
    for field in ("lr", "warmup", "n_layer", "d_model", "steps", "seed", "init"):
        if getattr(request, field) != getattr(d, field):
            words.append(f"--{field.replace('_', '-')} {getattr(request, field)}")
    return " ".join([*words, "--json"])


def told(request: RaceRequest, result: RaceResult) -> None:
    """Say on stderr that one race is done."""
    ends = "  ".join(
        f"{arm} {loss:.3f}"
        for arm, loss in zip(request.arms, result.held_out_loss[:, 1], strict=True)
    )
    print(
        f"{result.provenance.seconds:6.1f} s  {request.n_layer:2} blocks, lr {request.lr:g}, "
        f"seed {request.seed}: {ends}",
        file=sys.stderr,
    )


def run(args: argparse.Namespace) -> None:
    """Run one race or the sweep; print the losses."""
    if args.save:
        if args.sweep:
            saved_race.save_sweep(told)
        else:
            saved_race.save_races(told)
        return
    result = sweep(SweepRequest(), done=told) if args.sweep else engine.race(race_request(args))
    if args.json:
        print(json.dumps(jsonable(result), ensure_ascii=False, allow_nan=False))
    elif isinstance(result, SweepResult):
        print_sweep(result)
    else:
        print_race(result)


def print_race(result: RaceResult) -> None:
    """Print where each arm stands at the end."""
    print("arm            first batch  last batch    held out    seconds")
    for i, arm in enumerate(result.request.arms):
        broken = result.broken[i]
        print(
            f"{arm:12}  {result.loss[i, 0]:12.4f}  {result.loss[i, -1]:10.4f}  "
            f"{result.held_out_loss[i, 1]:10.4f}  {result.arm_seconds[i]:9.1f}"
            + (f"   {broken.what} no longer finite at step {broken.step}" if broken else "")
        )
    print(f"knowing how frequent bytes are: {result.unigram:.4f}; pairs: {result.bigram:.4f}")
    p = result.provenance
    print(f"{p.model}, {p.n_parameters:,} parameters, seed {p.seed}, {p.device_name}, {p.date}")


def print_sweep(result: SweepResult) -> None:
    """Print the mean held-out loss over seeds, a table a depth."""
    request = result.request
    for depth, table in zip(request.depths, result.held_out_loss.mean(axis=-1), strict=True):
        print(f"{depth} blocks" + "".join(f"{lr:12g}" for lr in request.lrs))
        for arm, row in zip(request.arms, table, strict=True):
            print(f"{arm:12}" + "".join(f"{loss:12.4f}" for loss in row))
    print(f"knowing how frequent bytes are: {result.unigram:.4f}; pairs: {result.bigram:.4f}")
