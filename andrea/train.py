"""Train a model on plain text: the command that made ``andrea-mini``, for a CPU or a CUDA device.

It learns a tokenizer, or takes one, trains (``andrea/trainer.py``), and writes the weights with
what made them. Progress is a bar on stderr and one JSON line a log step in ``log.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch

from andrea import corpus, device, sources
from andrea.config import ModelConfig
from andrea.tokenizer import FIRST_MERGE_ID, VOCAB_SIZE, TextTokenizer, train_tokenizer
from andrea.trainer import Recipe, Trainer

CHARACTERS_AN_ENTRY = 80  # about 25 occurrences of each token: fewer, and it is not learned
HELD_OUT = (0.02, 0.2)  # the share of a text that is held out: of a long one, of a short one
LEARNED_BY_HEART = 40  # readings of the same text after which it is known by heart

DESCRIPTION = """\
Train a small model on your own text, and show it on the site.

  python -m andrea train --text story.txt --minutes 60

The text is plain UTF-8, the more the better: a megabyte is a start. Blank lines part paragraphs,
two blank lines part documents. Nothing else has to be chosen. Ctrl-C stops at any time; the same
command goes on where it stopped. Then

  ANDREA_WEIGHTS=runs/mine make run          shows your model on the site
  ANDREA_WEIGHTS=runs/mine make sample       lets it write

With one CPU core the default model learns from about 1,500 tokens a second (ANDREA_THREADS=2 uses
two cores); a smaller one is quicker: --n-layer 6 --d-model 128 --n-head 4. A CUDA device is used
where there is one.
"""

# What each field of the recipe means, for --help: those that a beginner may want, then the rest.
RUN_HELP = {
    "steps": "steps to take; each learns from BATCH windows of CONTEXT tokens",
    "minutes": "stop after so many minutes of training, if the steps are not done before",
    "batch": "windows of text a step",
    "context": "tokens in a window: how far back the model can read",
    "seed": "the same seed, text and machine give the same model",
}
RECIPE_HELP = {
    "lr": "learning rate of the blocks' matrices (Muon)",
    "lr_adam": "learning rate of everything else (AdamW)",
    "warmup": "steps over which the learning rates rise",
    "flat": "share of the run with the full learning rates; then they fall to 5 %%",
    "clip": "largest norm of a gradient",
    "precision": "float32, bfloat16, or auto: what is quicker here",
    "checkpoint_minutes": "minutes between checkpoints",
    "log_every": "steps between lines of log.jsonl",
    "valid_every": "steps between measurements on held-out text",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``python -m andrea train``."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = DESCRIPTION
    add = parser.add_argument_group("the text").add_argument
    add("--text", nargs="+", type=Path, required=True, metavar="FILE", help="text to learn from")
    held = "held-out text, one for each --text file (default: the end of each text)"
    add("--valid", nargs="+", type=Path, metavar="FILE", help=held)
    add(
        "--out",
        type=Path,
        default=Path("runs/mine"),
        metavar="FOLDER",
        help="folder of the run (%(default)s)",
    )
    add = parser.add_argument_group("the model").add_argument
    add("--n-layer", type=int, default=12, metavar="N", help="blocks (%(default)s)")
    add("--d-model", type=int, default=192, metavar="N", help="width of the stream (%(default)s)")
    add(
        "--n-head",
        type=int,
        default=6,
        metavar="N",
        help="heads; they divide the width (%(default)s)",
    )
    size = f"vocabulary (default: {VOCAB_SIZE}, fewer for a short text)"
    add("--vocab-size", type=int, metavar="N", help=size)
    groups = (("the run", RUN_HELP), ("the recipe (leave it, unless you know why)", RECIPE_HELP))
    defaults = {field.name: field.default for field in fields(Recipe)}
    for title, helps in groups:
        group = parser.add_argument_group(title)
        for name, help_text in helps.items():
            default = defaults[name]
            kind = {"minutes": float, "precision": str}.get(name, type(default))
            shown = "no limit" if default is None else default
            group.add_argument(
                "--" + name.replace("_", "-"),
                type=kind,
                default=default,
                metavar="WORD" if kind is str else "N",
                help=f"{help_text} ({shown})",
            )
    add = parser.add_argument_group("special").add_argument
    add("--tokenizer", type=Path, metavar="JSON", help="use this tokenizer, do not learn one")
    add("--sources", type=Path, metavar="TSV", help="table that weights the documents by tier")
    add("--export-only", action="store_true", help="write the weights of the checkpoint and stop")
    add("--part-mb", type=float, metavar="MB", help="also write the weights in parts of this size")


def held_out_share(text: str, context: int) -> float:
    """Return the share of a text to hold out: 2 %, more of a short one, at most a fifth.

    A short text needs more, so that what is held out fills a window (eight characters a token are
    more than enough).
    """
    least, most = HELD_OUT
    return min(most, max(least, 8 * (context + 1) / len(text)))


def vocabulary_for(texts: list[str]) -> int:
    """Return how many entries the texts can teach: 8449, fewer where they are short."""
    return min(VOCAB_SIZE, FIRST_MERGE_ID + sum(map(len, texts)) // CHARACTERS_AN_ENTRY)


def get_tokenizer(args: argparse.Namespace, texts: list[str]) -> TextTokenizer:
    """Load the tokenizer that was named or kept in the folder, or learn one from the texts."""
    kept = args.out / "tokenizer.json"
    if args.tokenizer or kept.exists():
        tokenizer = TextTokenizer.load(args.tokenizer or kept)
        if args.vocab_size not in (None, tokenizer.vocab_size):
            raise ValueError(
                f"--vocab-size is {args.vocab_size}, but {(args.tokenizer or kept).name} has "
                f"{tokenizer.vocab_size} entries: leave it out, or choose another --out folder"
            )
        return tokenizer
    print("learning the tokenizer ...", file=sys.stderr)
    paragraphs = (p + "\n\n" for text in texts for p in text.split("\n\n"))
    return train_tokenizer(paragraphs, args.vocab_size or vocabulary_for(texts))


def load_streams(
    args: argparse.Namespace, tokenizer: TextTokenizer, texts: list[str]
) -> tuple[list[corpus.Stream], list[corpus.Stream]]:
    """Tokenise the training and validation text, named by language or file."""
    train: list[corpus.Stream] = []
    valid: list[corpus.Stream] = []
    if args.valid and len(args.valid) != len(args.text):
        raise ValueError("--valid needs one file for each --text file, in the same order")
    for i, (path, text) in enumerate(zip(args.text, texts, strict=True)):
        name = path.name.split(".")[0]
        if name in (stream.name for stream in train):
            raise ValueError(f"two --text files are called {name}: rename one of them")
        weights = corpus.tier_weights(args.sources, name) if args.sources else None
        if args.valid:
            held = corpus.read_text(args.valid[i])
        else:
            text, held = corpus.split_off(text, held_out_share(text, args.context))
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
    tokenizer = get_tokenizer(args, texts)
    train, valid = load_streams(args, tokenizer, texts)
    config = ModelConfig(
        n_layer=args.n_layer,
        d_model=args.d_model,
        n_head=args.n_head,
        n_ctx=recipe.context,
        vocab_size=tokenizer.vocab_size,
    )
    torch.set_num_threads(device.threads())
    chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer = Trainer(config, recipe, train, valid, args.out, chosen)
    tokenizer.save(args.out / "tokenizer.json")  # not before the text has proved long enough
    if trainer.resume():
        print(f"continuing at step {trainer.step}", file=sys.stderr)
    print(summary(trainer), file=sys.stderr)
    if not args.export_only:
        log_and_run(trainer, tqdm(total=100, unit="%", disable=not sys.stderr.isatty()))
    export(trainer, args)


def summary(trainer: Trainer) -> str:
    """Say in a few lines what will be trained on what, and how often the text will be read."""
    learned, held = (sum(len(s.tokens) for s in part) for part in (trainer.train, trainer.valid))
    config, recipe = trainer.model.config, trainer.recipe
    size = sum(p.numel() for p in trainer.model.parameters())
    readings = recipe.steps * recipe.batch * recipe.context / learned
    lines = [
        f"text      {learned:,} tokens to learn from, {held:,} held out",
        f"model     {size:,} parameters, {config.n_layer} blocks, width {config.d_model}, "
        f"vocabulary {config.vocab_size:,}",
        f"run       {recipe.steps:,} steps read the text {readings:,.1f} times",
    ]
    if readings > LEARNED_BY_HEART and recipe.minutes is None:
        enough = max(1, round(recipe.steps * LEARNED_BY_HEART / readings))
        lines.append(
            f"          that often, it will be learned by heart: --steps {enough} may be enough"
        )
    return "\n".join(lines)


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
    same = trainer.device.type == device.device().type
    made = {
        "recipe": asdict(trainer.recipe),
        "step": trainer.step,
        "tokens": trainer.tokens,
        "seconds": round(trainer.seconds),
        "device": trainer.device.type,
        "device_name": device.name() if same else platform.processor(),
        "threads": device.threads(),
        "precision": str(trainer.dtype).removeprefix("torch."),
        "date": time.strftime("%Y-%m-%d"),
        "texts": [path.name for path in args.text],
        "valid_loss": trainer.validate(None),
    }
    path = args.out / "weights.safetensors"
    sources.save_weights(trainer.model, path, made, part_mb=args.part_mb)
    print(json.dumps({"written": str(path), **made}))
    print(f"on the site: ANDREA_WEIGHTS={args.out} make run", file=sys.stderr)
