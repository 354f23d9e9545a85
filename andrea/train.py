"""Train a model on plain text: the command that made ``andrea-mini``, for a CPU or a CUDA device.

It learns a tokenizer, or takes one, trains (``andrea/trainer.py``), and writes the weights with
what made them. Progress is a bar on stderr and one JSON line a log step in ``log.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from andrea import corpus, sources
from andrea.config import ModelConfig
from andrea.tokenizer import VOCAB_SIZE, TextTokenizer, train_tokenizer
from andrea.trainer import Recipe, Trainer


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
    args: argparse.Namespace, tokenizer: TextTokenizer, texts: list[str]
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
    texts = [corpus.read_text(path) for path in args.text]
    try:
        args.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{args.out}: cannot be made ({error.strerror})") from error
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
    train, valid = load_streams(args, tokenizer, texts)
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
