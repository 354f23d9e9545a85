"""``python -m andrea depth``: what the blocks add, and what is lost without each of them."""

from __future__ import annotations

import argparse
import json

from andrea import engine, saved_depth
from andrea.config import PRESETS
from andrea.data import DEFAULT_SENTENCES
from andrea.measures.ablation import AnswersResult, ChangesResult
from andrea.measures.attribution import WaterfallResult
from andrea.measures.depth import DepthResult
from andrea.requests import ModelRequest
from andrea.requests_depth import (
    CHANGES,
    AnswersRequest,
    ChangesRequest,
    DepthRequest,
    WaterfallRequest,
)
from andrea.results import jsonable
from andrea.sources import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``depth``."""
    d, add = DepthRequest(), parser.add_argument
    text = DEFAULT_SENTENCES["en"]
    add("text", nargs="?", default=text, help="the text whose answer is taken apart (%(default)s)")
    add("--change", default="block", help=f"one of {', '.join(CHANGES)} (%(default)s)")
    add("--model", default=d.model.model, help=f"one of {', '.join(PRESETS)} (%(default)s)")
    add("--seed", type=int, default=0, help="seed of fresh weights (%(default)s)")
    add("--norm", default="pre", help="pre or none (%(default)s)")
    add("--n-layer", type=int, default=None, help="blocks (default: the model's own depth)")
    add("--passages", type=int, default=d.n_passages, help="in each language (%(default)s)")
    add("--n-tokens", type=int, default=d.n_tokens, help="of each passage (%(default)s)")
    add("--save", action="store_true", help="measure again what the site shows at once")
    add("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> None:
    """Answer all four questions about one text and one change."""
    if args.save:
        for request, result in saved_depth.save().items():
            print(f"{result.provenance.seconds:6.1f} s  {request}")
        return
    model = ModelRequest(args.model, args.seed, norm=args.norm, n_layer=args.n_layer)
    size = {"n_passages": args.passages, "n_tokens": args.n_tokens}
    loaded = load(model)
    waterfall = engine.run(WaterfallRequest(args.text, model), lambda _: loaded)
    answers = engine.run(AnswersRequest(args.text, args.change, model), lambda _: loaded)
    survey = engine.run(DepthRequest(model, args.seed, **size), lambda _: loaded)
    changes = engine.run(ChangesRequest(args.change, model, **size), lambda _: loaded)
    if args.json:
        whole = {
            "waterfall": waterfall,
            "depth": survey,
            "changes": changes,
            "answers": answers,
        }
        print(json.dumps(jsonable(whole), ensure_ascii=False, allow_nan=False))
        return
    print_waterfall(waterfall)
    print_survey(survey)
    print_changes(changes, answers)


def print_waterfall(result: WaterfallResult) -> None:
    """Print each part of the answer's logit."""
    print(f"answer {result.answer_label!r}: its logit, less the mean, is {result.logit:+.4f}")
    for name, share in zip(result.names, result.contributions, strict=True):
        print(f"  {name:20} {share:+9.4f}")
    print(f"  sum {result.contributions.sum():+.4f}, off by {result.error:.1e}")


def print_survey(result: DepthResult) -> None:
    """Print the lens by depth in both languages."""
    print("after blocks   it: rank    prob    loss   en: rank    prob    loss")
    columns = zip(result.rank.T, result.prob.T, result.loss.T, strict=True)
    for depth, rows in enumerate(columns):
        cells = [f"{r:10.0f} {p:7.2%} {x:7.3f}" for r, p, x in zip(*rows, strict=True)]
        print(f"{depth:12} " + "  ".join(cells))


def print_changes(result: ChangesResult, answers: AnswersResult) -> None:
    """Print the loss at each place of the change, and what the text's answer becomes."""
    it, en = result.base_loss
    print(f"{result.request.change}       loss it   loss en   answer")
    print(f"{'as it is':>10}  {it:8.3f}  {en:8.3f}   {answers.base_label!r}")
    for k, label, (x, y) in zip(result.places, answers.labels, result.loss.T, strict=True):
        print(f"{k:10}  {x:8.3f}  {y:8.3f}   {label!r}")
    p = result.provenance
    print(f"{p.model}, weights {p.weights_sha256[:8]}, {p.device_name}, {p.date}")
