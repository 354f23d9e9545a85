"""``python -m andrea sample``: continue a text, or ten prompts a language."""

from __future__ import annotations

import argparse
import json

from andrea import device, sources
from andrea.generate import PROMPTS, Continuation, generate
from andrea.requests import ModelRequest
from andrea.results import jsonable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``sample``."""
    add = parser.add_argument
    add("prompt", nargs="?", help="text to continue (default: ten prompts in each language)")
    add("--top-k", type=int, default=5, help="draw among so many; 1: the likeliest (%(default)s)")
    add("--temperature", type=float, default=1.0, help="below 1 bolder guesses fade (%(default)s)")
    add("--seed", type=int, default=0, help="the same seed writes the same text (%(default)s)")
    add("--tokens", type=int, default=30, help="how many tokens to write (%(default)s)")
    add("--json", action="store_true", help="print one JSON document")


def show(found: Continuation) -> str:
    """Return one line: the prompt, a bar, what the model wrote; line ends become a sign."""
    text = found.text.replace("\n\n", " ¶ ").replace("\n", " ↵ ")
    return f"{found.prompt} |{text}{' <end>' if found.ended else ''}"


def run(args: argparse.Namespace) -> None:
    """Continue the prompt, or show ten prompts a language: the likeliest token, then a draw."""
    loaded = sources.load(ModelRequest())

    def write(prompt: str, top_k: int) -> Continuation:
        with device.job():
            return generate(loaded, prompt, args.tokens, top_k, args.temperature, args.seed)

    if args.prompt is not None:
        one = write(args.prompt, args.top_k)
        print(json.dumps(jsonable(one), ensure_ascii=False) if args.json else one.prompt + one.text)
        return
    if args.json:
        document = {
            language: [jsonable(write(p, k)) for p in prompts for k in (1, args.top_k)]
            for language, prompts in PROMPTS.items()
        }
        print(json.dumps(document, ensure_ascii=False))
        return
    for language, prompts in PROMPTS.items():
        print(f"[{language}] greedy, then one draw among the top {args.top_k} (seed {args.seed})")
        for prompt in prompts:
            print("  " + show(write(prompt, 1)))
            print("  " + show(write(prompt, args.top_k)), flush=True)
